//! Rows of the outbox, as the worker that delivers them reads and writes: heads, parts, receipts, failures.
//!
//! Invariant: what is read follows from what is open, not from what was sent before; a test looks at the plans.

use rooftree_protocol::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::{column, outbox, worker_claims};
use crate::{
    Error, OutboxFailure, OutboxHeads, OutboxPart, OutboxState, PartReceipt,
    worker_claim::WorkerProof,
};

/// The first open message of the next chat.
const HEAD: &str = "SELECT * FROM outbox INDEXED BY outbox_open
     WHERE state IN ('planned', 'sending', 'failed') AND connector = ?1 AND place > ?2
     ORDER BY place, ordinal LIMIT 1";

/// A part of a message that the worker writes.
pub(crate) struct PartOfMessage<'a> {
    pub(crate) id: &'a str,
    pub(crate) n: u32,
}

/// Of each chat of a connector the first message that is not closed.
pub(crate) fn heads(
    connection: &Connection,
    connector: &str,
    now: Timestamp,
    limit: usize,
) -> Result<OutboxHeads, Error> {
    let moment = connection.unchecked_transaction()?;
    let mut heads = OutboxHeads::default();
    let mut place = String::new();
    while heads.due.len() < limit {
        let Some(row) = outbox::one(&moment, HEAD, &[&connector, &place])? else {
            break;
        };
        place = match &row.post.target.thread {
            Some(thread) => format!("{}/{thread}", row.post.target.chat),
            None => row.post.target.chat.clone(),
        };
        if row.not_before <= now {
            heads.due.push(row);
        } else {
            let next = heads
                .next
                .map_or(row.not_before, |next| next.min(row.not_before));
            heads.next = Some(next);
        }
    }
    Ok(heads)
}

/// Keeps what a message is split into, once.
pub(crate) fn plan(
    connection: &Connection,
    proof: &WorkerProof,
    id: &str,
    parts: &[String],
) -> Result<Vec<OutboxPart>, Error> {
    worker_claims::check(connection, proof)?;
    let Some(number) = number(connection, id)? else {
        return Ok(Vec::new());
    };
    let planned = outbox::parts(connection, number)?;
    if !planned.is_empty() {
        return Ok(planned);
    }
    let mut statement = connection.prepare_cached(
        "INSERT INTO outbox_part (outbox, n, body, state) VALUES (?1, ?2, ?3, 'planned')",
    )?;
    for (n, body) in parts.iter().enumerate() {
        statement.execute(params![number, column::limit(n), body])?;
    }
    outbox::parts(connection, number)
}

fn number(connection: &Connection, id: &str) -> Result<Option<i64>, Error> {
    Ok(connection
        .prepare_cached("SELECT number FROM outbox WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?)
}

/// Notes that a part is being sent; says whether its message is still wanted.
pub(crate) fn begin(
    connection: &Connection,
    proof: &WorkerProof,
    part: &PartOfMessage<'_>,
    body: &str,
) -> Result<bool, Error> {
    worker_claims::check(connection, proof)?;
    let number: Option<i64> = connection
        .prepare_cached(
            "UPDATE outbox SET state = 'sending' WHERE id = ?1 AND state IN ('planned', 'sending', 'failed')
             RETURNING number",
        )?
        .query_row([part.id], |row| row.get(0))
        .optional()?;
    let Some(number) = number else {
        return Ok(false);
    };
    connection
        .prepare_cached(
            "UPDATE outbox_part SET state = 'sending', body = ?3 WHERE outbox = ?1 AND n = ?2",
        )?
        .execute(params![number, part.n, body])?;
    Ok(true)
}

/// Notes that the platform took a part.
pub(crate) fn sent(
    connection: &Connection,
    proof: &WorkerProof,
    receipt: &PartReceipt,
) -> Result<(), Error> {
    worker_claims::check(connection, proof)?;
    let Some(number) = number(connection, &receipt.id)? else {
        return Ok(());
    };
    connection
        .prepare_cached(
            "UPDATE outbox_part SET state = 'sent', platform_id = ?3, sent_at = ?4 WHERE outbox = ?1 AND n = ?2",
        )?
        .execute(params![
            number,
            receipt.part,
            receipt.platform_id,
            receipt.at.0
        ])?;
    connection
        .prepare_cached("UPDATE outbox SET attempts = 0, not_before = 0 WHERE number = ?1")?
        .execute([number])?;
    close_if_sent(connection, number, receipt.at)
}

/// A message is sent when each of its parts is.
fn close_if_sent(connection: &Connection, number: i64, at: Timestamp) -> Result<(), Error> {
    connection
        .prepare_cached(
            "UPDATE outbox SET state = 'sent', closed_at = ?2, class = NULL, error = NULL
             WHERE number = ?1 AND state <> 'superseded'
                 AND NOT EXISTS (SELECT 1 FROM outbox_part p WHERE p.outbox = ?1 AND p.state <> 'sent')",
        )?
        .execute(params![number, at.0])?;
    Ok(())
}

/// Notes that a part arrived whose receipt was lost; says whether it was noted.
pub(crate) fn seen(connection: &Connection, receipt: &PartReceipt) -> Result<bool, Error> {
    let Some(number) = number(connection, &receipt.id)? else {
        return Ok(false);
    };
    let noted = connection
        .prepare_cached(
            "UPDATE outbox_part SET state = 'sent', platform_id = ?3, sent_at = ?4
             WHERE outbox = ?1 AND n = ?2 AND platform_id IS NULL AND state IN ('sending', 'unknown', 'failed')",
        )?
        .execute(params![
            number,
            receipt.part,
            receipt.platform_id,
            receipt.at.0
        ])?;
    close_if_sent(connection, number, receipt.at)?;
    Ok(noted == 1)
}

/// Notes that sending a part failed.
pub(crate) fn failed(
    connection: &Connection,
    proof: &WorkerProof,
    failure: &OutboxFailure,
) -> Result<(), Error> {
    worker_claims::check(connection, proof)?;
    let part = if failure.is_unknown {
        OutboxState::Unknown
    } else {
        OutboxState::Failed
    };
    connection
        .prepare_cached(
            "UPDATE outbox_part SET state = ?3
             WHERE outbox = (SELECT number FROM outbox WHERE id = ?1) AND n = ?2 AND state <> 'sent'",
        )?
        .execute(params![failure.id, failure.part, part.name()])?;
    connection
        .prepare_cached(
            "UPDATE outbox SET state = ?2, attempts = attempts + ?3, not_before = ?4, class = ?5, error = ?6,
                 closed_at = ?7
             WHERE id = ?1 AND state IN ('planned', 'sending', 'failed')",
        )?
        .execute(params![
            failure.id,
            failure.state.name(),
            failure.counts,
            failure.not_before.0,
            failure.class,
            failure.error,
            (!failure.state.is_open()).then_some(failure.at.0),
        ])?;
    Ok(())
}

/// Closes a message that needs no sending.
pub(crate) fn supersede(
    connection: &Connection,
    proof: &WorkerProof,
    id: &str,
    at: Timestamp,
) -> Result<(), Error> {
    worker_claims::check(connection, proof)?;
    connection
        .prepare_cached(
            "UPDATE outbox SET state = 'superseded', closed_at = ?2
             WHERE id = ?1 AND state IN ('planned', 'sending', 'failed')",
        )?
        .execute(params![id, at.0])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connect;

    #[test]
    fn the_next_message_is_found_without_reading_those_that_were_sent() {
        let directory = tempfile::TempDir::new().unwrap();
        let connection = connect::writer(&directory.path().join("rooftree.db")).unwrap();
        let mut plan = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {HEAD}"))
            .unwrap();
        let steps = plan
            .query_map(["telegram", "1"], |row| row.get::<_, String>("detail"))
            .unwrap();
        let plan: Vec<String> = steps.map(Result::unwrap).collect();
        let wanted = "SEARCH outbox USING INDEX outbox_open (connector=? AND place>?)";
        assert_eq!(plan, [wanted]);
    }
}
