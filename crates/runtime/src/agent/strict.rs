//! Keeps a strict agent from starting where something in its definition cannot be enforced.

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::Model;

use super::{Agent, limits::End, prompt};

/// Says that the run must end, and why, if the model can do more than the definition allows.
pub(super) fn refusal(agent: &Agent, model: &Model) -> Option<End> {
    if !agent.kit.definition.strict {
        return None;
    }
    let beyond = model.provider.unenforced(&agent.kit.toolset.names(), &prompt::workplace(agent));
    if beyond.is_empty() {
        return None;
    }
    let message = format!(
        "agent `{}` is strict, and {} cannot be held to its definition",
        agent.kit.name, model.choice
    );
    Some(End::Failed(
        Problem::new(ErrorCode::ToolNotAllowed, message)
            .cause(beyond.join("; "))
            .fix("use another model, or leave `strict` out of the definition"),
    ))
}
