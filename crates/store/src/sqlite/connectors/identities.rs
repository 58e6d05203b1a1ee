//! Rows of chat identities: which person a sender of a platform is.

use rooftree_protocol::{Account, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use crate::{
    AuditEntry, ChatIdentity, Error,
    sqlite::{access, audit, connectors},
};

/// Adds or changes an identity.
pub(crate) fn put(
    connection: &Connection,
    identity: &ChatIdentity,
    entry: Option<&AuditEntry>,
) -> Result<(), Error> {
    let account = Account {
        tenant: identity.tenant.clone(),
        person: identity.person.clone(),
    };
    if !access::links::is_enabled(connection, &account)? {
        let person = &identity.person;
        return Err(Error::Failed(format!(
            "the person `{person}` is not there or is disabled"
        )));
    }
    if !connectors::exists(connection, &identity.tenant, &identity.connector)? {
        let connector = &identity.connector;
        return Err(Error::Failed(format!(
            "there is no connector `{connector}`"
        )));
    }
    connection
        .prepare_cached(
            "INSERT INTO chat_identity (tenant, connector, sender, name, person, may_send, may_approve, paired_at)
             VALUES (:tenant, :connector, :sender, :name, :person, :may_send, :may_approve, :paired_at)
             ON CONFLICT (tenant, connector, sender) DO UPDATE SET name = :name, person = :person,
                 may_send = :may_send, may_approve = :may_approve, paired_at = :paired_at",
        )?
        .execute(named_params! {
            ":tenant": identity.tenant,
            ":connector": identity.connector,
            ":sender": identity.sender,
            ":name": identity.name,
            ":person": identity.person,
            ":may_send": identity.may_send,
            ":may_approve": identity.may_approve,
            ":paired_at": identity.paired_at.0,
        })?;
    audit::add_some(connection, entry)
}

/// Removes an identity; says whether it was there.
pub(crate) fn remove(
    connection: &Connection,
    (tenant, connector, sender): (&str, &str, &str),
    entry: Option<&AuditEntry>,
) -> Result<bool, Error> {
    let removed = connection
        .prepare_cached(
            "DELETE FROM chat_identity WHERE tenant = ?1 AND connector = ?2 AND sender = ?3",
        )?
        .execute(params![tenant, connector, sender])?;
    if removed > 0 {
        audit::add_some(connection, entry)?;
    }
    Ok(removed > 0)
}

/// The identities of a connector, by sender.
pub(crate) fn list(
    connection: &Connection,
    tenant: &str,
    connector: &str,
) -> Result<Vec<ChatIdentity>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT * FROM chat_identity WHERE tenant = ?1 AND connector = ?2 ORDER BY sender",
    )?;
    let mut rows = statement.query(params![tenant, connector])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// Who a sender is. Invariant: one whose person is disabled is not found.
pub(crate) fn one(
    connection: &Connection,
    tenant: &str,
    connector: &str,
    sender: &str,
) -> Result<Option<ChatIdentity>, Error> {
    Ok(connection
        .prepare_cached(
            "SELECT i.* FROM chat_identity i JOIN person p ON p.tenant = i.tenant AND p.id = i.person
             WHERE i.tenant = ?1 AND i.connector = ?2 AND i.sender = ?3 AND p.disabled_at IS NULL",
        )?
        .query_row(params![tenant, connector, sender], read)
        .optional()?)
}

fn read(row: &Row<'_>) -> Result<ChatIdentity, rusqlite::Error> {
    Ok(ChatIdentity {
        tenant: row.get("tenant")?,
        connector: row.get("connector")?,
        sender: row.get("sender")?,
        name: row.get("name")?,
        person: row.get("person")?,
        may_send: row.get("may_send")?,
        may_approve: row.get("may_approve")?,
        paired_at: Timestamp(row.get("paired_at")?),
    })
}
