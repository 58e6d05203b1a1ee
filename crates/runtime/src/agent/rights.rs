//! The current permission policy of an agent: settings, definitions and mandate, saved rules, the mode, and the bounds
//! the run began with.

use std::{
    path::Path,
    sync::{Arc, PoisonError},
};

use rooftree_protocol::{
    AgentDefinition, Confinement, EventBody, Mandate, Network, PermissionMode, RunBounds, Scope,
    SpawnThresholds,
    event::{NoticeLevel, PolicyNote, SkillNote},
};
use rooftree_tools::{Policy, SkillRestriction, mcp::Notice};

use super::{
    AgentActor, history::ChangedMode, journal::JournalCommit, permission::written,
    run_view::RunView,
};
use crate::{
    Error, resolved_agent,
    rights::{RightsBounds, RightsCeiling, limits_of_both},
    runtime_context::RuntimeContext,
    saved_rules::ApplicableRules,
    signals::Sender,
};

/// Inputs that a cached policy was built from, besides what never changes while an agent is awake.
pub(super) struct PolicyBasis {
    /// The edition of the rules people made.
    edition: u64,
    /// The mode, if it was changed.
    mode: Option<ChangedMode>,
    /// Whether something from outside was read.
    is_wary: bool,
    /// The skill and the command files that are followed.
    followed: Vec<SkillNote>,
}

/// The policy before the rules that people made were looked at: without those that allow.
pub(super) fn first(
    context: &RuntimeContext,
    definitions: &[Arc<AgentDefinition>],
    mandate: Option<&Mandate>,
) -> Policy {
    let applicable = ApplicableRules {
        rules: &[],
        sessions: &[],
        home: Path::new("/"),
    };
    context.policy(
        &applicable,
        RightsBounds {
            definitions,
            mandate,
            ceiling: None,
        },
    )
}

/// Whether these are the very same definitions.
pub(super) fn are_same(some: &[Arc<AgentDefinition>], others: &[Arc<AgentDefinition>]) -> bool {
    some.len() == others.len()
        && some
            .iter()
            .zip(others)
            .all(|(one, other)| Arc::ptr_eq(one, other))
}

/// Notice about a project's definition that shadows another one.
pub(super) fn hiding(bounding: &[Arc<AgentDefinition>]) -> Option<Notice> {
    let [own, hidden, ..] = bounding else {
        return None;
    };
    let name = &own.name;
    let rename = "rename it to give it rights of its own";
    let (whose, hint) = if hidden.source.level == rooftree_protocol::DefinitionLevel::Builtin {
        let hint = format!("{rename}; builtin/{name} is the built-in one");
        ("built-in", hint)
    } else {
        ("user's", rename.to_owned())
    };
    Some(Notice {
        code: "hides",
        message: format!(
            "agent `{name}` of this project hides the {whose} one of that name, and has no right that it lacks"
        ),
        hint: Some(hint),
    })
}

/// A definition without any right, in place of one that is gone.
fn nothing(agent: &str) -> Arc<AgentDefinition> {
    Arc::new(AgentDefinition {
        tools: Scope::only(Vec::<String>::new()),
        permission_mode: Some(PermissionMode::Plan),
        network: Some(Network::Off),
        ..AgentDefinition::new(agent)
    })
}

impl AgentActor {
    /// The most the open run may have, because it began with it; none if no run is open.
    ///
    /// Rules are those the journal told last, so that one that was taken away stays away until the next run. A run
    /// of an earlier version does not tell its bounds, and has the narrowest that can be meant.
    pub(super) fn ceiling(&self) -> Option<RightsCeiling> {
        let run = self.history.run()?;
        let bounds = run
            .rights
            .bounds
            .as_deref()
            .cloned()
            .unwrap_or_else(RunBounds::unrecorded);
        let mut policy = recorded(run);
        policy.mode = if run.rights.bounds.is_some() {
            bounds.mode
        } else {
            policy.mode.min(bounds.mode)
        };
        Some(RightsCeiling {
            policy,
            bounds,
            since: run.started_at,
        })
    }

    fn bounds<'a>(&'a self, ceiling: Option<&'a RightsCeiling>) -> RightsBounds<'a> {
        RightsBounds {
            definitions: &self.rights.definitions,
            mandate: self.mandate.as_deref(),
            ceiling,
        }
    }

    /// Current confinement (sandbox) of the programs it runs.
    pub(super) fn confinement(&self) -> Confinement {
        self.context
            .confinement(self.bounds(self.ceiling().as_ref()))
    }

    /// The same if the run had begun now.
    pub(super) fn fresh_confinement(&self) -> Confinement {
        self.context.confinement(self.bounds(None))
    }

    /// Upper bounds of a run that begins now, recorded for a process that resumes it.
    pub(super) fn run_bounds(&self) -> RunBounds {
        let limits = &self.resolved.limits;
        RunBounds {
            mode: self.process_mode(),
            tools: Some(
                self.resolved
                    .toolset
                    .names()
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
            ),
            sandbox: self.confinement(),
            max_turns: limits.max_turns,
            run_timeout_secs: limits.run_timeout_secs,
            max_cost_usd: limits.max_cost_usd,
            depth: limits.depth,
            spawn: self.spawn_thresholds(),
        }
    }

    /// How many agents one reply may start without asking: no more than when the run began.
    pub(super) fn spawn_thresholds(&self) -> SpawnThresholds {
        let process = self.context.options.rights.spawn;
        let began = self.ceiling().map(|ceiling| ceiling.bounds.spawn);
        began.map_or(process, |began| process.narrowed_by(&began))
    }

    /// Puts the policy together anew if people have made or taken away rules, a definition or the mode was changed,
    /// or a skill was loaded.
    pub(super) async fn renew_policy(&mut self) -> Result<(), Error> {
        self.narrow_to_definition();
        let (mode, is_wary) = (self.history.mode(), self.is_tainted());
        let is_current = |of: &PolicyBasis| {
            (of.mode, of.is_wary) == (mode, is_wary)
                && self.history.followed().eq(&of.followed)
                && self.context.caches.saved_rules.is_current(of.edition)
        };
        if self.rights.basis.as_ref().is_some_and(is_current) {
            return Ok(());
        }
        let followed: Vec<SkillNote> = self.history.followed().cloned().collect();
        let (edition, rules) = self
            .context
            .caches
            .saved_rules
            .read(&**self.context.store())
            .await?;
        let root = self.root();
        if !rules.is_empty() && root != self.session.id {
            let above = self.context.store().session(&root).await?;
            self.rights.home = above.map_or_else(|| self.session.cwd.clone(), |above| above.cwd);
        }
        let above = self
            .mandate
            .iter()
            .flat_map(|mandate| &mandate.above)
            .map(|above| &above.session);
        let sessions: Vec<_> = above.chain([&self.session.id]).cloned().collect();
        let applicable = ApplicableRules {
            rules: &rules,
            sessions: &sessions,
            home: &self.rights.home,
        };
        let ceiling = self.ceiling();
        let mut policy = self
            .context
            .policy(&applicable, self.bounds(ceiling.as_ref()));
        policy.mode = self.mode_now();
        if is_wary && policy.mode == PermissionMode::Auto {
            policy.mode = PermissionMode::AcceptEdits;
            self.announce_taint();
        }
        policy.followed.extend(
            followed
                .iter()
                .filter(|followed| followed.narrows())
                .map(SkillRestriction::of),
        );
        (self.rights.policy, self.rights.basis) = (
            policy,
            Some(PolicyBasis {
                edition,
                mode,
                is_wary,
                followed,
            }),
        );
        self.note_policy();
        Ok(())
    }

    /// A definition that was changed while its agent works narrows at once, and widens at the next run. One that is
    /// gone leaves nothing.
    fn narrow_to_definition(&mut self) {
        let edition = self.context.options.agents.definitions.edition();
        if edition == self.rights.edition || self.history.run().is_none() {
            return;
        }
        self.rights.edition = edition;
        let found = self
            .context
            .options
            .agents
            .definitions
            .find(&self.session.agent);
        let mut newer = found.map_or_else(
            |_| vec![nothing(&self.session.agent)],
            |found| self.context.bounding(&found),
        );
        newer.retain(|newer| self.rights.definitions.iter().all(|known| known != newer));
        if newer.is_empty() {
            return;
        }
        let tools = newer
            .iter()
            .fold(self.resolved.toolset.clone(), |tools, newer| {
                resolved_agent::owned(&tools, newer)
            });
        let limits = newer
            .iter()
            .fold(self.resolved.limits.clone(), |limits, newer| {
                limits_of_both(&limits, newer)
            });
        self.resolved = Arc::new(self.resolved.narrowed(tools, limits));
        self.rights.definitions.extend(newer);
        self.rights.basis = None;
    }

    /// The policy as the journal keeps it.
    pub(super) fn policy_note(&self) -> PolicyNote {
        let is_narrower = self.is_tainted() && self.mode_now() == PermissionMode::Auto;
        let wary = self
            .history
            .outside()
            .filter(|_| is_narrower)
            .map(str::to_owned);
        written(&self.rights.policy, wary)
    }

    /// Invariant: the last policy a run's journal tells is the one that calls are judged by.
    fn note_policy(&mut self) {
        let Some(run) = self.history.run() else {
            return;
        };
        let note = self.policy_note();
        if run.rights.policy.as_deref() != Some(&note) {
            self.note(EventBody::PolicyChanged(note));
        }
    }

    /// Whether what the model has read may speak through it.
    fn is_tainted(&self) -> bool {
        self.context.options.rights.wary && self.history.outside().is_some()
    }

    fn announce_taint(&mut self) {
        if self.rights.basis.as_ref().is_some_and(|of| of.is_wary) {
            return;
        }
        let from = self.history.outside().unwrap_or_default();
        let notice = EventBody::Notice {
            level: NoticeLevel::Info,
            code: "wary".into(),
            message: format!("from here on commands are asked about: the agent has read {from}"),
            hint: Some("allow rules still hold; [permission] wary = false changes that".into()),
        };
        self.say(notice);
    }

    /// Remembers that a person has changed the mode of this session here.
    pub(super) fn note_agreement(&self, body: &EventBody) {
        if matches!(body, EventBody::ModeChanged { mode: Some(_), by } if by == "user") {
            let mut mode_changes = self
                .context
                .mode_changes
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            mode_changes.insert(self.session.id.clone());
        }
    }

    /// Records the mode that a person wants for this session. Calls are judged by it from the next turn on.
    pub(super) fn change_mode(&mut self, mode: Option<PermissionMode>, who: Sender) {
        self.append(JournalCommit {
            bodies: vec![EventBody::ModeChanged {
                mode,
                by: "user".into(),
            }],
            run: self.run_id(),
            who,
            ..JournalCommit::default()
        });
    }

    fn is_agreed_here(&self) -> bool {
        let mode_changes = self
            .context
            .mode_changes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        mode_changes.contains(&self.session.id)
    }

    /// The highest mode that the definitions let it have.
    fn defined_mode(&self) -> PermissionMode {
        let modes = self
            .rights
            .definitions
            .iter()
            .filter_map(|definition| definition.permission_mode);
        modes.min().unwrap_or(PermissionMode::Bypass)
    }

    /// The mode of a run that begins in this process now.
    pub(super) fn process_mode(&self) -> PermissionMode {
        let mandated = self
            .mandate
            .as_ref()
            .map_or(PermissionMode::Bypass, |mandate| mandate.permission_mode);
        self.context
            .options
            .rights
            .policy
            .mode
            .min(mandated)
            .min(self.defined_mode())
    }

    /// The mode that holds: this process's or that in which the run began, whichever is narrower, with what was
    /// changed since.
    fn mode_now(&self) -> PermissionMode {
        let process = self.process_mode();
        let started_with = self
            .ceiling()
            .map_or(process, |ceiling| ceiling.policy.mode.min(process));
        match self.history.mode() {
            None => started_with,
            // The user may widen the mode of a top-level agent; that of a delegated agent is never widened.
            Some(changed) if changed.is_wish && self.mandate.is_none() => {
                // What a person agreed to in another process holds as far as this one permits it.
                let most = if self.is_agreed_here() {
                    self.defined_mode()
                } else {
                    process
                };
                changed.mode.min(most).min(self.highest_recorded())
            }
            Some(changed) => changed.mode.min(started_with),
        }
    }

    /// The highest mode for a run that does not tell its bounds.
    fn highest_recorded(&self) -> PermissionMode {
        let is_unrecorded = self
            .history
            .run()
            .is_some_and(|run| run.rights.bounds.is_none());
        if is_unrecorded {
            RunBounds::unrecorded().mode
        } else {
            PermissionMode::Bypass
        }
    }
}

/// The policy that a run's journal tells: the mode and skills it began with, the rules as they were told last.
fn recorded(run: &RunView) -> Policy {
    let Some(began) = run.rights.initial_policy.as_deref() else {
        return Policy {
            mode: PermissionMode::Plan,
            ..Policy::default()
        };
    };
    let last = run.rights.policy.as_deref().unwrap_or(began);
    Policy::recorded(&PolicyNote {
        mode: began.mode,
        skills: began.skills.clone(),
        ..last.clone()
    })
}
