//! Policies and verdicts made smaller, never larger.

use super::{Policy, Rule, Verdict};

impl Policy {
    /// What both allow. Kept are only rules that allow in both, and all that deny or ask in either.
    ///
    /// Invariant: no call is judged more freely than by either of the two.
    #[must_use]
    pub fn narrowed_by(&self, other: &Self) -> Self {
        let both = |rule: &&Rule| other.allow.contains(rule);
        Self {
            mode: self.mode.min(other.mode),
            allow: self.allow.iter().filter(both).cloned().collect(),
            ask: union(&self.ask, &other.ask),
            deny: union(&self.deny, &other.deny),
            followed: union(&self.followed, &other.followed),
        }
    }
}

impl Verdict {
    /// How much it lets happen: nothing, what a person says, all of it.
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
