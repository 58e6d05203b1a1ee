//! The fold of a run tree: what a client shows of a session and of all it delegated to. Pure, no clock, no I/O.
//!
//! [`RunTreeView`] takes events, live or from a journal, and holds the current state: runs with their state, text,
//! calls, waits, usage and end, open questions, todos. Terminal, library, HTTP server and trace are views of it.
//!
//! ```
//! use rooftree_protocol::SessionId;
//! use rooftree_view::{RunTreeView, event_from_json};
//!
//! let line = r#"{"v":1,"id":1,"ts":"2026-11-15T18:42:07.113Z","session":"ses_a","run":null,"parent_run":null,
//!     "agent":"lead","type":"session.opened","data":{"agent":"lead","name":null}}"#;
//! let mut tree = RunTreeView::of(SessionId::parse("ses_a")?);
//! if let Some(event) = event_from_json(line) {
//!     tree.apply(&event);
//! }
//! assert_eq!(tree.head(&SessionId::parse("ses_a")?), 1);
//! # Ok::<(), rooftree_protocol::Problem>(())
//! ```
//!
//! [`board`] has the rows of the board, and the fold of one session that they are derived from.
//!
//! Key types: [`RunTreeView`], [`TreeRun`], [`TreeSession`], [`OpenInquiry`], [`StreamedReply`], [`RunSpan`]. Not in it:
//! words and colours, and which events to subscribe to.

mod apply_run_event;
pub mod board;
mod canonical_json;
pub mod figures;
mod inquiry;
mod queries;
mod run;
mod run_item;
mod run_parts;
mod session;
mod spans;
mod stream_frame;
mod stream_request;
mod streamed_reply;
pub mod trace;
mod trace_steps;
mod tree;

pub use canonical_json::event_from_json;
pub use inquiry::OpenInquiry;
pub use run::{RunCounts, RunLog, RunOrigin, RunReply, TreeRun};
pub use run_item::{RunDetail, RunItem, RunWorkState};
pub use run_parts::{
    FINISHED_CALLS, NOTICES, ReportedEnd, RunActivity, RunPhase, TreeCall, TreeNotice, TreeWait,
    WAITS,
};
pub use session::{ContextFill, TreeSession};
pub use spans::{RunSpan, WaitCause, WaitSpan, spans};
pub use stream_frame::{
    AddedSession, ByeReason, DraftText, RemovedSession, ReplyBlock, ReplyHtml, STREAM_VERSION,
    SessionSnapshot, StreamBeat, StreamBye, StreamFrame, StreamHello, StreamLimits, TopicFrame,
    TopicGone, TopicRow, TopicSnapshot,
};
pub use stream_request::{
    SessionStart, StreamCursor, StreamPatch, StreamRequest, StreamTopic, matches_type,
};
pub use streamed_reply::{ReplyPiece, StreamedReply};
pub use trace_steps::{TRACE_STEPS, TraceStep, TraceStepKind, TraceSteps};
pub use tree::{RunTreeView, TreeChange};
