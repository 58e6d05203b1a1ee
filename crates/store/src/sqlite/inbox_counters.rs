//! Counters of the messages posted to a session: the row that posting processes write.
//!
//! The counters of messages taken and done are written by the owner, in the session's own row.

use rooftree_protocol::{Lane, SessionId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::column;
use crate::Error;

/// Which sessions a message may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecipientFilter {
    /// All there are.
    Every,
    /// Those that are not deleted.
    Living,
}

/// Whether there is a row, and what a restart makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InboxState {
    /// No message has been posted yet.
    Absent,
    /// Everything was done when its owner last gave it back.
    Rests,
    /// A restart looks at it.
    Waits,
}

/// A session's mailbox.
pub(crate) struct InboxCounters {
    /// The session's row number.
    pub(crate) session: i64,
    mail: LaneCounter,
    boundary: LaneCounter,
    state: InboxState,
}

/// How far a lane was filled and emptied.
#[derive(Clone, Copy)]
pub(crate) struct LaneCounter {
    pub(crate) posted: u64,
    pub(crate) taken: u64,
}

impl InboxCounters {
    /// The mailbox of a session, if there is such a session.
    pub(crate) fn of(
        connection: &Connection,
        session: &SessionId,
        reach: RecipientFilter,
    ) -> Result<Self, Error> {
        connection
            .prepare_cached(
                "SELECT s.number, m.mail_posted, s.mail_taken, m.boundary_posted, s.boundary_taken, m.waits
                 FROM session s LEFT JOIN mailbox m ON m.session = s.number
                 WHERE s.id = ?1 AND (s.deleted_at IS NULL OR ?2)",
            )?
            .query_row(params![session.as_str(), reach == RecipientFilter::Every], read)
            .optional()?
            .ok_or_else(|| Error::NoSession(session.clone()))
    }

    /// What is in a lane.
    pub(crate) fn lane(&self, lane: Lane) -> LaneCounter {
        match lane {
            Lane::Mail => self.mail,
            Lane::Boundary => self.boundary,
        }
    }

    /// Counts one more message in a lane, which a person may have said at some time.
    pub(crate) fn count(
        mut self,
        connection: &Connection,
        lane: Lane,
        spoken_at: Option<i64>,
    ) -> Result<(), Error> {
        match lane {
            Lane::Mail => self.mail.posted += 1,
            Lane::Boundary => self.boundary.posted += 1,
        }
        // The index is touched only where the row comes into it.
        let write = match self.state {
            InboxState::Absent => {
                "INSERT INTO mailbox (session, mail_posted, boundary_posted, user_at, waits) VALUES (?1, ?2, ?3, ?4, 1)"
            }
            InboxState::Rests => {
                "UPDATE mailbox SET mail_posted = ?2, boundary_posted = ?3, user_at = coalesce(?4, user_at), waits = 1
                 WHERE session = ?1"
            }
            InboxState::Waits => {
                "UPDATE mailbox SET mail_posted = ?2, boundary_posted = ?3, user_at = coalesce(?4, user_at)
                 WHERE session = ?1"
            }
        };
        connection.prepare_cached(write)?.execute(params![
            self.session,
            column::signed(self.mail.posted),
            column::signed(self.boundary.posted),
            spoken_at
        ])?;
        Ok(())
    }
}

fn read(row: &Row<'_>) -> Result<InboxCounters, rusqlite::Error> {
    let count = |column: usize| {
        row.get::<_, Option<i64>>(column)
            .map(|count| column::unsigned(count.unwrap_or(0)))
    };
    let waits: Option<bool> = row.get(5)?;
    Ok(InboxCounters {
        session: row.get(0)?,
        mail: LaneCounter {
            posted: count(1)?,
            taken: count(2)?,
        },
        boundary: LaneCounter {
            posted: count(3)?,
            taken: count(4)?,
        },
        state: waits.map_or(InboxState::Absent, |waits| {
            if waits {
                InboxState::Waits
            } else {
                InboxState::Rests
            }
        }),
    })
}

/// What a session's owner leaves in its mailbox when it goes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InboxRemainder {
    /// Whether mail was not taken.
    pub(crate) mail: bool,
    /// Whether something at the boundary was not taken.
    pub(crate) boundary: bool,
}

/// Says what its owner leaves in a mailbox, and lets it rest if nothing is left to be done.
pub(crate) fn mark_idle_if_empty(
    connection: &Connection,
    session: i64,
) -> Result<InboxRemainder, Error> {
    let left = connection
        .prepare_cached(
            "SELECT s.mail_taken < m.mail_posted, s.boundary_taken < m.boundary_posted,
                 m.waits AND s.mail_done = m.mail_posted AND s.boundary_taken = m.boundary_posted
             FROM mailbox m JOIN session s ON s.number = m.session WHERE m.session = ?1",
        )?
        .query_row([session], |row| {
            Ok((
                InboxRemainder {
                    mail: row.get(0)?,
                    boundary: row.get(1)?,
                },
                row.get(2)?,
            ))
        })
        .optional()?;
    let Some((left, is_done)) = left else {
        return Ok(InboxRemainder::default());
    };
    if is_done {
        connection
            .prepare_cached("UPDATE mailbox SET waits = 0 WHERE session = ?1")?
            .execute([session])?;
    }
    Ok(left)
}
