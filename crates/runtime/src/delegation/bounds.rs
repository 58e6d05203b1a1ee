//! Limits of delegation: which agents may be asked, how deep, and how many concurrently.

use std::sync::Arc;

use rooftree_protocol::{AgentDefinition, DefinitionLevel, SessionId, UseAs};
use rooftree_tools::toolset::is_named;

use super::{
    answer::DelegationError,
    request::{DelegationRequest, DelegationSurface},
};
use crate::{caller::Caller, delegation_registry::DelegationLimit};

/// Whether this agent may ask that one at all.
pub(super) fn check(
    caller: &Caller,
    definition: &AgentDefinition,
    request: &DelegationRequest,
) -> Result<(), DelegationError> {
    // Whom a definition names to check its work is asked by no model, and is not checked in turn: it is
    // neither a level that could go on nor a choice that could be wrong.
    if request.surface == DelegationSurface::Verifier && definition.use_as != UseAs::Primary {
        return Ok(());
    }
    if caller.depth() >= caller.resolved.limits.depth {
        return Err(DelegationError::TooDeep(caller.resolved.limits.depth));
    }
    // A fork delegates to the same agent.
    if request.is_fork() || may_ask(caller, definition) {
        Ok(())
    } else {
        Err(DelegationError::NotAccessible(format!(
            "agent '{}' may not be asked by '{}'",
            definition.name, caller.session.agent
        )))
    }
}

/// Whether the definitions of the two let one ask the other. One that is hidden is started by people only; those that
/// come with the program are merely not listed.
pub(super) fn may_ask(caller: &Caller, definition: &AgentDefinition) -> bool {
    let scope = &caller.resolved.definition.agents;
    let is_hidden = definition.hidden && definition.source.level != DefinitionLevel::Builtin;
    !is_hidden && definition.use_as != UseAs::Primary && is_named(scope, &definition.name)
}

/// The agents this one may ask, by name.
pub(super) fn accessible(caller: &Caller) -> impl Iterator<Item = Arc<AgentDefinition>> {
    let all = caller.context.options.agents.definitions.iter();
    all.filter(|definition| may_ask(caller, definition))
        .filter(|definition| {
            let is_other = ["lead", caller.session.agent.as_str()]
                .iter()
                .all(|name| !definition.name.eq_ignore_ascii_case(name));
            !definition.hidden && is_other
        })
}

/// Refuses a cycle: an agent must not wait for one that waits for it.
pub(super) fn refuse_cycle(
    caller: &Caller,
    definition: &AgentDefinition,
    target: &SessionId,
) -> Result<(), DelegationError> {
    let chain = caller.chain();
    let is_above = |agent: &str| agent.eq_ignore_ascii_case(&definition.name);
    let above_caller = chain.len().saturating_sub(1);
    let again = chain
        .iter()
        .take(above_caller)
        .any(|above| is_above(&above.agent));
    if chain.iter().any(|above| above.session == *target) || again {
        let names: Vec<&str> = chain.iter().map(|above| above.agent.as_str()).collect();
        return Err(DelegationError::Cycle(format!(
            "{} → {}",
            names.join(" → "),
            definition.name
        )));
    }
    Ok(())
}

/// The error when a concurrency limit is reached.
pub(super) fn full(full: DelegationLimit) -> DelegationError {
    DelegationError::Full(match full {
        DelegationLimit::Children(most) => {
            format!("{most} agents of this session are at work already")
        }
        DelegationLimit::Descendants(most) => {
            format!("{most} agents below the same root are at work already")
        }
    })
}
