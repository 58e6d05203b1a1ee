//! Rows of the board as a store gives them, and read marks of persons.

use rooftree_protocol::{Account, Session, SessionId, Timestamp, Usage};
use rooftree_view::board::{BoardDelivery, BoardScheduleOff, SessionActivity};
use serde::{Deserialize, Serialize};

use crate::{Inquiry, Owner};

/// Whose board, and which part of it.
#[derive(Clone, Debug)]
pub struct BoardQuery {
    /// Who looks: the tenant, and the person whose read marks count.
    pub reader: Account,
    /// Only sessions of this person.
    pub person: Option<String>,
    /// Only sessions of these agents (without case).
    pub agents: Option<Vec<String>>,
    /// How many rows there are at most besides those that ask for attention.
    pub rest: usize,
    /// Only the rows of the rest after this place: the next page.
    pub after: Option<BoardCursor>,
}

/// A place in the rest of a board: the last row of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardCursor {
    /// When its last run had ended.
    pub rested_at: Timestamp,
    /// Which one.
    pub session: SessionId,
}

/// One page of a board, in no order.
#[derive(Clone, Debug, Default)]
pub struct BoardRecords {
    /// Its rows.
    pub records: Vec<BoardRecord>,
    /// Where the rest goes on; none after the last page.
    pub next: Option<BoardCursor>,
}

/// What is stored about a root session and those below it.
#[derive(Clone, Debug)]
pub struct BoardRecord {
    /// Its row.
    pub session: Session,
    /// What it does and did.
    pub activity: SessionActivity,
    /// The process that has its claim, whether alive or not, and until when.
    pub claim: Option<(Owner, Timestamp)>,
    /// Whether mail was not taken.
    pub mail_waits: bool,
    /// What it and those below it ask and is not settled, in the order it was asked.
    pub inquiries: Vec<Inquiry>,
    /// The sessions below it with an open run.
    pub open_children: Vec<BoardChild>,
    /// How many sessions below it without an open run have completed their last one.
    pub children_done: u64,
    /// How many of them have failed.
    pub children_failed: u64,
    /// What it and those below it used.
    pub usage: Usage,
    /// The last event of it that the reader has seen.
    pub read_upto: u64,
    /// What of it could not be delivered to a chat.
    pub undelivered: Option<BoardDelivery>,
    /// A schedule that its failures switched off, if its last run was in it.
    pub schedule_off: Option<BoardScheduleOff>,
}

/// A session with an open run, below another one.
#[derive(Clone, Debug)]
pub struct BoardChild {
    /// Which one.
    pub session: SessionId,
    /// What it does and did.
    pub activity: SessionActivity,
    /// The process that has its claim, whether alive or not, and until when.
    pub claim: Option<(Owner, Timestamp)>,
}

/// A person has seen a session up to an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadMark {
    /// Who.
    pub reader: Account,
    /// Which session.
    pub session: SessionId,
    /// The last event that was seen; a later one than there is counts as the last there is.
    pub upto: u64,
    /// When.
    pub at: Timestamp,
}
