//! Rows of worker claims: the lock and lease of background jobs.

use rooftree_protocol::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::{claims::ClaimRequest, column};
use crate::{Error, Owner, WorkerClaim, WorkerClaimOutcome, worker_claim::WorkerProof};

/// Grants a job, or says who has it.
pub(crate) fn claim(
    connection: &Connection,
    name: &str,
    wish: &ClaimRequest<'_>,
) -> Result<WorkerClaimOutcome, Error> {
    let held = holder(connection, name)?;
    if let Some((owner, until)) = held
        && !owner.is_dead_for(wish.owner)
        && (until > wish.now || owner.is_running_for(wish.owner))
    {
        return Ok(WorkerClaimOutcome::Held(owner));
    }
    let (fence, token): (i64, String) = connection
        .prepare_cached(
            "INSERT INTO worker_claim (name, fence, token, host, boot, pid, started, until)
             VALUES (?1, 1, lower(hex(randomblob(16))), ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (name) DO UPDATE SET fence = fence + 1, token = excluded.token, host = ?2, boot = ?3,
                 pid = ?4, started = ?5, until = ?6
             RETURNING fence, token",
        )?
        .query_row(
            params![
                name,
                wish.owner.host,
                wish.owner.boot,
                wish.owner.pid,
                column::signed(wish.owner.started),
                wish.until.0,
            ],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
    Ok(WorkerClaimOutcome::Granted(WorkerClaim {
        name: name.to_owned(),
        fence: column::unsigned(fence),
        token,
    }))
}

/// Who has a job, whether alive or not, and until when.
fn holder(connection: &Connection, name: &str) -> Result<Option<(Owner, Timestamp)>, Error> {
    let found = connection
        .prepare_cached(
            "SELECT host, boot, pid, started, until FROM worker_claim WHERE name = ?1 AND token IS NOT NULL",
        )?
        .query_row([name], |row| {
            let owner = Owner {
                host: row.get(0)?,
                boot: row.get(1)?,
                pid: row.get(2)?,
                started: column::unsigned(row.get(3)?),
            };
            Ok((owner, Timestamp(row.get(4)?)))
        });
    Ok(found.optional()?)
}

/// Keeps a claim alive.
pub(crate) fn renew(
    connection: &Connection,
    proof: &WorkerProof,
    until: Timestamp,
) -> Result<(), Error> {
    let kept = connection
        .prepare_cached(
            "UPDATE worker_claim SET until = ?4 WHERE name = ?1 AND fence = ?2 AND token = ?3",
        )?
        .execute(params![
            proof.name,
            column::signed(proof.fence),
            proof.token,
            until.0
        ])?;
    if kept == 1 {
        Ok(())
    } else {
        Err(Error::Fenced)
    }
}

/// Gives a claim back. One that was lost has nothing to give.
pub(crate) fn release(connection: &Connection, proof: &WorkerProof) -> Result<(), Error> {
    connection
        .prepare_cached(
            "UPDATE worker_claim SET token = NULL WHERE name = ?1 AND fence = ?2 AND token = ?3",
        )?
        .execute(params![
            proof.name,
            column::signed(proof.fence),
            proof.token
        ])?;
    Ok(())
}

/// Invariant: nothing is written for a job unless fence and token are still those of its claim.
pub(crate) fn check(connection: &Connection, proof: &WorkerProof) -> Result<(), Error> {
    let is_held: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM worker_claim WHERE name = ?1 AND fence = ?2 AND token = ?3)",
        )?
        .query_row(
            params![proof.name, column::signed(proof.fence), proof.token],
            |row| row.get(0),
        )?;
    if is_held { Ok(()) } else { Err(Error::Fenced) }
}
