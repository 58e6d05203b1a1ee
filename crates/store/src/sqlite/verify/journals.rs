//! A journal's numbers, fences, hashes and messages.

use rooftree_protocol::{Lane, MessageId};
use rusqlite::{Connection, Row, params};
use serde::Deserialize;

use super::{VerifiedSession, runs::RunPairing};
use crate::{
    Error, hash_chain,
    sqlite::{column, inbox, journal, shared_text},
    verify::VerifyReport,
};

/// Where the reading of a journal is.
struct JournalVerifier<'a> {
    session: &'a VerifiedSession,
    seq: u64,
    fence: u64,
    hash: Vec<u8>,
    mail: u64,
    boundary: u64,
    runs: RunPairing,
}

/// What of a message event counts here.
#[derive(Deserialize)]
struct MessageEventData {
    message: MessageRef,
    lane: Lane,
    position: u64,
}

/// A message is told whole, or by its id where the conversation has it already.
#[derive(Deserialize)]
#[serde(untagged)]
enum MessageRef {
    Whole { id: MessageId },
    Id(MessageId),
}

impl MessageRef {
    fn id(&self) -> &MessageId {
        match self {
            Self::Whole { id } | Self::Id(id) => id,
        }
    }
}

/// Reads a session's own part of its journal; says how many events that were.
pub(super) fn check(
    connection: &Connection,
    session: &VerifiedSession,
    report: &mut VerifyReport,
) -> Result<u64, Error> {
    let mut reading = begin(connection, session, report);
    let mut count = 0;
    let mut statement = connection.prepare_cached(
        "SELECT seq, run, fence, type, data, who, hash, copies FROM journal WHERE session = ?1 ORDER BY seq",
    )?;
    let mut rows = statement.query(params![session.number])?;
    while let Some(row) = rows.next()? {
        count += 1;
        reading.event(connection, row, report)?;
    }
    reading.end(report);
    Ok(count)
}

fn begin<'a>(
    connection: &Connection,
    session: &'a VerifiedSession,
    report: &mut VerifyReport,
) -> JournalVerifier<'a> {
    let (seq, hash) = match session.fork {
        None => (0, Ok(Vec::new())),
        Some((origin, at)) => (at, journal::hash_at(connection, origin, at)),
    };
    let hash = hash.unwrap_or_else(|error| {
        report.violated(
            "I10",
            session.id.as_str(),
            format!("what it was forked from is missing: {error}"),
        );
        Vec::new()
    });
    let runs = RunPairing::new(session.fork.is_some());
    JournalVerifier {
        session,
        seq,
        fence: 0,
        hash,
        mail: 0,
        boundary: 0,
        runs,
    }
}

impl JournalVerifier<'_> {
    fn event(
        &mut self,
        connection: &Connection,
        row: &Row<'_>,
        report: &mut VerifyReport,
    ) -> Result<(), Error> {
        let (seq, fence) = (column::count(row, "seq")?, column::count(row, "fence")?);
        let (name, stored): (String, String) = (row.get("type")?, row.get("data")?);
        let copies: Option<String> = row.get("copies")?;
        // If text is missing that it refers to, its hash is wrong, and that is told.
        let data =
            shared_text::whole_data(connection, self.session.number, &stored, copies.as_deref())
                .unwrap_or_default();
        let place = format!("{} event {seq}", self.session.id);
        if seq != self.seq + 1 {
            report.violated("I10", &place, format!("follows event {}", self.seq));
        }
        if fence < self.fence || fence > self.session.fence {
            let (before, now) = (self.fence, self.session.fence);
            report.violated(
                "I1",
                &place,
                format!("has fence {fence} after {before}; the session is at {now}"),
            );
        }
        let hash: Vec<u8> = row.get("hash")?;
        let who: Option<String> = row.get("who")?;
        if hash_chain::link(&self.hash, seq, &name, &data, who.as_deref()) != hash {
            report.violated(
                "I5",
                &place,
                "does not fit the hash before it, or was changed",
            );
        }
        // From here on by its own numbers, so that one break is told once.
        (self.seq, self.fence, self.hash) = (seq, fence, hash);
        if matches!(
            name.as_str(),
            "message.user" | "inbox.delivered" | "inbox.dropped"
        ) {
            self.message(connection, &data, &place, report)?;
        }
        self.runs
            .event(&name, row.get::<_, Option<String>>("run")?, &data)
            .into_iter()
            .for_each(|(invariant, what)| report.violated(invariant, &place, what));
        Ok(())
    }

    fn message(
        &mut self,
        connection: &Connection,
        data: &str,
        place: &str,
        report: &mut VerifyReport,
    ) -> Result<(), Error> {
        let Ok(told) = serde_json::from_str::<MessageEventData>(data) else {
            report.violated("I2", place, "is a message that cannot be read");
            return Ok(());
        };
        let before = match told.lane {
            Lane::Mail => &mut self.mail,
            Lane::Boundary => &mut self.boundary,
        };
        let (lane, position) = (column::lane(told.lane), told.position);
        if position != *before + 1 {
            report.violated(
                "I2",
                place,
                format!("is {position} of {lane} after {before}"),
            );
        }
        *before = position;
        let stored = inbox::message_at(connection, self.session.number, told.lane, position)?;
        let stored = stored.map(|placed| placed.id);
        if stored.as_ref() != Some(told.message.id()) {
            report.violated(
                "I3",
                place,
                format!(
                    "says {} was {position} of {lane}, the inbox has {stored:?}",
                    told.message.id()
                ),
            );
        }
        Ok(())
    }

    fn end(self, report: &mut VerifyReport) {
        let session = self.session;
        let id = session.id.as_str();
        if self.seq != session.head {
            report.violated(
                "I10",
                id,
                format!(
                    "its head is {} and its last event {}",
                    session.head, self.seq
                ),
            );
        }
        if self.hash != session.head_hash {
            report.violated("I5", id, "its head's hash is not that of its last event");
        }
        for (lane, told, counted) in [
            ("mail", self.mail, session.mail),
            ("boundary", self.boundary, session.boundary),
        ] {
            if told != counted.taken {
                report.violated(
                    "I2",
                    id,
                    format!(
                        "{} of {lane} are taken and {told} are in the journal",
                        counted.taken
                    ),
                );
            }
        }
        if let Some(what) = self.runs.open_other_than(session.run.as_deref()) {
            report.violated("I11", id, what);
        }
    }
}
