//! Rows of chat bindings: the session that a chat talks to now.

use rooftree_protocol::SessionId;
use rusqlite::{Connection, params};

use super::inbound_keys;
use crate::{
    ChatBinding, ChatBindingWrite, Error,
    sqlite::{audit, column},
};

/// Binds a chat to a session, unless what wants it is known already.
pub(crate) fn put(connection: &Connection, write: &ChatBindingWrite) -> Result<ChatBinding, Error> {
    let known = one(connection, &write.tenant, &write.key)?;
    let inbound = &write.inbound;
    let is_repeated = inbound_keys::is_known(
        connection,
        &inbound.tenant,
        &inbound.connector,
        &inbound.key,
    )?;
    if let Some(known) = known.filter(|_| is_repeated) {
        return Ok(known);
    }
    connection
        .prepare_cached(
            "INSERT INTO chat_binding (tenant, connector, key, session, previous, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (tenant, key) DO UPDATE SET session = ?4, previous = ?5, at = ?6",
        )?
        .execute(params![
            write.tenant,
            write.connector,
            write.key,
            write.session.as_str(),
            write.previous.as_ref().map(SessionId::as_str),
            write.at.0,
        ])?;
    inbound_keys::put(connection, std::slice::from_ref(inbound))?;
    audit::add_some(connection, write.audit.as_ref())?;
    Ok(ChatBinding {
        session: write.session.clone(),
        previous: write.previous.clone(),
    })
}

/// The session a chat was bound to.
pub(crate) fn one(
    connection: &Connection,
    tenant: &str,
    key: &str,
) -> Result<Option<ChatBinding>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT session, previous FROM chat_binding WHERE tenant = ?1 AND key = ?2",
    )?;
    let mut rows = statement.query(params![tenant, key])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    Ok(Some(ChatBinding {
        session: column::needed(row, 0, SessionId::parse)?,
        previous: column::id(row, 1, SessionId::parse)?,
    }))
}
