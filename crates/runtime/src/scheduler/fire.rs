//! Fires due schedules: checks, gate, then the one transaction.

use std::{sync::Arc, time::Duration};

use rooftree_protocol::Timestamp;
use rooftree_stdx::shorten::shorten;
use rooftree_store::{
    FiringOutcome, FiringWork, OccurrenceRow, OccurrenceState, OccurrenceUpdate, ScheduleFiring,
    ScheduleRow, ScheduledWork,
};

use super::{
    COMMAND_TIME, Scheduler,
    due_schedule::DueSchedule,
    gate::{self, GATE_TIME, GateVerdict},
    message,
    shell_command::ScheduleCommand,
    tick::{SkipReason, TickDecision, decide},
};
use crate::{Error, signals::AgentSignal};

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// Letters of a command's output that its occurrence keeps.
const ANSWER: usize = 2000;

impl Scheduler {
    /// The schedule, if it fires. Otherwise it is skipped or put off here.
    pub(super) async fn decided(
        &self,
        row: ScheduleRow,
        open: &[OccurrenceRow],
    ) -> Result<Option<DueSchedule>, Error> {
        let before = open.iter().rfind(|one| one.schedule == row.id).cloned();
        let time = match decide(&row, self.now(), before.is_some()) {
            None => return Ok(None),
            Some(TickDecision::PutOff(until)) => {
                self.store().put_off_schedule(&row, until).await?;
                return Ok(None);
            }
            Some(TickDecision::Skip(time, reason)) => {
                let one = DueSchedule::new(row, time, before);
                self.skip(&one, reason.word(), None, None).await?;
                return Ok(None);
            }
            Some(TickDecision::Fire(time)) => time,
        };
        let one = DueSchedule::new(row, time, before);
        if let Some(why) = self.blocked(&one.row).await? {
            let failed = Some(OccurrenceState::Failed);
            let reason = SkipReason::BlockedConfig.word();
            self.skip(&one, reason, Some(why), failed).await?;
            return Ok(None);
        }
        if let Some(why) = self.spent(&one.row).await? {
            let skipped = Some(OccurrenceState::Skipped);
            let reason = SkipReason::Budget.word();
            self.skip(&one, reason, Some(why), skipped).await?;
            return Ok(None);
        }
        Ok(Some(one))
    }

    /// Why the budget of the last 24 hours does not allow another run.
    async fn spent(&self, row: &ScheduleRow) -> Result<Option<String>, Error> {
        let budget = &row.plan.budget;
        if budget.day_tokens.is_none() && budget.day_usd.is_none() {
            return Ok(None);
        }
        let since = Timestamp(self.now().0 - DAY);
        let (tokens, usd) = self.store().schedule_usage(&row.id, since).await?;
        let over_tokens = budget.day_tokens.filter(|most| tokens >= *most);
        let over_usd = budget.day_usd.filter(|most| usd >= *most);
        Ok(match (over_tokens, over_usd) {
            (Some(most), _) => Some(format!("{tokens} of {most} tokens of a day are used")),
            (None, Some(most)) => Some(format!("${usd:.4} of ${most:.4} of a day are spent")),
            (None, None) => None,
        })
    }

    /// Records that nothing is done at a due time. `reviewed_as`: how the occurrence is, if the scheduler draws
    /// conclusions from it.
    async fn skip(
        &self,
        one: &DueSchedule,
        reason: &str,
        detail: Option<String>,
        reviewed_as: Option<OccurrenceState>,
    ) -> Result<(), Error> {
        let fired = self.store().fire(ScheduleFiring {
            schedules: vec![one.fired()],
            work: FiringWork::Skip {
                reason: reason.to_owned(),
                detail,
                state: reviewed_as.unwrap_or(OccurrenceState::Skipped),
                needs_review: reviewed_as.is_some(),
            },
            at: self.now(),
        });
        fired.await?;
        self.context.schedule_news.tell_watchers();
        Ok(())
    }

    /// Begins with schedules that fire as one. A gate may take a while: meanwhile others are looked at, and no other
    /// process asks it.
    pub(super) async fn begin(self: &Arc<Self>, group: Vec<DueSchedule>) -> Result<(), Error> {
        let has_gate = |one: &DueSchedule| one.row.plan.gate.is_some();
        if !group.iter().any(has_gate) {
            return self.fire(group).await;
        }
        let wait = GATE_TIME + Duration::from_secs(5);
        let mut own = Vec::new();
        for one in group {
            let until = self.now().after(wait);
            if self.store().put_off_schedule(&one.row, until).await? {
                own.push(one);
            }
        }
        let scheduler = self.clone();
        self.context.task_tracker.spawn(async move {
            // A store that fails has told so; what was put off is looked at again.
            let _ = scheduler.fire_past_gates(own).await;
        });
        Ok(())
    }

    async fn fire_past_gates(self: &Arc<Self>, group: Vec<DueSchedule>) -> Result<(), Error> {
        let mut passed = Vec::new();
        for mut one in group {
            match gate::ask(&self.context, &one.row).await {
                _ if self.context.closing.is_cancelled() => return Ok(()),
                GateVerdict::Fire { message, state } => {
                    (one.gate_message, one.gate_state) = (message, state);
                    passed.push(one);
                }
                GateVerdict::Skip => {
                    let reason = SkipReason::Gate.word();
                    self.skip(&one, reason, None, None).await?;
                }
                GateVerdict::Error(words) => {
                    let failed = Some(OccurrenceState::Failed);
                    self.skip(&one, "gate_error", Some(words), failed).await?;
                    self.context.schedule_news.tell();
                }
            }
        }
        self.fire(passed).await
    }

    /// Fires schedules as one message, or one by running its command.
    async fn fire(self: &Arc<Self>, group: Vec<DueSchedule>) -> Result<(), Error> {
        let Some(first) = group.first() else {
            return Ok(());
        };
        let is_command = matches!(first.row.plan.work, ScheduledWork::Command { .. });
        let work = if is_command {
            FiringWork::Command
        } else {
            match message::post(&self.context, &group, first.before.as_ref())? {
                Some(work) => work,
                None => return Ok(()),
            }
        };
        let firing = ScheduleFiring {
            schedules: group.iter().map(DueSchedule::fired).collect(),
            work,
            at: self.now(),
        };
        match self.store().fire(firing).await {
            Ok(FiringOutcome::Fired(Some(session))) => {
                self.router.wake(&session, AgentSignal::Mail)
            }
            Ok(FiringOutcome::Fired(None)) => self.spawn_command(group),
            Ok(FiringOutcome::Lost) => {}
            Err(error) => self.refuse(&group, &error).await?,
        }
        self.context.schedule_news.tell_watchers();
        Ok(())
    }

    /// The session takes no message: it is deleted or full. That is a failure of this due time, and of no other.
    async fn refuse(
        &self,
        group: &[DueSchedule],
        error: &rooftree_store::Error,
    ) -> Result<(), Error> {
        for one in group {
            let failed = Some(OccurrenceState::Failed);
            let reason = SkipReason::BlockedConfig.word();
            self.skip(one, reason, Some(error.to_string()), failed)
                .await?;
        }
        Ok(())
    }

    fn spawn_command(self: &Arc<Self>, group: Vec<DueSchedule>) {
        for one in group {
            let scheduler = self.clone();
            self.context.task_tracker.spawn(async move {
                // A store that fails leaves the occurrence open, and it is given up later.
                let _ = scheduler.run_command(&one).await;
            });
        }
    }

    /// Runs the command of a schedule. Its output is the result.
    async fn run_command(&self, one: &DueSchedule) -> Result<(), Error> {
        let ScheduledWork::Command { command } = &one.row.plan.work else {
            return Ok(());
        };
        let command = ScheduleCommand {
            row: &one.row,
            line: command,
            input: one.gate_message.clone().unwrap_or_default(),
            time: COMMAND_TIME,
        };
        let (state, reason, detail, answer) = match command.run(&self.context).await {
            _ if self.context.closing.is_cancelled() => return Ok(()),
            Ok(ended) if ended.code == Some(0) => {
                (OccurrenceState::Completed, None, None, Some(ended.printed))
            }
            Ok(ended) => {
                let code = ended
                    .code
                    .map_or("a signal".to_owned(), |code| format!("exit code {code}"));
                let detail = format!("{code}: {}", shorten(&ended.errors, 200));
                let failed = OccurrenceState::Failed;
                (
                    failed,
                    Some("command".to_owned()),
                    Some(detail),
                    Some(ended.printed),
                )
            }
            Err(words) => {
                let failed = OccurrenceState::Failed;
                (failed, Some("command".to_owned()), Some(words), None)
            }
        };
        let settled = self.store().settle_occurrence(OccurrenceUpdate {
            schedule: one.row.id.clone(),
            due: one.time.due,
            state,
            reason,
            detail,
            answer: answer.map(|text| shorten(text.trim(), ANSWER)),
            at: self.now(),
        });
        settled.await?;
        self.context.schedule_news.tell();
        Ok(())
    }
}
