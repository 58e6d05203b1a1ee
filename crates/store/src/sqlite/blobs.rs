//! Blobs, named by their content hash, and who uploaded them.

use rooftree_protocol::{Account, BlobId, SessionId, Timestamp};
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

/// Keeps who uploaded bytes.
pub(crate) fn put_upload(
    connection: &Connection,
    name: &BlobId,
    by: &Account,
    at: Timestamp,
) -> Result<(), Error> {
    connection
        .prepare_cached(
            "INSERT INTO upload (blob, tenant, person, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
        )?
        .execute(params![name.as_str(), by.tenant, by.person, at.0])?;
    Ok(())
}

/// Whether a person uploaded these bytes.
pub(crate) fn is_upload_of(
    connection: &Connection,
    name: &BlobId,
    by: &Account,
) -> Result<bool, Error> {
    Ok(connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM upload WHERE blob = ?1 AND tenant = ?2 AND person = ?3)",
        )?
        .query_row(params![name.as_str(), by.tenant, by.person], |row| {
            row.get(0)
        })?)
}

/// Whether an event of the session or of those it was forked from, up to the fork, or a message in its inbox names
/// these bytes.
pub(crate) fn is_named_in(
    connection: &Connection,
    session: &SessionId,
    name: &BlobId,
) -> Result<bool, Error> {
    Ok(connection
        .prepare_cached(
            "WITH RECURSIVE line (number, last) AS (
                 SELECT number, 9223372036854775807 FROM session WHERE id = ?1
                 UNION ALL
                 SELECT s.fork_session, min(line.last, s.fork_at)
                 FROM line JOIN session s ON s.number = line.number WHERE s.fork_session IS NOT NULL
             )
             SELECT EXISTS (
                 SELECT 1 FROM line JOIN journal j ON j.session = line.number AND j.seq <= line.last
                 WHERE instr(j.data, ?2) > 0
             ) OR EXISTS (
                 SELECT 1 FROM session s JOIN inbox i ON i.session = s.number
                 WHERE s.id = ?1 AND i.withdrawn IS NULL AND instr(i.message, ?2) > 0
             )",
        )?
        .query_row(
            params![session.as_str(), format!("\"{}\"", name.as_str())],
            |row| row.get(0),
        )?)
}
