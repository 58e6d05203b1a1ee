//! Makes saved rows fit each other again: a journal ends where its hash chain breaks, and counters follow it.

use rooftree_protocol::{Lane, Message};
use rusqlite::{Connection, params};
use serde::Deserialize;

use super::SalvageReport;
use crate::{
    Error, hash_chain,
    sqlite::{activity, column, journal, read_marks, shared_text, usage},
};

/// A saved session.
struct SalvagedSession {
    number: i64,
    id: String,
    fork: Option<i64>,
    fork_at: u64,
    head: u64,
}

/// A journal as far as it is proven.
#[derive(Default)]
struct ProvenJournal {
    head: u64,
    hash: Vec<u8>,
    fence: u64,
    run: Option<String>,
    mail: u64,
    boundary: u64,
}

#[derive(Deserialize)]
struct LanePosition {
    lane: Lane,
    position: u64,
}

#[derive(Deserialize)]
struct SalvagedMessage {
    message: Message,
}

/// Repairs everything, and counts it.
pub(super) fn repair(new: &Connection, salvaged: &mut SalvageReport) -> Result<(), Error> {
    drop_unproven_blobs(new, salvaged)?;
    let mut statement =
        new.prepare("SELECT number, id, fork_session, fork_at, head FROM session ORDER BY number")?;
    let saved = statement.query_map([], |row| {
        Ok(SalvagedSession {
            number: row.get(0)?,
            id: row.get(1)?,
            fork: row.get(2)?,
            fork_at: column::unsigned(row.get(3)?),
            head: column::unsigned(row.get(4)?),
        })
    })?;
    for session in saved.collect::<Result<Vec<_>, _>>()? {
        let proven = prove(new, &session)?;
        if proven.head < session.head {
            let (id, lost) = (&session.id, session.head - proven.head);
            salvaged.lost.push(format!(
                "{id}: {lost} events after event {} cannot be read",
                proven.head
            ));
        }
        cut(new, &session, &proven)?;
        for (lane, taken) in [(Lane::Mail, proven.mail), (Lane::Boundary, proven.boundary)] {
            refill(new, session.number, lane, taken)?;
        }
        count(new, session.number)?;
    }
    drop_orphans(new)?;
    usage::recompute(new)?;
    rebuild_board(new)?;
    for (kind, table) in [
        ("sessions", "session"),
        ("events", "journal"),
        ("messages", "inbox"),
        ("blobs", "blob"),
        ("tasks", "task"),
        ("audit entries", "audit"),
    ] {
        let count: i64 = new.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
            row.get(0)
        })?;
        salvaged
            .saved
            .push((kind.to_owned(), column::unsigned(count)));
    }
    Ok(())
}

fn prove(new: &Connection, session: &SalvagedSession) -> Result<ProvenJournal, Error> {
    let hash = session.fork.map_or(Ok(Vec::new()), |origin| {
        journal::hash_at(new, origin, session.fork_at)
    });
    let mut proven = ProvenJournal {
        head: session.fork_at,
        hash: hash.unwrap_or_default(),
        ..ProvenJournal::default()
    };
    let mut statement = new.prepare_cached(
        "SELECT seq, run, fence, type, data, who, hash, copies FROM journal WHERE session = ?1 ORDER BY seq",
    )?;
    let mut rows = statement.query([session.number])?;
    while let Some(row) = rows.next()? {
        let (seq, fence) = (column::count(row, "seq")?, column::count(row, "fence")?);
        let (name, stored): (String, String) = (row.get("type")?, row.get("data")?);
        let copies: Option<String> = row.get("copies")?;
        let data = shared_text::whole_data(new, session.number, &stored, copies.as_deref())
            .unwrap_or_default();
        let hash: Vec<u8> = row.get("hash")?;
        let who: Option<String> = row.get("who")?;
        let link = hash_chain::link(&proven.hash, seq, &name, &data, who.as_deref());
        if seq != proven.head + 1 || link != hash {
            break;
        }
        (proven.head, proven.hash, proven.fence) = (seq, hash, fence);
        match name.as_str() {
            "run.started" => proven.run = row.get("run")?,
            "run.completed" => proven.run = None,
            "message.user" | "inbox.delivered" | "inbox.dropped" => {
                if let Ok(LanePosition { lane, position }) = serde_json::from_str(&data) {
                    *(if lane == Lane::Mail {
                        &mut proven.mail
                    } else {
                        &mut proven.boundary
                    }) = position;
                }
            }
            _ => {}
        }
    }
    Ok(proven)
}

/// Truncates a journal after its last verified event, and clears the session's claim.
fn cut(new: &Connection, session: &SalvagedSession, proven: &ProvenJournal) -> Result<(), Error> {
    new.prepare_cached("DELETE FROM journal WHERE session = ?1 AND seq > ?2")?
        .execute(params![session.number, column::signed(proven.head)])?;
    new.prepare_cached(
        "UPDATE session SET head = ?2, head_hash = ?3, fence = max(fence, ?4), run = ?5, mail_taken = ?6,
             mail_done = min(mail_done, ?6), boundary_taken = ?7, boundary_done = min(boundary_done, ?7),
             token = NULL, lease = NULL, owner_host = NULL, owner_boot = NULL, owner_pid = NULL, owner_started = NULL
         WHERE number = ?1",
    )?
    .execute(params![
        session.number,
        column::signed(proven.head),
        proven.hash,
        column::signed(proven.fence),
        proven.run,
        column::signed(proven.mail),
        column::signed(proven.boundary),
    ])?;
    Ok(())
}

/// Messages that were taken and are missing are in the journal; those that wait close up.
fn refill(new: &Connection, session: i64, lane: Lane, taken: u64) -> Result<(), Error> {
    let mut told = new.prepare_cached(
        "SELECT data FROM journal WHERE session = ?1 AND type = 'message.user' AND json_extract(data, '$.lane') = ?2",
    )?;
    let mut rows = told.query(params![session, column::lane(lane)])?;
    while let Some(row) = rows.next()? {
        let data: String = row.get(0)?;
        let (Ok(LanePosition { position, .. }), Ok(SalvagedMessage { message })) =
            (serde_json::from_str(&data), serde_json::from_str(&data))
        else {
            continue;
        };
        new.prepare_cached(
            "INSERT INTO inbox (session, lane, position, key, message_id, silent, message)
             SELECT ?1, ?2, ?3, ?4, ?4, ?5, ?6
             WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE session = ?1 AND lane = ?2 AND position = ?3)",
        )?
        .execute(params![
            session,
            column::lane(lane),
            column::signed(position),
            message.id.as_str(),
            message.silent,
            serde_json::to_string(&message)?,
        ])?;
    }
    let mut waiting = new.prepare_cached(
        "SELECT id FROM inbox WHERE session = ?1 AND lane = ?2 AND position > ?3 ORDER BY position",
    )?;
    let ids = waiting.query_map(
        params![session, column::lane(lane), column::signed(taken)],
        |row| row.get::<_, i64>(0),
    )?;
    for (id, place) in ids
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .zip(taken + 1..)
    {
        new.prepare_cached("UPDATE inbox SET position = ?2 WHERE id = ?1")?
            .execute(params![id, column::signed(place)])?;
    }
    Ok(())
}

/// How much was posted to a session, by what is there.
fn count(new: &Connection, session: i64) -> Result<(), Error> {
    new.prepare_cached(
        "INSERT INTO mailbox (session, mail_posted, boundary_posted, user_at, waits)
         SELECT number, m.mail, m.boundary, NULL, mail_done < m.mail OR boundary_taken < m.boundary
         FROM session, (SELECT coalesce(sum(lane = 'mail'), 0) AS mail, coalesce(sum(lane = 'boundary'), 0) AS boundary
             FROM inbox WHERE session = ?1) m
         WHERE number = ?1
         ON CONFLICT (session) DO UPDATE SET mail_posted = excluded.mail_posted,
             boundary_posted = excluded.boundary_posted, waits = excluded.waits",
    )?
    .execute([session])?;
    Ok(())
}

fn drop_unproven_blobs(new: &Connection, salvaged: &mut SalvageReport) -> Result<(), Error> {
    let mut statement = new.prepare("SELECT id, bytes FROM blob")?;
    let mut rows = statement.query([])?;
    let mut wrong = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, bytes): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
        if hash_chain::blob_id(&bytes).as_str() != id {
            wrong.push(id);
        }
    }
    for id in wrong {
        new.execute("DELETE FROM blob WHERE id = ?1", [&id])?;
        salvaged.lost.push(format!("{id} is damaged"));
    }
    Ok(())
}

/// What the board shows follows from what was saved.
fn rebuild_board(new: &Connection) -> Result<(), Error> {
    new.execute_batch(
        "DELETE FROM read_mark WHERE session NOT IN (SELECT number FROM session);
         UPDATE read_mark SET upto = min(upto, (SELECT head FROM session WHERE number = read_mark.session));
         UPDATE session SET rested_at = created_at, root_number = NULL;
         WITH RECURSIVE above (number, root) AS (
             SELECT number, NULL FROM session s
             WHERE NOT EXISTS (SELECT 1 FROM session p WHERE p.id = s.parent_session)
             UNION
             SELECT s.number, coalesce(a.root, a.number)
             FROM above a JOIN session p ON p.number = a.number JOIN session s ON s.parent_session = p.id
         )
         UPDATE session SET root_number = (SELECT root FROM above WHERE above.number = session.number);",
    )?;
    activity::recompute(new)?;
    read_marks::clear_failures(new)
}

/// Rows of sessions that could not be read.
fn drop_orphans(new: &Connection) -> Result<(), Error> {
    for table in ["journal", "inbox", "mailbox", "task", "inquiry"] {
        new.execute(
            &format!("DELETE FROM {table} WHERE session NOT IN (SELECT number FROM session)"),
            [],
        )?;
    }
    new.execute(
        "DELETE FROM task_output WHERE task NOT IN (SELECT number FROM task)",
        [],
    )?;
    new.execute(
        "UPDATE session SET fork_session = NULL WHERE fork_session NOT IN (SELECT number FROM session)",
        [],
    )?;
    Ok(())
}
