//! What the asked one is given: no more than whoever asks may do, and what the call says.

use rooftree_protocol::{
    AgentDefinition, CallId, Dialect, Effort, Mandate, ModelChoice, Thoroughness, event::RunMode,
};

use super::{
    answer::Failure,
    request::{Request, Strategy, Surface},
    rights::{at_most, is_trusted_peer},
    target::Target,
};
use crate::{caller::Caller, definitions::READ_ONLY, remote};

/// Turns that emdash gives a sub-agent.
const EMDASH_TURNS: u32 = 10;

/// What one delegation is about.
pub(super) struct Asking<'a> {
    pub(super) definition: &'a AgentDefinition,
    pub(super) request: &'a Request,
    pub(super) target: &'a Target,
    pub(super) call: &'a CallId,
    pub(super) mode: RunMode,
}

/// The mandate for one delegation.
pub(super) fn mandate(caller: &Caller, asking: &Asking<'_>) -> Result<Mandate, Failure> {
    let &Asking { definition, request, target, call, mode } = asking;
    let own_rights = request.surface == Surface::AgentsMessage && is_trusted_peer(caller, definition);
    let mut most = at_most(caller, definition, call, own_rights);
    // Whoever checks work only looks, unless its definition says what else it needs.
    if request.surface == Surface::Verifier && definition.tools.allow.is_none() {
        let brought = remote::brought(definition, &caller.kit.definition);
        most.tools.retain(|name| READ_ONLY.contains(&name.as_str()) || brought.contains(name));
    }
    Ok(Mandate {
        title: request.title(),
        mode,
        model: model(caller, definition, request, target)?,
        max_turns: request.max_turns.or_else(|| usual_turns(caller, definition)),
        quiet: caller.is_directed,
        thoroughness: request.thoroughness,
        ..most
    })
}

/// Turns of a sub-agent whose call and definition say nothing, in the dialect of the caller.
fn usual_turns(caller: &Caller, definition: &AgentDefinition) -> Option<u32> {
    let is_emdash = caller.kit.definition.source.dialect == Dialect::Emdash;
    (is_emdash && definition.max_turns.is_none()).then_some(EMDASH_TURNS)
}

/// The call's model, the definition's, the session's, that of whoever asks.
fn model(
    caller: &Caller,
    definition: &AgentDefinition,
    request: &Request,
    target: &Target,
) -> Result<Option<ModelChoice>, Failure> {
    let sessions = match target {
        Target::Known(session) => session.model.as_deref().and_then(|model| model.parse().ok()),
        Target::New(_) | Target::Fork { .. } => None,
    };
    let defined = || if request.strategy == Strategy::Fork { None } else { definition.model.clone() };
    let chosen = match called_for(caller, request)? {
        Some(choice) => Some(choice),
        None => defined().or(sessions).or_else(|| caller.model.clone()),
    };
    Ok(chosen.map(|choice| with_effort(choice, request.thoroughness)))
}

/// The model a new session is given to keep: the call's, or that of the caller. A definition's own is looked up each
/// time, so that a change of it counts.
pub(super) fn given(
    caller: &Caller,
    definition: &AgentDefinition,
    request: &Request,
) -> Result<Option<ModelChoice>, Failure> {
    match called_for(caller, request)? {
        Some(choice) => Ok(Some(choice)),
        None if definition.model.is_some() && request.strategy != Strategy::Fork => Ok(None),
        None => Ok(caller.model.clone()),
    }
}

/// The model the call itself asks for. A tier for which there is no model here is a wish that cannot be met, and
/// `inherit` is none: then what would be used anyway is used.
fn called_for(caller: &Caller, request: &Request) -> Result<Option<ModelChoice>, Failure> {
    match (&request.model, &request.tier) {
        (Some(name), _) if name.eq_ignore_ascii_case("inherit") => Ok(caller.model.clone()),
        (Some(name), _) => named(caller, name).map(Some),
        (None, Some(tier)) => Ok(named(caller, tier).ok()),
        (None, None) => Ok(None),
    }
}

fn named(caller: &Caller, name: &str) -> Result<ModelChoice, Failure> {
    (caller.world.options.naming)(name).map_err(|problem| Failure::Model(problem.message))
}

fn with_effort(choice: ModelChoice, thoroughness: Option<Thoroughness>) -> ModelChoice {
    let effort = match thoroughness {
        // Any effort makes some models think that would not: quick is said in words only.
        None | Some(Thoroughness::Quick | Thoroughness::Medium) => None,
        Some(Thoroughness::Thorough) => Some(Effort::High),
    };
    // A model of a script takes no hint how hard to think: its name would not be its name any more.
    ModelChoice { effort: choice.effort.or(effort), ..choice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_d11_quick_and_medium_ask_no_model_to_think() {
        let effort = |thoroughness| with_effort("a/b".parse().unwrap(), thoroughness).effort;
        assert_eq!(effort(Some(Thoroughness::Quick)), None);
        assert_eq!(effort(Some(Thoroughness::Medium)), None);
        assert_eq!(effort(Some(Thoroughness::Thorough)), Some(Effort::High));
        assert_eq!(effort(None), None);
    }
}
