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

/// Gives a message the next place of its lane, or finds the one its key has already.
///
/// Almost every post is new and has room, so its place is taken first and given back otherwise.
pub(crate) fn post(connection: &Connection, letter: &Letter) -> Result<Posted, Error> {
    let post = &letter.post;
    let Some((number, position)) = take_place(connection, post)? else {
        return refuse(connection, post);
    };
    if insert(connection, letter, (number, position), &post.key)? {
        return Ok(Posted { position, message: post.message.id.clone(), repeated: false });
    }
    if failpoint::is_without("dedup") {
        insert(connection, letter, (number, position), &format!("{}#{position}", post.key))?;
        return Ok(Posted { position, message: post.message.id.clone(), repeated: false });
    }
    let give_back = match post.lane {
        Lane::Mail => "UPDATE session SET mail_posted = mail_posted - 1 WHERE number = ?1",
        Lane::Boundary => "UPDATE session SET boundary_posted = boundary_posted - 1 WHERE number = ?1",
    };
    connection.prepare_cached(give_back)?.execute([number])?;
    repeated(connection, number, &post.key)?
        .ok_or_else(|| Error::Failed(format!("{position} of {:?} is taken already", post.lane)))
}

/// The session's row and the next place of the lane; none if there is no room, or no session.
fn take_place(connection: &Connection, post: &Post) -> Result<Option<(i64, u64)>, Error> {
    let next = match post.lane {
        Lane::Mail => {
            "UPDATE session SET mail_posted = mail_posted + 1
             WHERE id = ?1 AND mail_posted - mail_taken < ?2 RETURNING number, mail_posted"
        }
        Lane::Boundary => {
            "UPDATE session SET boundary_posted = boundary_posted + 1
             WHERE id = ?1 AND boundary_posted - boundary_taken < ?2 RETURNING number, boundary_posted"
        }
    };
    let mut statement = connection.prepare_cached(next)?;
    let place = statement.query_row(params![post.session.as_str(), column::signed(post.capacity)], |row| {
        Ok((row.get(0)?, column::unsigned(row.get(1)?)))
    });
    Ok(place.optional()?)
}

/// Says whether it was inserted: else its key has a place already.
fn insert(
    connection: &Connection,
    letter: &Letter,
    (number, position): (i64, u64),
    key: &str,
) -> Result<bool, Error> {
    let message = &letter.post.message;
    let inserted = connection
        .prepare_cached(
            "INSERT INTO inbox (session, lane, position, key, message_id, silent, message)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            number,
            column::lane(letter.post.lane),
            column::signed(position),
            key,
            message.id.as_str(),
            message.silent,
            letter.text,
        ])?;
    Ok(inserted == 1)
}

/// A full lane still knows what it has; only what is new is refused.
fn refuse(connection: &Connection, post: &Post) -> Result<Posted, Error> {
    let (number, posted, taken) = lane(connection, &post.session, post.lane)?;
    repeated(connection, number, &post.key)?.ok_or(Error::InboxFull(posted.saturating_sub(taken)))
}

/// A session's row, and how many were posted to and taken from a lane.
fn lane(connection: &Connection, session: &SessionId, lane: Lane) -> Result<(i64, u64, u64), Error> {
    let counters = match lane {
        Lane::Mail => "SELECT number, mail_posted, mail_taken FROM session WHERE id = ?1",
        Lane::Boundary => "SELECT number, boundary_posted, boundary_taken FROM session WHERE id = ?1",
    };
    connection
        .prepare_cached(counters)?
        .query_row([session.as_str()], |row| {
            Ok((row.get(0)?, column::unsigned(row.get(1)?), column::unsigned(row.get(2)?)))
        })
        .optional()?
        .ok_or_else(|| Error::NoSession(session.clone()))
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
