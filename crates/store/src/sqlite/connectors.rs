//! Rows of connectors, with optimistic locking by revision.

pub(crate) mod bindings;
pub(crate) mod identities;
pub(crate) mod inbound_keys;
pub(crate) mod pairings;

use rooftree_protocol::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{audit, column};
use crate::{
    ConnectorFields, ConnectorHealth, ConnectorRow, ConnectorWrite, ConnectorWriteOutcome, Error,
};

/// Tables whose rows belong to a connector.
const DEPENDENT: [&str; 4] = ["chat_identity", "pairing", "chat_binding", "inbound_key"];

/// Adds, changes or removes a connector, if it has the revision that is expected.
pub(crate) fn write(
    connection: &Connection,
    write: &ConnectorWrite,
) -> Result<ConnectorWriteOutcome, Error> {
    let known = one(connection, &write.tenant, &write.name)?;
    if known.as_ref().map(|known| known.revision) != write.expected {
        return Ok(ConnectorWriteOutcome::Differs(known.map(Box::new)));
    }
    let written = write.fields.as_ref().map(|fields| ConnectorRow {
        tenant: write.tenant.clone(),
        name: write.name.clone(),
        fields: fields.clone(),
        revision: write.expected.unwrap_or(0) + 1,
        by: write.by.clone(),
        created_at: known.as_ref().map_or(write.at, |known| known.created_at),
        updated_at: write.at,
        health: known.as_ref().and_then(|known| known.health.clone()),
        cursor: known.and_then(|known| known.cursor),
    });
    match &written {
        Some(row) => put(connection, row)?,
        None => remove(connection, write)?,
    }
    audit::add_some(connection, write.audit.as_ref())?;
    Ok(ConnectorWriteOutcome::Written(written.map(Box::new)))
}

/// The connectors of a tenant, by name.
pub(crate) fn list(connection: &Connection, tenant: &str) -> Result<Vec<ConnectorRow>, Error> {
    let mut statement =
        connection.prepare_cached("SELECT * FROM connector WHERE tenant = ?1 ORDER BY name")?;
    let mut rows = statement.query([tenant])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// Keeps how a connector is.
pub(crate) fn note_health(
    connection: &Connection,
    tenant: &str,
    name: &str,
    health: &ConnectorHealth,
) -> Result<(), Error> {
    connection
        .prepare_cached("UPDATE connector SET health = ?3 WHERE tenant = ?1 AND name = ?2")?
        .execute(params![tenant, name, serde_json::to_string(health)?])?;
    Ok(())
}

/// Keeps where receiving goes on.
pub(crate) fn keep_cursor(
    connection: &Connection,
    tenant: &str,
    name: &str,
    cursor: &str,
) -> Result<(), Error> {
    connection
        .prepare_cached("UPDATE connector SET cursor = ?3 WHERE tenant = ?1 AND name = ?2")?
        .execute(params![tenant, name, cursor])?;
    Ok(())
}

/// Whether there is such a connector.
pub(crate) fn exists(connection: &Connection, tenant: &str, name: &str) -> Result<bool, Error> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM connector WHERE tenant = ?1 AND name = ?2")?
        .exists(params![tenant, name])?)
}

fn one(connection: &Connection, tenant: &str, name: &str) -> Result<Option<ConnectorRow>, Error> {
    connection
        .prepare_cached("SELECT * FROM connector WHERE tenant = ?1 AND name = ?2")?
        .query_row(params![tenant, name], |row| Ok(read(row)))
        .optional()?
        .transpose()
}

fn put(connection: &Connection, row: &ConnectorRow) -> Result<(), Error> {
    connection
        .prepare_cached(
            "INSERT INTO connector (tenant, name, platform, agent, settings, enabled, revision, made_by, created_at,
                 updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (tenant, name) DO UPDATE SET platform = ?3, agent = ?4, settings = ?5, enabled = ?6,
                 revision = ?7, made_by = ?8, updated_at = ?10",
        )?
        .execute(params![
            row.tenant,
            row.name,
            row.fields.platform,
            row.fields.agent,
            serde_json::to_string(&row.fields.settings)?,
            row.fields.enabled,
            column::signed(row.revision),
            serde_json::to_string(&row.by)?,
            row.created_at.0,
            row.updated_at.0,
        ])?;
    Ok(())
}

/// Invariant: what belonged to a connector does not come back with another one of its name.
fn remove(connection: &Connection, write: &ConnectorWrite) -> Result<(), Error> {
    let ConnectorWrite { tenant, name, .. } = write;
    connection
        .prepare_cached("DELETE FROM connector WHERE tenant = ?1 AND name = ?2")?
        .execute(params![tenant, name])?;
    for table in DEPENDENT {
        connection
            .prepare_cached(&format!(
                "DELETE FROM {table} WHERE tenant = ?1 AND connector = ?2"
            ))?
            .execute(params![tenant, name])?;
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Result<ConnectorRow, Error> {
    Ok(ConnectorRow {
        tenant: row.get("tenant")?,
        name: row.get("name")?,
        fields: ConnectorFields {
            platform: row.get("platform")?,
            agent: row.get("agent")?,
            settings: column::json(row, "settings")?.unwrap_or_default(),
            enabled: row.get("enabled")?,
        },
        revision: column::count(row, "revision")?,
        by: serde_json::from_str(&row.get::<_, String>("made_by")?)?,
        created_at: Timestamp(row.get("created_at")?),
        updated_at: Timestamp(row.get("updated_at")?),
        health: column::json(row, "health")?,
        cursor: row.get("cursor")?,
    })
}
