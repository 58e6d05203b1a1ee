//! Commands left for the process that owns a session.

use rooftree_protocol::{SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::{audit, claim_check::ClaimProof, column, sessions};
use crate::{CommandRow, Error};

/// Leaves a command.
pub(crate) fn put(
    connection: &Connection,
    session: &SessionId,
    row: &CommandRow,
) -> Result<(), Error> {
    let (number, _) = sessions::place(connection, session)?;
    connection
        .prepare_cached("INSERT INTO command (session, at, command, who) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![
            number,
            row.at.0,
            serde_json::to_string(&row.command)?,
            row.who.as_ref().map(serde_json::to_string).transpose()?
        ])?;
    audit::add_some(connection, row.audit.as_deref())
}

/// Whether anything was left. Writes nothing.
pub(crate) fn are_waiting(connection: &Connection, proof: &ClaimProof) -> Result<bool, Error> {
    let number = held(connection, proof)?;
    let mut statement =
        connection.prepare_cached("SELECT 1 FROM command WHERE session = ?1 LIMIT 1")?;
    Ok(statement.exists([number])?)
}

/// The session's row, if the claim still holds.
fn held(connection: &Connection, proof: &ClaimProof) -> Result<i64, Error> {
    connection
        .prepare_cached("SELECT number FROM session WHERE id = ?1 AND fence = ?2 AND token = ?3")?
        .query_row(
            params![
                proof.session.as_str(),
                column::signed(proof.fence),
                proof.token
            ],
            |row| row.get(0),
        )
        .optional()?
        .ok_or(Error::Fenced)
}

/// Hands out what was left, oldest first.
pub(crate) fn take(connection: &Connection, proof: &ClaimProof) -> Result<Vec<CommandRow>, Error> {
    let number = held(connection, proof)?;
    let mut taken = Vec::new();
    {
        let mut statement = connection.prepare_cached(
            "SELECT at, command, who FROM command WHERE session = ?1 ORDER BY id",
        )?;
        let mut rows = statement.query([number])?;
        while let Some(row) = rows.next()? {
            let command = serde_json::from_str(&row.get::<_, String>("command")?)?;
            taken.push(CommandRow {
                command,
                who: column::json(row, "who")?,
                audit: None,
                at: Timestamp(row.get("at")?),
            });
        }
    }
    if !taken.is_empty() {
        connection
            .prepare_cached("DELETE FROM command WHERE session = ?1")?
            .execute([number])?;
    }
    Ok(taken)
}
