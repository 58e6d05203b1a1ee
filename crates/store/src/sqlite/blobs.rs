//! Blobs, named by their content hash.

use rooftree_protocol::BlobId;
use rusqlite::{Connection, OptionalExtension, params};

use crate::Error;

/// Keeps bytes; the same bytes are kept once.
pub(crate) fn put(connection: &Connection, name: &BlobId, bytes: &[u8]) -> Result<BlobId, Error> {
    connection
        .prepare_cached("INSERT INTO blob (id, bytes) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING")?
        .execute(params![name.as_str(), bytes])?;
    Ok(name.clone())
}

/// Stored bytes.
pub(crate) fn bytes(connection: &Connection, id: &BlobId) -> Result<Option<Vec<u8>>, Error> {
    Ok(connection
        .prepare_cached("SELECT bytes FROM blob WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?)
}
