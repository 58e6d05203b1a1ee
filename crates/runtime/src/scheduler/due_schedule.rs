//! A schedule that is about to fire: its due time, what its gate said, and what belongs into one message with it.

use rooftree_store::{FiredSchedule, OccurrenceRow, ScheduleRow, ScheduledWork};

use super::tick::DueTime;

/// A schedule that fires.
pub(super) struct DueSchedule {
    pub(super) row: ScheduleRow,
    pub(super) time: DueTime,
    /// The occurrence before it that is not over.
    pub(super) before: Option<OccurrenceRow>,
    /// What its gate said to the agent.
    pub(super) gate_message: Option<String>,
    /// What its gate said to keep.
    pub(super) gate_state: Option<String>,
}

impl DueSchedule {
    pub(super) fn new(row: ScheduleRow, time: DueTime, before: Option<OccurrenceRow>) -> Self {
        Self {
            row,
            time,
            before,
            gate_message: None,
            gate_state: None,
        }
    }

    /// Whether its task belongs into the same message as these.
    pub(super) fn beats_with(&self, group: &[Self]) -> bool {
        let place = |one: &Self| {
            let plan = &one.row.plan;
            (
                one.row.account.clone(),
                plan.agent.clone(),
                plan.cwd.clone(),
                plan.target.clone(),
                plan.model.clone(),
                plan.context,
            )
        };
        let is_prompt = |one: &Self| matches!(one.row.plan.work, ScheduledWork::Prompt { .. });
        group.first().is_some_and(|first| {
            place(first) == place(self)
                && is_prompt(first)
                && is_prompt(self)
                // Rights of two makers are not added up.
                && first.row.plan.rights == self.row.plan.rights
        })
    }

    /// The same, for the transaction that fires it.
    pub(super) fn fired(&self) -> FiredSchedule {
        FiredSchedule {
            missed: self.time.missed.clone(),
            gate_state: self.gate_state.clone(),
            ..self.row.fired_at(self.time.due, self.time.next_due)
        }
    }
}
