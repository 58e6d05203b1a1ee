//! Schedule records: schedules, their occurrences, and incidents of repeated failure.

mod occurrences;
mod plan;

use rooftree_protocol::{Account, Principal, Timestamp};

pub use self::occurrences::{
    FiredSchedule, FiringOutcome, FiringWork, IncidentReport, IncidentRow, IncidentState,
    OccurrenceFilter, OccurrenceReview, OccurrenceRow, OccurrenceState, OccurrenceUpdate,
    ScheduleFiring, SkippedOccurrence,
};
pub use self::plan::{
    CatchUp, GateCommand, Overlap, Pacing, ScheduleBudget, ScheduleEvent, ScheduleKind,
    SchedulePlan, ScheduledSession, ScheduledWork,
};
use crate::AuditEntry;

/// A schedule, as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleRow {
    /// Its id, made by the caller.
    pub id: String,
    /// The tenant and person it belongs to.
    pub account: Account,
    /// Counts changes of the plan, from 1.
    pub revision: u64,
    /// What people call it.
    pub name: String,
    /// What is to be done when.
    pub plan: SchedulePlan,
    /// Whether it fires.
    pub enabled: bool,
    /// Why it was switched off.
    pub disabled_reason: Option<String>,
    /// The next due time; none if there is none.
    pub next_due: Option<Timestamp>,
    /// When it is looked at next: the due time, or later if it was put off.
    pub wake_at: Option<Timestamp>,
    /// Failures in a row.
    pub streak: u32,
    /// Attempts in a row that reached no model.
    pub attempts: u32,
    /// What its gate command keeps from one time to the next.
    pub gate_state: Option<String>,
    /// Who changed it last.
    pub by: Principal,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its plan was changed last.
    pub updated_at: Timestamp,
}

/// A change of a schedule's row.
#[derive(Clone, Debug)]
pub struct ScheduleWrite {
    /// Which one.
    pub id: String,
    /// Whose.
    pub account: Account,
    /// How it is from now on; none to remove it.
    pub content: Option<ScheduleContent>,
    /// The revision it must have; none if there must be no such schedule.
    pub expected: Option<u64>,
    /// Who changes it.
    pub by: Principal,
    /// Now.
    pub at: Timestamp,
    /// The entry of the audit log that is written with it.
    pub audit: Option<AuditEntry>,
}

/// What is written of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleContent {
    /// What people call it.
    pub name: String,
    /// What is to be done when.
    pub plan: SchedulePlan,
    /// Whether it fires. Switching it on forgets its failures.
    pub enabled: bool,
    /// Why it is switched off.
    pub disabled_reason: Option<String>,
    /// The next due time.
    pub next_due: Option<Timestamp>,
}

/// What came of changing a schedule's row.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleWriteOutcome {
    /// As it is now; none if it was removed.
    Written(Option<Box<ScheduleRow>>),
    /// Another client changed it: as it is; none if there is none.
    Differs(Option<Box<ScheduleRow>>),
}

/// Which schedules to list.
#[derive(Clone, Debug, Default)]
pub struct ScheduleFilter {
    /// Only of this tenant.
    pub tenant: Option<String>,
    /// Only of this person.
    pub person: Option<String>,
    /// Only of these agents (without case).
    pub agents: Option<Vec<String>>,
    /// Only those after this id: the last one of a page.
    pub after: Option<String>,
    /// At most this many; zero for all.
    pub limit: usize,
}
