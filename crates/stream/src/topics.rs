//! Topics of a stream: rows with a revision that belong to no session, as the board.

use rooftree_protocol::Principal;
use rooftree_runtime::{BoardWatch, Handle};
use rooftree_view::{ByeReason, StreamRequest, TopicFrame, board::BoardRev};

/// The topics that a stream watches.
pub(crate) struct TopicWatches {
    handle: Handle,
    who: Principal,
    board: BoardTopic,
}

/// The board as a topic.
enum BoardTopic {
    /// It is not asked for.
    Absent,
    /// It is asked for, after a revision or from the beginning.
    Asked(Option<BoardRev>),
    /// It is watched.
    Watched(BoardWatch),
}

impl TopicWatches {
    /// Watches what the request names, from the first call of `next` on. A revision of another process, or one that is
    /// none, means the whole board.
    pub(crate) fn open(handle: &Handle, who: &Principal, request: &StreamRequest) -> Self {
        let board = match &request.board {
            None => BoardTopic::Absent,
            Some(after) => BoardTopic::Asked(BoardRev::parse(after)),
        };
        Self {
            handle: handle.clone(),
            who: who.clone(),
            board,
        }
    }

    /// The next change of any of them. Dropping the wait loses nothing.
    pub(crate) async fn next(&mut self) -> Result<TopicFrame, ByeReason> {
        if let BoardTopic::Asked(after) = &self.board {
            let watch = self.handle.watch_board(&self.who, after.as_ref());
            self.board = BoardTopic::Watched(watch);
        }
        match &mut self.board {
            BoardTopic::Watched(watch) => {
                let change = watch.next().await;
                TopicFrame::of_board(&change).map_err(|_| ByeReason::Failed)
            }
            BoardTopic::Absent | BoardTopic::Asked(_) => std::future::pending().await,
        }
    }
}
