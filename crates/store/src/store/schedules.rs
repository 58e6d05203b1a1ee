//! Schedules, their occurrences and incidents. Part of [`Store`](crate::Store).

use rooftree_protocol::{RunId, Timestamp};

use crate::{
    AuditEntry, FiringOutcome, IncidentRow, OccurrenceFilter, OccurrenceReview, OccurrenceRow,
    OccurrenceUpdate, Pending, ScheduleFilter, ScheduleFiring, ScheduleRow, ScheduleWrite,
    ScheduleWriteOutcome,
};

/// Schedules, their occurrences and incidents.
///
/// Contract. A due time of a schedule has at most one occurrence, whichever process fires it. The commit that starts or
/// ends the run of an occurrence (`append`) notes that in the occurrence.
pub trait ScheduleStore: Send + Sync {
    /// Adds, changes or removes a schedule, if it has the revision that is expected. Removing one removes its
    /// occurrences and incidents.
    fn write_schedule(&self, write: ScheduleWrite) -> Pending<ScheduleWriteOutcome>;

    /// One schedule.
    fn schedule(&self, id: &str) -> Pending<Option<ScheduleRow>>;

    /// Schedules, by id.
    fn schedules(&self, filter: ScheduleFilter) -> Pending<Vec<ScheduleRow>>;

    /// Enabled schedules that are to be looked at by now, the longest due first.
    fn due_schedules(&self, now: Timestamp, limit: usize) -> Pending<Vec<ScheduleRow>>;

    /// When the next schedule is to be looked at.
    fn next_due(&self) -> Pending<Option<Timestamp>>;

    /// Looks at a schedule that is due later than at its due time, if it is as it was read; says whether it is.
    fn put_off_schedule(&self, row: &ScheduleRow, until: Timestamp) -> Pending<bool>;

    /// Fires schedules or skips a due time.
    fn fire(&self, firing: ScheduleFiring) -> Pending<FiringOutcome>;

    /// Settles an occurrence that is open; says whether it was.
    fn settle_occurrence(&self, update: OccurrenceUpdate) -> Pending<bool>;

    /// Notes in the occurrence of a run when that run wants to be called again; says whether there is one.
    fn set_next_check(&self, run: &RunId, at: Timestamp) -> Pending<bool>;

    /// Occurrences of a schedule, the latest due time first.
    fn occurrences(&self, filter: OccurrenceFilter) -> Pending<Vec<OccurrenceRow>>;

    /// The occurrences of a run.
    fn occurrences_of_run(&self, run: &RunId) -> Pending<Vec<OccurrenceRow>>;

    /// Occurrences that are over and not reviewed, the earliest due time first.
    fn unreviewed_occurrences(&self, limit: usize) -> Pending<Vec<OccurrenceRow>>;

    /// Occurrences that are not over.
    fn open_occurrences(&self) -> Pending<Vec<OccurrenceRow>>;

    /// Tokens and US dollars that a schedule used for what was due since then.
    fn schedule_usage(&self, id: &str, since: Timestamp) -> Pending<(u64, f64)>;

    /// Keeps what follows from an occurrence; says whether it was not reviewed before.
    fn review_occurrence(&self, review: OccurrenceReview) -> Pending<bool>;

    /// The incidents of a schedule, the latest first.
    fn incidents(&self, schedule: &str) -> Pending<Vec<IncidentRow>>;

    /// No person is told of an incident any more; says whether it was there.
    fn acknowledge_incident(
        &self,
        schedule: &str,
        signature: &str,
        audit: Option<AuditEntry>,
    ) -> Pending<bool>;
}
