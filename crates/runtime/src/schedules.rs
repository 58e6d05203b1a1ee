//! Schedules as the runtime reads them: due times of a stored plan, drafts of clients, what is listed, and news of changes.

mod draft;
mod draft_checks;
mod info;

use rooftree_protocol::{ErrorCode, Problem, Timestamp};
use rooftree_schedule::{ActiveHours, ParseContext, ScheduleSpec};
use rooftree_store::{ScheduleKind, SchedulePlan};
use tokio::sync::watch;

pub(crate) use self::{
    draft::{DraftDefaults, content_of},
    draft_checks::check_against_store,
    info::{info, occurrence_info, preview},
};

/// Tells of changes of schedules and occurrences in this process.
#[derive(Default)]
pub(crate) struct ScheduleNews {
    /// For the scheduler: there may be something to do.
    work: watch::Sender<u64>,
    /// For those who show schedules.
    shown: watch::Sender<u64>,
}

impl ScheduleNews {
    /// Something changed that the scheduler has to look at.
    pub(crate) fn tell(&self) {
        self.work.send_modify(|count| *count += 1);
        self.tell_watchers();
    }

    /// The scheduler changed something.
    pub(crate) fn tell_watchers(&self) {
        self.shown.send_modify(|count| *count += 1);
    }

    /// Fires when the scheduler has to look.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.work.subscribe()
    }

    /// Fires after each change.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.shown.subscribe()
    }
}

/// Answers that say there is nothing to tell. Only as the whole answer.
const SILENT: [&str; 2] = ["NO_MESSAGE", "HEARTBEAT_OK"];

/// Whether the answer of a scheduled run says that there is nothing to tell.
pub(crate) fn is_silent(answer: &str) -> bool {
    SILENT.contains(&answer.trim())
}

/// The idempotency key of the message with the result of a command, which has no run.
pub(crate) fn result_key(schedule: &str, due: Timestamp) -> String {
    format!("schedule:{schedule}:{}", due.0)
}

/// The due times of a plan; none if an event makes it due, or if they cannot be read.
pub(crate) fn spec_of(plan: &SchedulePlan) -> Option<ScheduleSpec> {
    serde_json::from_value(plan.spec.clone()?).ok()
}

/// Whether a plan fires at this time of day. Invariant: active hours that cannot be read allow no time.
pub(crate) fn is_active(plan: &SchedulePlan, now: Timestamp) -> bool {
    plan.active_hours.as_ref().is_none_or(|written| {
        let hours = serde_json::from_value::<ActiveHours>(written.clone());
        hours.is_ok_and(|hours| hours.contains(now.0))
    })
}

/// The first due time after a moment.
pub(crate) fn due_after(plan: &SchedulePlan, after: Timestamp) -> Option<Timestamp> {
    if matches!(plan.kind, ScheduleKind::Event { .. }) {
        return None;
    }
    rooftree_schedule::next_after(&spec_of(plan)?, after.0).map(Timestamp)
}

/// What a written form means.
pub(crate) fn parsed(when: &str, zone: &str, now: Timestamp) -> Result<ScheduleSpec, Problem> {
    let context = ParseContext {
        now_ms: now.0,
        zone,
    };
    let spec = rooftree_schedule::parse(when, &context).map_err(|error| refused(&error))?;
    rooftree_schedule::validate(&spec).map_err(|error| refused(&error))?;
    Ok(spec)
}

/// The words of a refusal end with what to write instead, which is the fix.
fn refused(error: &rooftree_schedule::ScheduleError) -> Problem {
    let words = error.to_string();
    match words.rsplit_once("; ") {
        Some((message, fix)) => Problem::new(ErrorCode::InvalidArguments, message).fix(fix),
        None => Problem::new(ErrorCode::InvalidArguments, words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_answer_is_silent() {
        for (answer, silent) in [
            ("NO_MESSAGE", true),
            (" HEARTBEAT_OK\n", true),
            ("HEARTBEAT_OK, but the disk is full", false),
            ("Nothing. NO_MESSAGE", false),
            ("", false),
        ] {
            assert_eq!(is_silent(answer), silent, "{answer}");
        }
    }

    #[test]
    fn active_hours_that_cannot_be_read_allow_no_time() {
        let plan = |hours: serde_json::Value| -> SchedulePlan {
            serde_json::from_value(serde_json::json!({
                "kind": {"type": "time"},
                "zone": "UTC",
                "agent": "lead",
                "cwd": "/",
                "work": {"type": "prompt", "text": "Look."},
                "active_hours": hours,
            }))
            .unwrap()
        };
        let noon = Timestamp(12 * 3_600_000);
        assert!(is_active(&plan(serde_json::Value::Null), noon));
        assert!(!is_active(&plan(serde_json::json!("8 to late")), noon));
    }
}
