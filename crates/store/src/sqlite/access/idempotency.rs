//! Idempotency keys: which request took a key, and what its answer was.

use rooftree_protocol::Account;
use rusqlite::{Connection, OptionalExtension, named_params, params};

use crate::{Error, IdempotencyOutcome, IdempotentRequest, StoredAnswer};

/// Takes a key for a request, if it is free.
pub(crate) fn begin(
    connection: &Connection,
    request: &IdempotentRequest,
) -> Result<IdempotencyOutcome, Error> {
    connection
        .prepare_cached("DELETE FROM idempotency WHERE expires_at <= ?1")?
        .execute([request.at.0])?;
    let found = find(connection, request)?;
    if let Some(found) = found {
        return Ok(match (found.is_same, found.answer) {
            (false, _) => IdempotencyOutcome::Other,
            (true, Some(answer)) => IdempotencyOutcome::Answered(answer),
            (true, None) if found.begun_at < request.abandoned_before.0 => {
                take(connection, request)?;
                IdempotencyOutcome::New
            }
            (true, None) => IdempotencyOutcome::Running,
        });
    }
    take(connection, request)?;
    Ok(IdempotencyOutcome::New)
}

/// A key that is taken.
struct TakenKey {
    is_same: bool,
    answer: Option<StoredAnswer>,
    begun_at: i64,
}

fn find(connection: &Connection, request: &IdempotentRequest) -> Result<Option<TakenKey>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT request, status, answer, begun_at FROM idempotency
         WHERE tenant = :tenant AND person = :person AND token = :token AND key = :key",
    )?;
    let found = statement.query_row(
        named_params! {
            ":tenant": request.account.tenant,
            ":person": request.account.person,
            ":token": request.token,
            ":key": request.key,
        },
        |row| {
            let digest: Vec<u8> = row.get(0)?;
            let (status, body): (Option<u16>, Option<String>) = (row.get(1)?, row.get(2)?);
            Ok(TakenKey {
                is_same: digest == request.request.0,
                answer: status
                    .zip(body)
                    .map(|(status, body)| StoredAnswer { status, body }),
                begun_at: row.get(3)?,
            })
        },
    );
    Ok(found.optional()?)
}

fn take(connection: &Connection, request: &IdempotentRequest) -> Result<(), Error> {
    connection
        .prepare_cached(
            "INSERT INTO idempotency (tenant, person, token, key, request, begun_at, expires_at)
             VALUES (:tenant, :person, :token, :key, :request, :at, :expires_at)
             ON CONFLICT DO UPDATE SET begun_at = excluded.begun_at, expires_at = excluded.expires_at",
        )?
        .execute(named_params! {
            ":tenant": request.account.tenant,
            ":person": request.account.person,
            ":token": request.token,
            ":key": request.key,
            ":request": request.request.0,
            ":at": request.at.0,
            ":expires_at": request.expires_at.0,
        })?;
    Ok(())
}

/// Keeps the answer to a request, or frees its key.
pub(crate) fn end(
    connection: &Connection,
    request: &IdempotentRequest,
    answer: Option<&StoredAnswer>,
) -> Result<(), Error> {
    const KEY: &str = "tenant = ?1 AND person = ?2 AND token = ?3 AND key = ?4 AND request = ?5 AND status IS NULL";
    let IdempotentRequest {
        account,
        token,
        key,
        request,
        ..
    } = request;
    let Account { tenant, person } = account;
    match answer {
        Some(StoredAnswer { status, body }) => connection
            .prepare_cached(&format!(
                "UPDATE idempotency SET status = ?6, answer = ?7 WHERE {KEY}"
            ))?
            .execute(params![tenant, person, token, key, request.0, status, body])?,
        None => connection
            .prepare_cached(&format!("DELETE FROM idempotency WHERE {KEY}"))?
            .execute(params![tenant, person, token, key, request.0])?,
    };
    Ok(())
}
