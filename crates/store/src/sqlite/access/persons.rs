//! Person rows: the owner of the installation, and those he invited.

use rooftree_protocol::{Account, Timestamp};
use rusqlite::{Connection, Row, params};

use super::links;
use crate::{AccessLinkRow, AuditEntry, Error, PersonRole, PersonRow, sqlite::audit};

/// Keeps a new person and the link that invites him.
pub(crate) fn put(
    connection: &Connection,
    person: &PersonRow,
    link: Option<&AccessLinkRow>,
    entry: Option<&AuditEntry>,
) -> Result<(), Error> {
    let PersonRow {
        account,
        name,
        role,
        invited_at,
        ..
    } = person;
    let added = connection
        .prepare_cached(
            "INSERT INTO person (tenant, id, name, role, invited_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            account.tenant,
            account.person,
            name,
            word(*role),
            invited_at.0
        ])?;
    if added == 0 {
        return Err(Error::NameTaken(account.person.clone()));
    }
    if let Some(link) = link {
        links::put(connection, link, None)?;
    }
    audit::add_some(connection, entry)
}

/// The persons of a tenant.
pub(crate) fn list(connection: &Connection, tenant: &str) -> Result<Vec<PersonRow>, Error> {
    let mut statement =
        connection.prepare_cached("SELECT * FROM person WHERE tenant = ?1 ORDER BY id")?;
    let mut rows = statement.query([tenant])?;
    let mut persons = Vec::new();
    while let Some(row) = rows.next()? {
        persons.push(read(row)?);
    }
    Ok(persons)
}

/// Disables a person; his tokens and links end with it.
pub(crate) fn disable(
    connection: &Connection,
    account: &Account,
    at: Timestamp,
    entry: Option<&AuditEntry>,
) -> Result<bool, Error> {
    let Account { tenant, person } = account;
    let disabled = connection
        .prepare_cached(
            "UPDATE person SET disabled_at = ?3
             WHERE tenant = ?1 AND id = ?2 AND disabled_at IS NULL AND role = 'member'",
        )?
        .execute(params![tenant, person, at.0])?;
    if disabled == 0 {
        return Ok(false);
    }
    connection
        .prepare_cached(
            "UPDATE access_token SET revoked_at = ?3 WHERE tenant = ?1 AND person = ?2 AND revoked_at IS NULL",
        )?
        .execute(params![tenant, person, at.0])?;
    connection
        .prepare_cached("DELETE FROM access_link WHERE tenant = ?1 AND person = ?2")?
        .execute(params![tenant, person])?;
    audit::add_some(connection, entry)?;
    Ok(true)
}

fn read(row: &Row<'_>) -> Result<PersonRow, Error> {
    let role = match row.get_ref("role")?.as_str().unwrap_or_default() {
        "owner" => PersonRole::Owner,
        // What cannot be read must not give more.
        _ => PersonRole::Member,
    };
    Ok(PersonRow {
        account: Account {
            tenant: row.get("tenant")?,
            person: row.get("id")?,
        },
        name: row.get("name")?,
        role,
        invited_at: Timestamp(row.get("invited_at")?),
        disabled_at: row.get::<_, Option<i64>>("disabled_at")?.map(Timestamp),
    })
}

fn word(role: PersonRole) -> &'static str {
    match role {
        PersonRole::Owner => "owner",
        PersonRole::Member => "member",
    }
}
