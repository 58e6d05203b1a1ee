//! Decides what becomes of a schedule that is due: fired, skipped or put off. Pure; `docs/schedules.md` has it as a table.

use rooftree_protocol::Timestamp;
use rooftree_schedule::{next_after, next_times, previous_or_at, stagger};
use rooftree_store::{CatchUp, Overlap, ScheduleKind, ScheduleRow, SkippedOccurrence};

use crate::schedules::{is_active, spec_of};

/// Milliseconds after a due time in which it counts as seen in time, as after a restart.
pub(crate) const GRACE: i64 = 60_000;
/// Seconds over which what is caught up is spread, so that not all of it begins at once.
pub(crate) const CATCH_UP_WINDOW: u64 = 300;
/// Due times that no scheduler saw of which each has its row; the rest are counted.
const LISTED: usize = 50;

/// What becomes of a schedule that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TickDecision {
    /// It is looked at again then.
    PutOff(Timestamp),
    /// It fires.
    Fire(DueTime),
    /// Nothing is done.
    Skip(DueTime, SkipReason),
}

/// A due time, those before it that no scheduler saw, and the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DueTime {
    pub(crate) due: Timestamp,
    pub(crate) next_due: Option<Timestamp>,
    pub(crate) missed: Vec<SkippedOccurrence>,
}

/// Why nothing is done at a due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SkipReason {
    /// Its gate command said so.
    Gate,
    /// The run before is not over.
    Overlap,
    /// It is outside of its active hours.
    InactiveHours,
    /// No scheduler saw it in time.
    TooOld,
    /// Its agent, model or target is not there.
    BlockedConfig,
    /// What it may cost within a day is used up.
    Budget,
}

impl SkipReason {
    /// Its word in the table.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Overlap => "overlap",
            Self::InactiveHours => "inactive_hours",
            Self::TooOld => "too_old",
            Self::BlockedConfig => "blocked_config",
            Self::Budget => "budget",
        }
    }
}

/// Decides at a moment about a schedule whose time has come. `is_open`: whether the run before is not over.
pub(crate) fn decide(row: &ScheduleRow, now: Timestamp, is_open: bool) -> Option<TickDecision> {
    let first = row.next_due?;
    let due = due_time(row, first, now);
    let age = now.0 - due.due.0;
    if age > GRACE {
        let oldest = i64::try_from(row.plan.max_age_secs.saturating_mul(1000)).unwrap_or(i64::MAX);
        if row.plan.catch_up == CatchUp::None || age > oldest {
            return Some(TickDecision::Skip(due, SkipReason::TooOld));
        }
        let is_put_off = row.wake_at.is_some_and(|wake_at| wake_at > first);
        if !is_put_off {
            let wait = stagger(&stagger_key(row), CATCH_UP_WINDOW).max(1) * 1000;
            let until = now.0 + i64::try_from(wait).unwrap_or(0);
            return Some(TickDecision::PutOff(Timestamp(until)));
        }
    }
    if !is_active(&row.plan, now) {
        return Some(TickDecision::Skip(due, SkipReason::InactiveHours));
    }
    if is_open && row.plan.overlap == Overlap::Skip {
        return Some(TickDecision::Skip(due, SkipReason::Overlap));
    }
    Some(TickDecision::Fire(due))
}

/// What its place within the window is computed from. The heartbeat tasks of an agent have one place: they are one
/// message.
fn stagger_key(row: &ScheduleRow) -> String {
    match row.plan.kind {
        ScheduleKind::Heartbeat => format!("{}/{}", row.account.person, row.plan.agent),
        ScheduleKind::Time | ScheduleKind::Event { .. } => row.id.clone(),
    }
}

/// The last due time until now. Those between the stored one and it were seen by no scheduler.
fn due_time(row: &ScheduleRow, first: Timestamp, now: Timestamp) -> DueTime {
    let Some(spec) = spec_of(&row.plan) else {
        return DueTime {
            due: first,
            next_due: None,
            missed: Vec::new(),
        };
    };
    let last = previous_or_at(&spec, now.0).map_or(first, |last| first.max(Timestamp(last)));
    let mut unseen = Vec::new();
    let mut at = first;
    while at < last && unseen.len() < LISTED {
        unseen.push(at);
        match next_times(&spec, at.0, 1).first() {
            Some(next) => at = Timestamp(*next),
            None => break,
        }
    }
    let is_more = at < last;
    let count = unseen.len();
    let missed = unseen
        .into_iter()
        .enumerate()
        .map(|(n, due)| SkippedOccurrence {
            due,
            reason: SkipReason::TooOld.word().to_owned(),
            detail: (is_more && n + 1 == count)
                .then(|| "later ones until the next listed were not seen either".to_owned()),
        });
    DueTime {
        due: last,
        next_due: next_after(&spec, now.0).map(Timestamp),
        missed: missed.collect(),
    }
}
