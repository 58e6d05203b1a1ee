//! Inboxes: a message gets its place here, and waits.

use rooftree_protocol::{Lane, MessageId, SessionId};
use rusqlite::{Connection, OptionalExtension, params};

use super::{column, sessions};
use crate::{Error, InboxItem, Post, Posted, failpoint};

/// A post, spelled out by whoever posts, so that the writer does not have to.
pub(crate) struct Letter {
    post: Post,
    text: String,
}

impl Letter {
    pub(crate) fn seal(post: Post) -> Result<Self, Error> {
        Ok(Self { text: serde_json::to_string(&post.message)?, post })
    }
}

/// Which sessions a message may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All there are.
    Every,
    /// Those that are not deleted.
    Living,
}

/// Gives a message the next place of its lane, or finds the one its key has already.
pub(crate) fn post(connection: &Connection, letter: &Letter, reach: Reach) -> Result<Posted, Error> {
    let post = &letter.post;
    let Some((number, position)) = next_place(connection, post, reach)? else {
        return no_place(connection, post, reach);
    };
    if insert(connection, letter, number, position, &post.key)? {
        return Ok(Posted { position, message: post.message.id.clone(), repeated: false });
    }
    if failpoint::is_without("dedup") {
        insert(connection, letter, number, position, &format!("{}#{position}", post.key))?;
        return Ok(Posted { position, message: post.message.id.clone(), repeated: false });
    }
    // The key was used before, which is rare: the place goes back.
    let back = match post.lane {
        Lane::Mail => "UPDATE session SET mail_posted = mail_posted - 1 WHERE number = ?1",
        Lane::Boundary => "UPDATE session SET boundary_posted = boundary_posted - 1 WHERE number = ?1",
    };
    connection.prepare_cached(back)?.execute([number])?;
    let first = repeated(connection, number, &post.key)?;
    first.ok_or_else(|| Error::Failed(format!("the key `{}` is used and not there", post.key)))
}

/// A session's row, and the next place of one of its lanes, which is taken by asking. None if
/// there is no such session or no room.
fn next_place(connection: &Connection, post: &Post, reach: Reach) -> Result<Option<(i64, u64)>, Error> {
    let take = match post.lane {
        Lane::Mail => {
            "UPDATE session SET mail_posted = mail_posted + 1
             WHERE id = ?1 AND mail_posted - mail_taken < ?2 AND (deleted_at IS NULL OR ?3)
             RETURNING number, mail_posted"
        }
        Lane::Boundary => {
            "UPDATE session SET boundary_posted = boundary_posted + 1
             WHERE id = ?1 AND boundary_posted - boundary_taken < ?2 AND (deleted_at IS NULL OR ?3)
             RETURNING number, boundary_posted"
        }
    };
    let mut statement = connection.prepare_cached(take)?;
    let mut rows = statement.query(params![
        post.session.as_str(),
        column::signed(post.capacity),
        reach == Reach::Every
    ])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some((row.get(0)?, column::unsigned(row.get(1)?))))
}

/// Says whether it was stored: a used key is not stored again.
fn insert(
    connection: &Connection,
    letter: &Letter,
    number: i64,
    position: u64,
    key: &str,
) -> Result<bool, Error> {
    let post = &letter.post;
    let stored = connection
        .prepare_cached(
            "INSERT INTO inbox (session, lane, position, key, message_id, silent, message)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (session, key) DO NOTHING",
        )?
        .execute(params![
            number,
            column::lane(post.lane),
            column::signed(position),
            key,
            post.message.id.as_str(),
            post.message.silent,
            letter.text,
        ])?;
    Ok(stored == 1)
}

/// Why there was no place: no such session, or a full lane. A used key has its place all the same.
fn no_place(connection: &Connection, post: &Post, reach: Reach) -> Result<Posted, Error> {
    let waiting = match post.lane {
        Lane::Mail => "SELECT number, mail_posted - mail_taken, deleted_at FROM session WHERE id = ?1",
        Lane::Boundary => {
            "SELECT number, boundary_posted - boundary_taken, deleted_at FROM session WHERE id = ?1"
        }
    };
    let found: Option<(i64, i64, Option<i64>)> = connection
        .prepare_cached(waiting)?
        .query_row([post.session.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let reached = found.filter(|(_, _, deleted)| deleted.is_none() || reach == Reach::Every);
    let (number, waiting, _) = reached.ok_or_else(|| Error::NoSession(post.session.clone()))?;
    repeated(connection, number, &post.key)?.ok_or(Error::InboxFull(column::unsigned(waiting)))
}

fn repeated(connection: &Connection, number: i64, key: &str) -> Result<Option<Posted>, Error> {
    let mut statement = connection
        .prepare_cached("SELECT position, message_id FROM inbox WHERE session = ?1 AND key = ?2")?;
    let mut rows = statement.query(params![number, key])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Posted {
        position: column::count(row, "position")?,
        message: column::needed(row, "message_id", MessageId::parse)?,
        repeated: true,
    }))
}

/// The id of the message at a place.
pub(crate) fn message_at(
    connection: &Connection,
    number: i64,
    lane: Lane,
    position: u64,
) -> Result<Option<MessageId>, Error> {
    let mut statement = connection
        .prepare_cached("SELECT message_id FROM inbox WHERE session = ?1 AND lane = ?2 AND position = ?3")?;
    let mut rows = statement.query(params![number, column::lane(lane), column::signed(position)])?;
    rows.next()?.map(|row| column::needed(row, "message_id", MessageId::parse)).transpose()
}

/// Items of a lane not yet taken, in order.
pub(crate) fn waiting(
    connection: &Connection,
    session: &SessionId,
    lane: Lane,
    limit: usize,
) -> Result<Vec<InboxItem>, Error> {
    // One statement, so that the counter and the items are of the same moment.
    let mut statement = connection.prepare_cached(
        "SELECT i.position, i.key, i.message FROM session s JOIN inbox i ON i.session = s.number AND i.lane = ?2
         WHERE s.id = ?1 AND i.position > CASE ?2 WHEN 'mail' THEN s.mail_taken ELSE s.boundary_taken END
         ORDER BY i.position LIMIT ?3 + 0",
    )?;
    let mut rows = statement.query(params![session.as_str(), column::lane(lane), column::limit(limit)])?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        items.push(InboxItem {
            lane,
            position: column::count(row, "position")?,
            key: row.get("key")?,
            message: serde_json::from_str(&row.get::<_, String>("message")?)?,
        });
    }
    if items.is_empty() {
        // Nothing there, or nobody: that is not the same.
        sessions::place(connection, session)?;
    }
    Ok(items)
}
