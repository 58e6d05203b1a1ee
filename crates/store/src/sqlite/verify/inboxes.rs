//! Inboxes: nothing accepted is missing, no key is used twice.

use rusqlite::{Connection, params};

use super::{LaneTotals, VerifiedSession};
use crate::{Error, sqlite::column, verify::VerifyReport};

/// Looks at both lanes of a session; says how many items there are.
pub(super) fn check(
    connection: &Connection,
    session: &VerifiedSession,
    report: &mut VerifyReport,
) -> Result<u64, Error> {
    let mut total = 0;
    for (lane, counted) in [("mail", session.mail), ("boundary", session.boundary)] {
        let LaneTotals {
            posted,
            taken,
            done,
        } = counted;
        if !(done <= taken && taken <= posted) {
            let what = format!("{lane}: {done} done, {taken} taken, {posted} accepted");
            report.violated("I3", session.id.as_str(), what);
        }
        let (items, last) = connection
            .prepare_cached(
                "SELECT count(*), coalesce(max(position), 0) FROM inbox WHERE session = ?1 AND lane = ?2",
            )?
            .query_row(params![session.number, lane], |row| {
                Ok((column::unsigned(row.get(0)?), column::unsigned(row.get(1)?)))
            })?;
        // Places are unique and begin at 1, so count and last place decide whether one is missing.
        if items != posted || last != posted {
            let what =
                format!("{lane}: {posted} were accepted, {items} are there, the last is {last}");
            report.violated("I3", session.id.as_str(), what);
        }
        total += items;
    }
    let is_left =
        session.mail.done < session.mail.posted || session.boundary.taken < session.boundary.posted;
    if is_left && !session.waits {
        report.violated(
            "I3",
            session.id.as_str(),
            "unfinished session is missing from the restart index",
        );
    }
    Ok(total)
}

/// Looks for keys used twice, in the order of the index on them.
pub(super) fn keys(connection: &Connection, report: &mut VerifyReport) -> Result<(), Error> {
    let mut statement = connection.prepare(
        "SELECT s.id, i.key, count(*) AS times FROM inbox i JOIN session s ON s.number = i.session
         WHERE i.key <> i.message_id GROUP BY i.session, i.key HAVING times > 1",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (session, key, times): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        report.violated(
            "I4",
            session,
            format!("the key `{key}` occurs {times} times"),
        );
    }
    Ok(())
}
