//! Rows that belong to no session: saved permission rules, agents made over the API, the audit log. Part of [`Store`](crate::Store).

use crate::{
    AgentRow, AgentWrite, AgentWriteOutcome, AuditEntry, AuditRow, Pending, RuleRow, RuleVersion,
};

/// Rows that belong to no session: saved permission rules, agents made over the API, the audit log.
pub trait RowStore: Send + Sync {
    /// Keeps a rule and gives it a number; one that is there already keeps its own, and is no change to audit.
    fn put_rule(&self, rule: RuleRow, audit: Option<AuditEntry>) -> Pending<i64>;

    /// Takes a rule away; says whether it was there.
    fn remove_rule(&self, number: i64, audit: Option<AuditEntry>) -> Pending<bool>;

    /// All rules people made, the oldest first.
    fn rules(&self) -> Pending<(RuleVersion, Vec<RuleRow>)>;

    /// Adds, changes or removes an agent, if it has the revision that is expected.
    fn write_agent(&self, write: AgentWrite) -> Pending<AgentWriteOutcome>;

    /// The agents of a tenant, by name.
    fn agents(&self, tenant: &str) -> Pending<Vec<AgentRow>>;

    /// Adds an entry to the audit log, for a change that is not in this store; gives its number.
    fn add_audit(&self, entry: AuditEntry) -> Pending<i64>;

    /// Entries of a tenant's audit log with a number above `after`, in order, at most `limit`. They are never changed
    /// or deleted.
    fn audit(&self, tenant: &str, after: i64, limit: usize) -> Pending<Vec<AuditRow>>;
}
