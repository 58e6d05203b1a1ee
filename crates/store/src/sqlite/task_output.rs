//! Output of background processes: ordered pieces, of which the newest are kept.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::column;
use crate::{Error, OutputPiece};

/// Bytes kept of what one process wrote: the last ones.
const KEPT_BYTES: u64 = 512 * 1024;
/// Processes of one session whose output is kept: the last ones.
const KEPT_PROCESSES: i64 = 64;

/// Keeps a piece of what a task wrote, and lets go of what is too old. One that is there already stays.
pub(crate) fn put(connection: &Connection, task: &str, piece: &OutputPiece) -> Result<(), Error> {
    let number: Option<i64> = connection
        .prepare_cached("SELECT number FROM task WHERE id = ?1")?
        .query_row([task], |row| row.get(0))
        .optional()?;
    let number = number.ok_or_else(|| Error::Failed(format!("there is no task {task}")))?;
    connection
        .prepare_cached(
            "INSERT INTO task_output (task, start, text) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute(params![number, column::signed(piece.start), piece.text])?;
    let oldest = column::signed(piece.end().saturating_sub(KEPT_BYTES));
    connection
        .prepare_cached(
            "DELETE FROM task_output WHERE task = ?1 AND start < ?2 AND start + octet_length(text) <= ?2",
        )?
        .execute(params![number, oldest])?;
    if piece.start == 0 {
        forget_older(connection, number)?;
    }
    Ok(())
}

/// A session that starts processes for years keeps the output of the last ones.
fn forget_older(connection: &Connection, newest: i64) -> Result<(), Error> {
    connection
        .prepare_cached(
            "DELETE FROM task_output WHERE task IN (
                 SELECT number FROM task WHERE kind = 'process' AND number <= ?1
                     AND session = (SELECT session FROM task WHERE number = ?1)
                 ORDER BY number DESC LIMIT -1 OFFSET ?2)",
        )?
        .execute(params![newest, KEPT_PROCESSES])?;
    Ok(())
}

/// The pieces that end after so many bytes, in order.
pub(crate) fn after(
    connection: &Connection,
    task: &str,
    after: u64,
) -> Result<Vec<OutputPiece>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT o.start, o.text FROM task_output o JOIN task t ON t.number = o.task
         WHERE t.id = ?1 AND o.start + octet_length(o.text) > ?2 ORDER BY o.start",
    )?;
    let pieces = statement.query_map(params![task, column::signed(after)], read)?;
    Ok(pieces.collect::<Result<_, _>>()?)
}

/// The last piece.
pub(crate) fn last(connection: &Connection, task: &str) -> Result<Option<OutputPiece>, Error> {
    Ok(connection
        .prepare_cached(
            "SELECT o.start, o.text FROM task_output o JOIN task t ON t.number = o.task
             WHERE t.id = ?1 ORDER BY o.start DESC LIMIT 1",
        )?
        .query_row([task], read)
        .optional()?)
}

fn read(row: &Row<'_>) -> Result<OutputPiece, rusqlite::Error> {
    Ok(OutputPiece {
        start: column::unsigned(row.get(0)?),
        text: row.get(1)?,
    })
}
