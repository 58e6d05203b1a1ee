//! A watch: the frames of a stream, and over HTTP the state of its connection.
//!
//! The connection has a state of its own, apart from the data: a reader that shows what it has received is right while
//! the connection is being made again.

use async_trait::async_trait;
use rooftree_protocol::Problem;
use rooftree_view::{StreamFrame, StreamPatch};

/// The state of the connection of a watch.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionState {
    /// It is being made for the first time.
    Connecting,
    /// The first frame was received.
    Connected,
    /// It broke and is being made again.
    Reconnecting {
        /// How often it was tried since it broke.
        attempt: u32,
        /// Why it broke.
        reason: String,
    },
    /// The server refuses it; trying again would not help.
    Blocked(Problem),
}

/// What a watch tells.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchUpdate {
    /// A frame. Durable events come once, in order and without a gap.
    Frame(Box<StreamFrame>),
    /// The connection changed.
    Connection(ConnectionState),
}

/// Frames of sessions and topics, until it is dropped. Dropping it cancels nothing.
pub struct Watch(Box<dyn WatchSource>);

/// Where the frames of a watch come from.
#[async_trait]
pub(crate) trait WatchSource: Send {
    /// The next update; none if the stream has ended for good.
    async fn next(&mut self) -> Option<WatchUpdate>;

    /// Adds sessions and removes them.
    async fn change(&mut self, patch: StreamPatch) -> Result<(), Problem>;
}

impl Watch {
    pub(crate) fn new(source: impl WatchSource + 'static) -> Self {
        Self(Box::new(source))
    }

    /// The next update; none if the stream has ended for good.
    pub async fn next(&mut self) -> Option<WatchUpdate> {
        self.0.next().await
    }

    /// The next frame, whatever the connection does meanwhile; an error if the server refuses.
    pub async fn next_frame(&mut self) -> Option<Result<StreamFrame, Problem>> {
        loop {
            match self.next().await? {
                WatchUpdate::Frame(frame) => return Some(Ok(*frame)),
                WatchUpdate::Connection(ConnectionState::Blocked(problem)) => {
                    return Some(Err(problem));
                }
                WatchUpdate::Connection(_) => {}
            }
        }
    }

    /// Adds sessions and removes them, without a new connection.
    pub async fn change(&mut self, patch: StreamPatch) -> Result<(), Problem> {
        self.0.change(patch).await
    }
}
