//! The one thing a provider does: answer a request as a stream.

use futures::stream::BoxStream;

use crate::{Error, ModelRequest, ReplyChunk, Workplace};

/// What a provider gives back: chunks as they come, the last one a whole reply.
pub type ReplyStream = BoxStream<'static, Result<ReplyChunk, Error>>;

/// Speaks to one kind of model.
///
/// Contract: the loop in `runtime` is the caller. The stream yields any number of
/// deltas and then exactly one [`Chunk::Reply`], after which it ends; a stream that
/// ends without one was cut and is treated as [`Error::Broken`]. An `Err` is final
/// for this stream. Dropping the stream stops the request at its source. Providers do
/// not retry; the caller does, because waiting must be visible and durable.
pub trait Provider: Send + Sync {
    /// Starts answering.
    fn stream(&self, request: ModelRequest) -> ReplyStream;

    /// What a model that acts by itself may do beyond these tools (canonical names) at this workplace,
    /// in words for people. Nothing for models whose calls are made by the runtime, which checks each.
    ///
    /// Asked before a run starts, and by whoever shows what an agent may do: an agent that is meant
    /// to be strict does not start if there is anything.
    fn unenforced(&self, tools: &[&str], workplace: &Workplace) -> Vec<String> {
        let _ = (tools, workplace);
        Vec::new()
    }
}
