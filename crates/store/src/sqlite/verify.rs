//! placeholder
use crate::{Error, verify::Report};
use rusqlite::Connection;
pub(crate) fn verify(_: &Connection) -> Result<Report, Error> {
    Ok(Report::default())
}
