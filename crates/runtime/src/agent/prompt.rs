//! Builds what a model reads: system prompt, conversation, tools.
//!
//! The system prompt is made when a run begins and stays the same from turn to turn, so that
//! providers can reuse what they have already read. It is not in the journal: a run that goes on in
//! another process, after a crash, goes on with what is on disk then.

mod sections;

use std::{path::Path, sync::Arc};

use rooftree_protocol::{Part, PromptContext};
use rooftree_providers::{
    CallRules, Model, ModelMessage, ModelRequest, ToolChoice, Workplace, catalog::ModelProfile,
    lean,
};

pub use self::sections::{PromptSections, peers};
use super::{AgentActor, window};
use crate::{
    ProjectContext, memory,
    resolved_agent::{self, PromptInputs, ResolvedAgent},
    runtime_context::RuntimeContext,
};

/// Tokens a reply may have: plenty for any turn, and no provider sets more aside for it.
const MAX_OUTPUT: u64 = 32_000;

/// Turns without anything new after which a small model gets no more tools.
const STUCK_TURNS: u32 = 2;

/// The system prompt for a definition at work in a directory. A model with tools of its own reads nothing about ours,
/// which it cannot call.
pub(crate) fn system(
    context: &RuntimeContext,
    resolved: &ResolvedAgent,
    (project_context, read): (&Arc<ProjectContext>, PromptContext),
    (cwd, model): (&Path, Option<&Model>),
) -> Arc<resolved_agent::SystemPrompt> {
    let options = &context.options;
    let remembered = || {
        let (definition, limits) = (&resolved.definition, &resolved.limits);
        memory::excerpt(definition, &options.agents.memory, cwd, limits.memory_bytes)
    };
    let nothing = ProjectContext::default();
    let from = PromptInputs {
        project_context: project_context.clone(),
        read,
        agents: options.agents.definitions.edition(),
        memory: read.is_full().then(remembered).flatten(),
        cwd: cwd.to_owned(),
        own_tools: model.is_some_and(|model| model.provider.has_own_tools()),
        profile: model.map_or(ModelProfile::Full, |model| model.profile),
    };
    resolved.prompt(from, |from| {
        let sections = PromptSections {
            definition: &resolved.definition,
            tools: if from.own_tools { &[] } else { &resolved.specs },
            exposed: resolved.exposed.as_ref().filter(|_| !from.own_tools),
            definitions: &options.agents.definitions,
            project_context: match from.read {
                PromptContext::Full => &from.project_context,
                PromptContext::Light => &nothing,
            },
            memory: from.memory.clone(),
            cwd: &from.cwd,
            mark: &options.mark,
            denied: options.rights.policy.unreadable_paths(&from.cwd),
            profile: from.profile,
        };
        let (text, specs) = (sections.text(), sections.specs());
        let estimate = estimated(&text, &specs);
        (text, specs, estimate)
    })
}

/// The next question to the model.
pub(super) fn request(
    agent: &AgentActor,
    model: &rooftree_providers::Model,
    attempt: u32,
) -> ModelRequest {
    let is_last_word = agent.history.has_last_word(&agent.resolved.limits);
    ModelRequest {
        model: model.choice.model.clone(),
        effort: model.choice.effort,
        agent: agent.resolved.name.clone(),
        system: agent.model.prompt.text.clone(),
        messages: if is_last_word {
            with_last_word(agent)
        } else {
            agent.history.messages()
        },
        tools: agent.model.prompt.specs.clone(),
        tool_choice: if is_last_word || is_stuck(agent, model) {
            ToolChoice::Nothing
        } else {
            ToolChoice::Auto
        },
        schema: None,
        max_output: model.output.map(|most| most.min(MAX_OUTPUT)),
        media: agent.model.media.clone(),
        session: agent.session.id.clone(),
        attempt,
        workplace: Arc::new(workplace(agent)),
    }
}

/// Whether a small model repeats itself and has to answer with what it has.
fn is_stuck(agent: &AgentActor, model: &rooftree_providers::Model) -> bool {
    let idle = agent.history.run().map_or(0, |run| run.reply.idle_so_far());
    model.profile == ModelProfile::Lean && idle >= STUCK_TURNS
}

/// Working directory and permission mode, for models that act by themselves.
pub(super) fn workplace(agent: &AgentActor) -> Workplace {
    let written =
        |rules: &[rooftree_tools::PermissionRule]| rules.iter().map(ToString::to_string).collect();
    let rules = CallRules {
        allow: written(&agent.rights.policy.allow),
        deny: written(&agent.rights.policy.deny),
    };
    Workplace {
        directory: agent.session.cwd.clone(),
        mode: agent.rights.policy.mode,
        rules,
    }
}

/// The conversation, and that it is time to come to an end.
fn with_last_word(agent: &AgentActor) -> Arc<Vec<Arc<ModelMessage>>> {
    let words = "You have used all your turns and can use no more tools. Say now what you found, what you did and \
                 what is left to do.";
    let mut messages = agent.history.messages();
    Arc::make_mut(&mut messages).push(Arc::new(ModelMessage::User(vec![Part::text(words)])));
    messages
}

/// Estimated tokens of that question.
pub(super) fn estimate(agent: &AgentActor) -> u64 {
    agent.history.estimate() + fixed_estimate(agent)
}

/// Estimated tokens of prompt and tools, as the chosen model gets them.
fn fixed_estimate(agent: &AgentActor) -> u64 {
    match &agent.model.chosen {
        Ok(model) if model.profile == ModelProfile::Lean => {
            let (mode, specs) = (agent.rights.policy.mode, &agent.model.prompt.specs);
            window::weigh_text(&lean::system_prompt(&agent.model.prompt.text, specs, mode))
        }
        _ => agent.model.prompt.estimate,
    }
}

/// Estimated tokens of what is the same in every question.
fn estimated(system: &str, specs: &[rooftree_protocol::ToolSpec]) -> u64 {
    let tools: u64 = specs
        .iter()
        .map(|spec| {
            window::weigh_text(&spec.description)
                + window::weigh_text(&spec.input_schema.to_string())
                + 8
        })
        .sum();
    window::weigh_text(system) + tools
}
