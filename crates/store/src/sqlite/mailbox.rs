//! What was posted to a session, counted: the row that those who post write.
//!
//! What was taken and done is the owner's to write and stands in the session's own row.

use rooftree_protocol::{Lane, SessionId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::column;
use crate::Error;

/// Which sessions a message may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All there are.
    Every,
    /// Those that are not deleted.
    Living,
}

/// Whether there is a row, and what a restart makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nobody has posted yet.
    Absent,
    /// Everything was done when its owner last gave it back.
    Rests,
    /// A restart looks at it.
    Waits,
}

/// A session's mailbox.
pub(crate) struct Mailbox {
    /// The session's row number.
    pub(crate) session: i64,
    mail: Counted,
    boundary: Counted,
    state: State,
}

/// How far a lane was filled and emptied.
#[derive(Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) posted: u64,
    pub(crate) taken: u64,
}

impl Mailbox {
    /// The mailbox of a session, if there is such a session.
    pub(crate) fn of(connection: &Connection, session: &SessionId, reach: Reach) -> Result<Self, Error> {
        connection
            .prepare_cached(
                "SELECT s.number, m.mail_posted, s.mail_taken, m.boundary_posted, s.boundary_taken, m.waits
                 FROM session s LEFT JOIN mailbox m ON m.session = s.number
                 WHERE s.id = ?1 AND (s.deleted_at IS NULL OR ?2)",
            )?
            .query_row(params![session.as_str(), reach == Reach::Every], read)
            .optional()?
            .ok_or_else(|| Error::NoSession(session.clone()))
    }

    /// What is in a lane.
    pub(crate) fn lane(&self, lane: Lane) -> Counted {
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
            State::Absent => {
                "INSERT INTO mailbox (session, mail_posted, boundary_posted, user_at, waits) VALUES (?1, ?2, ?3, ?4, 1)"
            }
            State::Rests => {
                "UPDATE mailbox SET mail_posted = ?2, boundary_posted = ?3, user_at = coalesce(?4, user_at), waits = 1
                 WHERE session = ?1"
            }
            State::Waits => {
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

fn read(row: &Row<'_>) -> Result<Mailbox, rusqlite::Error> {
    let count =
        |column: usize| row.get::<_, Option<i64>>(column).map(|count| column::unsigned(count.unwrap_or(0)));
    let waits: Option<bool> = row.get(5)?;
    Ok(Mailbox {
        session: row.get(0)?,
        mail: Counted { posted: count(1)?, taken: count(2)? },
        boundary: Counted { posted: count(3)?, taken: count(4)? },
        state: waits.map_or(State::Absent, |waits| if waits { State::Waits } else { State::Rests }),
    })
}

/// What a session's owner leaves in its mailbox when it goes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Left {
    /// Whether mail was not taken.
    pub(crate) mail: bool,
    /// Whether something at the boundary was not taken.
    pub(crate) boundary: bool,
}

/// Says what its owner leaves in a mailbox, and lets it rest if nothing is left to be done.
pub(crate) fn leave(connection: &Connection, session: i64) -> Result<Left, Error> {
    let left = connection
        .prepare_cached(
            "SELECT s.mail_taken < m.mail_posted, s.boundary_taken < m.boundary_posted,
                 m.waits AND s.mail_done = m.mail_posted AND s.boundary_taken = m.boundary_posted
             FROM mailbox m JOIN session s ON s.number = m.session WHERE m.session = ?1",
        )?
        .query_row([session], |row| Ok((Left { mail: row.get(0)?, boundary: row.get(1)? }, row.get(2)?)))
        .optional()?;
    let Some((left, is_done)) = left else { return Ok(Left::default()) };
    if is_done {
        connection.prepare_cached("UPDATE mailbox SET waits = 0 WHERE session = ?1")?.execute([session])?;
    }
    Ok(left)
}
