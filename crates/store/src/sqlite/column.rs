//! Converts values to SQL columns and back.

use std::{
    ffi::OsStr,
    fmt::Display,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rooftree_protocol::{Lane, Problem, Timestamp};
use rusqlite::{
    Row, RowIndex,
    types::{Value, ValueRef},
};

use crate::Error;

/// A count as SQLite keeps it. No journal ever gets near the limit.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A count as we use it.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A limit as SQLite takes it. Statements say `LIMIT ?1 + 0`: a plain parameter there is part of
/// the plan, so that every use of the statement would prepare it anew.
pub(crate) fn limit(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A list of names as JSON, which SQLite takes apart.
pub(crate) fn names(names: Option<&[String]>) -> Result<Option<String>, Error> {
    Ok(names.map(serde_json::to_string).transpose()?)
}

/// Reads a count.
pub(crate) fn count(row: &Row<'_>, column: impl RowIndex) -> Result<u64, Error> {
    Ok(unsigned(row.get(column)?))
}

/// Reads a moment.
pub(crate) fn moment(row: &Row<'_>, column: impl RowIndex) -> Result<Option<Timestamp>, Error> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp))
}

/// Reads an id that may be absent, with its own parser.
pub(crate) fn id<T>(
    row: &Row<'_>,
    column: impl RowIndex + Display + Copy,
    parse: fn(&str) -> Result<T, Problem>,
) -> Result<Option<T>, Error> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => parse(
            value
                .as_str()
                .map_err(|error| Error::Failed(format!("read column {column}: {error}")))?,
        )
        .map(Some)
        .map_err(|problem| Error::Failed(problem.message)),
    }
}

/// Reads an id that must be there.
pub(crate) fn needed<T>(
    row: &Row<'_>,
    column: impl RowIndex + Display + Copy,
    parse: fn(&str) -> Result<T, Problem>,
) -> Result<T, Error> {
    id(row, column, parse)?
        .ok_or_else(|| Error::Failed(format!("read column {column}: it is missing")))
}

/// A path as text where it is text, else as the bytes it is.
pub(crate) fn path(path: &Path) -> Value {
    match path.to_str() {
        Some(text) => Value::Text(text.to_owned()),
        None => Value::Blob(path.as_os_str().as_bytes().to_vec()),
    }
}

/// Reads a path.
pub(crate) fn path_of(
    row: &Row<'_>,
    column: impl RowIndex + Display + Copy,
) -> Result<PathBuf, Error> {
    let bytes = row
        .get_ref(column)?
        .as_bytes()
        .map_err(|error| Error::Failed(format!("read column {column}: {error}")))?;
    Ok(PathBuf::from(OsStr::from_bytes(bytes)))
}

/// A lane's name.
pub(crate) fn lane(lane: Lane) -> &'static str {
    match lane {
        Lane::Mail => "mail",
        Lane::Boundary => "boundary",
    }
}

/// Reads a value that is kept as JSON and may be absent.
pub(crate) fn json<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    column: impl RowIndex,
) -> Result<Option<T>, Error> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => {
            let text = value
                .as_str()
                .map_err(|error| Error::Failed(format!("read JSON: {error}")))?;
            Ok(Some(serde_json::from_str(text)?))
        }
    }
}

/// The activity of a session, as its row holds it. What cannot be read is an activity without anything in it: `doctor
/// verify` tells it.
pub(crate) fn activity(text: &str) -> rooftree_view::board::SessionActivity {
    serde_json::from_str(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, StatementStatus};

    #[test]
    fn a_limit_that_is_added_to_does_not_prepare_the_statement_anew() {
        let connection = Connection::open_in_memory().unwrap();
        for (sql, prepared_anew) in [
            ("SELECT 1 LIMIT ?1", true),
            ("SELECT 1 LIMIT ?1 + 0", false),
        ] {
            let mut statement = connection.prepare(sql).unwrap();
            for limit in 1..4 {
                assert!(statement.exists([limit]).unwrap());
            }
            assert_eq!(
                statement.get_status(StatementStatus::RePrepare) > 0,
                prepared_anew,
                "{sql}"
            );
        }
    }
}
