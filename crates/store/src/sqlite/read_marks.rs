//! Read marks: up to which event a person has seen a session.

use rooftree_protocol::principal::LOCAL_OWNER;
use rooftree_view::board::SessionActivity;
use rusqlite::{Connection, OptionalExtension, params};

use super::{column, sessions};
use crate::{Error, ReadMark};

/// The readers of a session: its person, and the owner of the tenant.
const READERS: &str =
    "SELECT s.person AS person FROM session s WHERE s.number = ?1 UNION SELECT ?2";

/// Moves a mark forward; says whether it was behind.
pub(crate) fn put(connection: &Connection, mark: &ReadMark) -> Result<bool, Error> {
    let (number, head) = sessions::place(connection, &mark.session)?;
    let upto = column::signed(mark.upto.min(head));
    let moved = connection
        .prepare_cached(
            "INSERT INTO read_mark (tenant, person, session, upto, at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET upto = excluded.upto, at = excluded.at WHERE upto < excluded.upto",
        )?
        .execute(params![
            mark.reader.tenant,
            mark.reader.person,
            number,
            upto,
            mark.at.0
        ])?;
    if moved == 1 {
        clear_failure(connection, number)?;
    }
    Ok(moved == 1)
}

/// A failure that all readers have seen is not looked for any more.
fn clear_failure(connection: &Connection, session: i64) -> Result<(), Error> {
    let unseen: Option<String> = connection
        .prepare_cached("SELECT activity FROM session WHERE number = ?1 AND unseen_failure = 1")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    let Some(activity) = unseen else {
        return Ok(());
    };
    if !is_unseen(connection, session, &column::activity(&activity))? {
        connection
            .prepare_cached("UPDATE session SET unseen_failure = 0 WHERE number = ?1")?
            .execute([session])?;
    }
    Ok(())
}

/// The same for all sessions.
pub(crate) fn clear_failures(connection: &Connection) -> Result<(), Error> {
    let mut statement =
        connection.prepare("SELECT number FROM session WHERE unseen_failure = 1")?;
    let sessions = statement.query_map([], |row| row.get::<_, i64>(0))?;
    for session in sessions.collect::<Result<Vec<_>, _>>()? {
        clear_failure(connection, session)?;
    }
    Ok(())
}

/// Whether the end of its last run was not seen by one of its readers.
pub(crate) fn is_unseen(
    connection: &Connection,
    session: i64,
    activity: &SessionActivity,
) -> Result<bool, Error> {
    let ended = activity.last.as_ref().map_or(0, |last| last.seq);
    Ok(connection
        .prepare_cached(&format!(
            "SELECT EXISTS (SELECT 1 FROM ({READERS}) reader WHERE NOT EXISTS (
                 SELECT 1 FROM read_mark m WHERE m.session = ?1 AND m.person = reader.person AND m.upto >= ?3
                     AND m.tenant = (SELECT tenant FROM session WHERE number = ?1)))"
        ))?
        .query_row(params![session, LOCAL_OWNER, column::signed(ended)], |row| {
            row.get(0)
        })?)
}

/// How far a person has seen a session.
pub(crate) fn upto(
    connection: &Connection,
    (tenant, person): (&str, &str),
    session: i64,
) -> Result<u64, Error> {
    let found: Option<i64> = connection
        .prepare_cached(
            "SELECT upto FROM read_mark WHERE tenant = ?1 AND person = ?2 AND session = ?3",
        )?
        .query_row(params![tenant, person, session], |row| row.get(0))
        .optional()?;
    Ok(column::unsigned(found.unwrap_or(0)))
}
