//! Claims: the lock on a session. Its owner has a lease; a busy session is refused to other processes while the owner
//! lives.

use rooftree_protocol::{Lane, SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    claim_check::ClaimProof,
    column, commands, inbox,
    inbox_counters::{self, InboxRemainder},
    rules, sessions,
};
use crate::{Claim, ClaimOutcome, ClaimedSession, Error, Owner, batch_limit, failpoint};

/// Who wants to work and until when.
pub(crate) struct ClaimRequest<'a> {
    pub(crate) owner: &'a Owner,
    pub(crate) now: Timestamp,
    pub(crate) until: Timestamp,
}

/// What a session's row says about its claim.
struct ClaimRow {
    fence: u64,
    attempts: u32,
    lease: Timestamp,
    owner: Option<Owner>,
}

/// Grants the claim, or says who has it.
pub(crate) fn claim(
    connection: &Connection,
    id: &SessionId,
    wish: &ClaimRequest<'_>,
) -> Result<ClaimOutcome, Error> {
    let held = read_claim(connection, id)?;
    if let Some(owner) = held.owner
        && !owner.is_dead_for(wish.owner)
        && (held.lease > wish.now || owner.is_running_for(wish.owner))
        && !failpoint::is_without("fence")
    {
        return Ok(ClaimOutcome::Held(owner));
    }
    let fence = held.fence + 1;
    let token: String = connection
        .prepare_cached(
            "UPDATE session SET fence = ?2, token = lower(hex(randomblob(16))), lease = ?3, attempts = attempts + 1,
                 owner_host = ?4, owner_boot = ?5, owner_pid = ?6, owner_started = ?7
             WHERE id = ?1 RETURNING token",
        )?
        .query_row(
            params![
                id.as_str(),
                column::signed(fence),
                wish.until.0,
                wish.owner.host,
                wish.owner.boot,
                wish.owner.pid,
                column::signed(wish.owner.started),
            ],
            |row| row.get(0),
        )?;
    let claim = Claim {
        session: id.clone(),
        fence,
        token,
    };
    let waiting = |lane| {
        Ok::<_, Error>((
            lane,
            inbox::waiting(connection, id, lane, batch_limit(lane))?,
        ))
    };
    Ok(ClaimOutcome::Granted(ClaimedSession {
        session: sessions::needed(connection, id)?,
        attempts: held.attempts,
        commands: commands::take(connection, &ClaimProof::from(&claim))?,
        rules: rules::version(connection)?,
        waiting: [waiting(Lane::Mail)?, waiting(Lane::Boundary)?],
        claim,
    }))
}

fn read_claim(connection: &Connection, id: &SessionId) -> Result<ClaimRow, Error> {
    connection
        .prepare_cached(
            "SELECT fence, attempts, lease, token, owner_host, owner_boot, owner_pid, owner_started
             FROM session WHERE id = ?1",
        )?
        .query_row([id.as_str()], |row| {
            Ok(ClaimRow {
                fence: column::unsigned(row.get(0)?),
                attempts: row.get(1)?,
                lease: Timestamp(row.get::<_, Option<i64>>(2)?.unwrap_or(i64::MIN)),
                owner: read_owner(row)?,
            })
        })
        .optional()?
        .ok_or_else(|| Error::NoSession(id.clone()))
}

fn read_owner(row: &Row<'_>) -> Result<Option<Owner>, rusqlite::Error> {
    if row.get_ref(3)? == rusqlite::types::ValueRef::Null {
        return Ok(None);
    }
    Ok(Some(Owner {
        host: row.get(4)?,
        boot: row.get(5)?,
        pid: row.get(6)?,
        started: column::unsigned(row.get(7)?),
    }))
}

/// Who holds a session and until when, from columns that begin with the token and end with the lease.
pub(crate) fn read_holder(
    row: &Row<'_>,
    first: usize,
) -> Result<Option<(Owner, Timestamp)>, Error> {
    if row.get_ref(first)? == rusqlite::types::ValueRef::Null {
        return Ok(None);
    }
    let owner = Owner {
        host: row.get(first + 1)?,
        boot: row.get(first + 2)?,
        pid: row.get(first + 3)?,
        started: column::unsigned(row.get(first + 4)?),
    };
    let lease: Option<i64> = row.get(first + 5)?;
    Ok(Some((owner, Timestamp(lease.unwrap_or(i64::MIN)))))
}

/// Who holds a session, whether alive or not.
pub(crate) fn owner(connection: &Connection, id: &SessionId) -> Result<Option<Owner>, Error> {
    Ok(read_claim(connection, id)?.owner)
}

/// Who holds a session, whether alive or not, and until when.
pub(crate) fn holder(
    connection: &Connection,
    id: &SessionId,
) -> Result<Option<(Owner, Timestamp)>, Error> {
    let held = read_claim(connection, id)?;
    Ok(held.owner.map(|owner| (owner, held.lease)))
}

/// Keeps a claim alive.
pub(crate) fn renew(
    connection: &Connection,
    proof: &ClaimProof,
    until: Timestamp,
) -> Result<(), Error> {
    let kept = connection
        .prepare_cached(
            "UPDATE session SET lease = ?4 WHERE id = ?1 AND fence = ?2 AND token = ?3",
        )?
        .execute(params![
            proof.session.as_str(),
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

/// Gives a claim back; says whether a message waits that is not silent.
pub(crate) fn release(connection: &Connection, proof: &ClaimProof) -> Result<bool, Error> {
    let given: Option<(i64, bool)> = connection
        .prepare_cached(
            "UPDATE session SET token = NULL, lease = NULL, owner_host = NULL, owner_boot = NULL, owner_pid = NULL,
                 owner_started = NULL, attempts = 0
             WHERE id = ?1 AND fence = ?2 AND token = ?3 RETURNING number, deleted_at IS NULL",
        )?
        .query_row(params![proof.session.as_str(), column::signed(proof.fence), proof.token], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let (number, is_living) = given.ok_or(Error::Fenced)?;
    match inbox_counters::mark_idle_if_empty(connection, number)? {
        _ if !is_living => Ok(false),
        InboxRemainder { mail: true, .. } => Ok(true),
        InboxRemainder { boundary: true, .. } => wakes(connection, number),
        InboxRemainder { .. } => Ok(false),
    }
}

/// Whether something at the boundary of a session would wake it.
fn wakes(connection: &Connection, session: i64) -> Result<bool, Error> {
    Ok(connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM inbox i JOIN session s ON s.number = i.session
                 WHERE i.session = ?1 AND i.lane = 'boundary' AND i.position > s.boundary_taken AND i.silent = 0)",
        )?
        .query_row([session], |row| row.get(0))?)
}
