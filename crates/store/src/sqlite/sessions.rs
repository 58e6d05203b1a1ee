//! Session rows: opened, changed, forked, listed.

use rooftree_protocol::{
    Account, CallId, ChatTarget, ForkPoint, ParentCall, RunId, Session, SessionId,
};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use serde_json::{Map, Value};

use super::{audit, column, journal};
use crate::{Error, NewSessionRow, SessionFilter, SessionPatch};

/// All of a session that is listed, in the order in which [`read`] reads it: finding forty columns by
/// their names costs more than reading them.
const LISTED: &str = "SELECT s.id, s.agent, s.name, s.model, s.cwd, s.parent_session, s.parent_run, s.parent_call,
         f.id, s.fork_at, s.pinned_at, s.created_at, s.updated_at, s.deleted_at, s.snippet, s.attributes, s.head,
         s.tenant, s.person, s.chat
     FROM session s LEFT JOIN session f ON f.number = s.fork_session";

/// Whether a session `s` is one of [`VisibleSessions`](crate::VisibleSessions), with `:person` and `:agents`. For a
/// delegated session the agent of its topmost session counts; without that it is not visible.
pub(crate) const VISIBLE: &str = "(:person IS NULL OR s.person = :person)
     AND (:agents IS NULL OR EXISTS (SELECT 1 FROM json_each(:agents) bound
         WHERE bound.value = CASE WHEN s.parent_session IS NULL THEN s.agent
             ELSE (SELECT agent FROM session WHERE number = s.root_number) END COLLATE NOCASE))";

/// Opens a session, or finds the one its connector key belongs to.
pub(crate) fn open(connection: &Connection, new: &NewSessionRow) -> Result<Session, Error> {
    let opened = insert(connection, new, None)?;
    audit::add_some(connection, new.audit.as_deref())?;
    Ok(opened)
}

/// Opens a session whose journal begins as a reference to another's.
pub(crate) fn fork(
    connection: &Connection,
    from: &SessionId,
    at: u64,
    new: &NewSessionRow,
) -> Result<Session, Error> {
    let (number, head) = place(connection, from)?;
    if at > head {
        return Err(Error::OutOfOrder(format!(
            "{from} has {head} events and none with number {at}"
        )));
    }
    let hash = journal::hash_at(connection, number, at)?;
    let forked = insert(connection, new, Some(ForkBase { number, at, hash }))?;
    audit::add_some(connection, new.audit.as_deref())?;
    Ok(forked)
}

/// Gives a session another chat of its own.
pub(crate) fn move_chat(
    connection: &Connection,
    session: &SessionId,
    chat: Option<&ChatTarget>,
) -> Result<(), Error> {
    let chat = chat.map(serde_json::to_string).transpose()?;
    connection
        .prepare_cached("UPDATE session SET chat = ?2 WHERE id = ?1")?
        .execute(params![session.as_str(), chat])?;
    Ok(())
}

/// Where a fork begins.
struct ForkBase {
    number: i64,
    at: u64,
    hash: Vec<u8>,
}

fn insert(
    connection: &Connection,
    new: &NewSessionRow,
    branch: Option<ForkBase>,
) -> Result<Session, Error> {
    if let Some(key) = &new.connector_key
        && let Some(bound) = by_key(connection, key)?
    {
        return Ok(bound);
    }
    refuse_taken_name(connection, new.name.as_deref(), None)?;
    let parent = new.parent.as_ref();
    let (number, at, hash) = branch.map_or((None, 0, Vec::new()), |branch| {
        (Some(branch.number), branch.at, branch.hash)
    });
    connection
        .prepare_cached(
            "INSERT INTO session (id, agent, name, name_key, model, cwd, parent_session, parent_run, parent_call,
                 fork_session, fork_at, connector_key, created_at, updated_at, head, head_hash, tenant, person,
                 rested_at, root_number, chat)
             VALUES (:id, :agent, :name, :name_key, :model, :cwd, :parent_session, :parent_run, :parent_call,
                 :fork_session, :at, :connector_key, :now, :now, :at, :hash, :tenant, :person,
                 :now, (SELECT coalesce(root_number, number) FROM session WHERE id = :parent_session), :chat)",
        )?
        .execute(named_params! {
            ":id": new.id.as_str(),
            ":agent": new.agent,
            ":name": new.name,
            ":name_key": new.name.as_deref().map(name_key),
            ":model": new.model,
            ":cwd": column::path(&new.cwd),
            ":parent_session": parent.map(|parent| parent.session.as_str()),
            ":parent_run": parent.map(|parent| parent.run.as_str()),
            ":parent_call": parent.map(|parent| parent.call.as_str()),
            ":fork_session": number,
            ":at": column::signed(at),
            ":connector_key": new.connector_key,
            ":now": new.at.0,
            ":hash": hash,
            ":tenant": new.account.tenant,
            ":person": new.account.person,
            ":chat": new.chat.as_ref().map(serde_json::to_string).transpose()?,
        })?;
    needed(connection, &new.id)
}

/// Changes metadata.
pub(crate) fn update(
    connection: &Connection,
    id: &SessionId,
    patch: &SessionPatch,
) -> Result<Session, Error> {
    let mut session = needed(connection, id)?;
    if let Some(name) = &patch.name {
        session.name.clone_from(name);
    }
    session.deleted_at = patch.deleted_at.unwrap_or(session.deleted_at);
    session.pinned_at = patch.pinned_at.unwrap_or(session.pinned_at);
    if let Some(model) = &patch.model {
        session.model.clone_from(model);
    }
    merge(&mut session.attributes, &patch.attributes);
    session.updated_at = session
        .updated_at
        .max(patch.at.unwrap_or(session.updated_at));
    if session.deleted_at.is_none() {
        refuse_taken_name(connection, session.name.as_deref(), Some(id))?;
    }
    connection
        .prepare_cached(
            "UPDATE session SET name = ?2, name_key = ?3, deleted_at = ?4, pinned_at = ?5, model = ?6, attributes = ?7,
                 updated_at = ?8
             WHERE id = ?1",
        )?
        .execute(params![
            id.as_str(),
            session.name,
            session.name.as_deref().map(name_key),
            session.deleted_at.map(|at| at.0),
            session.pinned_at.map(|at| at.0),
            session.model,
            serde_json::to_string(&session.attributes)?,
            session.updated_at.0,
        ])?;
    audit::add_some(connection, patch.audit.as_deref())?;
    Ok(session)
}

fn merge(attributes: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, value) in patch {
        if value.is_null() {
            attributes.shift_remove(key);
        } else {
            attributes.insert(key.clone(), value.clone());
        }
    }
}

/// Names compare without case.
fn name_key(name: &str) -> String {
    name.to_lowercase()
}

fn refuse_taken_name(
    connection: &Connection,
    name: Option<&str>,
    but: Option<&SessionId>,
) -> Result<(), Error> {
    let Some(name) = name else { return Ok(()) };
    let taken = connection
        .prepare_cached(
            "SELECT 1 FROM session WHERE name_key = ?1 AND deleted_at IS NULL AND id IS NOT ?2",
        )?
        .exists(params![name_key(name), but.map(SessionId::as_str)])?;
    if taken {
        Err(Error::NameTaken(name.to_owned()))
    } else {
        Ok(())
    }
}

/// A session's row number and the number of its last event.
pub(crate) fn place(connection: &Connection, id: &SessionId) -> Result<(i64, u64), Error> {
    connection
        .prepare_cached("SELECT number, head FROM session WHERE id = ?1")?
        .query_row([id.as_str()], |row| {
            Ok((row.get(0)?, column::unsigned(row.get(1)?)))
        })
        .optional()?
        .ok_or_else(|| Error::NoSession(id.clone()))
}

/// One session that must be there.
pub(crate) fn needed(connection: &Connection, id: &SessionId) -> Result<Session, Error> {
    by_id(connection, id)?.ok_or_else(|| Error::NoSession(id.clone()))
}

/// One session, deleted ones included.
pub(crate) fn by_id(connection: &Connection, id: &SessionId) -> Result<Option<Session>, Error> {
    one(
        connection,
        &format!("{LISTED} WHERE s.id = ?1"),
        id.as_str(),
    )
}

/// The session bound to a connector key.
pub(crate) fn by_key(connection: &Connection, key: &str) -> Result<Option<Session>, Error> {
    one(
        connection,
        &format!("{LISTED} WHERE s.connector_key = ?1"),
        key,
    )
}

/// One session by its row number.
pub(crate) fn by_number(connection: &Connection, number: i64) -> Result<Option<Session>, Error> {
    one(connection, &format!("{LISTED} WHERE s.number = ?1"), number)
}

fn one(
    connection: &Connection,
    sql: &str,
    key: impl rusqlite::ToSql,
) -> Result<Option<Session>, Error> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([key])?;
    rows.next()?.map(read).transpose()
}

/// In which order sessions are listed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionOrder {
    /// By their last change.
    Updated,
    /// Those a person talked to, by when that was.
    Spoken,
    /// The same, only those with an open run that a process has claimed.
    Claimed,
}

/// Sessions in an order.
pub(crate) fn list(
    connection: &Connection,
    filter: &SessionFilter,
    order: SessionOrder,
) -> Result<Vec<Session>, Error> {
    let spoken_to = "JOIN mailbox m ON m.session = s.number AND m.user_at IS NOT NULL AND s.parent_session IS NULL";
    let (spoken_to, claimed, by) = match order {
        SessionOrder::Updated => ("", "", ""),
        SessionOrder::Spoken => (spoken_to, "", "m.user_at DESC,"),
        SessionOrder::Claimed => (
            spoken_to,
            "AND s.run IS NOT NULL AND s.token IS NOT NULL",
            "m.user_at DESC,",
        ),
    };
    let mut statement = connection.prepare_cached(&format!(
        "{LISTED} {spoken_to} WHERE (s.deleted_at IS NOT NULL) = :deleted {claimed}
             AND (:agent IS NULL OR s.agent = :agent COLLATE NOCASE)
             AND (:called IS NULL OR s.name_key = :name_key OR substr(s.id, -length(:called)) = :called)
             AND (:parent IS NULL OR s.parent_session = :parent)
             AND (:cwd IS NULL OR s.cwd = :cwd)
             AND (:top_level IS NULL OR (s.parent_session IS NULL) = :top_level)
             AND (:tenant IS NULL OR s.tenant = :tenant) AND {VISIBLE}
             AND (:after IS NULL OR (s.updated_at, s.number) < (:updated_at, (SELECT number FROM session WHERE id = :after)))
         ORDER BY {by} s.updated_at DESC, s.number DESC LIMIT :limit + 0"
    ))?;
    let limit = if order == SessionOrder::Claimed {
        0
    } else {
        filter.limit
    };
    let mut rows = statement.query(named_params! {
        ":deleted": filter.deleted,
        ":agent": filter.agent,
        ":called": filter.called,
        ":name_key": filter.called.as_deref().map(name_key),
        ":parent": filter.parent.as_ref().map(SessionId::as_str),
        ":cwd": filter.cwd.as_deref().map(column::path),
        ":top_level": filter.top_level,
        ":tenant": filter.tenant,
        ":person": filter.visible.person,
        ":agents": column::names(filter.visible.agents.as_deref())?,
        ":after": filter.after.as_ref().map(|after| after.id.as_str()),
        ":updated_at": filter.after.as_ref().map(|after| after.updated_at.0),
        ":limit": if limit == 0 { -1 } else { column::limit(limit) },
    })?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        sessions.push(read(row)?);
    }
    Ok(sessions)
}

fn read(row: &Row<'_>) -> Result<Session, Error> {
    let parent = match column::id(row, 5, SessionId::parse)? {
        Some(session) => Some(ParentCall {
            session,
            run: column::needed(row, 6, RunId::parse)?,
            call: column::needed(row, 7, CallId::parse)?,
        }),
        None => None,
    };
    let forked_from = match column::id(row, 8, SessionId::parse)? {
        Some(session) => Some(ForkPoint {
            session,
            at: column::count(row, 9)?,
        }),
        None => None,
    };
    Ok(Session {
        id: column::needed(row, 0, SessionId::parse)?,
        agent: row.get(1)?,
        name: row.get(2)?,
        model: row.get(3)?,
        cwd: column::path_of(row, 4)?,
        parent,
        forked_from,
        pinned_at: column::moment(row, 10)?,
        created_at: column::moment(row, 11)?.unwrap_or_default(),
        updated_at: column::moment(row, 12)?.unwrap_or_default(),
        deleted_at: column::moment(row, 13)?,
        last_snippet: row.get(14)?,
        attributes: serde_json::from_str(row.get_ref(15)?.as_str().unwrap_or("{}"))?,
        head: column::count(row, 16)?,
        account: Account {
            tenant: row.get(17)?,
            person: row.get(18)?,
        },
        chat: match row.get_ref(19)?.as_str() {
            Ok(chat) => Some(serde_json::from_str(chat)?),
            Err(_) => None,
        },
    })
}
