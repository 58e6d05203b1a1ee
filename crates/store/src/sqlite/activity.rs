//! The activity of a session in its row: the fold of its events that the board is derived from.
//!
//! Invariant: it is written in the commit that holds the events. A begin or end of a run also moves the columns that
//! are indexed; nothing else does.

use rooftree_protocol::{EventBody, RunId, Timestamp};
use rooftree_view::board::{ActivityStep, SessionActivity};
use rusqlite::{Connection, params};

use super::{column, shared_text};
use crate::Error;

/// Reads what a row holds. What cannot be read is an activity without anything in it: `doctor verify` tells it.
pub(crate) fn read(text: &str) -> SessionActivity {
    column::activity(text)
}

/// The activity after some steps, as the row holds it; none if there are no steps.
pub(crate) struct ActivityUpdate {
    pub(crate) text: String,
    /// The columns that are indexed, if they change.
    moved: Option<BoardColumns>,
}

/// The columns by which the board finds a session.
struct BoardColumns {
    outcome: Option<&'static str>,
    rested_at: Option<i64>,
    has_failed: bool,
}

impl BoardColumns {
    fn of(activity: &SessionActivity) -> Self {
        let last = activity.last.as_ref();
        Self {
            outcome: last.map(|last| last.outcome.name()),
            rested_at: last.map(|last| last.ended.0),
            has_failed: activity.has_failed(),
        }
    }

    fn write(&self, connection: &Connection, session: i64) -> Result<(), Error> {
        // Only failures of root sessions are told: those below are told to the session that delegated.
        connection
            .prepare_cached(
                "UPDATE session SET outcome = ?2, rested_at = coalesce(?3, rested_at), unseen_failure = ?4 AND root_number IS NULL
                 WHERE number = ?1",
            )?
            .execute(params![session, self.outcome, self.rested_at, self.has_failed])?;
        Ok(())
    }
}

impl ActivityUpdate {
    pub(crate) fn of(stored: &str, steps: &[ActivityStep]) -> Result<Option<Self>, Error> {
        if steps.is_empty() {
            return Ok(None);
        }
        let mut activity = read(stored);
        steps.iter().for_each(|step| activity.apply(step));
        let moves = steps.iter().any(ActivityStep::moves_session);
        Ok(Some(Self {
            text: serde_json::to_string(&activity)?,
            moved: moves.then(|| BoardColumns::of(&activity)),
        }))
    }

    /// Moves the session on the board, if a run began or ended.
    pub(crate) fn move_session(&self, connection: &Connection, session: i64) -> Result<(), Error> {
        match &self.moved {
            Some(columns) => columns.write(connection, session),
            None => Ok(()),
        }
    }
}

/// The activity that a session's own journal tells.
pub(crate) fn fold(connection: &Connection, session: i64) -> Result<SessionActivity, Error> {
    let mut activity = SessionActivity::default();
    let types = ActivityStep::EVENTS.map(|name| format!("'{name}'"));
    let mut statement = connection.prepare_cached(&format!(
        "SELECT seq, ts, run, type, data, copies FROM journal WHERE session = ?1 AND type IN ({}) ORDER BY seq",
        types.join(", ")
    ))?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        let (name, data): (String, String) = (row.get(3)?, row.get(4)?);
        let copies: Option<String> = row.get(5)?;
        let data = shared_text::whole_data(connection, session, &data, copies.as_deref())?;
        let body: EventBody =
            serde_json::from_str(&format!(r#"{{"type":"{name}","data":{data}}}"#))?;
        let (seq, ts) = (column::count(row, 0)?, Timestamp(row.get(1)?));
        let run = column::id(row, 2, RunId::parse)?;
        ActivityStep::of_body(seq, ts, run.as_ref(), &body)
            .iter()
            .for_each(|step| activity.apply(step));
    }
    Ok(activity)
}

/// Writes all activities anew, from the journals. A journal that cannot be read has none.
pub(crate) fn recompute(connection: &Connection) -> Result<(), Error> {
    let mut statement = connection.prepare("SELECT number FROM session ORDER BY number")?;
    let sessions = statement.query_map([], |row| row.get::<_, i64>(0))?;
    for session in sessions.collect::<Result<Vec<_>, _>>()? {
        let activity = fold(connection, session).unwrap_or_default();
        connection
            .prepare_cached("UPDATE session SET activity = ?2 WHERE number = ?1")?
            .execute(params![session, serde_json::to_string(&activity)?])?;
        let columns = BoardColumns::of(&activity);
        columns.write(connection, session)?;
    }
    Ok(())
}

/// Sessions whose columns are not what their journal tells, and which ones.
pub(crate) fn differing(connection: &Connection) -> Result<Vec<(String, String)>, Error> {
    let mut statement = connection.prepare(
        "SELECT number, id, activity, outcome, rested_at, unseen_failure, created_at, root_number IS NULL,
             root_number IS (SELECT coalesce(p.root_number, p.number) FROM session p WHERE p.id = s.parent_session),
             s.run, EXISTS (SELECT 1 FROM inquiry i WHERE i.session = s.number AND i.settled = 0
                 AND i.run IS s.run AND s.run IS NOT NULL AND NOT EXISTS (
                     SELECT 1 FROM json_each(s.activity, '$.asked') a WHERE a.value = i.id))
         FROM session s ORDER BY number",
    )?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (number, id): (i64, String) = (row.get(0)?, row.get(1)?);
        let stored = read(&row.get::<_, String>(2)?);
        let Ok(told) = fold(connection, number) else {
            continue;
        };
        let columns = BoardColumns::of(&told);
        let outcome: Option<String> = row.get(3)?;
        let created: i64 = row.get(6)?;
        let rested_at = columns.rested_at.unwrap_or(created);
        let is_unseen = row.get(7)?
            && columns.has_failed
            && super::read_marks::is_unseen(connection, number, &told)?;
        let open: Option<String> = row.get(9)?;
        let checks = [
            ("activity", stored == told),
            ("outcome", outcome.as_deref() == columns.outcome),
            ("rested_at", row.get::<_, i64>(4)? == rested_at),
            ("unseen_failure", row.get::<_, bool>(5)? == is_unseen),
            ("root_number", row.get(8)?),
            (
                "run",
                open.as_deref() == told.run.as_ref().map(|open| open.run.as_str()),
            ),
            ("open questions", !row.get::<_, bool>(10)?),
        ];
        let wrong = checks.iter().filter(|(_, is_right)| !is_right);
        found.extend(
            wrong.map(|(what, _)| (id.clone(), format!("its {what} for the board is another"))),
        );
    }
    Ok(found)
}
