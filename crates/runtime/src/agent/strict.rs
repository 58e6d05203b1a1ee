//! Strict mode: refuses to start an agent if something in its definition cannot be enforced.

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::Model;

use super::{AgentActor, limits::RunEndReason, prompt};

/// Says that the run must end, and why, if the model can do more than the definition allows.
pub(super) fn refusal(agent: &AgentActor, model: &Model) -> Option<RunEndReason> {
    if !agent.resolved.definition.strict {
        return None;
    }
    let beyond = model
        .provider
        .unenforced(&agent.resolved.toolset.names(), &prompt::workplace(agent));
    if beyond.is_empty() {
        return None;
    }
    let message = format!(
        "agent `{}` is strict, and {} cannot be held to its definition",
        agent.resolved.name, model.choice
    );
    Some(RunEndReason::Failed(
        Problem::new(ErrorCode::ToolNotAllowed, message)
            .cause(beyond.join("; "))
            .fix("use another model, or leave `strict` out of the definition"),
    ))
}
