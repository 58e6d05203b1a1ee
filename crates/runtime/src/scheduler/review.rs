//! Draws conclusions from an occurrence that is over: failures in a row, incidents, alerts, back-off, switching off.

use rooftree_protocol::{ChatTarget, Timestamp};
use rooftree_store::{
    IncidentReport, IncidentRow, IncidentState, OccurrenceReview, OccurrenceRow, OccurrenceState,
    OutboxBody, OutboxKind, OutboxPost, ScheduleRow,
};

use super::tick::SkipReason;
use crate::schedules::{is_silent, result_key};

/// Failures in a row after which its owner is told.
const ALERT_AFTER: u32 = 2;
/// Failures in a row after which a schedule is switched off.
const OFF_AFTER: u32 = 10;
/// Minutes after which a run that reached no model is tried again.
const RETRIES: [i64; 3] = [5, 15, 30];

/// What follows from an occurrence. `known`: the incidents of the schedule; `chat`: where failures are told.
pub(crate) fn review(
    row: &ScheduleRow,
    occurrence: &OccurrenceRow,
    known: &[IncidentRow],
    chat: Option<&ChatTarget>,
    now: Timestamp,
) -> OccurrenceReview {
    let quiet = OccurrenceReview {
        schedule: row.id.clone(),
        due: occurrence.due,
        streak: 0,
        attempts: 0,
        gate_state: None,
        next_due: None,
        disable: None,
        incident: None,
        outbox: Vec::new(),
        shown: None,
        at: now,
    };
    match occurrence.state {
        OccurrenceState::Completed => OccurrenceReview {
            gate_state: occurrence.gate_state.clone(),
            next_due: occurrence.next_check.filter(|_| row.enabled),
            outbox: result(row, occurrence, now).into_iter().collect(),
            ..quiet
        },
        _ => failed(row, occurrence, quiet, (known, chat)),
    }
}

fn failed(
    row: &ScheduleRow,
    occurrence: &OccurrenceRow,
    quiet: OccurrenceReview,
    (known, chat): (&[IncidentRow], Option<&ChatTarget>),
) -> OccurrenceReview {
    if let Some(again) = retried_at(row, occurrence, quiet.at) {
        return OccurrenceReview {
            streak: row.streak,
            attempts: row.attempts + 1,
            next_due: Some(again),
            incident: Some(report(occurrence, false)),
            ..quiet
        };
    }
    let is_budget = occurrence.reason.as_deref() == Some(SkipReason::Budget.word());
    let is_blocked = occurrence.reason.as_deref() == Some(SkipReason::BlockedConfig.word());
    // A budget that is used up is no failure of the work: it is told once and fires again tomorrow.
    let streak = row.streak + u32::from(!is_budget);
    let is_off = streak >= OFF_AFTER;
    let is_due = is_off || is_budget || is_blocked || streak >= ALERT_AFTER;
    let mut incident = report(occurrence, false);
    let is_told = known.iter().any(|one| {
        one.signature == incident.signature
            && matches!(
                one.state,
                IncidentState::Alerted | IncidentState::Acknowledged
            )
    });
    let is_silenced = known
        .iter()
        .any(|one| one.signature == incident.signature && one.state == IncidentState::Acknowledged);
    incident.alerted = is_due && !is_told;
    let is_sent = incident.alerted || (is_off && !is_silenced);
    let disable =
        is_off.then(|| format!("{streak} failures in a row, the last: {}", incident.words));
    let outbox = chat.filter(|_| is_sent).map(|target| {
        alert(
            row,
            occurrence,
            target,
            disable.as_deref().unwrap_or(&incident.words),
            quiet.at,
        )
    });
    OccurrenceReview {
        streak,
        disable,
        incident: Some(incident),
        outbox: outbox.into_iter().collect(),
        ..quiet
    }
}

/// Whether the board has to show it: the schedule is off now, or it failed without a run and no person was told.
pub(crate) fn is_for_board(review: &OccurrenceReview, occurrence: &OccurrenceRow) -> bool {
    let is_alert = review
        .incident
        .as_ref()
        .is_some_and(|incident| incident.alerted);
    let is_untold = is_alert && review.outbox.is_empty() && occurrence.session.is_none();
    review.disable.is_some() || is_untold
}

/// When a run that reached no model is tried again: without a model's reply nothing was spent. Never past the next due
/// time.
fn retried_at(row: &ScheduleRow, occurrence: &OccurrenceRow, now: Timestamp) -> Option<Timestamp> {
    let is_unreachable = occurrence.reason.as_deref() == Some("provider_unavailable");
    if !is_unreachable || occurrence.calls > 0 || occurrence.tokens > 0 || !row.enabled {
        return None;
    }
    let minutes = RETRIES.get(usize::try_from(row.attempts).ok()?)?;
    let again = Timestamp(now.0 + minutes * 60_000);
    row.next_due
        .is_none_or(|next| again < next)
        .then_some(again)
}

fn report(occurrence: &OccurrenceRow, alerted: bool) -> IncidentReport {
    let reason = occurrence.reason.as_deref().unwrap_or("unknown");
    let words = match &occurrence.detail {
        Some(detail) => format!("{reason}: {detail}"),
        None if occurrence.state == OccurrenceState::Unknown => {
            "nobody knows what became of it: its process died".to_owned()
        }
        None => reason.to_owned(),
    };
    IncidentReport {
        signature: signature(&words),
        words,
        alerted,
    }
}

/// What failures with the same cause have in common: their words without numbers, ids and quoted parts.
pub(crate) fn signature(words: &str) -> String {
    let mut plain = String::new();
    let mut is_quoted = false;
    for word in words.split_whitespace() {
        let ticks = word.matches(['`', '"']).count();
        let was_quoted = is_quoted;
        is_quoted ^= ticks % 2 == 1;
        let has_digit = word.chars().any(|c| c.is_ascii_digit());
        let shown = if was_quoted || ticks > 0 || has_digit {
            "#"
        } else {
            word
        };
        if !(shown == "#" && plain.ends_with('#')) {
            plain.push_str(if plain.is_empty() { "" } else { " " });
            plain.push_str(shown);
        }
    }
    let plain = plain.to_lowercase();
    plain.chars().take(120).collect()
}

/// The result of a command without a model. That of a run is sent by the run.
fn result(row: &ScheduleRow, occurrence: &OccurrenceRow, at: Timestamp) -> Option<OutboxPost> {
    let text = occurrence
        .answer
        .clone()
        .filter(|_| occurrence.run.is_none())?;
    if text.is_empty() || is_silent(&text) {
        return None;
    }
    let key = result_key(&row.id, occurrence.due);
    Some(OutboxPost {
        id: format!("out_{key}"),
        key,
        account: row.account.clone(),
        session: None,
        run: None,
        kind: OutboxKind::Final,
        target: row.plan.target.clone()?,
        body: OutboxBody::Text { text },
        at,
    })
}

fn alert(
    row: &ScheduleRow,
    occurrence: &OccurrenceRow,
    target: &ChatTarget,
    words: &str,
    at: Timestamp,
) -> OutboxPost {
    let what = if row.streak + 1 >= OFF_AFTER {
        "is switched off"
    } else {
        "failed"
    };
    let key = format!("schedule:{}:{}:failed", row.id, occurrence.due.0);
    OutboxPost {
        id: format!("out_{key}"),
        key,
        account: row.account.clone(),
        session: occurrence.session.clone(),
        run: occurrence.run.clone(),
        kind: OutboxKind::Notice,
        target: target.clone(),
        body: OutboxBody::Text {
            text: format!("The schedule **{}** {what}: {words}", row.name),
        },
        at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_that_differ_in_numbers_and_names_have_one_signature() {
        let one = signature("provider_unavailable: 503 from `host-1` after 1200 ms");
        let other = signature("provider_unavailable: 502 from `host-2` after 7 ms");
        assert_eq!(one, other);
        assert_ne!(one, signature("unauthorized: the key is missing"));
    }
}
