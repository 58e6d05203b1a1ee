//! The board and read marks. Part of [`Store`](crate::Store).

use crate::{BoardQuery, BoardRecords, Pending, ReadMark};

/// The board: what every root session does, and what persons have seen of it.
pub trait BoardStore: Send + Sync {
    /// All root sessions with an open run, waiting mail or an open question, in them or below them; those whose last
    /// run failed and was not seen; pinned ones; and the latest of the rest. Deleted ones are left out. Its cost does
    /// not grow with the number of sessions.
    fn board(&self, query: BoardQuery) -> Pending<BoardRecords>;

    /// Keeps how far a person has seen a session; says whether that is further than before. Marks never move back.
    fn mark_read(&self, mark: ReadMark) -> Pending<bool>;
}
