//! Withdraws and replaces messages that wait in an inbox.
//!
//! A message is changed only while its place was not taken. The commit that takes it is checked against the row, so
//! that an agent which read the message before cannot take what it says no more.

use rooftree_protocol::{Lane, Message, MessageId, SessionId};
use rusqlite::{Connection, OptionalExtension, params};

use super::{audit, column, sessions};
use crate::{Error, InboxChange, InboxChangeOutcome, InboxItem};

/// A row of an inbox, and whether its place was taken.
struct WaitingRow {
    lane: Lane,
    position: i64,
    key: String,
    text: String,
    is_taken: bool,
    is_withdrawn: bool,
}

/// Changes a message that was not taken yet.
pub(crate) fn change(
    connection: &Connection,
    session: &SessionId,
    message: &MessageId,
    change: &InboxChange,
) -> Result<InboxChangeOutcome, Error> {
    let (number, _) = sessions::place(connection, session)?;
    let Some(row) = find(connection, number, message)? else {
        return Ok(InboxChangeOutcome::Unknown);
    };
    if row.is_taken {
        return Ok(InboxChangeOutcome::Taken);
    }
    if row.is_withdrawn {
        return Ok(InboxChangeOutcome::Withdrawn);
    }
    let mut item = InboxItem {
        lane: row.lane,
        position: column::unsigned(row.position),
        key: row.key,
        message: serde_json::from_str(&row.text)?,
        withdrawn: None,
    };
    match change {
        InboxChange::Withdraw { who } => {
            withdraw(connection, number, &item, &serde_json::to_string(who)?)?;
            item.withdrawn = Some(who.clone());
        }
        InboxChange::Replace { parts, who, audit } => {
            item.message = Message {
                parts: parts.clone(),
                who: Some(who.clone()),
                revision: item.message.revision + 1,
                ..item.message
            };
            replace(connection, number, &item)?;
            audit::add_some(connection, audit.as_deref())?;
        }
    }
    Ok(InboxChangeOutcome::Changed(Box::new(item)))
}

fn find(
    connection: &Connection,
    number: i64,
    message: &MessageId,
) -> Result<Option<WaitingRow>, Error> {
    let row = connection
        .prepare_cached(
            "SELECT i.lane, i.position, i.key, i.message, i.withdrawn IS NOT NULL,
                 i.position <= CASE i.lane WHEN 'mail' THEN s.mail_taken ELSE s.boundary_taken END
             FROM inbox i JOIN session s ON s.number = i.session WHERE i.session = ?1 AND i.message_id = ?2",
        )?
        .query_row(params![number, message.as_str()], |row| {
            let is_mail = row.get_ref(0)?.as_str().unwrap_or_default() == column::lane(Lane::Mail);
            Ok(WaitingRow {
                lane: if is_mail { Lane::Mail } else { Lane::Boundary },
                position: row.get(1)?,
                key: row.get(2)?,
                text: row.get(3)?,
                is_withdrawn: row.get(4)?,
                is_taken: row.get(5)?,
            })
        });
    Ok(row.optional()?)
}

fn withdraw(
    connection: &Connection,
    number: i64,
    item: &InboxItem,
    who: &str,
) -> Result<(), Error> {
    connection
        .prepare_cached(
            "UPDATE inbox SET withdrawn = ?4 WHERE session = ?1 AND lane = ?2 AND position = ?3",
        )?
        .execute(params![
            number,
            column::lane(item.lane),
            column::signed(item.position),
            who
        ])?;
    Ok(())
}

fn replace(connection: &Connection, number: i64, item: &InboxItem) -> Result<(), Error> {
    connection
        .prepare_cached(
            "UPDATE inbox SET message = ?4, revision = ?5 WHERE session = ?1 AND lane = ?2 AND position = ?3",
        )?
        .execute(params![
            number,
            column::lane(item.lane),
            column::signed(item.position),
            serde_json::to_string(&item.message)?,
            item.message.revision
        ])?;
    Ok(())
}
