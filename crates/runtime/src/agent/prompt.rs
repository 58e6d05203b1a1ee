//! What a model reads: system prompt, conversation, tools.
//!
//! The system prompt is made once per waking and stays the same from turn to turn, so that
//! providers can reuse what they have already read.

use std::{path::Path, sync::Arc};

use rooftree_protocol::AgentDefinition;
use rooftree_providers::{Request, Rules, ToolChoice, Workplace};

use super::{Agent, window};

/// Tokens a reply may have: plenty for any turn, and no provider sets more aside for it.
const MAX_OUTPUT: u64 = 32_000;

/// The system prompt for a definition at work in a directory.
pub(super) fn system(definition: &AgentDefinition, cwd: &Path) -> Arc<str> {
    let prompt = definition.prompt.trim();
    let platform = std::env::consts::OS;
    format!("{prompt}\n\n# Environment\n\nWorking directory: {}\nPlatform: {platform}", cwd.display())
        .trim()
        .into()
}

/// The next question to the model.
pub(super) fn request(agent: &Agent, model: &rooftree_providers::Model, attempt: u32) -> Request {
    Request {
        model: model.choice.model.clone(),
        effort: model.choice.effort,
        agent: agent.kit.name.clone(),
        system: agent.system.clone(),
        messages: agent.history.messages(),
        tools: agent.kit.specs.clone(),
        tool_choice: ToolChoice::Auto,
        schema: None,
        max_output: model.output.map(|most| most.min(MAX_OUTPUT)),
        media: agent.media.clone(),
        session: agent.session.id.clone(),
        attempt,
        workplace: Arc::new(workplace(agent)),
    }
}

/// Where the agent works and how freely, for models that act by themselves.
fn workplace(agent: &Agent) -> Workplace {
    let written = |rules: &[rooftree_tools::Rule]| rules.iter().map(ToString::to_string).collect();
    let rules = Rules { allow: written(&agent.policy.allow), deny: written(&agent.policy.deny) };
    Workplace { directory: agent.session.cwd.clone(), mode: agent.policy.mode, rules }
}

/// Estimated tokens of that question.
pub(super) fn estimate(agent: &Agent) -> u64 {
    agent.history.estimate() + agent.fixed_estimate
}

/// Estimated tokens of what is the same in every question.
pub(super) fn fixed_estimate(system: &str, specs: &[rooftree_protocol::ToolSpec]) -> u64 {
    let tools: u64 = specs
        .iter()
        .map(|spec| {
            window::weigh_text(&spec.description) + window::weigh_text(&spec.input_schema.to_string()) + 8
        })
        .sum();
    window::weigh_text(system) + tools
}
