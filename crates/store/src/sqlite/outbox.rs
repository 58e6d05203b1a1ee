//! Rows of the outbox: storing messages to chats, reading them, and what a person wants done with one.

use rooftree_protocol::{Account, RunId, Session, SessionId, Timestamp};
use rooftree_view::board::BoardDelivery;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, named_params, params};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{audit, column};
use crate::{
    AuditEntry, Error, OutboxBody, OutboxCounts, OutboxFilter, OutboxKind, OutboxPart, OutboxPost,
    OutboxRow, OutboxState, OutboxWish,
};

/// Stores a message; says whether it is new.
pub(crate) fn post(connection: &Connection, post: &OutboxPost) -> Result<bool, Error> {
    match (post.kind, &post.body) {
        (OutboxKind::Progress, _) => post_progress(connection, post),
        (OutboxKind::Final, _) => {
            supersede_progress(connection, post)?;
            insert(connection, post, OutboxState::Planned)
        }
        (_, OutboxBody::Outcome { inquiry, .. }) => {
            let state = outcome_state(connection, &OutboxPost::ask_key(inquiry), post.at)?;
            insert(connection, post, state)
        }
        _ => insert(connection, post, OutboxState::Planned),
    }
}

/// The same, with its audit entry.
pub(crate) fn post_audited(
    connection: &Connection,
    message: &OutboxPost,
    entry: Option<&AuditEntry>,
) -> Result<bool, Error> {
    let is_new = post(connection, message)?;
    if is_new {
        audit::add_some(connection, entry)?;
    }
    Ok(is_new)
}

fn insert(connection: &Connection, post: &OutboxPost, state: OutboxState) -> Result<bool, Error> {
    let added = connection
        .prepare_cached(
            "INSERT INTO outbox (id, by_key, tenant, person, session, run, kind, connector, place, ordinal, target,
                 body, state, created_at, due_since, closed_at)
             VALUES (:id, :key, :tenant, :person, :session, :run, :kind, :connector, :place,
                 (SELECT coalesce(max(ordinal), 0) + 1 FROM outbox WHERE connector = :connector AND place = :place),
                 :target, :body, :state, :at, :at, :closed)
             ON CONFLICT (by_key) DO NOTHING",
        )?
        .execute(named_params! {
            ":id": post.id,
            ":key": post.key,
            ":tenant": post.account.tenant,
            ":person": post.account.person,
            ":session": post.session.as_ref().map(SessionId::as_str),
            ":run": post.run.as_ref().map(RunId::as_str),
            ":kind": post.kind.name(),
            ":connector": post.target.connector,
            ":place": place(post),
            ":target": serde_json::to_string(&post.target)?,
            ":body": serde_json::to_string(&post.body)?,
            ":state": state.name(),
            ":at": post.at.0,
            ":closed": (!state.is_open()).then_some(post.at.0),
        })?;
    Ok(added == 1)
}

/// The chat and thread, as a word that order is kept by.
fn place(post: &OutboxPost) -> String {
    match &post.target.thread {
        Some(thread) => format!("{}/{thread}", post.target.chat),
        None => post.target.chat.clone(),
    }
}

/// A status line is one message of the chat, edited in place: what was sent is sent again with the new text. Nothing is
/// said any more once the answer is there.
fn post_progress(connection: &Connection, post: &OutboxPost) -> Result<bool, Error> {
    let is_answered: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM outbox WHERE run = ?1 AND kind = 'final')")?
        .query_row([post.run.as_ref().map(RunId::as_str)], |row| row.get(0))?;
    if is_answered {
        return Ok(false);
    }
    if insert(connection, post, OutboxState::Planned)? {
        return Ok(true);
    }
    let changed = connection
        .prepare_cached(
            "UPDATE outbox SET body = ?2, state = 'planned', attempts = 0, closed_at = NULL, due_since = ?3
             WHERE by_key = ?1 AND state IN ('planned', 'failed', 'sent')
             RETURNING number",
        )?
        .query_row(
            params![post.key, serde_json::to_string(&post.body)?, post.at.0],
            |row| row.get::<_, i64>(0),
        )
        .optional()?;
    let Some(number) = changed else {
        return Ok(false);
    };
    connection
        .prepare_cached("UPDATE outbox_part SET state = 'planned' WHERE outbox = ?1")?
        .execute([number])?;
    Ok(true)
}

fn supersede_progress(connection: &Connection, post: &OutboxPost) -> Result<(), Error> {
    connection
        .prepare_cached(
            "UPDATE outbox SET state = 'superseded', closed_at = ?2
             WHERE run = ?1 AND kind = 'progress' AND state IN ('planned', 'failed')",
        )?
        .execute(params![post.run.as_ref().map(RunId::as_str), post.at.0])?;
    Ok(())
}

/// How the outcome of a question begins: a question that was not shown needs none, and is not asked any more.
fn outcome_state(connection: &Connection, ask: &str, at: Timestamp) -> Result<OutboxState, Error> {
    connection
        .prepare_cached(
            "UPDATE outbox SET state = 'superseded', closed_at = ?2
             WHERE by_key = ?1 AND state IN ('planned', 'failed')
                 AND NOT EXISTS (SELECT 1 FROM outbox_part p WHERE p.outbox = number AND p.state <> 'planned'
                     AND p.state <> 'failed')",
        )?
        .execute(params![ask, at.0])?;
    let asked: Option<String> = connection
        .prepare_cached("SELECT state FROM outbox WHERE by_key = ?1")?
        .query_row([ask], |row| row.get(0))
        .optional()?;
    let is_seen = asked.is_some_and(|state| state != "superseded" && state != "dead");
    Ok(if is_seen {
        OutboxState::Planned
    } else {
        OutboxState::Superseded
    })
}

/// Does what a person wants with a message.
pub(crate) fn change(
    connection: &Connection,
    (id, wish, at): (&str, OutboxWish, Timestamp),
    entry: Option<&AuditEntry>,
) -> Result<Option<OutboxRow>, Error> {
    let sql = match wish {
        OutboxWish::Retry => {
            "UPDATE outbox SET state = 'planned', attempts = 0, not_before = 0, due_since = ?2, closed_at = NULL
             WHERE id = ?1 AND state IN ('failed', 'unknown', 'dead')"
        }
        OutboxWish::Drop => {
            "UPDATE outbox SET state = 'superseded', class = 'dropped', closed_at = ?2
             WHERE id = ?1 AND state IN ('planned', 'failed', 'unknown', 'dead')"
        }
    };
    let changed = connection.prepare_cached(sql)?.execute(params![id, at.0])?;
    if changed == 1 {
        audit::add_some(connection, entry)?;
    }
    by_id(connection, id)
}

/// One message by its id.
pub(crate) fn by_id(connection: &Connection, id: &str) -> Result<Option<OutboxRow>, Error> {
    one(connection, "SELECT * FROM outbox WHERE id = ?1", &[&id])
}

/// One message by its key.
pub(crate) fn by_key(connection: &Connection, key: &str) -> Result<Option<OutboxRow>, Error> {
    one(
        connection,
        "SELECT * FROM outbox WHERE by_key = ?1",
        &[&key],
    )
}

/// The message that a statement finds, with its parts.
pub(super) fn one(
    connection: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
) -> Result<Option<OutboxRow>, Error> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    rows.next()?.map(|row| read(connection, row)).transpose()
}

/// Messages, the newest first.
pub(crate) fn list(
    connection: &Connection,
    filter: &OutboxFilter,
) -> Result<Vec<OutboxRow>, Error> {
    let states = filter.states.as_ref();
    let states = states.map(serde_json::to_string).transpose()?;
    let mut statement = connection.prepare_cached(
        "SELECT * FROM outbox
         WHERE tenant = :tenant AND number < :before AND (:person IS NULL OR person = :person)
             AND (:connector IS NULL OR connector = :connector)
             AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
         ORDER BY number DESC LIMIT :limit + 0",
    )?;
    let mut rows = statement.query(named_params! {
        ":tenant": filter.tenant,
        ":before": filter.before.unwrap_or(i64::MAX),
        ":person": filter.person,
        ":connector": filter.connector,
        ":states": states,
        ":limit": column::limit(filter.limit),
    })?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(connection, row)?);
    }
    Ok(found)
}

/// How many messages are not delivered, by connector.
pub(crate) fn counts(connection: &Connection, tenant: &str) -> Result<Vec<OutboxCounts>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT connector, sum(state IN ('planned', 'sending')), sum(state = 'failed'), sum(state IN ('unknown', 'dead'))
         FROM (SELECT connector, state FROM outbox INDEXED BY outbox_open
                   WHERE state IN ('planned', 'sending', 'failed') AND tenant = ?1
               UNION ALL SELECT connector, state FROM outbox INDEXED BY outbox_undelivered
                   WHERE state IN ('unknown', 'dead') AND tenant = ?1)
         GROUP BY connector ORDER BY connector",
    )?;
    let mut rows = statement.query([tenant])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(OutboxCounts {
            connector: row.get(0)?,
            queued: column::count(row, 1)?,
            failed: column::count(row, 2)?,
            dead: column::count(row, 3)?,
        });
    }
    Ok(found)
}

/// What of a session could not be delivered.
pub(crate) fn undelivered(
    connection: &Connection,
    session: &Session,
) -> Result<Option<BoardDelivery>, Error> {
    let found = connection
        .prepare_cached(
            "SELECT id, connector || ':' || place, coalesce(error, 'it may or may not have arrived'),
                 coalesce(closed_at, created_at), count(*) OVER ()
             FROM outbox INDEXED BY outbox_undelivered
             WHERE state IN ('unknown', 'dead') AND tenant = ?1 AND session = ?2 ORDER BY number LIMIT 1",
        )?
        .query_row(
            params![session.account.tenant, session.id.as_str()],
            |row| {
                Ok(BoardDelivery {
                    id: row.get(0)?,
                    target: row.get(1)?,
                    error: row.get(2)?,
                    since: Timestamp(row.get(3)?),
                    count: column::unsigned(row.get(4)?),
                })
            },
        );
    Ok(found.optional()?)
}

/// How far the answer of a run is.
pub(crate) fn of_run(connection: &Connection, run: &RunId) -> Result<Option<OutboxState>, Error> {
    let found: Option<String> = connection
        .prepare_cached(
            "SELECT state FROM outbox WHERE run = ?1 AND kind IN ('final', 'notice', 'file')
             ORDER BY kind = 'final' DESC, number DESC LIMIT 1",
        )?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?;
    found.map(word).transpose()
}

/// Forgets messages that were sent or superseded before a moment.
pub(crate) fn prune(connection: &Connection, before: Timestamp) -> Result<u64, Error> {
    let mut pruned = 0;
    for sql in [
        "DELETE FROM outbox_part WHERE outbox IN (SELECT number FROM outbox INDEXED BY outbox_closed
             WHERE state IN ('sent', 'superseded') AND closed_at < ?1)",
        "DELETE FROM outbox WHERE number IN (SELECT number FROM outbox INDEXED BY outbox_closed
             WHERE state IN ('sent', 'superseded') AND closed_at < ?1)",
    ] {
        pruned = connection.prepare_cached(sql)?.execute([before.0])?;
    }
    Ok(pruned as u64)
}

/// Holds back messages that are open in a backup: they may have been delivered since. A person has each one sent again,
/// with a label, or drops it. Status lines are of no use any more.
pub(crate) fn hold_open(connection: &Connection, at: Timestamp) -> Result<(), Error> {
    connection.execute(
        "UPDATE outbox_part SET state = 'unknown' WHERE state <> 'sent' AND outbox IN
             (SELECT number FROM outbox WHERE state IN ('planned', 'sending', 'failed'))",
        [],
    )?;
    connection.execute(
        "UPDATE outbox SET state = 'superseded', closed_at = ?1
         WHERE state IN ('planned', 'sending', 'failed') AND kind = 'progress'",
        [at.0],
    )?;
    connection.execute(
        "UPDATE outbox SET state = 'unknown', class = ?2, closed_at = ?1,
             error = 'it was to be sent when the backup was made, and may have been sent since'
         WHERE state IN ('planned', 'sending', 'failed')",
        params![at.0, OutboxRow::RESTORED],
    )?;
    Ok(())
}

/// Reads a message and its parts.
fn read(connection: &Connection, row: &Row<'_>) -> Result<OutboxRow, Error> {
    let number = row.get("number")?;
    Ok(OutboxRow {
        number,
        post: read_post(row)?,
        ordinal: column::count(row, "ordinal")?,
        state: word(row.get("state")?)?,
        attempts: row.get("attempts")?,
        not_before: Timestamp(row.get("not_before")?),
        class: row.get("class")?,
        error: row.get("error")?,
        due_since: Timestamp(row.get("due_since")?),
        closed_at: column::moment(row, "closed_at")?,
        parts: parts(connection, number)?,
    })
}

fn read_post(row: &Row<'_>) -> Result<OutboxPost, Error> {
    Ok(OutboxPost {
        id: row.get("id")?,
        key: row.get("by_key")?,
        account: Account {
            tenant: row.get("tenant")?,
            person: row.get("person")?,
        },
        session: column::id(row, "session", SessionId::parse)?,
        run: column::id(row, "run", RunId::parse)?,
        kind: word(row.get("kind")?)?,
        target: serde_json::from_str(row.get_ref("target")?.as_str().unwrap_or_default())?,
        body: serde_json::from_str(row.get_ref("body")?.as_str().unwrap_or_default())?,
        at: Timestamp(row.get("created_at")?),
    })
}

/// The parts of a message, in order.
pub(super) fn parts(connection: &Connection, outbox: i64) -> Result<Vec<OutboxPart>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT n, body, state, platform_id, sent_at FROM outbox_part WHERE outbox = ?1 ORDER BY n",
    )?;
    let mut rows = statement.query([outbox])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(OutboxPart {
            n: row.get(0)?,
            body: row.get(1)?,
            state: word(row.get(2)?)?,
            platform_id: row.get(3)?,
            sent_at: column::moment(row, 4)?,
        });
    }
    Ok(found)
}

/// A word as its type.
fn word<T: DeserializeOwned + Serialize>(word: String) -> Result<T, Error> {
    Ok(serde_json::from_value(Value::String(word))?)
}
