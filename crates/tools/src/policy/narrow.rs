//! Narrows policies and verdicts: the result never allows more than either input.

use rooftree_protocol::{PermissionMode, event::PolicyNote};

use super::{PermissionRule, Policy, PolicyVerdict, SkillRestriction};

impl Policy {
    /// What both allow. Kept are only rules that allow in both, and all that deny or ask in either.
    ///
    /// Invariant: no call is judged more freely than by either of the two.
    #[must_use]
    pub fn narrowed_by(&self, other: &Self) -> Self {
        let both = |rule: &&PermissionRule| other.allow.contains(rule);
        Self {
            mode: self.mode.min(other.mode),
            allow: self.allow.iter().filter(both).cloned().collect(),
            ask: union(&self.ask, &other.ask),
            deny: union(&self.deny, &other.deny),
            followed: union(&self.followed, &other.followed),
        }
    }

    /// The same policy in this mode at most: for a bound that has no rules of its own.
    #[must_use]
    pub fn in_mode_at_most(self, mode: PermissionMode) -> Self {
        Self {
            mode: self.mode.min(mode),
            ..self
        }
    }

    /// A policy as a journal or a mandate records it.
    ///
    /// Invariant: a rule that cannot be parsed narrows. One that allows is left out; one that refuses or asks
    /// may have been about anything, so only looking is left.
    pub fn recorded(note: &PolicyNote) -> Self {
        let parsed = |rules: &[String]| -> Vec<PermissionRule> {
            rules
                .iter()
                .filter_map(|rule| PermissionRule::parse(rule).ok())
                .collect()
        };
        let (ask, deny) = (parsed(&note.ask), parsed(&note.deny));
        let is_whole = ask.len() == note.ask.len() && deny.len() == note.deny.len();
        let policy = Self {
            mode: note.mode,
            allow: parsed(&note.allow),
            ask,
            deny,
            followed: note.skills.iter().map(SkillRestriction::of).collect(),
        };
        if is_whole {
            policy
        } else {
            policy.in_mode_at_most(PermissionMode::Plan)
        }
    }
}

impl PolicyVerdict {
    /// Rank of a verdict: deny, ask, allow.
    pub fn freedom(&self) -> u8 {
        match self {
            Self::Deny(_) => 0,
            Self::Ask(_) => 1,
            Self::Allow(_) => 2,
        }
    }
}

fn union<T: Clone + PartialEq>(one: &[T], other: &[T]) -> Vec<T> {
    let mut all = one.to_vec();
    all.extend(other.iter().filter(|more| !one.contains(more)).cloned());
    all
}
