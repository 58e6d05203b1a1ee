//! Rows of occurrences: settled by the commit that ends their run, listed, reviewed.

use rooftree_protocol::{
    ErrorCode, Event, EventBody, RunId, RunStatus, SessionId, Timestamp, event::RunEnd,
};
use rooftree_stdx::shorten::shorten_first_line;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::incidents;
use crate::{
    Error, NewSessionRow, OccurrenceFilter, OccurrenceReview, OccurrenceRow, OccurrenceState,
    OccurrenceUpdate, SessionPatch,
    sqlite::{column, outbox, sessions},
};

/// Letters of an answer that an occurrence keeps.
const ANSWER: usize = 200;

/// What an event changes in the occurrences of its run.
pub(crate) struct OccurrenceStep {
    pub(super) run: RunId,
    pub(super) at: Timestamp,
    end: Option<OccurrenceResult>,
}

struct OccurrenceResult {
    status: RunStatus,
    state: OccurrenceState,
    reason: String,
    detail: Option<String>,
    tokens: u64,
    cost_usd: f64,
    calls: u32,
    answer: String,
}

impl OccurrenceStep {
    /// What this event changes, if it is the start or the end of a run.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        let end = match &event.body {
            EventBody::RunStarted { .. } => None,
            EventBody::RunCompleted(end) => Some(OccurrenceResult::of(end)),
            _ => return None,
        };
        Some(Self {
            run: event.run.clone()?,
            at: event.ts,
            end,
        })
    }

    /// How the run ended, if it did.
    pub(super) fn ended(&self) -> Option<RunStatus> {
        self.end.as_ref().map(|end| end.status)
    }
}

impl OccurrenceResult {
    fn of(end: &RunEnd) -> Self {
        let is_good = end.status == RunStatus::Completed && end.verified != Some(false);
        let reason = match &end.error {
            Some(error) => word(error.code),
            None => end.status.to_string(),
        };
        Self {
            status: end.status,
            state: if is_good {
                OccurrenceState::Completed
            } else {
                OccurrenceState::Failed
            },
            reason,
            detail: end.error.as_ref().map(|error| error.message.clone()),
            tokens: end.usage.total() + end.delegated.total(),
            cost_usd: end.usage.cost_usd + end.delegated.cost_usd,
            calls: end.turns,
            answer: shorten_first_line(&end.text, ANSWER),
        }
    }
}

/// The same word as in JSON.
fn word(code: ErrorCode) -> String {
    let word = serde_json::to_value(code).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

/// Notes that the run of an occurrence began or ended. Most runs have none: that is one look into an index.
pub(crate) fn note(connection: &Connection, step: &OccurrenceStep) -> Result<(), Error> {
    let Some(end) = &step.end else {
        connection
            .prepare_cached(
                "UPDATE occurrence SET state = 'running' WHERE run = ?1 AND state = 'claimed'",
            )?
            .execute([step.run.as_str()])?;
        return Ok(());
    };
    let is_failed = end.state == OccurrenceState::Failed;
    // What several tasks of one run used is counted once.
    connection
        .prepare_cached(
            "UPDATE occurrence SET state = ?2, reason = ?3, detail = ?4, calls = ?7, answer = ?8, ended_at = ?9,
                 tokens = CASE WHEN schedule = (SELECT min(schedule) FROM occurrence WHERE run = ?1) THEN ?5 ELSE 0 END,
                 cost_usd = CASE WHEN schedule = (SELECT min(schedule) FROM occurrence WHERE run = ?1) THEN ?6 ELSE 0 END
             WHERE run = ?1 AND state IN ('claimed', 'running', 'unknown')",
        )?
        .execute(params![
            step.run.as_str(),
            end.state.word(),
            is_failed.then_some(&end.reason),
            end.detail,
            column::signed(end.tokens),
            end.cost_usd,
            end.calls,
            end.answer,
            step.at.0,
        ])?;
    Ok(())
}

/// Settles an occurrence that is open.
pub(crate) fn settle(connection: &Connection, update: &OccurrenceUpdate) -> Result<bool, Error> {
    let settled = connection
        .prepare_cached(
            "UPDATE occurrence SET state = ?3, reason = ?4, detail = ?5, answer = ?6, ended_at = ?7
             WHERE schedule = ?1 AND due = ?2 AND state IN ('claimed', 'running')",
        )?
        .execute(params![
            update.schedule,
            update.due.0,
            update.state.word(),
            update.reason,
            update.detail,
            update.answer,
            update.at.0,
        ])?;
    Ok(settled > 0)
}

/// Notes when a run wants to be called again.
pub(crate) fn set_next_check(
    connection: &Connection,
    run: &RunId,
    at: Timestamp,
) -> Result<bool, Error> {
    let noted = connection
        .prepare_cached(
            "UPDATE occurrence SET next_check = ?2 WHERE run = ?1 AND state IN ('claimed', 'running')",
        )?
        .execute(params![run.as_str(), at.0])?;
    Ok(noted > 0)
}

/// Occurrences of a schedule, the latest due time first.
pub(crate) fn list(
    connection: &Connection,
    filter: &OccurrenceFilter,
) -> Result<Vec<OccurrenceRow>, Error> {
    let limit = if filter.limit == 0 {
        -1
    } else {
        column::limit(filter.limit)
    };
    let mut statement = connection.prepare_cached(
        "SELECT * FROM occurrence WHERE schedule = ?1 AND (?2 IS NULL OR due < ?2)
         ORDER BY due DESC LIMIT ?3 + 0",
    )?;
    all(statement.query(params![
        filter.schedule,
        filter.before.map(|at| at.0),
        limit
    ])?)
}

/// The occurrences of a run.
pub(crate) fn of_run(connection: &Connection, run: &RunId) -> Result<Vec<OccurrenceRow>, Error> {
    let sql = "SELECT * FROM occurrence WHERE run = ?1 ORDER BY schedule";
    let mut statement = connection.prepare_cached(sql)?;
    all(statement.query([run.as_str()])?)
}

/// Occurrences that are over and not reviewed.
pub(crate) fn unreviewed(
    connection: &Connection,
    limit: usize,
) -> Result<Vec<OccurrenceRow>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT * FROM occurrence WHERE reviewed = 0 AND state IN ('completed', 'failed', 'skipped', 'unknown')
         ORDER BY due LIMIT ?1 + 0",
    )?;
    all(statement.query([column::limit(limit)])?)
}

/// Occurrences that are not over.
pub(crate) fn open(connection: &Connection) -> Result<Vec<OccurrenceRow>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT * FROM occurrence WHERE reviewed = 0 AND state IN ('claimed', 'running') ORDER BY due",
    )?;
    all(statement.query([])?)
}

/// Tokens and US dollars that a schedule used.
pub(crate) fn used(
    connection: &Connection,
    id: &str,
    since: Timestamp,
) -> Result<(u64, f64), Error> {
    let sums = connection
        .prepare_cached(
            "SELECT coalesce(sum(tokens), 0), coalesce(sum(cost_usd), 0.0) FROM occurrence
             WHERE schedule = ?1 AND due >= ?2",
        )?
        .query_row(params![id, since.0], |row| {
            Ok((column::unsigned(row.get(0)?), row.get(1)?))
        })?;
    Ok(sums)
}

/// Keeps what follows from an occurrence, once.
pub(crate) fn review(connection: &Connection, review: &OccurrenceReview) -> Result<bool, Error> {
    let is_new = connection
        .prepare_cached(
            "UPDATE occurrence SET reviewed = 1 WHERE schedule = ?1 AND due = ?2 AND reviewed = 0",
        )?
        .execute(params![review.schedule, review.due.0])?
        > 0;
    if !is_new {
        return Ok(false);
    }
    if review.disable.is_some() || review.shown.is_some() {
        show(connection, review)?;
    }
    connection
        .prepare_cached(
            "UPDATE schedule SET streak = ?2, attempts = ?3, gate_state = coalesce(?4, gate_state),
                 next_due = coalesce(?5, next_due), wake_at = coalesce(?5, wake_at),
                 enabled = enabled AND ?6 IS NULL, disabled_reason = coalesce(?6, disabled_reason)
             WHERE id = ?1",
        )?
        .execute(params![
            review.schedule,
            review.streak,
            review.attempts,
            review.gate_state,
            review.next_due.map(|at| at.0),
            review.disable,
        ])?;
    match &review.incident {
        Some(report) => incidents::report(connection, &review.schedule, report, review.at)?,
        None => {
            incidents::resolve(connection, &review.schedule)?;
            incidents::show_no_more(connection, &review.schedule)?;
        }
    }
    for post in &review.outbox {
        outbox::post(connection, post)?;
    }
    Ok(true)
}

/// Remembers where the failures of a schedule are shown: in the tree of the last session that it had, else in the one
/// that is opened for it.
fn show(connection: &Connection, review: &OccurrenceReview) -> Result<(), Error> {
    let last: Option<String> = connection
        .prepare_cached(
            "SELECT root.id FROM occurrence o JOIN session s ON s.id = o.session
                 JOIN session root ON root.number = coalesce(s.root_number, s.number)
             WHERE o.schedule = ?1 AND root.deleted_at IS NULL ORDER BY o.due DESC LIMIT 1",
        )?
        .query_row([&review.schedule], |row| row.get(0))
        .optional()?;
    let session = match (last, &review.shown) {
        (None, Some(new)) => Some(reopened(connection, new)?),
        (last, _) => last,
    };
    connection
        .prepare_cached(
            "UPDATE schedule SET off_at = ?2, off_session = ?3 WHERE id = ?1 AND enabled = 1",
        )?
        .execute(params![review.schedule, review.at.0, session])?;
    Ok(())
}

/// The session of this key, which is shown again if it was deleted.
fn reopened(connection: &Connection, new: &NewSessionRow) -> Result<String, Error> {
    let session = sessions::open(connection, new)?.id;
    let patch = SessionPatch {
        deleted_at: Some(None),
        ..SessionPatch::default()
    };
    sessions::update(connection, &session, &patch)?;
    Ok(session.to_string())
}

fn all(mut rows: rusqlite::Rows<'_>) -> Result<Vec<OccurrenceRow>, Error> {
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn read(row: &Row<'_>) -> Result<OccurrenceRow, Error> {
    let word: String = row.get("state")?;
    let state = OccurrenceState::ALL
        .into_iter()
        .find(|state| state.word() == word);
    let time = |column: &str| {
        row.get::<_, Option<i64>>(column)
            .map(|at| at.map(Timestamp))
    };
    Ok(OccurrenceRow {
        schedule: row.get("schedule")?,
        due: Timestamp(row.get("due")?),
        state: state.unwrap_or(OccurrenceState::Unknown),
        reason: row.get("reason")?,
        detail: row.get("detail")?,
        session: column::id(row, "session", SessionId::parse)?,
        run: column::id(row, "run", RunId::parse)?,
        gate_state: row.get("gate_state")?,
        next_check: time("next_check")?,
        tokens: column::count(row, "tokens")?,
        cost_usd: row.get("cost_usd")?,
        calls: row.get("calls")?,
        answer: row.get("answer")?,
        started_at: Timestamp(row.get("started_at")?),
        ended_at: time("ended_at")?,
        reviewed: row.get("reviewed")?,
    })
}
