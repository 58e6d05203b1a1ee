//! Rows of the audit log. They are only added: the database refuses to change or delete one.

use rooftree_protocol::{Principal, Timestamp};
use rusqlite::{Connection, Row, named_params, params};
use serde_json::Value;

use super::column;
use crate::{AuditEntry, AuditPhase, AuditRow, Error};

/// Adds an entry; gives its number.
pub(crate) fn add(connection: &Connection, entry: &AuditEntry) -> Result<i64, Error> {
    let (phase, intent) = match entry.phase {
        AuditPhase::Done => ("done", None),
        AuditPhase::Intent => ("intent", None),
        AuditPhase::Completed(intent) => ("completed", Some(intent)),
        AuditPhase::Failed(intent) => ("failed", Some(intent)),
    };
    connection
        .prepare_cached(
            "INSERT INTO audit (at, tenant, person, token, surface, on_behalf_of, action, subject, detail, phase, intent)
             VALUES (:at, :tenant, :person, :token, :surface, :on_behalf_of, :action, :subject, :detail, :phase, :intent)",
        )?
        .execute(named_params! {
            ":at": entry.at.0,
            ":tenant": entry.who.tenant,
            ":person": entry.who.person,
            ":token": entry.who.token,
            ":surface": word(&entry.who.surface)?,
            ":on_behalf_of": entry.who.on_behalf_of,
            ":action": entry.action,
            ":subject": entry.subject,
            ":detail": serde_json::to_string(&entry.detail)?,
            ":phase": phase,
            ":intent": intent,
        })?;
    Ok(connection.last_insert_rowid())
}

/// Adds an entry if there is one.
pub(crate) fn add_some(connection: &Connection, entry: Option<&AuditEntry>) -> Result<(), Error> {
    entry.map_or(Ok(()), |entry| add(connection, entry).map(drop))
}

/// Entries of a tenant with a number above `after`, in order.
pub(crate) fn list(
    connection: &Connection,
    tenant: &str,
    after: i64,
    limit: usize,
) -> Result<Vec<AuditRow>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT * FROM audit WHERE tenant = ?1 AND number > ?2 ORDER BY number LIMIT ?3 + 0",
    )?;
    let mut rows = statement.query(params![tenant, after, column::limit(limit)])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(read(row)?);
    }
    Ok(entries)
}

fn read(row: &Row<'_>) -> Result<AuditRow, Error> {
    let intent = row.get::<_, Option<i64>>("intent")?.unwrap_or_default();
    let phase = match row.get_ref("phase")?.as_str().unwrap_or_default() {
        "intent" => AuditPhase::Intent,
        "completed" => AuditPhase::Completed(intent),
        "failed" => AuditPhase::Failed(intent),
        _ => AuditPhase::Done,
    };
    let entry = AuditEntry {
        at: Timestamp(row.get("at")?),
        who: Principal {
            tenant: row.get("tenant")?,
            person: row.get("person")?,
            token: row.get("token")?,
            surface: serde_json::from_value(Value::String(row.get("surface")?))?,
            on_behalf_of: row.get("on_behalf_of")?,
            agents: None,
        },
        action: row.get("action")?,
        subject: row.get("subject")?,
        detail: serde_json::from_str(row.get_ref("detail")?.as_str().unwrap_or("{}"))?,
        phase,
    };
    Ok(AuditRow {
        number: row.get("number")?,
        entry,
    })
}

/// The same word as in JSON.
fn word(surface: &rooftree_protocol::Surface) -> Result<Option<String>, Error> {
    Ok(serde_json::to_value(surface)?.as_str().map(str::to_owned))
}
