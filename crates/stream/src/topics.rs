//! Topics of a stream: rows with a revision that belong to no session, as the board.

use rooftree_protocol::Principal;
use rooftree_runtime::Handle;
use rooftree_view::{StreamRequest, TopicFrame};

/// The topics that a stream watches.
pub(crate) struct TopicWatches {}

impl TopicWatches {
    /// Watches what the request names.
    pub(crate) fn open(_: &Handle, _: &Principal, _: &StreamRequest) -> Self {
        Self {}
    }

    /// The next change of any of them. Dropping the wait loses nothing.
    pub(crate) async fn next(&mut self) -> TopicFrame {
        std::future::pending().await
    }
}
