//! Inbox rows: assigns a message its position and stores it until it is taken.

use rooftree_protocol::{Lane, Message, MessageId, Origin, SessionId};
use rusqlite::{Connection, params};

use super::{
    column,
    inbox_counters::{InboxCounters, RecipientFilter},
    sessions,
};
use crate::{Error, InboxItem, InboxPost, KeyReuse, PostReceipt, failpoint};

/// A post, serialized on the caller's thread, so that the writer does not have to.
pub(crate) struct EncodedPost {
    post: InboxPost,
    text: String,
}

impl EncodedPost {
    pub(crate) fn encode(post: InboxPost) -> Result<Self, Error> {
        Ok(Self {
            text: serde_json::to_string(&post.message)?,
            post,
        })
    }
}

/// Gives a message the next place of its lane, or finds the one its key has already.
pub(crate) fn post(
    connection: &Connection,
    letter: &EncodedPost,
    reach: RecipientFilter,
) -> Result<PostReceipt, Error> {
    let post = &letter.post;
    let mailbox = InboxCounters::of(connection, &post.session, reach)?;
    let counted = mailbox.lane(post.lane);
    let (number, position) = (mailbox.session, counted.posted + 1);
    let waiting = counted.posted.saturating_sub(counted.taken);
    if waiting >= post.capacity {
        return repeated(connection, number, post)?.ok_or(Error::InboxFull(waiting));
    }
    if !insert(connection, letter, (number, position), &post.key)? {
        if !failpoint::is_without("dedup") {
            let first = repeated(connection, number, post)?;
            return first.ok_or_else(|| {
                Error::Failed(format!("the key `{}` is used and not there", post.key))
            });
        }
        insert(
            connection,
            letter,
            (number, position),
            &format!("{}#{position}", post.key),
        )?;
    }
    mailbox.count(connection, post.lane, spoken_at(&post.message))?;
    Ok(PostReceipt {
        position,
        message: post.message.id.clone(),
        repeated: KeyReuse::No,
    })
}

/// When a person said this; none if the message is not from a person.
fn spoken_at(message: &Message) -> Option<i64> {
    matches!(message.origin, Origin::User | Origin::Connector { .. }).then_some(message.at.0)
}

/// Stores a message at a place; says whether it did: a used key is not stored again. Asking for the
/// key beforehand would look for its place in the index twice.
fn insert(
    connection: &Connection,
    letter: &EncodedPost,
    (number, position): (i64, u64),
    key: &str,
) -> Result<bool, Error> {
    let message = &letter.post.message;
    let stored = connection
        .prepare_cached(
            "INSERT INTO inbox (session, lane, position, key, message_id, silent, message)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (session, key) WHERE key <> message_id DO NOTHING",
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
    Ok(stored == 1)
}

/// The first message with this idempotency key. The contents are compared: one key for two different messages is a
/// mistake that only the sender can resolve.
fn repeated(
    connection: &Connection,
    number: i64,
    post: &InboxPost,
) -> Result<Option<PostReceipt>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT position, message_id, message FROM inbox WHERE session = ?1 AND key = ?2 AND key <> message_id",
    )?;
    let mut rows = statement.query(params![number, post.key])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let first: Message =
        serde_json::from_str(row.get_ref("message")?.as_str().unwrap_or_default())?;
    let given = &post.message;
    let is_same =
        (&first.parts, &first.call, &first.context) == (&given.parts, &given.call, &given.context);
    Ok(Some(PostReceipt {
        position: column::count(row, "position")?,
        message: column::needed(row, "message_id", MessageId::parse)?,
        repeated: if is_same {
            KeyReuse::Same
        } else {
            KeyReuse::Other
        },
    }))
}

/// A message at its place, as far as the commit that takes it is checked against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacedMessage {
    pub(crate) id: MessageId,
    pub(crate) revision: u32,
    pub(crate) is_withdrawn: bool,
}

/// The message at a place.
pub(crate) fn message_at(
    connection: &Connection,
    number: i64,
    lane: Lane,
    position: u64,
) -> Result<Option<PlacedMessage>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT message_id, revision, withdrawn IS NOT NULL AS is_withdrawn FROM inbox
         WHERE session = ?1 AND lane = ?2 AND position = ?3",
    )?;
    let mut rows = statement.query(params![
        number,
        column::lane(lane),
        column::signed(position)
    ])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    Ok(Some(PlacedMessage {
        id: column::needed(row, "message_id", MessageId::parse)?,
        revision: row.get("revision")?,
        is_withdrawn: row.get("is_withdrawn")?,
    }))
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
        "SELECT i.position, i.key, i.message, i.withdrawn FROM session s JOIN inbox i ON i.session = s.number AND i.lane = ?2
         WHERE s.id = ?1 AND i.position > CASE ?2 WHEN 'mail' THEN s.mail_taken ELSE s.boundary_taken END
         ORDER BY i.position LIMIT ?3 + 0",
    )?;
    let mut rows = statement.query(params![
        session.as_str(),
        column::lane(lane),
        column::limit(limit)
    ])?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        items.push(InboxItem {
            lane,
            position: column::count(row, 0)?,
            key: row.get(1)?,
            message: serde_json::from_str(row.get_ref(2)?.as_str().unwrap_or_default())?,
            withdrawn: column::json(row, 3)?,
        });
    }
    if items.is_empty() {
        // Tells an empty inbox from a session that does not exist.
        sessions::place(connection, session)?;
    }
    Ok(items)
}
