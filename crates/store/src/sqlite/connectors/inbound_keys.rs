//! Rows of inbound keys: what arrived from a platform and was taken, so that a redelivery or replay changes nothing.

use rooftree_protocol::Timestamp;
use rusqlite::{Connection, params};

use crate::{
    Error, InboundKey, PostReceipt,
    sqlite::{
        inbox::{self, EncodedPost},
        inbox_counters::RecipientFilter,
    },
};

/// Keeps keys.
pub(crate) fn put(connection: &Connection, keys: &[InboundKey]) -> Result<(), Error> {
    for key in keys {
        connection
            .prepare_cached(
                "INSERT INTO inbound_key (tenant, connector, key, expires_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (tenant, connector, key) DO NOTHING",
            )?
            .execute(params![
                key.tenant,
                key.connector,
                key.key,
                key.expires_at.0
            ])?;
    }
    Ok(())
}

/// Deletes keys whose time is over.
pub(crate) fn expire(connection: &Connection, now: Timestamp) -> Result<(), Error> {
    connection
        .prepare_cached("DELETE FROM inbound_key WHERE expires_at <= ?1")?
        .execute([now.0])?;
    Ok(())
}

/// Whether something with this key was taken.
pub(crate) fn is_known(
    connection: &Connection,
    tenant: &str,
    connector: &str,
    key: &str,
) -> Result<bool, Error> {
    Ok(connection
        .prepare_cached(
            "SELECT 1 FROM inbound_key WHERE tenant = ?1 AND connector = ?2 AND key = ?3",
        )?
        .exists(params![tenant, connector, key])?)
}

/// Stores a message and the keys of what arrived for it. Invariant: both or neither, so that what arrives again is
/// neither lost nor taken twice.
pub(crate) fn post(
    connection: &Connection,
    letter: &EncodedPost,
    keys: &[InboundKey],
) -> Result<PostReceipt, Error> {
    let receipt = inbox::post(connection, letter, RecipientFilter::Living)?;
    put(connection, keys)?;
    Ok(receipt)
}
