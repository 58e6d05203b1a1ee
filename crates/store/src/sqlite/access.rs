//! Rows of access control: tokens, persons and one-time links.

pub(crate) mod idempotency;
pub(crate) mod links;
pub(crate) mod persons;

use rooftree_protocol::{Account, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::audit;
use crate::{AccessTokenRow, AuditEntry, Error, TokenHash};

/// A token with the moment its person was disabled.
const SELECT: &str = "SELECT t.*, p.disabled_at AS disabled_at
     FROM access_token t LEFT JOIN person p ON p.tenant = t.tenant AND p.id = t.person";

/// Keeps a new token.
pub(crate) fn put(
    connection: &Connection,
    token: &AccessTokenRow,
    entry: Option<&AuditEntry>,
) -> Result<(), Error> {
    if !links::is_enabled(connection, &token.account)? {
        let person = &token.account.person;
        return Err(Error::Failed(format!(
            "the person `{person}` is not there or is disabled"
        )));
    }
    let agents = token
        .agents
        .as_ref()
        .map(serde_json::to_string)
        .transpose()?;
    connection
        .prepare_cached(
            "INSERT INTO access_token (id, tenant, person, name, digest, scopes, agents, created_at, expires_at)
             VALUES (:id, :tenant, :person, :name, :digest, :scopes, :agents, :created_at, :expires_at)",
        )?
        .execute(named_params! {
            ":id": token.id,
            ":tenant": token.account.tenant,
            ":person": token.account.person,
            ":name": token.name,
            ":digest": token.digest.0,
            ":scopes": serde_json::to_string(&token.scopes)?,
            ":agents": agents,
            ":created_at": token.created_at.0,
            ":expires_at": token.expires_at.map(|at| at.0),
        })?;
    audit::add_some(connection, entry)
}

/// The token with this digest.
pub(crate) fn by_digest(
    connection: &Connection,
    digest: TokenHash,
) -> Result<Option<AccessTokenRow>, Error> {
    let mut statement = connection.prepare_cached(&format!("{SELECT} WHERE t.digest = ?1"))?;
    let row = statement.query_row([digest.0], |row| Ok(read(row)));
    row.optional()?.transpose()
}

/// The tokens of a tenant, the oldest first.
pub(crate) fn list(connection: &Connection, tenant: &str) -> Result<Vec<AccessTokenRow>, Error> {
    let sql = format!("{SELECT} WHERE t.tenant = ?1 ORDER BY t.created_at, t.id");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([tenant])?;
    let mut tokens = Vec::new();
    while let Some(row) = rows.next()? {
        tokens.push(read(row)?);
    }
    Ok(tokens)
}

/// Revokes a token; says whether it was good until now.
pub(crate) fn revoke(
    connection: &Connection,
    tenant: &str,
    id: &str,
    at: Timestamp,
    entry: Option<&AuditEntry>,
) -> Result<bool, Error> {
    let revoked = connection
        .prepare_cached(
            "UPDATE access_token SET revoked_at = ?3 WHERE tenant = ?1 AND id = ?2 AND revoked_at IS NULL",
        )?
        .execute(params![tenant, id, at.0])?;
    if revoked > 0 {
        audit::add_some(connection, entry)?;
    }
    Ok(revoked > 0)
}

/// Notes when a token was presented.
pub(crate) fn touch(
    connection: &Connection,
    id: &str,
    at: Timestamp,
    unless_after: Timestamp,
) -> Result<(), Error> {
    connection
        .prepare_cached(
            "UPDATE access_token SET used_at = ?2 WHERE id = ?1 AND (used_at IS NULL OR used_at <= ?3)",
        )?
        .execute(params![id, at.0, unless_after.0])?;
    Ok(())
}

/// Invariant: what cannot be read gives no rights.
fn read(row: &Row<'_>) -> Result<AccessTokenRow, Error> {
    let agents = row.get::<_, Option<String>>("agents")?;
    let agents = agents.map(|agents| serde_json::from_str(&agents).unwrap_or_default());
    let time = |column: &str| {
        row.get::<_, Option<i64>>(column)
            .map(|at| at.map(Timestamp))
    };
    Ok(AccessTokenRow {
        id: row.get("id")?,
        account: Account {
            tenant: row.get("tenant")?,
            person: row.get("person")?,
        },
        name: row.get("name")?,
        digest: TokenHash(row.get("digest")?),
        scopes: serde_json::from_str(&row.get::<_, String>("scopes")?).unwrap_or_default(),
        agents,
        created_at: Timestamp(row.get("created_at")?),
        expires_at: time("expires_at")?,
        revoked_at: time("revoked_at")?.or(time("disabled_at")?),
        used_at: time("used_at")?,
    })
}
