//! The rights of a run: what the process permits, narrowed by definitions, by the mandate and by what the run began
//! with.
//!
//! Every run gets its policy, sandbox, limits and tools here: delegated, told, forked, resumed and recovered
//! ones alike. Each bound narrows, none widens.

use std::sync::Arc;

use rooftree_process::sandbox::SandboxBackend;
use rooftree_protocol::{
    AgentDefinition, Confinement, Limits, Mandate, Problem, Reading, RunBounds, SandboxMode, Scope,
    Timestamp,
    definition::ToolExposure,
    event::{PolicyNote, RunMode},
};
use rooftree_tools::{
    Policy, Toolset,
    mcp::{McpAgentTools, Notice},
};

use crate::{
    ProjectContext, effective_rights,
    exposure::CallSocketConfig,
    resolved_agent::{self, ResolvedAgent},
    runtime_context::RuntimeContext,
    saved_rules::{self, ApplicableRules},
};

/// The most a run may have, because it began with it.
pub(crate) struct RightsCeiling {
    /// Its mode and rules. Rules that a person's answers have added since are part of it.
    pub(crate) policy: Policy,
    /// Its tools, sandbox and limits.
    pub(crate) bounds: RunBounds,
    /// When it began.
    pub(crate) since: Timestamp,
}

/// All that bounds the rights of a run besides what the process permits.
#[derive(Clone, Copy)]
pub(crate) struct RightsBounds<'a> {
    /// Its agent's definition, the one that this hides, and newer versions of it.
    pub(crate) definitions: &'a [Arc<AgentDefinition>],
    /// What the agent that gave it work lets it do.
    pub(crate) mandate: Option<&'a Mandate>,
    /// With what the run began, if it has begun.
    pub(crate) ceiling: Option<&'a RightsCeiling>,
}

/// The policy a mandate describes.
fn mandated(mandate: &Mandate) -> Policy {
    Policy::recorded(&PolicyNote {
        mode: mandate.permission_mode,
        allow: mandate.allow.clone(),
        ask: mandate.ask.clone(),
        deny: mandate.deny.clone(),
        skills: mandate.skills.clone(),
        wary: None,
    })
}

/// Narrows what a process permits by all that bounds a run. This is the one place where a policy is put together.
///
/// Invariant: with every bound there is at most as much as without it. Only a person's answer to a question that
/// was asked since the run began adds to what it began with.
pub(crate) fn narrowed(
    process: Policy,
    applicable: &ApplicableRules<'_>,
    bounds: RightsBounds<'_>,
) -> Policy {
    let mut policy = process;
    saved_rules::add(
        &mut policy,
        applicable.rules,
        applicable.sessions,
        applicable.home,
    );
    for definition in bounds.definitions {
        policy = effective_rights::narrowed(policy, definition);
    }
    if let Some(mandate) = bounds.mandate {
        policy = policy.narrowed_by(&mandated(mandate));
        add_missing(&mut policy, applicable.own());
    }
    if let Some(ceiling) = bounds.ceiling {
        policy = policy.narrowed_by(&ceiling.policy);
        add_missing(&mut policy, applicable.answered(ceiling.since));
    }
    policy
}

fn add_missing(policy: &mut Policy, rules: impl Iterator<Item = rooftree_tools::PermissionRule>) {
    for rule in rules {
        if !policy.allow.contains(&rule) {
            policy.allow.push(rule);
        }
    }
}

/// Limits of a definition, each no higher than those of another one.
pub(crate) fn limits_of_both(limits: &Limits, other: &AgentDefinition) -> Limits {
    let costs = [limits.max_cost_usd, other.limits.max_cost_usd];
    Limits {
        max_turns: other
            .max_turns
            .map_or(limits.max_turns, |turns| turns.min(limits.max_turns)),
        max_cost_usd: costs.into_iter().flatten().reduce(f64::min),
        depth: limits.depth.min(other.limits.depth),
        ..limits.clone()
    }
}

impl RuntimeContext {
    /// The definitions that bound an agent: its own and, if that is a project's, the one it hides.
    pub(crate) fn bounding(&self, definition: &Arc<AgentDefinition>) -> Vec<Arc<AgentDefinition>> {
        let hidden = self.options.agents.definitions.hidden_by(definition);
        [definition.clone()].into_iter().chain(hidden).collect()
    }

    /// The permission policy of a run.
    pub(crate) fn policy(
        &self,
        applicable: &ApplicableRules<'_>,
        bounds: RightsBounds<'_>,
    ) -> Policy {
        narrowed(self.options.rights.policy.clone(), applicable, bounds)
    }

    /// Confinement (sandbox) of the programs of a run: as strict as the process, the mandate, every definition and the
    /// bounds the run began with require.
    pub(crate) fn confinement(&self, bounds: RightsBounds<'_>) -> Confinement {
        let mut confinement = self.options.rights.sandbox.confinement.clone();
        if let Some(mandated) = bounds.mandate.and_then(|mandate| mandate.sandbox.as_ref()) {
            confinement = confinement.narrowed(mandated);
        }
        for definition in bounds.definitions {
            confinement = confinement.with(definition.sandbox, definition.network.as_ref());
            // Clients that use the agent over HTTP see what it reads.
            let exposed = if definition.api_exposed {
                Reading::OnlyHere
            } else {
                Reading::AsCommands
            };
            confinement.reading = confinement.reading.max(exposed);
        }
        match bounds.ceiling {
            Some(ceiling) => confinement.narrowed(&ceiling.bounds.sandbox),
            None => confinement,
        }
    }

    /// Where tools of an agent can be called by its commands, if it wants that; and what people should know if
    /// that cannot be had.
    pub(crate) async fn exposing(
        &self,
        agent: &str,
        mandate: Option<&Mandate>,
    ) -> Result<(Option<&CallSocketConfig>, Option<Notice>), Problem> {
        let definition = self.options.agents.definitions.find(agent)?;
        if definition.exposure == ToolExposure::Tools {
            return Ok((None, None));
        }
        let because = |why: &str, hint: &str| Notice {
            code: "exposure",
            message: format!("the tools of {agent} stay functions: {why}"),
            hint: Some(hint.to_owned()),
        };
        let Some(place) = self.call_socket.place() else {
            let why = "there is no directory for the socket that commands would use";
            return Ok((None, Some(because(why, "keep sessions in a file"))));
        };
        let definitions = [definition];
        let bounds = RightsBounds {
            definitions: &definitions,
            mandate,
            ceiling: None,
        };
        let is_confined = self.confinement(bounds).mode != SandboxMode::Off;
        if is_confined
            && rooftree_process::sandbox_probe::available_backend().await
                == Ok(SandboxBackend::Landlock)
        {
            let why = "commands are confined by Landlock here, which lets them use no socket";
            return Ok((None, Some(because(why, "install bubblewrap (bwrap)"))));
        }
        Ok((Some(place), None))
    }

    /// The resolved agent of this name, under a mandate if another agent delegates.
    pub(crate) fn resolved(
        &self,
        agent: &str,
        mandate: Option<&Mandate>,
    ) -> Result<Arc<ResolvedAgent>, Problem> {
        let project_context = self.options.agents.project_context.current();
        self.resolved_with(
            agent,
            (mandate, None),
            &McpAgentTools::default(),
            AgentPlace {
                project_context: &project_context,
                call_socket: None,
                has_chat: false,
            },
        )
    }

    /// The same with tools from servers, with those that are of use with what is around, with a place from
    /// where commands call tools, and with no more than the run began with.
    pub(crate) fn resolved_with(
        &self,
        agent: &str,
        (mandate, ceiling): (Option<&Mandate>, Option<&RunBounds>),
        offered: &McpAgentTools,
        around: AgentPlace<'_>,
    ) -> Result<Arc<ResolvedAgent>, Problem> {
        let (project_context, place) = (around.project_context, around.call_socket);
        let definition = self.options.agents.definitions.find(agent)?;
        let definitions = self.bounding(&definition);
        let mut key = resolved_key(&definition, mandate, offered);
        if place.is_some() {
            key += " exposed";
        }
        if !project_context.skills.is_empty() {
            key.push_str(" skills");
        }
        if around.has_chat {
            key.push_str(" chat");
        }
        if definitions.len() > 1 {
            // The hidden one may change too.
            key = format!("{key} within {}", self.options.agents.definitions.edition());
        }
        let make = |ceiling: Option<&RunBounds>| {
            let limits = self.limits(&definitions, mandate);
            let limits = ceiling.map_or_else(|| limits.clone(), |ceiling| ceiling.limit(&limits));
            // Those of servers come last: what a provider has read of the others stays good.
            let tools = Toolset::new(self.options.tools.all.iter().chain(&offered.tools).cloned());
            let mut tools = resolved_agent::useful(&tools, project_context);
            if !around.has_chat {
                tools = resolved_agent::without_chat(&tools, &definition);
            }
            let tools = within(&tools, definitions.get(1..), ceiling);
            Ok(ResolvedAgent::new(
                definition.clone(),
                limits,
                &tools,
                mandate,
                place,
            ))
        };
        let resolved = self.caches.resolved_agents.of(&key, || make(None))?;
        match ceiling.filter(|ceiling| !resolved.is_within(ceiling)) {
            Some(ceiling) => self
                .caches
                .resolved_agents
                .of(&format!("{key} {ceiling:?}"), || make(Some(ceiling))),
            None => Ok(resolved),
        }
    }

    /// The limits of a run, with what the process and the mandate say instead.
    fn limits(&self, definitions: &[Arc<AgentDefinition>], mandate: Option<&Mandate>) -> Limits {
        let Some((definition, hidden)) = definitions.split_first() else {
            return Limits::default();
        };
        let mut limits = definition.limits.clone();
        let options = &self.options;
        match mandate {
            None => {
                limits.max_turns = options
                    .limits
                    .max_turns
                    .or(definition.max_turns)
                    .unwrap_or(limits.max_turns);
                limits.max_cost_usd = options.limits.max_cost_usd.or(limits.max_cost_usd);
            }
            Some(mandate) => {
                let turns = mandate.max_turns.or(definition.max_turns);
                limits.max_turns = turns.unwrap_or(limits.child_turns);
                let costs = [mandate.max_cost_usd, limits.max_cost_usd];
                limits.max_cost_usd = costs.into_iter().flatten().reduce(f64::min);
            }
        }
        if let Some(limit) = options.limits.run_timeout {
            limits.run_timeout_secs = limit.as_secs().max(1);
        }
        if let Some(tokens) = options.limits.emergency_context
            && limits.emergency_context == Limits::default().emergency_context
        {
            limits.emergency_context = tokens;
        }
        limits = hidden
            .iter()
            .fold(limits, |limits, hidden| limits_of_both(&limits, hidden));
        // How deep delegation goes is decided by the first agent; one below it can only be kept from delegating at all.
        let root = mandate.and_then(|mandate| mandate.depth_limit);
        let given = [root, options.limits.depth].into_iter().flatten().min();
        limits.depth = match given {
            Some(_) if mandate.is_some() && limits.depth == 0 => 0,
            Some(depth) => depth,
            None => limits.depth,
        };
        limits.children = options.limits.children.unwrap_or(limits.children);
        limits.descendants = options.limits.descendants.unwrap_or(limits.descendants);
        limits.identical_calls = options
            .limits
            .identical_calls
            .unwrap_or(limits.identical_calls);
        limits
    }
}

/// What is around an agent and decides which tools are of use to it.
#[derive(Clone, Copy)]
pub(crate) struct AgentPlace<'a> {
    pub(crate) project_context: &'a ProjectContext,
    /// From where commands call tools.
    pub(crate) call_socket: Option<&'a CallSocketConfig>,
    /// Whether its session is a conversation with a chat.
    pub(crate) has_chat: bool,
}

/// These tools, without those that a hidden definition does not have and those the run did not begin with.
fn within(
    tools: &Toolset,
    hidden: Option<&[Arc<AgentDefinition>]>,
    ceiling: Option<&RunBounds>,
) -> Toolset {
    let hidden = hidden.into_iter().flatten();
    let tools = hidden.fold(tools.clone(), |tools, hidden| {
        resolved_agent::owned(&tools, hidden)
    });
    match ceiling.and_then(|ceiling| ceiling.tools.as_ref()) {
        Some(names) => tools.scoped(&Scope::only(names.iter().cloned())),
        None => tools,
    }
}

/// Cache key of a resolved agent. A definition that was changed is another one, at another address.
fn resolved_key(
    definition: &Arc<AgentDefinition>,
    mandate: Option<&Mandate>,
    offered: &McpAgentTools,
) -> String {
    let mut key = format!("{:p}", Arc::as_ptr(definition));
    if let Some(mandate) = mandate {
        let Mandate {
            mode,
            tools,
            max_turns,
            max_cost_usd,
            depth_limit,
            ..
        } = mandate;
        let (is_fork, is_asked, depth) = (
            *mode == RunMode::Fork,
            mandate.expects_answer(),
            mandate.depth(),
        );
        key = format!(
            "{key} {is_fork} {is_asked} {depth} {depth_limit:?} {max_turns:?} {max_cost_usd:?} {tools:?}"
        );
    }
    if !offered.tools.is_empty() {
        key = format!("{key} {}", offered.key);
    }
    key
}

#[cfg(test)]
mod tests;
