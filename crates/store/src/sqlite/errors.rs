//! Converts SQLite errors to the store's error type.

use rusqlite::ErrorCode;

use crate::Error;

/// `SQLITE_IOERR_SHMSIZE`: the shared index beside the database could not grow.
const NO_ROOM_FOR_INDEX: i32 = 4874;

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let Some(failure) = error.sqlite_error() else {
            return Self::Failed(format!("read the database: {error}"));
        };
        match failure.code {
            ErrorCode::DiskFull => Self::Full(error.to_string()),
            ErrorCode::SystemIoFailure if failure.extended_code == NO_ROOM_FOR_INDEX => {
                Self::Full(error.to_string())
            }
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                Self::Failed("other processes kept the database busy for too long".into())
            }
            ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt => {
                Self::Failed(format!("the database file is damaged: {error}"))
            }
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied => {
                Self::Unwritable(format!("the database: {error}"))
            }
            _ => Self::Failed(format!("use the database: {error}")),
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(format!("read a stored record: {error}"))
    }
}

/// Whether trying again may help.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}
