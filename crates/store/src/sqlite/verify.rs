//! Validates every invariant on what is stored, row by row, without writing.
//!
//! Rows are streamed: memory grows with the calls of one run, not with the database. All of
//! it happens in one read transaction, so that a database in use is seen at one moment.

mod inboxes;
mod journals;
mod runs;

use rooftree_protocol::SessionId;
use rusqlite::{Connection, Row};

use super::{activity, column, usage};
use crate::{Error, hash_chain, verify::VerifyReport};

/// Maximum number of findings: with a thousand of them the user needs a backup, not a list.
const ENOUGH: usize = 1_000;

/// A session's row, as far as it makes promises.
struct VerifiedSession {
    number: i64,
    id: SessionId,
    fork: Option<(i64, u64)>,
    head: u64,
    head_hash: Vec<u8>,
    fence: u64,
    run: Option<String>,
    /// Whether a restart looks at its inbox.
    waits: bool,
    mail: LaneTotals,
    boundary: LaneTotals,
}

/// What a session's row says about a lane.
#[derive(Clone, Copy)]
struct LaneTotals {
    posted: u64,
    taken: u64,
    done: u64,
}

/// Looks at everything. `found` was seen in the files before.
pub(crate) fn verify(connection: &Connection, found: Vec<String>) -> Result<VerifyReport, Error> {
    let moment = connection.unchecked_transaction()?;
    let mut report = VerifyReport::new();
    found
        .into_iter()
        .for_each(|what| report.violated("I13", "file", what));
    file(&moment, &mut report)?;
    let (mut sessions, mut events, mut items) = (0, 0, 0);
    let mut statement = moment.prepare(
        "SELECT s.*, coalesce(m.mail_posted, 0) AS mail_posted, coalesce(m.boundary_posted, 0) AS boundary_posted,
             coalesce(m.waits, 0) AS waits
         FROM session s LEFT JOIN mailbox m ON m.session = s.number ORDER BY s.number",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let session = read(row)?;
        sessions += 1;
        events += journals::check(&moment, &session, &mut report)?;
        items += inboxes::check(&moment, &session, &mut report)?;
        if report.violations.len() > ENOUGH {
            break;
        }
    }
    inboxes::keys(&moment, &mut report)?;
    for (session, sums) in usage::differing(&moment)? {
        report.violated("I14", session, format!("{sums} sums of usage differ"));
    }
    for (session, what) in activity::differing(&moment)? {
        report.violated("I15", session, what);
    }
    tasks(&moment, &mut report)?;
    let blobs = blobs(&moment, &mut report)?;
    let counted = [
        ("sessions", sessions),
        ("events", events),
        ("inbox items", items),
        ("blobs", blobs),
    ];
    report.counted = counted
        .map(|(kind, count)| (kind.to_owned(), count))
        .to_vec();
    report.violations.truncate(ENOUGH);
    Ok(report)
}

/// What SQLite itself finds, and rows that belong to no session.
fn file(connection: &Connection, report: &mut VerifyReport) -> Result<(), Error> {
    let mut statement = connection.prepare("PRAGMA integrity_check(20)")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let what: String = row.get(0)?;
        if what != "ok" {
            report.violated("I0", "file", what);
        }
    }
    let mut statement = connection.prepare(
        "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (table, parent, count): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        report.violated(
            "I0",
            table,
            format!("{count} rows refer to a {parent} that is not there"),
        );
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Result<VerifiedSession, Error> {
    let count = |name: &str| column::count(row, name);
    let origin: Option<i64> = row.get("fork_session")?;
    let branch = count("fork_at")?;
    Ok(VerifiedSession {
        number: row.get("number")?,
        id: column::needed(row, "id", SessionId::parse)?,
        fork: origin.map(|number| (number, branch)),
        head: count("head")?,
        head_hash: row.get("head_hash")?,
        fence: count("fence")?,
        run: row.get("run")?,
        waits: row.get("waits")?,
        mail: LaneTotals {
            posted: count("mail_posted")?,
            taken: count("mail_taken")?,
            done: count("mail_done")?,
        },
        boundary: LaneTotals {
            posted: count("boundary_posted")?,
            taken: count("boundary_taken")?,
            done: count("boundary_done")?,
        },
    })
}

fn blobs(connection: &Connection, report: &mut VerifyReport) -> Result<u64, Error> {
    let mut statement = connection.prepare("SELECT id, bytes FROM blob")?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let id: String = row.get(0)?;
        let bytes = row.get_ref(1)?.as_bytes().unwrap_or_default();
        if hash_chain::blob_id(bytes).as_str() != id {
            report.violated("I12", id, "its bytes have another name");
        }
    }
    Ok(count)
}

/// Delegated tasks: the delegating session was sent exactly one reply for every task that ended. The end of a task
/// and the reply to its delegator are one commit, so there is never one without the other.
fn tasks(connection: &Connection, report: &mut VerifyReport) -> Result<(), Error> {
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
            format!("{state}, and the asking session has {replies} replies"),
        );
    }
    Ok(())
}
