//! Schedules and occurrences as they are listed to clients.

use rooftree_protocol::{OccurrenceInfo, Problem, ScheduleInfo, SchedulePreview, Timestamp};
use rooftree_schedule::{describe, next_times};
use rooftree_store::{
    CatchUp, OccurrenceRow, Overlap, ScheduleEvent, ScheduleKind, SchedulePlan, ScheduleRow,
    ScheduledSession, ScheduledWork,
};
use serde_json::Value;

use super::{parsed, spec_of};

/// Due times that are shown ahead.
const SHOWN: usize = 5;

/// A schedule with what became of its last due times, the latest first.
pub(crate) fn info(row: &ScheduleRow, history: Vec<OccurrenceInfo>) -> ScheduleInfo {
    let plan = &row.plan;
    let (prompt, command) = match &plan.work {
        ScheduledWork::Prompt { text } => (Some(text.clone()), None),
        ScheduledWork::Command { command } => (None, Some(command.clone())),
    };
    ScheduleInfo {
        id: row.id.clone(),
        name: row.name.clone(),
        kind: plan.kind.word().to_owned(),
        words: words(plan),
        spec: plan.spec.clone().unwrap_or(Value::Null),
        zone: plan.zone.clone(),
        agent: plan.agent.clone(),
        prompt,
        command,
        gate: plan.gate.as_ref().map(|gate| gate.command.clone()),
        session: match &plan.session {
            ScheduledSession::New => "new".to_owned(),
            ScheduledSession::Reuse => "reuse".to_owned(),
            ScheduledSession::Known { id } => id.to_string(),
        },
        model: plan.model.clone(),
        context: plan.context.word().to_owned(),
        enabled: row.enabled,
        disabled_reason: row.disabled_reason.clone(),
        next_due: row.next_due.filter(|_| row.enabled),
        next: next(row),
        overlap: match plan.overlap {
            Overlap::Skip => "skip",
            Overlap::Queue => "queue",
        }
        .to_owned(),
        catch_up: match plan.catch_up {
            CatchUp::None => "none",
            CatchUp::Once => "once",
        }
        .to_owned(),
        target: plan.target.as_ref().map(ToString::to_string),
        fail_target: plan.fail_target.as_ref().map(ToString::to_string),
        budget: serde_json::to_value(&plan.budget).unwrap_or(Value::Null),
        active_hours: plan.active_hours.clone(),
        streak: row.streak,
        last: history.first().cloned(),
        history,
        person: row.account.person.clone(),
        rev: row.revision,
    }
}

/// When it is due, in words.
fn words(plan: &SchedulePlan) -> String {
    match &plan.kind {
        ScheduleKind::Event {
            on: ScheduleEvent::Webhook { name },
        } => format!("when the webhook {name} is called"),
        ScheduleKind::Event {
            on: ScheduleEvent::RunEnded { agent, status },
        } => {
            let of = agent.as_ref().map(|agent| format!(" of {agent}"));
            let how = status.map(|status| format!(" as {status}"));
            let (of, how) = (of.unwrap_or_default(), how.unwrap_or_default());
            format!("when a run{of} ends{how}")
        }
        ScheduleKind::Time | ScheduleKind::Heartbeat => {
            spec_of(plan).map_or_else(String::new, |spec| describe(&spec, &plan.zone))
        }
    }
}

/// The next due time and those after it.
fn next(row: &ScheduleRow) -> Vec<Timestamp> {
    let (Some(first), Some(spec), true) = (row.next_due, spec_of(&row.plan), row.enabled) else {
        return Vec::new();
    };
    let later = next_times(&spec, first.0, SHOWN - 1);
    std::iter::once(first)
        .chain(later.into_iter().map(Timestamp))
        .collect()
}

/// What a written form means.
pub(crate) fn preview(when: &str, zone: &str, now: Timestamp) -> Result<SchedulePreview, Problem> {
    let spec = parsed(when, zone, now)?;
    let next = next_times(&spec, now.0, SHOWN);
    Ok(SchedulePreview {
        words: describe(&spec, zone),
        spec: serde_json::to_value(&spec).unwrap_or(Value::Null),
        next: next.into_iter().map(Timestamp).collect(),
    })
}

/// An occurrence, with how far its result is on the way to a chat.
pub(crate) fn occurrence_info(row: OccurrenceRow, delivery: &str) -> OccurrenceInfo {
    OccurrenceInfo {
        due: row.due,
        execution: row.state.word().to_owned(),
        delivery: delivery.to_owned(),
        reason: row.reason,
        detail: row.detail,
        run: row.run,
        session: row.session,
        answer: row.answer,
        tokens: row.tokens,
        cost_usd: row.cost_usd,
        started: row.started_at,
        ended: row.ended_at,
    }
}
