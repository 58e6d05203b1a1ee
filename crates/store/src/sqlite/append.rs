//! Appends to a journal: one commit of a session's owner with its events, taken messages and posts.
//!
//! Invariant: nothing here is done unless fence and token are still the session's own, and
//! an inbox item counts as taken only in the commit that holds its message.

use std::borrow::Borrow;

use rooftree_protocol::{BlobId, Event, EventBody, Lane, MessageId, RunId};
use rooftree_view::board::ActivityStep;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    activity::ActivityUpdate,
    blobs,
    claim_check::ClaimProof,
    column,
    encoded_event::EncodedEvent,
    inbox::{self, EncodedPost, PlacedMessage},
    inbox_counters::RecipientFilter,
    inquiries, outbox, rules,
    schedules::{
        occurrences::{self, OccurrenceStep},
        triggers,
    },
    shared_text, tasks,
    usage::{self, UsageEntry},
};
use crate::{AppendBatch, Error, failpoint, hash_chain};

/// What of a session's row an append looks at and moves on.
struct SessionCursor {
    number: i64,
    fence: u64,
    head: u64,
    hash: Vec<u8>,
    updated_at: i64,
    mail: LaneProgress,
    boundary: LaneProgress,
    activity: String,
}

/// How far a lane was taken and done.
struct LaneProgress {
    taken: u64,
    done: u64,
}

/// A batch, serialized on the caller's thread, so that the writer does not have to.
pub(crate) struct EncodedBatch {
    /// All but its events, posts and blobs.
    batch: AppendBatch,
    events: Vec<EncodedEvent>,
    /// The messages among the events.
    told: Vec<ToldMessage>,
    letters: Vec<EncodedPost>,
    blobs: Vec<(BlobId, Vec<u8>)>,
    /// What people were asked and the events settle.
    settled: Vec<String>,
    /// What the events used.
    used: Vec<UsageEntry>,
    /// What they change in the occurrences of schedules.
    occurrences: Vec<OccurrenceStep>,
    /// What they change on the board.
    steps: Vec<ActivityStep>,
}

/// A message that an event tells, and where it was.
struct ToldMessage {
    lane: Lane,
    position: u64,
    id: MessageId,
    /// The revision that was read; none if only its place is taken.
    revision: Option<u32>,
    is_dropped: bool,
}

impl ToldMessage {
    /// Whether the inbox still has the message as it was read. One that was withdrawn can only be dropped.
    fn is_current(&self, placed: &PlacedMessage) -> bool {
        self.is_dropped == placed.is_withdrawn
            && self
                .revision
                .is_none_or(|revision| revision == placed.revision)
    }
}

impl EncodedBatch {
    /// Only borrows the events: the caller goes on using them.
    pub(crate) fn encode<E: Borrow<Event>>(
        events: &[E],
        mut batch: AppendBatch,
    ) -> Result<Self, Error> {
        let letters = std::mem::take(&mut batch.posts)
            .into_iter()
            .map(EncodedPost::encode)
            .collect::<Result<_, _>>()?;
        let named = |bytes: Vec<u8>| (hash_chain::blob_id(&bytes), bytes);
        let blobs = std::mem::take(&mut batch.blobs)
            .into_iter()
            .map(named)
            .collect();
        let told = events
            .iter()
            .filter_map(|event| message(event.borrow()))
            .collect();
        let settled = events
            .iter()
            .filter_map(|event| settled(event.borrow()))
            .collect();
        let used = events
            .iter()
            .filter_map(|event| UsageEntry::of(event.borrow()))
            .collect();
        let steps = events
            .iter()
            .filter_map(|event| ActivityStep::of(event.borrow()))
            .collect();
        let occurrences = events
            .iter()
            .filter_map(|event| OccurrenceStep::of(event.borrow()))
            .collect();
        let events = events
            .iter()
            .map(|event| EncodedEvent::new(event.borrow()))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            batch,
            events,
            told,
            letters,
            blobs,
            settled,
            used,
            occurrences,
            steps,
        })
    }
}

/// What people were asked that an event settles.
fn settled(event: &Event) -> Option<String> {
    match &event.body {
        EventBody::PermissionResolved { id, .. } => Some(id.to_string()),
        EventBody::QuestionAnswered { id, .. } => Some(id.to_string()),
        _ => None,
    }
}

/// The message an event tells, and where it was.
fn message(event: &Event) -> Option<ToldMessage> {
    let (lane, position, id, revision) = match &event.body {
        EventBody::MessageUser {
            message,
            lane,
            position,
        } => (lane, position, &message.id, Some(message.revision)),
        EventBody::InboxDelivered {
            message,
            lane,
            position,
            ..
        }
        | EventBody::InboxDropped {
            message,
            lane,
            position,
        } => (lane, position, message, None),
        _ => return None,
    };
    Some(ToldMessage {
        lane: *lane,
        position: *position,
        id: id.clone(),
        revision,
        is_dropped: matches!(event.body, EventBody::InboxDropped { .. }),
    })
}

/// Appends a batch, whole or not at all.
pub(crate) fn append(
    connection: &Connection,
    proof: &ClaimProof,
    sealed: &EncodedBatch,
) -> Result<(), Error> {
    let batch = &sealed.batch;
    let mut place = check_claim(connection, proof)?;
    for (name, bytes) in &sealed.blobs {
        blobs::put(connection, name, bytes)?;
    }
    take(connection, &mut place, sealed)?;
    finish(&mut place, batch)?;
    for event in &sealed.events {
        check_event(&place, proof, event)?;
        write(connection, &mut place, event)?;
    }
    let activity = ActivityUpdate::of(&place.activity, &sealed.steps)?;
    let shown = activity.as_ref().map(|activity| activity.text.as_str());
    if batch.taken.is_empty() && batch.done.is_empty() && batch.run.is_none() {
        update_head(connection, &place, batch, shown)?;
    } else {
        update_session_row(connection, &place, batch, shown)?;
    }
    if let Some(activity) = activity {
        activity.move_session(connection, place.number)?;
    }
    for letter in &sealed.letters {
        inbox::post(connection, letter, RecipientFilter::Every)?;
    }
    for entry in &sealed.used {
        usage::add(connection, place.number, entry)?;
    }
    for step in &sealed.occurrences {
        occurrences::note(connection, step)?;
        triggers::run_ended(connection, place.number, step)?;
    }
    for task in &batch.tasks {
        tasks::put(connection, task)?;
    }
    for inquiry in &batch.asks {
        inquiries::ask(connection, inquiry)?;
    }
    for settled in &sealed.settled {
        inquiries::settle(connection, settled)?;
    }
    for rule in &batch.rules {
        rules::put(connection, rule, None)?;
    }
    for message in &batch.outbox {
        outbox::post(connection, message)?;
    }
    Ok(())
}

/// The row, if the claim still holds.
fn check_claim(connection: &Connection, proof: &ClaimProof) -> Result<SessionCursor, Error> {
    connection
        .prepare_cached(
            "SELECT number, fence, head, head_hash, updated_at, mail_taken, mail_done, boundary_taken, boundary_done,
                 activity
             FROM session WHERE id = ?1 AND ((fence = ?2 AND token = ?3) OR ?4)",
        )?
        .query_row(
            params![
                proof.session.as_str(),
                column::signed(proof.fence),
                proof.token,
                failpoint::is_without("fence")
            ],
            read_cursor,
        )
        .optional()?
        .ok_or(Error::Fenced)
}

fn read_cursor(row: &Row<'_>) -> Result<SessionCursor, rusqlite::Error> {
    let count = |column: usize| row.get(column).map(column::unsigned);
    Ok(SessionCursor {
        number: row.get(0)?,
        fence: count(1)?,
        head: count(2)?,
        hash: row.get(3)?,
        updated_at: row.get(4)?,
        mail: LaneProgress {
            taken: count(5)?,
            done: count(6)?,
        },
        boundary: LaneProgress {
            taken: count(7)?,
            done: count(8)?,
        },
        activity: row.get(9)?,
    })
}

impl SessionCursor {
    fn lane(&mut self, lane: Lane) -> &mut LaneProgress {
        match lane {
            Lane::Mail => &mut self.mail,
            Lane::Boundary => &mut self.boundary,
        }
    }
}

/// Each message among the events is the next of its lane, and the one the inbox has there.
fn take(
    connection: &Connection,
    place: &mut SessionCursor,
    sealed: &EncodedBatch,
) -> Result<(), Error> {
    let mut taken = sealed.batch.taken.iter();
    for told in &sealed.told {
        let (lane, position, message) = (told.lane, told.position, &told.id);
        if taken.next() != Some(&(lane, position)) {
            return Err(Error::OutOfOrder(format!(
                "message {position} of {lane:?} is told but not taken"
            )));
        }
        let next = place.lane(lane).taken + 1;
        let placed = inbox::message_at(connection, place.number, lane, position)?;
        let placed = placed.filter(|placed| placed.id == *message);
        if let Some(placed) = &placed
            && !told.is_current(placed)
            && !failpoint::is_without("revision")
        {
            return Err(Error::Superseded(message.clone()));
        }
        let in_order = position == next && placed.is_some();
        if !in_order && !failpoint::is_without("fence") {
            return Err(Error::OutOfOrder(format!(
                "{message} at {position} of {lane:?} is not the next, {next}"
            )));
        }
        place.lane(lane).taken = position.max(next - 1);
    }
    match taken.next() {
        Some((lane, position)) => Err(Error::OutOfOrder(format!(
            "{position} of {lane:?} is taken but not told"
        ))),
        None => Ok(()),
    }
}

/// Mail is done one after the other. At a boundary the message that woke the session is done
/// after those that came in while it ran, so there only the furthest is kept.
fn finish(place: &mut SessionCursor, batch: &AppendBatch) -> Result<(), Error> {
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
fn check_event(
    place: &SessionCursor,
    proof: &ClaimProof,
    event: &EncodedEvent,
) -> Result<(), Error> {
    let seq = place.head + 1;
    let is_next = event.id == Some(seq) || failpoint::is_without("fence");
    if is_next && event.session == proof.session && event.is_durable {
        return Ok(());
    }
    let (name, id) = (event.name, event.id);
    Err(Error::OutOfOrder(format!(
        "{name} numbered {id:?} of {} where {seq} is next",
        event.session
    )))
}

fn write(
    connection: &Connection,
    place: &mut SessionCursor,
    event: &EncodedEvent,
) -> Result<(), Error> {
    let seq = place.head + 1;
    let (name, data) = (event.name, event.data());
    let hash = hash_chain::link(&place.hash, seq, name, data, event.who.as_deref());
    let found = match &event.repeated {
        Some(text) => shared_text::last_reply(connection, place.number)?
            .and_then(|(seq, stored)| shared_text::share_with(data, text, (seq, &stored))),
        None => None,
    };
    let shared = found.as_ref().or(event.shared.as_ref());
    connection
        .prepare_cached(
            "INSERT INTO journal (session, seq, ts, run, parent_run, fence, type, data, hash, who, copies)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            place.number,
            column::signed(seq),
            event.ts.0,
            event.run.as_ref().map(RunId::as_str),
            event.parent_run.as_ref().map(RunId::as_str),
            column::signed(place.fence),
            name,
            shared.map_or(data, |shared| &shared.data),
            hash,
            event.who,
            shared.map(|shared| &shared.copies),
        ])?;
    place.head = seq;
    place.hash = hash;
    place.updated_at = place.updated_at.max(event.ts.0);
    Ok(())
}

/// Writes the row back where nothing but events was added. Most appends are like this, and none of
/// the columns that say what is left to do has to be looked at.
fn update_head(
    connection: &Connection,
    place: &SessionCursor,
    batch: &AppendBatch,
    activity: Option<&str>,
) -> Result<(), Error> {
    connection
        .prepare_cached(
            "UPDATE session SET head = ?2, head_hash = ?3, updated_at = ?4, snippet = coalesce(?5, snippet),
                 lease = max(coalesce(lease, 0), ?6), activity = coalesce(?7, activity)
             WHERE number = ?1",
        )?
        .execute(params![
            place.number,
            column::signed(place.head),
            place.hash,
            place.updated_at,
            batch.snippet,
            batch.lease.0,
            activity,
        ])?;
    Ok(())
}

/// Writes the whole row back. Settling a run also forgets the claims that did not.
fn update_session_row(
    connection: &Connection,
    place: &SessionCursor,
    batch: &AppendBatch,
    activity: Option<&str>,
) -> Result<(), Error> {
    connection
        .prepare_cached(
            "UPDATE session SET head = ?2, head_hash = ?3, updated_at = ?4, snippet = coalesce(?5, snippet),
                 lease = max(coalesce(lease, 0), ?6), activity = coalesce(?14, activity),
                 run = CASE WHEN ?7 THEN ?8 ELSE run END, attempts = CASE WHEN ?9 THEN 0 ELSE attempts END,
                 mail_taken = ?10, mail_done = ?11, boundary_taken = ?12, boundary_done = ?13
             WHERE number = ?1",
        )?
        .execute(params![
            place.number,
            column::signed(place.head),
            place.hash,
            place.updated_at,
            batch.snippet,
            batch.lease.0,
            batch.run.is_some(),
            batch.run.as_ref().and_then(|run| run.as_ref().map(RunId::as_str)),
            matches!(batch.run, Some(None)),
            column::signed(place.mail.taken),
            column::signed(place.mail.done),
            column::signed(place.boundary.taken),
            column::signed(place.boundary.done),
            activity,
        ])?;
    Ok(())
}
