//! What the asked one may do. It is computed by narrowing and by nothing else.

use rooftree_protocol::{
    AgentDefinition, CallId, Confinement, Effort, Level, Mandate, ModelChoice, ParentCall, Thoroughness,
    event::RunMode,
};
use rooftree_tools::{Policy, Toolset, mcp::PREFIX, toolset::is_listed};

use super::{
    answer::Failure,
    request::{Request, Strategy, Surface},
    target::Target,
};
use crate::{caller::Caller, kit::asks_for, remote};

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
    let own_rights = is_trusted_peer(caller, definition, request);
    let policy = if own_rights { &caller.world.options.policy } else { &caller.policy };
    Ok(Mandate {
        parent: ParentCall {
            session: caller.session.id.clone(),
            run: caller.run.clone(),
            call: call.clone(),
        },
        root: caller.root(),
        title: request.title(),
        mode,
        above: caller.chain(),
        tools: tools(caller, definition, own_rights),
        permission_mode: policy.mode,
        allow: rules(policy, |policy| &policy.allow),
        ask: rules(policy, |policy| &policy.ask),
        deny: rules(policy, |policy| &policy.deny),
        sandbox: Some(confinement(caller, own_rights)),
        model: model(caller, definition, request, target)?,
        max_turns: request.max_turns,
        max_cost_usd: share(caller),
        workspace: None,
        thoroughness: request.thoroughness,
    })
}

/// Invariant: without rights of its own, what an agent runs is confined as strictly as for the one who asks.
fn confinement(caller: &Caller, own_rights: bool) -> Confinement {
    if own_rights {
        return caller.world.options.sandbox.confinement.clone();
    }
    caller.world.confinement(&caller.kit.definition, caller.mandate.as_deref())
}

/// What is left is divided among those asked at the same time, so that all of them together cost no
/// more than the one who asks may.
pub(super) fn share(caller: &Caller) -> Option<f64> {
    caller.money_left.map(|left| left / caller.delegations.max(1) as f64)
}

fn rules(policy: &Policy, which: impl Fn(&Policy) -> &Vec<rooftree_tools::Rule>) -> Vec<String> {
    which(policy).iter().map(ToString::to_string).collect()
}

/// Invariant: without rights of its own, an agent has no tool that the one who asks lacks.
fn tools(caller: &Caller, definition: &AgentDefinition, own_rights: bool) -> Vec<String> {
    let held = caller.kit.toolset.names();
    let remote = caller.kit.toolset.iter().filter(|tool| tool.spec().name.starts_with(PREFIX));
    let all = Toolset::new(caller.world.options.tools.iter().chain(remote).cloned());
    let defined = all.scoped(&definition.tools).capable(&definition.capabilities);
    // Its memory is its own: nobody above has it, and nobody above lacks it.
    let remembers = |name: &str| definition.memory.is_some() && name.starts_with("Memory");
    let names = defined.names().into_iter();
    // Asking people for more is no more.
    let asks = |name: &str| name == "RequestPermission" && asks_for(definition, name);
    let names = names.filter(|name| own_rights || held.contains(name) || remembers(name) || asks(name));
    // So are the servers it brings along. Which tools they have is not known before they are asked.
    let more = if own_rights {
        remote::own(&caller.world.options.servers, definition)
    } else {
        remote::brought(definition, &caller.kit.definition)
    };
    names.map(str::to_owned).chain(more).collect()
}

/// A peer works with rights of its own where somebody the user trusts has named it.
fn is_trusted_peer(caller: &Caller, definition: &AgentDefinition, request: &Request) -> bool {
    let asker = &caller.kit.definition;
    request.surface == Surface::AgentsMessage
        && asker.source.level != Level::Project
        && is_listed(&asker.agents, &definition.name)
}

/// The call's model, the definition's, the session's, that of whoever asks.
fn model(
    caller: &Caller,
    definition: &AgentDefinition,
    request: &Request,
    target: &Target,
) -> Result<Option<ModelChoice>, Failure> {
    let named = |name: &String| {
        (caller.world.options.naming)(name).map_err(|problem| Failure::Model(problem.message))
    };
    let sessions = match target {
        Target::Known(session) => session.model.as_deref().and_then(|model| model.parse().ok()),
        Target::New(_) | Target::Fork { .. } => None,
    };
    let defined = || if request.strategy == Strategy::Fork { None } else { definition.model.clone() };
    let chosen = match &request.model {
        Some(name) => Some(named(name)?),
        None => defined().or(sessions).or_else(|| caller.model.clone()),
    };
    Ok(chosen.map(|choice| with_effort(choice, request.thoroughness)))
}

fn with_effort(choice: ModelChoice, thoroughness: Option<Thoroughness>) -> ModelChoice {
    let effort = match thoroughness {
        None | Some(Thoroughness::Medium) => None,
        Some(Thoroughness::Quick) => Some(Effort::Low),
        Some(Thoroughness::Thorough) => Some(Effort::High),
    };
    // A model of a script takes no hint how hard to think: its name would not be its name any more.
    ModelChoice { effort: choice.effort.or(effort), ..choice }
}
