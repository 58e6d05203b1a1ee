//! Rows of agents made over the API, with optimistic locking by revision.

use rooftree_protocol::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{audit, column};
use crate::{AgentRow, AgentWrite, AgentWriteOutcome, Error};

/// Adds, changes or removes an agent, if it has the revision that is expected.
pub(crate) fn write(
    connection: &Connection,
    write: &AgentWrite,
) -> Result<AgentWriteOutcome, Error> {
    let known = one(connection, &write.tenant, &write.name)?;
    if known.as_ref().map(|known| known.revision) != write.expected {
        return Ok(AgentWriteOutcome::Differs(known.map(Box::new)));
    }
    let written = write.text.as_ref().map(|text| AgentRow {
        tenant: write.tenant.clone(),
        name: write.name.clone(),
        revision: write.expected.unwrap_or(0) + 1,
        text: text.clone(),
        by: write.by.clone(),
        created_at: known.map_or(write.at, |known| known.created_at),
        updated_at: write.at,
    });
    match &written {
        Some(row) => put(connection, row)?,
        None => remove(connection, write)?,
    }
    audit::add_some(connection, write.audit.as_ref())?;
    Ok(AgentWriteOutcome::Written(written.map(Box::new)))
}

/// The agents of a tenant, by name.
pub(crate) fn list(connection: &Connection, tenant: &str) -> Result<Vec<AgentRow>, Error> {
    let mut statement =
        connection.prepare_cached("SELECT * FROM agent WHERE tenant = ?1 ORDER BY name")?;
    let mut rows = statement.query([tenant])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn one(connection: &Connection, tenant: &str, name: &str) -> Result<Option<AgentRow>, Error> {
    connection
        .prepare_cached("SELECT * FROM agent WHERE tenant = ?1 AND name = ?2")?
        .query_row(params![tenant, name], |row| Ok(read(row)))
        .optional()?
        .transpose()
}

fn put(connection: &Connection, row: &AgentRow) -> Result<(), Error> {
    connection
        .prepare_cached(
            "INSERT INTO agent (tenant, name, revision, text, made_by, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (tenant, name) DO UPDATE SET revision = ?3, text = ?4, made_by = ?5, updated_at = ?7",
        )?
        .execute(params![
            row.tenant,
            row.name,
            column::signed(row.revision),
            row.text,
            serde_json::to_string(&row.by)?,
            row.created_at.0,
            row.updated_at.0,
        ])?;
    Ok(())
}

fn remove(connection: &Connection, write: &AgentWrite) -> Result<(), Error> {
    connection
        .prepare_cached("DELETE FROM agent WHERE tenant = ?1 AND name = ?2")?
        .execute(params![write.tenant, write.name])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<AgentRow, Error> {
    Ok(AgentRow {
        tenant: row.get("tenant")?,
        name: row.get("name")?,
        revision: column::count(row, "revision")?,
        text: row.get("text")?,
        by: serde_json::from_str(&row.get::<_, String>("made_by")?)?,
        created_at: Timestamp(row.get("created_at")?),
        updated_at: Timestamp(row.get("updated_at")?),
    })
}
