//! Inboxes: a message gets its place here, and waits.

use rooftree_protocol::{Lane, Message, MessageId, Origin, SessionId};
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
    let mut stored = insert(connection, letter, reach, &post.key)?;
    if stored.is_none() && failpoint::is_without("dedup") {
        stored = insert(connection, letter, reach, &format!("{}#{}", post.key, post.message.id))?;
    }
    let Some((number, position)) = stored else { return not_stored(connection, post, reach) };
    let count = match post.lane {
        Lane::Mail => {
            "UPDATE session SET mail_posted = ?2, user_at = coalesce(?3, user_at) WHERE number = ?1"
        }
        Lane::Boundary => {
            "UPDATE session SET boundary_posted = ?2, user_at = coalesce(?3, user_at) WHERE number = ?1"
        }
    };
    connection.prepare_cached(count)?.execute(params![number, position, spoken_at(&post.message)])?;
    let position = column::unsigned(position);
    Ok(Posted { position, message: post.message.id.clone(), repeated: false })
}

/// When a person said this; none if nobody did.
fn spoken_at(message: &Message) -> Option<i64> {
    matches!(message.origin, Origin::User | Origin::Connector { .. }).then_some(message.at.0)
}

/// Stores a message at the next place of its lane; says in which session's row and at which place.
/// None if there is no such session, no room, or the key was used before: one statement, because
/// almost always all is well.
fn insert(
    connection: &Connection,
    letter: &Letter,
    reach: Reach,
    key: &str,
) -> Result<Option<(i64, i64)>, Error> {
    let post = &letter.post;
    let insert = match post.lane {
        Lane::Mail => {
            "INSERT INTO inbox (session, lane, position, key, message_id, silent, message)
             SELECT number, 'mail', mail_posted + 1, ?2, ?3, ?4, ?5 FROM session
             WHERE id = ?1 AND mail_posted - mail_taken < ?6 AND (deleted_at IS NULL OR ?7)
             ON CONFLICT (session, key) DO NOTHING RETURNING session, position"
        }
        Lane::Boundary => {
            "INSERT INTO inbox (session, lane, position, key, message_id, silent, message)
             SELECT number, 'boundary', boundary_posted + 1, ?2, ?3, ?4, ?5 FROM session
             WHERE id = ?1 AND boundary_posted - boundary_taken < ?6 AND (deleted_at IS NULL OR ?7)
             ON CONFLICT (session, key) DO NOTHING RETURNING session, position"
        }
    };
    let parameters = params![
        post.session.as_str(),
        key,
        post.message.id.as_str(),
        post.message.silent,
        letter.text,
        column::signed(post.capacity),
        reach == Reach::Every,
    ];
    let stored =
        connection.prepare_cached(insert)?.query_row(parameters, |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(stored.optional()?)
}

/// Why it was not stored: the key has its place already, there is no such session, or the lane is full.
fn not_stored(connection: &Connection, post: &Post, reach: Reach) -> Result<Posted, Error> {
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
