//! Schema of the tables, and migration of older databases.

use rusqlite::{Connection, TransactionBehavior};
use rusqlite_migration::{HookError, M, Migrations};

use super::{activity, read_marks};
use crate::Error;

/// One entry per version; an entry is never edited once it was released.
const STEPS: [&str; 19] = [
    include_str!("schema/001_first.sql"),
    include_str!("schema/002_delegation.sql"),
    include_str!("schema/003_arrival.sql"),
    include_str!("schema/004_inquiries.sql"),
    include_str!("schema/005_output.sql"),
    include_str!("schema/006_mailbox.sql"),
    include_str!("schema/007_log_needed.sql"),
    include_str!("schema/008_audit.sql"),
    include_str!("schema/009_shared_text.sql"),
    include_str!("schema/010_usage.sql"),
    include_str!("schema/011_access.sql"),
    include_str!("schema/012_board.sql"),
    include_str!("schema/013_api.sql"),
    include_str!("schema/014_past_runs.sql"),
    include_str!("schema/015_usage_days.sql"),
    include_str!("schema/016_chats.sql"),
    include_str!("schema/017_schedules.sql"),
    include_str!("schema/018_outbox.sql"),
    include_str!("schema/019_connectors.sql"),
];

/// The step that adds columns which only the fold of the journals can fill.
const BOARD: usize = 11;

fn steps() -> Migrations<'static> {
    let steps = STEPS.into_iter().enumerate().map(|(at, sql)| match at {
        BOARD => M::up_with_hook(sql, |transaction: &rusqlite::Transaction<'_>| {
            let filled = activity::recompute(transaction)
                .and_then(|()| read_marks::clear_failures(transaction));
            filled.map_err(|error| HookError::Hook(error.to_string()))
        }),
        _ => M::up(sql),
    });
    Migrations::new(steps.collect())
}

/// The version a current database has.
pub(crate) const VERSION: i64 = STEPS.len() as i64;

/// The version of an open database.
pub(crate) fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Says what to do about a database that a newer program wrote.
pub(crate) fn refuse_newer(version: i64) -> Result<(), Error> {
    if version > VERSION {
        return Err(Error::Failed(format!(
            "the database has version {version} and this program knows {VERSION}: use a newer rooftree"
        )));
    }
    Ok(())
}

/// Brings a database up to date.
///
/// Several processes may find the same new file at once. Each step is one immediate
/// transaction, so one of them wins and the others see a current version when they look again.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), Error> {
    connection.set_transaction_behavior(TransactionBehavior::Immediate);
    let steps = steps();
    let mut last = None;
    for _ in 0..100 {
        if version(connection)? >= VERSION {
            return Ok(());
        }
        match steps.to_latest(connection) {
            Ok(()) => return Ok(()),
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        Some(rusqlite_migration::Error::RusqliteError { err, .. }) => err.into(),
        other => Error::Failed(format!("bring the database up to date: {other:?}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waited_in_an_older_database_waits_at_the_same_place() {
        let mut connection = Connection::open_in_memory().unwrap();
        let steps = steps();
        steps.to_version(&mut connection, 2).unwrap();
        let older = "INSERT INTO session (id, agent, cwd, created_at, updated_at, head, head_hash)
                 VALUES ('ses_a', 'lead', '/', 1, 1, 0, x'');
             INSERT INTO inbox VALUES (1, 'mail', 2, 'b', 'msg_b', 0, '{}'), (1, 'mail', 1, 'a', 'msg_a', 1, '{}');";
        connection.execute_batch(older).unwrap();
        steps.to_latest(&mut connection).unwrap();
        let mut statement = connection
            .prepare("SELECT position, key, silent FROM inbox ORDER BY session, lane, position")
            .unwrap();
        let found = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap();
        let found: Vec<(i64, String, bool)> = found.map(Result::unwrap).collect();
        assert_eq!(found, [(1, "a".into(), true), (2, "b".into(), false)]);
    }

    #[test]
    fn what_was_counted_in_an_older_database_is_counted_still() {
        let mut connection = Connection::open_in_memory().unwrap();
        let steps = steps();
        steps.to_version(&mut connection, 5).unwrap();
        let older = "INSERT INTO session (id, agent, cwd, created_at, updated_at, head, head_hash, mail_posted, mail_taken,
                     mail_done, boundary_posted, boundary_taken, user_at)
                 VALUES ('ses_done', 'lead', '/', 1, 1, 0, x'', 3, 3, 3, 2, 2, 7),
                        ('ses_left', 'lead', '/', 1, 1, 0, x'', 3, 3, 2, 0, 0, NULL),
                        ('ses_late', 'lead', '/', 1, 1, 0, x'', 0, 0, 0, 2, 1, NULL),
                        ('ses_new', 'lead', '/', 1, 1, 0, x'', 0, 0, 0, 0, 0, NULL);";
        connection.execute_batch(older).unwrap();
        steps.to_latest(&mut connection).unwrap();
        let mut statement = connection
            .prepare(
                "SELECT mail_posted, boundary_posted, user_at, waits FROM mailbox ORDER BY session",
            )
            .unwrap();
        let counted =
            |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        let found = statement.query_map([], counted).unwrap();
        let found: Vec<(i64, i64, Option<i64>, bool)> = found.map(Result::unwrap).collect();
        assert_eq!(
            found,
            [
                (3, 2, Some(7), false),
                (3, 0, None, true),
                (0, 2, None, true)
            ]
        );
    }

    #[test]
    fn every_step_runs_on_an_empty_database() {
        steps().validate().unwrap();
    }
}
