//! One commit of a session's owner: its events, what it took, what it tells others.
//!
//! Invariant: nothing here is done unless fence and token are still the session's own, and
//! an inbox item counts as taken only in the commit that holds its message.

use rooftree_protocol::{BlobId, Event, EventBody, Lane, RunId};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    blobs, column,
    inbox::{self, Letter},
    proof::Proof,
    tasks,
};
use crate::{Batch, Error, chain, failpoint};

/// What of a session's row an append looks at and moves on.
struct Place {
    number: i64,
    fence: u64,
    head: u64,
    hash: Vec<u8>,
    updated_at: i64,
    mail: Lanes,
    boundary: Lanes,
}

/// How far a lane was taken and done.
struct Lanes {
    taken: u64,
    done: u64,
}

/// A batch, spelled out by whoever appends, so that the writer does not have to.
pub(crate) struct Sealed {
    batch: Batch,
    data: Vec<String>,
    letters: Vec<Letter>,
    blobs: Vec<(BlobId, Vec<u8>)>,
}

impl Sealed {
    pub(crate) fn seal(mut batch: Batch) -> Result<Self, Error> {
        let letters =
            std::mem::take(&mut batch.posts).into_iter().map(Letter::seal).collect::<Result<_, _>>()?;
        let named = |bytes: Vec<u8>| (chain::blob_id(&bytes), bytes);
        let blobs = std::mem::take(&mut batch.blobs).into_iter().map(named).collect();
        let data = batch.events.iter().map(spell).collect::<Result<_, _>>()?;
        Ok(Self { batch, data, letters, blobs })
    }
}

/// An event's body as it is spelled in JSON.
#[derive(Deserialize)]
struct Spelled<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
}

fn spell(event: &Event) -> Result<String, Error> {
    let body = serde_json::to_string(&event.body)?;
    Ok(serde_json::from_str::<Spelled<'_>>(&body)?.data.get().to_owned())
}

/// Appends a batch, whole or not at all.
pub(crate) fn append(connection: &Connection, proof: &Proof, sealed: &Sealed) -> Result<(), Error> {
    let batch = &sealed.batch;
    let mut place = hold(connection, proof)?;
    for (name, bytes) in &sealed.blobs {
        blobs::put(connection, name, bytes)?;
    }
    take(connection, &mut place, batch)?;
    finish(&mut place, batch)?;
    for (event, data) in batch.events.iter().zip(&sealed.data) {
        fit(&place, proof, event)?;
        write(connection, &mut place, event, data)?;
    }
    move_on(connection, &place, batch)?;
    for letter in &sealed.letters {
        inbox::post(connection, letter)?;
    }
    for task in &batch.tasks {
        tasks::put(connection, task)?;
    }
    Ok(())
}

/// The row, if the claim still holds.
fn hold(connection: &Connection, proof: &Proof) -> Result<Place, Error> {
    connection
        .prepare_cached(
            "SELECT number, fence, head, head_hash, updated_at, mail_taken, mail_done, boundary_taken, boundary_done
             FROM session WHERE id = ?1 AND ((fence = ?2 AND token = ?3) OR ?4)",
        )?
        .query_row(
            params![
                proof.session.as_str(),
                column::signed(proof.fence),
                proof.token,
                failpoint::is_without("fence")
            ],
            read_place,
        )
        .optional()?
        .ok_or(Error::Fenced)
}

fn read_place(row: &Row<'_>) -> Result<Place, rusqlite::Error> {
    let count = |column: &str| row.get(column).map(column::unsigned);
    Ok(Place {
        number: row.get("number")?,
        fence: count("fence")?,
        head: count("head")?,
        hash: row.get("head_hash")?,
        updated_at: row.get("updated_at")?,
        mail: Lanes { taken: count("mail_taken")?, done: count("mail_done")? },
        boundary: Lanes { taken: count("boundary_taken")?, done: count("boundary_done")? },
    })
}

impl Place {
    fn lane(&mut self, lane: Lane) -> &mut Lanes {
        match lane {
            Lane::Mail => &mut self.mail,
            Lane::Boundary => &mut self.boundary,
        }
    }
}

/// Each message among the events is the next of its lane, and the one the inbox has there.
fn take(connection: &Connection, place: &mut Place, batch: &Batch) -> Result<(), Error> {
    let messages = batch.events.iter().filter_map(|event| match &event.body {
        EventBody::MessageUser { message, lane, position } => Some((*lane, *position, &message.id)),
        EventBody::InboxDelivered { message, lane, position, .. } => Some((*lane, *position, message)),
        _ => None,
    });
    let mut taken = batch.taken.iter();
    for (lane, position, message) in messages {
        if taken.next() != Some(&(lane, position)) {
            return Err(Error::OutOfOrder(format!("message {position} of {lane:?} is told but not taken")));
        }
        let next = place.lane(lane).taken + 1;
        let in_order = position == next
            && inbox::message_at(connection, place.number, lane, position)?.as_ref() == Some(message);
        if !in_order && !failpoint::is_without("fence") {
            return Err(Error::OutOfOrder(format!(
                "{message} at {position} of {lane:?} is not the next, {next}"
            )));
        }
        place.lane(lane).taken = position.max(next - 1);
    }
    match taken.next() {
        Some((lane, position)) => {
            Err(Error::OutOfOrder(format!("{position} of {lane:?} is taken but not told")))
        }
        None => Ok(()),
    }
}

/// Mail is done one after the other. At a boundary the message that woke the session is done
/// after those that came in while it ran, so there only the furthest is kept.
fn finish(place: &mut Place, batch: &Batch) -> Result<(), Error> {
    for &(lane, position) in &batch.done {
        let counter = place.lane(lane);
        let skips = lane == Lane::Mail && position != counter.done + 1;
        if (skips || position > counter.taken || position == 0) && !failpoint::is_without("fence") {
            let (done, taken) = (counter.done, counter.taken);
            return Err(Error::OutOfOrder(format!(
                "{position} of {lane:?} is done with {done} done and {taken} taken"
            )));
        }
        counter.done = counter.done.max(position);
    }
    Ok(())
}

/// An event must be durable, of this session, and the next one.
fn fit(place: &Place, proof: &Proof, event: &Event) -> Result<(), Error> {
    let seq = place.head + 1;
    let is_next = event.id == Some(seq) || failpoint::is_without("fence");
    if is_next && event.session == proof.session && event.body.is_durable() {
        return Ok(());
    }
    let (name, id) = (event.body.name(), event.id);
    Err(Error::OutOfOrder(format!("{name} numbered {id:?} of {} where {seq} is next", event.session)))
}

fn write(connection: &Connection, place: &mut Place, event: &Event, data: &str) -> Result<(), Error> {
    let seq = place.head + 1;
    let name = event.body.name();
    let hash = chain::link(&place.hash, seq, name, data);
    connection
        .prepare_cached(
            "INSERT INTO journal (session, seq, ts, run, parent_run, fence, type, data, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            place.number,
            column::signed(seq),
            event.ts.0,
            event.run.as_ref().map(RunId::as_str),
            event.parent_run.as_ref().map(RunId::as_str),
            column::signed(place.fence),
            name,
            data,
            hash,
        ])?;
    place.head = seq;
    place.hash = hash;
    place.updated_at = place.updated_at.max(event.ts.0);
    Ok(())
}

/// Writes the row back. Settling a run also forgets the claims that did not.
fn move_on(connection: &Connection, place: &Place, batch: &Batch) -> Result<(), Error> {
    let settled = matches!(batch.run, Some(None));
    connection
        .prepare_cached(
            "UPDATE session SET head = :head, head_hash = :hash, updated_at = :updated_at,
                 snippet = coalesce(:snippet, snippet), lease = max(coalesce(lease, 0), :lease),
                 run = CASE WHEN :run_changes THEN :run ELSE run END,
                 attempts = CASE WHEN :settled THEN 0 ELSE attempts END,
                 mail_taken = :mail_taken, mail_done = :mail_done,
                 boundary_taken = :boundary_taken, boundary_done = :boundary_done
             WHERE number = :number",
        )?
        .execute(named_params! {
            ":number": place.number,
            ":head": column::signed(place.head),
            ":hash": place.hash,
            ":updated_at": place.updated_at,
            ":snippet": batch.snippet,
            ":lease": batch.lease.0,
            ":run_changes": batch.run.is_some(),
            ":run": batch.run.as_ref().and_then(|run| run.as_ref().map(RunId::as_str)),
            ":settled": settled,
            ":mail_taken": column::signed(place.mail.taken),
            ":mail_done": column::signed(place.mail.done),
            ":boundary_taken": column::signed(place.boundary.taken),
            ":boundary_done": column::signed(place.boundary.done),
        })?;
    Ok(())
}
