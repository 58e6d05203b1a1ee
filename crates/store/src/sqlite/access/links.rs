//! One-time links: each is exchanged for a device token once.

use rooftree_protocol::{Account, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use crate::{
    AccessLinkRow, AccessTokenRow, AuditEntry, Error, LinkPurpose, TokenHash, sqlite::audit,
};

/// How long a link is kept after it expired, in milliseconds.
const KEPT: i64 = 24 * 60 * 60 * 1000;

/// Keeps a new link.
pub(crate) fn put(
    connection: &Connection,
    link: &AccessLinkRow,
    entry: Option<&AuditEntry>,
) -> Result<(), Error> {
    if !is_enabled(connection, &link.account)? {
        let person = &link.account.person;
        return Err(Error::Failed(format!(
            "the person `{person}` is not there or is disabled"
        )));
    }
    connection
        .prepare_cached("DELETE FROM access_link WHERE expires_at < ?1")?
        .execute([link.created_at.0.saturating_sub(KEPT)])?;
    connection
        .prepare_cached(
            "INSERT INTO access_link (digest, tenant, person, purpose, scopes, created_at, expires_at)
             VALUES (:digest, :tenant, :person, :purpose, :scopes, :created_at, :expires_at)",
        )?
        .execute(named_params! {
            ":digest": link.digest.0,
            ":tenant": link.account.tenant,
            ":person": link.account.person,
            ":purpose": word(link.purpose),
            ":scopes": serde_json::to_string(&link.scopes)?,
            ":created_at": link.created_at.0,
            ":expires_at": link.expires_at.0,
        })?;
    audit::add_some(connection, entry)
}

/// The link with this digest.
pub(crate) fn by_digest(
    connection: &Connection,
    digest: TokenHash,
) -> Result<Option<AccessLinkRow>, Error> {
    let mut statement = connection.prepare_cached("SELECT * FROM access_link WHERE digest = ?1")?;
    let row = statement.query_row([digest.0], |row| Ok(read(row)));
    row.optional()?.transpose()
}

/// Exchanges a link for a device token.
pub(crate) fn exchange(
    connection: &Connection,
    digest: TokenHash,
    at: Timestamp,
    token: &AccessTokenRow,
    entry: Option<&AuditEntry>,
) -> Result<bool, Error> {
    if !is_enabled(connection, &token.account)? {
        return Ok(false);
    }
    let used = connection
        .prepare_cached(
            "UPDATE access_link SET used_at = ?2
             WHERE digest = ?1 AND used_at IS NULL AND expires_at > ?2 AND tenant = ?3 AND person = ?4",
        )?
        .execute(params![
            digest.0,
            at.0,
            token.account.tenant,
            token.account.person
        ])?;
    if used == 0 {
        return Ok(false);
    }
    super::put(connection, token, entry)?;
    Ok(true)
}

/// Invariant: what cannot be read gives no rights.
fn read(row: &Row<'_>) -> Result<AccessLinkRow, Error> {
    let purpose = match row.get_ref("purpose")?.as_str().unwrap_or_default() {
        "login" => LinkPurpose::Login,
        _ => LinkPurpose::Invitation,
    };
    Ok(AccessLinkRow {
        digest: TokenHash(row.get("digest")?),
        account: Account {
            tenant: row.get("tenant")?,
            person: row.get("person")?,
        },
        purpose,
        scopes: serde_json::from_str(&row.get::<_, String>("scopes")?).unwrap_or_default(),
        created_at: Timestamp(row.get("created_at")?),
        expires_at: Timestamp(row.get("expires_at")?),
        used_at: row.get::<_, Option<i64>>("used_at")?.map(Timestamp),
    })
}

fn word(purpose: LinkPurpose) -> &'static str {
    match purpose {
        LinkPurpose::Login => "login",
        LinkPurpose::Invitation => "invitation",
    }
}

/// Whether a person is there and not disabled.
pub(crate) fn is_enabled(connection: &Connection, account: &Account) -> Result<bool, Error> {
    Ok(connection
        .prepare_cached(
            "SELECT 1 FROM person WHERE tenant = ?1 AND id = ?2 AND disabled_at IS NULL",
        )?
        .exists(params![account.tenant, account.person])?)
}
