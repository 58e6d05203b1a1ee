//! Access token rows.

use rooftree_protocol::{Account, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::audit;
use crate::{AccessTokenRow, AuditEntry, Error, TokenHash};

/// Keeps a new token.
pub(crate) fn put(
    connection: &Connection,
    token: &AccessTokenRow,
    entry: Option<&AuditEntry>,
) -> Result<(), Error> {
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
    let mut statement =
        connection.prepare_cached("SELECT * FROM access_token WHERE digest = ?1")?;
    let row = statement.query_row([digest.0], |row| Ok(read(row)));
    row.optional()?.transpose()
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
        revoked_at: time("revoked_at")?,
        used_at: time("used_at")?,
    })
}
