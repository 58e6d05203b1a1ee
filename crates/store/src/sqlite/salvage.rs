//! Saves what can be read of a damaged database into a new one.
//!
//! The files are read as bytes and put together in an image, so that SQLite changes nothing about them. Rows are copied
//! one by one, up to the first and down to the last damaged page of each table. What cannot be proven, by the hash
//! chain of its journal or by the name of a blob, is left out.

mod image;
mod repair;

use std::{fs, path::Path};

use rusqlite::{Connection, types::Value};

use self::image::DatabaseImage;
use super::{connect, durability_mark::DurabilityMark, schema, wal_file::WalFile};
use crate::Error;

/// Tables and the order in which they are read. What a process left for another is not saved, nor are
/// one-time links and idempotency keys, which are short-lived.
const TABLES: [(&str, &str); 15] = [
    ("session", "number"),
    ("mailbox", "session"),
    ("journal", "id"),
    ("inbox", "id"),
    ("task", "number"),
    ("task_output", "task, start"),
    ("blob", "rowid"),
    ("inquiry", "number"),
    ("rule", "number"),
    ("audit", "number"),
    ("person", "tenant, id"),
    ("access_token", "id"),
    ("upload", "blob"),
    ("agent", "name"),
    ("read_mark", "tenant, person, session"),
];

/// What was saved.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct SalvageReport {
    /// How many of each kind.
    pub saved: Vec<(String, u64)>,
    /// What could not be read, in words.
    pub lost: Vec<String>,
}

/// Copies what can be read of the database at `from` into a new one at `to`, which must not be there.
pub fn salvage(from: &Path, to: &Path) -> Result<SalvageReport, Error> {
    if to.exists() {
        return Err(Error::Failed(format!("{} is there already", to.display())));
    }
    let failed = |error: std::io::Error| Error::Failed(format!("read {}: {error}", from.display()));
    let noted = DurabilityMark::open_read_only(from)
        .map(|mark| mark.read())
        .unwrap_or_default();
    let main = if from.exists() {
        fs::read(from).map_err(failed)?
    } else {
        Vec::new()
    };
    let log = WalFile::read(&connect::log_of(from)).map_err(failed)?;
    let mut salvaged = SalvageReport::default();
    let new = connect::writer(to)?;
    new.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = FULL; BEGIN IMMEDIATE")?;
    let valid = log.as_ref().map_or(0, |log| log.valid);
    copy(
        &DatabaseImage::new(&main, log.as_ref(), valid),
        to,
        &new,
        &mut salvaged,
    )?;
    if let Some(log) = log.as_ref().filter(|log| log.damaged.is_some()) {
        let (frame, frames) = (log.damaged.unwrap_or_default(), log.frames);
        salvaged
            .lost
            .push(format!("the log is damaged at frame {frame} of {frames}"));
        // Behind a damaged frame nothing is proven by the log itself; the journals' own hashes decide.
        let rest = copy(
            &DatabaseImage::new(&main, Some(log), frames),
            to,
            &new,
            &mut SalvageReport::default(),
        );
        salvaged
            .lost
            .extend(rest.err().map(|error| error.to_string()));
    }
    repair::repair(&new, &mut salvaged)?;
    new.execute_batch("COMMIT; PRAGMA foreign_keys = ON")?;
    let missing = noted
        .counts
        .missing_from(super::durability_mark::RowCounts::of(&new)?);
    salvaged
        .lost
        .extend(missing.map(|words| format!("saved are {words}")));
    Ok(salvaged)
}

/// Copies the rows of an image that the new database does not have yet.
fn copy(
    image: &DatabaseImage,
    to: &Path,
    new: &Connection,
    salvaged: &mut SalvageReport,
) -> Result<(), Error> {
    let beside = to.with_extension("image");
    let copied = image.write(&beside).and_then(|()| {
        let mut old = Connection::open(&beside)?;
        let version = schema::version(&old)?;
        schema::refuse_newer(version)?;
        if version == 0 {
            return Err(Error::Damaged(
                "the tables cannot be found: the begin of the file is missing".into(),
            ));
        }
        schema::migrate(&mut old)?;
        for (table, order) in TABLES {
            salvaged.lost.extend(copy_table(&old, new, table, order)?);
        }
        Ok(())
    });
    let _ = fs::remove_file(&beside);
    copied
}

/// Copies the rows of one table; says what could not be read.
fn copy_table(
    old: &Connection,
    new: &Connection,
    table: &str,
    order: &str,
) -> Result<Option<String>, Error> {
    let columns: Vec<String> = new
        .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let marks = vec!["?"; columns.len()].join(", ");
    let columns = columns.join(", ");
    let insert = format!("INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})");
    let mut insert = new.prepare(&insert)?;
    let down = order.replace(',', " DESC,") + " DESC";
    let mut damage = None;
    for order in [order, &down] {
        let select = format!("SELECT {columns} FROM {table} NOT INDEXED ORDER BY {order}");
        let ended = copy_rows(old, &select, &mut insert);
        damage = match ended {
            Ok(()) => return Ok(damage),
            Err(error) => Some(format!("not all rows of `{table}` can be read: {error}")),
        };
    }
    Ok(damage)
}

fn copy_rows(
    old: &Connection,
    select: &str,
    insert: &mut rusqlite::Statement<'_>,
) -> Result<(), Error> {
    let mut statement = old.prepare(select)?;
    let count = statement.column_count();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let values = (0..count)
            .map(|column| row.get::<_, Value>(column))
            .collect::<Result<Vec<_>, _>>()?;
        // A row that cannot be put there is none: a damaged page may say anything.
        let _ = insert.execute(rusqlite::params_from_iter(values));
    }
    Ok(())
}
