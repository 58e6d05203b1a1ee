//! Rows of pairing codes: kept within bounds, used once, deleted after too many wrong tries.

use rooftree_protocol::Timestamp;
use rusqlite::{Connection, Row, named_params, params};

use super::identities;
use crate::{
    AuditEntry, Error, PairingBounds, PairingOffer, PairingRow, PairingUse, TokenHash,
    sqlite::{audit, column, connectors},
};

/// Keeps a code, within bounds.
pub(crate) fn offer(
    connection: &Connection,
    offer: &PairingRow,
    bounds: PairingBounds,
    entry: Option<&AuditEntry>,
) -> Result<PairingOffer, Error> {
    let PairingRow {
        tenant, connector, ..
    } = offer;
    if !connectors::exists(connection, tenant, connector)? {
        return Err(Error::Failed(format!(
            "there is no connector `{connector}`"
        )));
    }
    connection
        .prepare_cached("DELETE FROM pairing WHERE expires_at <= ?1")?
        .execute([offer.created_at.0])?;
    let waiting = list(connection, tenant, connector, offer.created_at)?;
    if offer.sender.is_some() && waiting.iter().any(|row| row.sender == offer.sender) {
        return Ok(PairingOffer::Waiting);
    }
    // Codes that the owner asks for do not use up the places of unknown senders, and the other way round.
    let alike = waiting
        .iter()
        .filter(|row| row.sender.is_some() == offer.sender.is_some());
    if alike.count() >= bounds.pending {
        return Ok(PairingOffer::Full);
    }
    put(connection, offer)?;
    audit::add_some(connection, entry)?;
    Ok(PairingOffer::Kept)
}

fn put(connection: &Connection, row: &PairingRow) -> Result<(), Error> {
    connection
        .prepare_cached(
            "INSERT INTO pairing (tenant, connector, digest, sender, name, person, may_approve, created_at, expires_at,
                 tries)
             VALUES (:tenant, :connector, :digest, :sender, :name, :person, :may_approve, :created_at, :expires_at, 0)",
        )?
        .execute(named_params! {
            ":tenant": row.tenant,
            ":connector": row.connector,
            ":digest": row.digest.0,
            ":sender": row.sender,
            ":name": row.name,
            ":person": row.person,
            ":may_approve": row.may_approve,
            ":created_at": row.created_at.0,
            ":expires_at": row.expires_at.0,
        })?;
    Ok(())
}

/// Codes that are not over, the oldest first.
pub(crate) fn list(
    connection: &Connection,
    tenant: &str,
    connector: &str,
    now: Timestamp,
) -> Result<Vec<PairingRow>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT * FROM pairing WHERE tenant = ?1 AND connector = ?2 AND expires_at > ?3 ORDER BY created_at, digest",
    )?;
    let mut rows = statement.query(params![tenant, connector, now.0])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// Uses a code once, or counts a wrong try.
pub(crate) fn use_one(
    connection: &Connection,
    used: &PairingUse,
    bounds: PairingBounds,
) -> Result<bool, Error> {
    let identity = &used.identity;
    let deleted = connection
        .prepare_cached(
            "DELETE FROM pairing WHERE tenant = ?1 AND connector = ?2 AND digest = ?3 AND expires_at > ?4
                 AND sender IS ?5",
        )?
        .execute(params![
            identity.tenant,
            identity.connector,
            used.digest.0,
            identity.paired_at.0,
            used.given_to
        ])?;
    if deleted == 0 {
        count_try(connection, used, bounds)?;
        return Ok(false);
    }
    // A code of his own that waits is of no use any more.
    connection
        .prepare_cached("DELETE FROM pairing WHERE tenant = ?1 AND connector = ?2 AND sender = ?3")?
        .execute(params![
            identity.tenant,
            identity.connector,
            identity.sender
        ])?;
    identities::put(connection, identity, used.audit.as_ref())?;
    Ok(true)
}

fn count_try(
    connection: &Connection,
    used: &PairingUse,
    bounds: PairingBounds,
) -> Result<(), Error> {
    let identity = &used.identity;
    connection
        .prepare_cached(
            "UPDATE pairing SET tries = tries + 1 WHERE tenant = ?1 AND connector = ?2 AND sender IS NULL",
        )?
        .execute(params![identity.tenant, identity.connector])?;
    connection
        .prepare_cached("DELETE FROM pairing WHERE tenant = ?1 AND connector = ?2 AND tries >= ?3")?
        .execute(params![
            identity.tenant,
            identity.connector,
            column::signed(bounds.tries)
        ])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<PairingRow, Error> {
    Ok(PairingRow {
        tenant: row.get("tenant")?,
        connector: row.get("connector")?,
        digest: TokenHash(row.get("digest")?),
        sender: row.get("sender")?,
        name: row.get("name")?,
        person: row.get("person")?,
        may_approve: row.get("may_approve")?,
        created_at: Timestamp(row.get("created_at")?),
        expires_at: Timestamp(row.get("expires_at")?),
        tries: column::count(row, "tries")?,
    })
}
