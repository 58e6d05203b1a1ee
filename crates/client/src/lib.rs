//! A client of a runtime, in the same process or over HTTP: the same trait for both.
//!
//! [`RuntimeClient`] sends commands, reads, and watches sessions and the board. [`EmbeddedClient`] uses a runtime of this
//! process, [`RemoteClient`] a server. A watch over HTTP reconnects by itself and continues at its cursors: durable events
//! come once, in order and without a gap, however often the connection breaks.
//!
//! Key types: [`RuntimeClient`], [`EmbeddedClient`], [`RemoteClient`], [`Watch`], [`WatchUpdate`], [`EventFeed`],
//! [`PostQueue`]. Not in it: drawing, settings, keys.
#![warn(missing_docs)]

mod embedded;
mod event_feed;
mod listed;
mod post_queue;
mod remote;
mod runtime_client;
mod stream_cursors;
mod watch;

pub use embedded::EmbeddedClient;
pub use event_feed::{EventFeed, FeedUpdate};
pub use listed::{
    AnswerState, FoundWords, InquirySelection, ListedInquiry, ListedSession, ListedTask, RunQuery,
    SessionQuery, SessionStanding, SessionWork, TaskQuery, WaitingMessage,
};
pub use post_queue::{PostQueue, UnsentPost};
pub use remote::{RemoteClient, RemoteExport, RemoteOptions, RetryPauses};
pub use runtime_client::RuntimeClient;
pub use watch::{ConnectionState, Watch, WatchUpdate};
