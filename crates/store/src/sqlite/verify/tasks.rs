//! Delegated tasks: the delegating session was sent exactly one reply for every task that ended.

use rusqlite::Connection;

use crate::{Error, verify::VerifyReport};

/// The end of a task and the reply to its delegator are one commit, so there is never one without the other.
pub(super) fn check(connection: &Connection, report: &mut VerifyReport) -> Result<(), Error> {
    let mut statement = connection.prepare(
        "SELECT t.id, t.ended_at IS NOT NULL AS ended, count(i.key) AS replies
         FROM task t LEFT JOIN inbox i ON i.session = t.session AND i.key = 'task:' || t.id
         WHERE t.kind = 'agent' GROUP BY t.number HAVING replies <> ended",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (task, has_ended, replies): (String, bool, i64) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let state = if has_ended { "has ended" } else { "is at work" };
        report.violated(
            "I7",
            task,
            format!("{state}, and whoever asked has {replies} replies"),
        );
    }
    Ok(())
}
