//! Rows that belong to no session: saved permission rules. Part of [`Store`](crate::Store).

use crate::{Pending, RuleRow, RuleVersion};

/// Rows that belong to no session: saved permission rules.
pub trait RowStore: Send + Sync {
    /// Keeps a rule and gives it a number; one that is there already keeps its own.
    fn put_rule(&self, rule: RuleRow) -> Pending<i64>;

    /// Takes a rule away; says whether it was there.
    fn remove_rule(&self, number: i64) -> Pending<bool>;

    /// All rules people made, the oldest first.
    fn rules(&self) -> Pending<(RuleVersion, Vec<RuleRow>)>;
}
