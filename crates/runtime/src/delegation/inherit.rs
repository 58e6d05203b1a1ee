//! Builds the mandate of a delegated run: a child agent inherits at most the permissions of its parent, narrowed by the
//! call.

use rooftree_protocol::{
    AgentDefinition, AgentDialect, CallId, Effort, Mandate, ModelChoice, Thoroughness,
    event::RunMode,
};
use rooftree_providers::catalog::ModelTier;
use rooftree_tools::{declared, session_tools::REQUEST_PERMISSION};

use super::{
    answer::DelegationError,
    request::{DelegationRequest, DelegationSurface, SessionStrategy},
    rights::{at_most, is_trusted_peer},
    target::DelegationTarget,
};
use crate::{caller::Caller, mcp_scope};

/// Turns that emdash gives a sub-agent.
const EMDASH_TURNS: u32 = 10;

/// Inputs of one delegation.
pub(super) struct DelegationInputs<'a> {
    pub(super) definition: &'a AgentDefinition,
    pub(super) request: &'a DelegationRequest,
    pub(super) target: &'a DelegationTarget,
    pub(super) call: &'a CallId,
    pub(super) mode: RunMode,
}

/// The mandate for one delegation.
pub(super) fn mandate(
    caller: &Caller,
    asking: &DelegationInputs<'_>,
) -> Result<Mandate, DelegationError> {
    let &DelegationInputs {
        definition,
        request,
        target,
        call,
        mode,
    } = asking;
    let own_rights =
        request.surface == DelegationSurface::AgentsMessage && is_trusted_peer(caller, definition);
    let mut most = at_most(caller, definition, call, own_rights);
    // A background agent of daycare asks people for what it lacks: asking for more is no more.
    let asking = REQUEST_PERMISSION.name;
    if request.surface == DelegationSurface::StartBackgroundAgent
        && has_in_scope(caller, definition, asking)
        && !most.tools.iter().any(|tool| tool == asking)
    {
        most.tools.push(asking.to_owned());
    }
    // A verifier only reads, unless its definition names the tools it needs.
    if request.surface == DelegationSurface::Verifier && definition.tools.allow.is_none() {
        let brought = mcp_scope::brought(definition, &caller.resolved.definition);
        most.tools
            .retain(|name| declared(name).only_reads_files() || brought.contains(name));
    }
    Ok(Mandate {
        title: request.title(),
        mode,
        model: model(caller, definition, request, target)?,
        max_turns: request
            .max_turns
            .or_else(|| usual_turns(caller, definition)),
        quiet: caller.is_directed,
        thoroughness: request.thoroughness,
        ..most
    })
}

/// Whether a tool is there and the lists of a definition let it through.
fn has_in_scope(caller: &Caller, definition: &AgentDefinition, tool: &str) -> bool {
    let all = caller.context.options.tools.all.scoped(&definition.tools);
    all.capable(&definition.capabilities)
        .names()
        .contains(&tool)
}

/// Turns of a sub-agent whose call and definition say nothing, in the dialect of the caller.
fn usual_turns(caller: &Caller, definition: &AgentDefinition) -> Option<u32> {
    let is_emdash = caller.resolved.definition.source.dialect == AgentDialect::Emdash;
    (is_emdash && definition.max_turns.is_none()).then_some(EMDASH_TURNS)
}

/// Model precedence: the call's, the definition's, the session's, the caller's.
fn model(
    caller: &Caller,
    definition: &AgentDefinition,
    request: &DelegationRequest,
    target: &DelegationTarget,
) -> Result<Option<ModelChoice>, DelegationError> {
    let sessions = match target {
        DelegationTarget::Known(session) => session
            .model
            .as_deref()
            .and_then(|model| model.parse().ok()),
        DelegationTarget::New(_) | DelegationTarget::Fork { .. } => None,
    };
    let defined = || {
        if request.strategy == SessionStrategy::Fork {
            None
        } else {
            definition.model.clone()
        }
    };
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
    request: &DelegationRequest,
) -> Result<Option<ModelChoice>, DelegationError> {
    match called_for(caller, request)? {
        Some(choice) => Ok(Some(choice)),
        None if definition.model.is_some() && request.strategy != SessionStrategy::Fork => Ok(None),
        None => Ok(caller.model.clone()),
    }
}

/// The model the call itself asks for. A tier for which there is no model here is a wish that cannot be met, and
/// `inherit` is none: then what would be used anyway is used.
fn called_for(
    caller: &Caller,
    request: &DelegationRequest,
) -> Result<Option<ModelChoice>, DelegationError> {
    match (&request.model, &request.tier) {
        (Some(name), _) if name.eq_ignore_ascii_case("inherit") => Ok(caller.model.clone()),
        (Some(name), _) => named(caller, name).map(Some),
        (None, Some(tier)) => Ok(of_tier(caller, tier)),
        (None, None) => Ok(None),
    }
}

/// The model for a tier: one the user has named for it, else that of the vendor the caller uses, else of another
/// vendor that can be asked.
fn of_tier(caller: &Caller, word: &str) -> Option<ModelChoice> {
    let tier = match word {
        "fast" => ModelTier::Fast,
        "powerful" => ModelTier::Powerful,
        _ => ModelTier::Standard,
    };
    let usual = |provider: &str| -> Option<ModelChoice> {
        let known = caller.context.options.models.catalog.known();
        known.of_tier(provider, tier)?.id.parse().ok()
    };
    let vendor = caller.model.as_ref().map(|model| model.provider.as_str());
    preferred(named(caller, word).ok(), vendor, usual)
}

/// What a tier means: the model that was found for it unless it is only some vendor's usual one, else the usual model
/// of the caller's vendor.
fn preferred(
    found: Option<ModelChoice>,
    vendor: Option<&str>,
    usual: impl Fn(&str) -> Option<ModelChoice>,
) -> Option<ModelChoice> {
    match found {
        Some(choice) if usual(&choice.provider).as_ref() != Some(&choice) => Some(choice),
        found => vendor.and_then(usual).or(found),
    }
}

fn named(caller: &Caller, name: &str) -> Result<ModelChoice, DelegationError> {
    (caller.context.options.models.resolver)(name)
        .map_err(|problem| DelegationError::Model(problem.message))
}

fn with_effort(choice: ModelChoice, thoroughness: Option<Thoroughness>) -> ModelChoice {
    let effort = match thoroughness {
        // Any effort makes some models think that would not: quick is said in words only.
        None | Some(Thoroughness::Quick | Thoroughness::Medium) => None,
        Some(Thoroughness::Thorough) => Some(Effort::High),
    };
    // A model of a script takes no hint how hard to think: its name would not be its name any more.
    ModelChoice {
        effort: choice.effort.or(effort),
        ..choice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_d19_a_tier_is_of_the_callers_vendor_unless_the_user_has_named_a_model() {
        let usual = |provider: &str| match provider {
            "openai" => "openai/mini".parse().ok(),
            "anthropic" => "anthropic/haiku".parse().ok(),
            _ => None,
        };
        for (found, vendor, wanted) in [
            (Some("anthropic/haiku"), "openai", Some("openai/mini")),
            (Some("anthropic/haiku"), "local", Some("anthropic/haiku")),
            (Some("local/mine"), "openai", Some("local/mine")),
            (None, "openai", Some("openai/mini")),
            (None, "local", None),
        ] {
            let found = found.map(|name| name.parse().unwrap());
            let chosen = preferred(found, Some(vendor), usual);
            assert_eq!(chosen.map(|choice| choice.to_string()).as_deref(), wanted);
        }
    }

    #[test]
    fn r1_d11_quick_and_medium_ask_no_model_to_think() {
        let effort = |thoroughness| with_effort("a/b".parse().unwrap(), thoroughness).effort;
        assert_eq!(effort(Some(Thoroughness::Quick)), None);
        assert_eq!(effort(Some(Thoroughness::Medium)), None);
        assert_eq!(effort(Some(Thoroughness::Thorough)), Some(Effort::High));
        assert_eq!(effort(None), None);
    }
}
