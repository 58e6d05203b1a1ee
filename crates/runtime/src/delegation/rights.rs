//! Rights that one agent passes to another: only ever narrowed.

use rooftree_protocol::{
    AgentDefinition, CallId, Confinement, DefinitionLevel, Mandate, ParentCall, event::RunMode,
};
use rooftree_tools::{
    Policy, SkillRestriction, Toolset,
    mcp::{PREFIX, RESOURCE_TOOLS},
    toolset::is_listed,
};

use crate::{caller::Caller, mcp_scope, resolved_agent::asks_for};

/// The mandate of a message that expects no answer and starts a run elsewhere: an agent must not get something done by
/// a message that it may not do itself. The agent above has given the work and reads the result with rights of its
/// own; so does a peer the user trusts.
pub(super) fn told(
    caller: &Caller,
    definition: &AgentDefinition,
    call: &CallId,
) -> Option<Mandate> {
    (!is_trusted_peer(caller, definition)).then(|| at_most(caller, definition, call, false))
}

/// A mandate with no more rights than the caller has.
pub(super) fn at_most(
    caller: &Caller,
    definition: &AgentDefinition,
    call: &CallId,
    own_rights: bool,
) -> Mandate {
    let policy = if own_rights {
        &caller.context.options.rights.policy
    } else {
        &caller.rights.policy
    };
    Mandate {
        parent: ParentCall {
            session: caller.session.id.clone(),
            run: caller.run.clone(),
            call: call.clone(),
        },
        root: caller.root(),
        title: String::new(),
        mode: RunMode::Told,
        above: caller.chain(),
        tools: tools(caller, definition, own_rights),
        permission_mode: policy.mode,
        allow: rules(policy, |policy| &policy.allow),
        ask: rules(policy, |policy| &policy.ask),
        deny: rules(policy, |policy| &policy.deny),
        skills: policy.followed.iter().map(SkillRestriction::note).collect(),
        sandbox: Some(confinement(caller, own_rights)),
        model: None,
        max_turns: None,
        depth_limit: Some(caller.resolved.limits.depth),
        max_cost_usd: share(caller),
        workspace: None,
        quiet: false,
        thoroughness: None,
    }
}

/// Invariant: without rights of its own, what an agent runs is confined as strictly as for the one who asks.
fn confinement(caller: &Caller, own_rights: bool) -> Confinement {
    let confinement = caller.rights.confinement.clone();
    if own_rights {
        // What an agent exposed over HTTP cannot read, no peer reads for it.
        let general = caller.context.options.rights.sandbox.confinement.clone();
        return Confinement {
            reading: general.reading.max(confinement.reading),
            ..general
        };
    }
    confinement
}

/// Divides the remaining budget among agents asked concurrently, so that together they cost no more than the caller
/// may.
pub(super) fn share(caller: &Caller) -> Option<f64> {
    caller
        .money_left
        .map(|left| left / caller.delegations.max(1) as f64)
}

fn rules(
    policy: &Policy,
    which: impl Fn(&Policy) -> &Vec<rooftree_tools::PermissionRule>,
) -> Vec<String> {
    which(policy).iter().map(ToString::to_string).collect()
}

/// Invariant: without rights of its own, an agent has no tool that the one who asks lacks.
fn tools(caller: &Caller, definition: &AgentDefinition, own_rights: bool) -> Vec<String> {
    let held = caller.resolved.toolset.names();
    let remote = caller.resolved.toolset.iter().filter(|tool| {
        let name = tool.spec().name.as_str();
        name.starts_with(PREFIX) || RESOURCE_TOOLS.contains(&name)
    });
    let all = Toolset::new(
        caller
            .context
            .options
            .tools
            .all
            .iter()
            .chain(remote)
            .cloned(),
    );
    let defined = all
        .scoped(&definition.tools)
        .capable(&definition.capabilities);
    // Its memory is its own: agents above neither grant nor lack it.
    let remembers = |name: &str| definition.memory.is_some() && name.starts_with("Memory");
    let names = defined.names().into_iter();
    // Asking people for more is no more.
    let asks = |name: &str| name == "RequestPermission" && asks_for(definition, name);
    let names =
        names.filter(|name| own_rights || held.contains(name) || remembers(name) || asks(name));
    // So are the servers it brings along. Which tools they have is not known before they are asked.
    let more = if own_rights {
        mcp_scope::own(&caller.context.options.tools.servers, definition)
    } else {
        mcp_scope::brought(definition, &caller.resolved.definition)
    };
    names.map(str::to_owned).chain(more).collect()
}

/// A peer works with rights of its own where a definition that is not the project's names it.
///
/// Invariant: a project's definition is never a trusted peer. The definition that names it may have meant the one it
/// shadows.
pub(super) fn is_trusted_peer(caller: &Caller, definition: &AgentDefinition) -> bool {
    let asker = &caller.resolved.definition;
    let is_project = |one: &AgentDefinition| one.source.level == DefinitionLevel::Project;
    !is_project(asker) && !is_project(definition) && is_listed(&asker.agents, &definition.name)
}
