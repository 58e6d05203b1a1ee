//! An append-only table, as durable as our store: SQLite, write-ahead log, synchronous FULL.

use std::path::Path;

use anyhow::Result;
use rusqlite::Connection;

/// An open table.
pub struct DurableTable(Connection);

impl DurableTable {
    /// Opens it; creates it if it does not exist.
    pub fn open(path: &Path) -> Result<Self> {
        let is_new = !path.exists();
        let connection = Connection::open(path)?;
        connection.execute_batch("PRAGMA synchronous = FULL;")?;
        if is_new {
            connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
            connection.execute_batch(
                "CREATE TABLE entry (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, data TEXT NOT NULL) STRICT;",
            )?;
        }
        Ok(Self(connection))
    }

    /// Appends rows in one durable commit.
    pub fn commit<'a>(&self, rows: impl IntoIterator<Item = &'a str>) -> Result<()> {
        self.0.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for data in rows {
            self.0
                .prepare_cached("INSERT INTO entry (session, data) VALUES (1, ?1)")?
                .execute([data])?;
        }
        self.0.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }
}

/// Reads every event of the longest journal in one of our databases, as text; returns the number of bytes.
pub fn read_journal(database: &Path) -> Result<usize> {
    let connection = Connection::open(database)?;
    let mut statement = connection.prepare(
        "SELECT seq, ts, run, type, data FROM journal
         WHERE session = (SELECT number FROM session ORDER BY head DESC LIMIT 1) ORDER BY seq",
    )?;
    let mut rows = statement.query([])?;
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let (name, data): (String, String) = (row.get(3)?, row.get(4)?);
        bytes += name.len() + data.len();
    }
    Ok(bytes)
}

/// Reads the columns that a session list shows, for the newest sessions.
pub fn read_list(connection: &Connection, limit: usize) -> Result<usize> {
    let mut statement = connection.prepare_cached(
        "SELECT id, agent, name, cwd, updated_at, snippet FROM session
         WHERE deleted_at IS NULL ORDER BY updated_at DESC LIMIT ?1",
    )?;
    let mut rows = statement.query([i64::try_from(limit)?])?;
    let mut found = 0;
    while let Some(row) = rows.next()? {
        let (id, snippet): (String, String) = (row.get(0)?, row.get(5)?);
        found += usize::from(!id.is_empty() || !snippet.is_empty());
    }
    Ok(found)
}
