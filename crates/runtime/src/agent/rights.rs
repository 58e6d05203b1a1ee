//! What may happen without asking, as it is now: settings, definition and mandate, the rules people made, the mode.

use rooftree_protocol::{
    EventBody, PermissionMode,
    event::{NoticeLevel, PolicyNote, SkillNote},
};
use rooftree_tools::Followed;

use super::{Agent, history::ChangedMode, permission::written};
use crate::{Error, standing};

/// What a policy was put together from, besides what never changes while an agent is awake.
#[derive(Default, PartialEq)]
pub(super) struct Basis {
    /// The edition of the rules people made.
    edition: u64,
    /// The mode, if it was changed.
    mode: Option<ChangedMode>,
    /// Whether something from outside was read.
    is_wary: bool,
    /// The skill that is followed.
    skill: Option<SkillNote>,
}

impl Agent {
    /// Puts the policy together anew if people have made or taken away rules, the mode was changed, or a skill
    /// was loaded.
    pub(super) async fn renew_policy(&mut self) -> Result<(), Error> {
        let (mode, is_wary) = (self.history.mode(), self.is_wary());
        let of = &self.policy_of;
        let is_same = (of.mode, of.is_wary, of.skill.as_ref()) == (mode, is_wary, self.history.skill());
        if is_same && self.world.standing.is_current(of.edition) {
            return Ok(());
        }
        let skill = self.history.skill().cloned();
        let (edition, rules) = self.world.standing.read(&**self.world.store()).await?;
        let mut policy = self.world.policy(&self.kit.definition, self.mandate.as_deref());
        policy.mode = self.mode_now(policy.mode);
        if is_wary && policy.mode == PermissionMode::Auto {
            policy.mode = PermissionMode::AcceptEdits;
            self.tell_wariness();
        }
        let root = self.root();
        if !rules.is_empty() && root != self.session.id {
            let above = self.world.store().session(&root).await?;
            self.home = above.map_or_else(|| self.session.cwd.clone(), |above| above.cwd);
        }
        standing::add(&mut policy, &rules, &[root, self.session.id.clone()], &self.home);
        policy.followed.extend(skill.iter().filter(|skill| skill.narrows()).map(Followed::of));
        (self.policy, self.policy_of) = (policy, Basis { edition, mode, is_wary, skill });
        self.note_policy();
        Ok(())
    }

    /// The policy as the journal keeps it.
    pub(super) fn policy_note(&self) -> PolicyNote {
        let started_with = self.world.policy(&self.kit.definition, self.mandate.as_deref()).mode;
        let is_narrower = self.is_wary() && self.mode_now(started_with) == PermissionMode::Auto;
        let wary = self.history.outside().filter(|_| is_narrower).map(str::to_owned);
        written(&self.policy, wary)
    }

    /// Invariant: the last policy a run's journal tells is the one that calls are judged by.
    fn note_policy(&mut self) {
        let Some(run) = self.history.run() else { return };
        let note = self.policy_note();
        if run.policy.as_deref() != Some(&note) {
            self.note(EventBody::PolicyChanged(note));
        }
    }

    /// Whether what the model has read may speak through it.
    fn is_wary(&self) -> bool {
        self.world.options.wary && self.history.outside().is_some()
    }

    fn tell_wariness(&mut self) {
        if self.policy_of.is_wary {
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

    /// The mode that holds, given the one the session was started with.
    fn mode_now(&self, started_with: PermissionMode) -> PermissionMode {
        let highest = self.kit.definition.permission_mode.unwrap_or(PermissionMode::Bypass);
        match self.history.mode() {
            None => started_with,
            // Whoever the agent talks to may widen; for whoever works for another agent nobody can.
            Some(changed) if changed.is_wish && self.mandate.is_none() => changed.mode.min(highest),
            Some(changed) => changed.mode.min(started_with),
        }
    }
}
