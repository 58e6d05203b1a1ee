//! Reads journals. A fork's journal is its ancestors' up to where each branched off, then its own.

use rooftree_protocol::{Event, RunId, SessionId, Timestamp, event::VERSION};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{column, shared_text};
use crate::Error;

/// The part of one session's own journal that belongs to a (possibly forked) journal.
struct JournalSegment {
    number: i64,
    session: SessionId,
    agent: String,
    /// The last number before it.
    after: u64,
    /// Its last number.
    upto: u64,
}

/// Events with a number above `after`, in order.
pub(crate) fn events(
    connection: &Connection,
    id: &SessionId,
    after: u64,
    limit: usize,
) -> Result<Vec<Event>, Error> {
    let number = connection
        .prepare_cached("SELECT number FROM session WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| Error::NoSession(id.clone()))?;
    let mut events = Vec::new();
    for stretch in lineage(connection, number, after)?.iter().rev() {
        let rest = limit.saturating_sub(events.len());
        if rest == 0 {
            break;
        }
        read(
            connection,
            stretch,
            stretch.after.max(after),
            rest,
            &mut events,
        )?;
    }
    Ok(events)
}

/// The stretches a journal consists of, newest first, as far back as `after`.
fn lineage(connection: &Connection, number: i64, after: u64) -> Result<Vec<JournalSegment>, Error> {
    let mut statement = connection
        .prepare_cached("SELECT id, agent, fork_session, fork_at FROM session WHERE number = ?1")?;
    let mut stretches = Vec::new();
    let (mut next, mut upto) = (Some(number), u64::MAX);
    while let Some(number) = next.filter(|_| upto > after) {
        let mut rows = statement.query([number])?;
        let Some(row) = rows.next()? else { break };
        let begin = column::count(row, "fork_at")?;
        let session = column::needed(row, "id", SessionId::parse)?;
        stretches.push(JournalSegment {
            number,
            session,
            agent: row.get("agent")?,
            after: begin,
            upto,
        });
        next = row.get("fork_session")?;
        upto = upto.min(begin);
    }
    Ok(stretches)
}

fn read(
    connection: &Connection,
    stretch: &JournalSegment,
    after: u64,
    limit: usize,
    events: &mut Vec<Event>,
) -> Result<(), Error> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, ts, run, parent_run, type, data, who, copies FROM journal
         WHERE session = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq LIMIT ?4 + 0",
    )?;
    let mut rows = statement.query(params![
        stretch.number,
        column::signed(after),
        column::signed(stretch.upto),
        column::limit(limit)
    ])?;
    let mut spelled = String::new();
    while let Some(row) = rows.next()? {
        let (data, copies) = (text(row, 5)?, row.get_ref(7)?.as_str_or_null());
        let copies = copies.map_err(|error| Error::Failed(format!("read copies: {error}")))?;
        let data = shared_text::whole_data(connection, stretch.number, data, copies)?;
        events.push(event(row, stretch, &data, &mut spelled)?);
    }
    Ok(())
}

/// `spelled` only lends its memory: a long journal is read row after row.
fn event(
    row: &Row<'_>,
    stretch: &JournalSegment,
    data: &str,
    spelled: &mut String,
) -> Result<Event, Error> {
    spelled.clear();
    for piece in [r#"{"type":""#, text(row, 4)?, r#"","data":"#, data, "}"] {
        spelled.push_str(piece);
    }
    Ok(Event {
        v: VERSION,
        id: Some(column::count(row, 0)?),
        ts: Timestamp(row.get(1)?),
        session: stretch.session.clone(),
        run: column::id(row, 2, RunId::parse)?,
        parent_run: column::id(row, 3, RunId::parse)?,
        agent: stretch.agent.clone(),
        who: column::json(row, 6)?,
        body: serde_json::from_str(spelled)?,
    })
}

fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, Error> {
    row.get_ref(column)?
        .as_str()
        .map_err(|error| Error::Failed(format!("read column {column}: {error}")))
}

/// The hash of the event numbered `at` in a (possibly forked) journal; empty before the first.
pub(crate) fn hash_at(connection: &Connection, number: i64, at: u64) -> Result<Vec<u8>, Error> {
    let Some(before) = at.checked_sub(1) else {
        return Ok(Vec::new());
    };
    for stretch in lineage(connection, number, before)? {
        if stretch.after < at && at <= stretch.upto {
            let found = connection
                .prepare_cached("SELECT hash FROM journal WHERE session = ?1 AND seq = ?2")?
                .query_row(params![stretch.number, column::signed(at)], |row| {
                    row.get(0)
                })
                .optional()?;
            return found.ok_or_else(|| {
                Error::Failed(format!("{} has lost its event {at}", stretch.session))
            });
        }
    }
    Err(Error::Failed(format!("event {at} belongs to no journal")))
}
