//! Rows of incidents: failures of a schedule with the same signature.

use rooftree_protocol::Timestamp;
use rusqlite::{Connection, Row, params};

use crate::{
    AuditEntry, Error, IncidentReport, IncidentRow, IncidentState,
    sqlite::{audit, column},
};

/// Counts a failure. One that was resolved begins anew; one that was acknowledged stays so.
pub(crate) fn report(
    connection: &Connection,
    schedule: &str,
    report: &IncidentReport,
    at: Timestamp,
) -> Result<(), Error> {
    let state = if report.alerted {
        IncidentState::Alerted
    } else {
        IncidentState::Detected
    };
    connection
        .prepare_cached(
            "INSERT INTO incident (schedule, signature, state, words, count, first_at, last_at)
             VALUES (?1, ?2, ?3, ?4, 1, ?5, ?5)
             ON CONFLICT (schedule, signature) DO UPDATE SET words = ?4, last_at = ?5,
                 count = CASE state WHEN 'resolved' THEN 1 ELSE count + 1 END,
                 first_at = CASE state WHEN 'resolved' THEN ?5 ELSE first_at END,
                 state = CASE WHEN state = 'acknowledged' THEN state
                     WHEN state = 'alerted' THEN state ELSE ?3 END",
        )?
        .execute(params![
            schedule,
            report.signature,
            state.word(),
            report.words,
            at.0
        ])?;
    Ok(())
}

/// A run has completed.
pub(crate) fn resolve(connection: &Connection, schedule: &str) -> Result<(), Error> {
    connection
        .prepare_cached(
            "UPDATE incident SET state = 'resolved'
             WHERE schedule = ?1 AND state IN ('detected', 'alerted')",
        )?
        .execute([schedule])?;
    Ok(())
}

/// Failures of a schedule that is on are not shown any more: a run has completed, or a person knows of them.
pub(super) fn show_no_more(connection: &Connection, schedule: &str) -> Result<(), Error> {
    connection
        .prepare_cached(
            "UPDATE schedule SET off_session = NULL, off_at = NULL WHERE id = ?1 AND enabled = 1",
        )?
        .execute([schedule])?;
    Ok(())
}

/// The incidents of a schedule, the latest first.
pub(crate) fn list(connection: &Connection, schedule: &str) -> Result<Vec<IncidentRow>, Error> {
    let sql = "SELECT * FROM incident WHERE schedule = ?1 ORDER BY last_at DESC, signature";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([schedule])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// No person is told of it any more.
pub(crate) fn acknowledge(
    connection: &Connection,
    schedule: &str,
    signature: &str,
    entry: Option<&AuditEntry>,
) -> Result<bool, Error> {
    let changed = connection
        .prepare_cached(
            "UPDATE incident SET state = 'acknowledged' WHERE schedule = ?1 AND signature = ?2",
        )?
        .execute(params![schedule, signature])?;
    if changed > 0 {
        show_no_more(connection, schedule)?;
        audit::add_some(connection, entry)?;
    }
    Ok(changed > 0)
}

fn read(row: &Row<'_>) -> Result<IncidentRow, Error> {
    let state = match row.get_ref("state")?.as_str().unwrap_or_default() {
        "alerted" => IncidentState::Alerted,
        "resolved" => IncidentState::Resolved,
        "acknowledged" => IncidentState::Acknowledged,
        _ => IncidentState::Detected,
    };
    Ok(IncidentRow {
        schedule: row.get("schedule")?,
        signature: row.get("signature")?,
        state,
        words: row.get("words")?,
        count: column::count(row, "count")?,
        first_at: Timestamp(row.get("first_at")?),
        last_at: Timestamp(row.get("last_at")?),
    })
}
