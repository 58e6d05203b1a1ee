//! The event stream: frames about many sessions and topics, from a cursor of each on, for one principal.
//!
//! [`EventStream`] is what the HTTP server sends to its readers, and what a client in the same process reads directly.
//! Frames and requests are types of `rooftree-view`. A stream is pulled by its reader: no frame is made before the one
//! before it was taken, so a slow reader costs no memory. What it falls behind is read from the journal; only deltas are
//! lost, and a snapshot replaces them. Dropping a stream cancels nothing.
//!
//! Key types: [`EventStream`], [`StreamSetup`]. Not in it: HTTP, limits per token, reconnecting.
#![warn(missing_docs)]

mod event_stream;
mod session_progress;
mod session_source;
mod snapshot;
mod topics;

pub use event_stream::{EventStream, StreamSetup};
