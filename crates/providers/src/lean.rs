//! Asks small models in a way they can bear: few tools, told and called in plain text.
//!
//! It stands between the runtime and any wire. `project` turns a request with tools, calls and
//! results into text, `scan` finds the calls in the text that comes back. The runtime sees calls
//! and results as with any other model; the wire sees a conversation without tools.

mod call_block;
mod call_scanner;
mod parse_call;
mod request;
mod stream;
mod tools;

use std::sync::Arc;

use crate::{ModelRequest, Provider, ReplyStream, Workplace};

/// Characters of a result if nobody knows how much the model can read.
const RESULT_CHARS: usize = 8_000;

/// A provider whose model is asked in plain text.
pub struct LeanProvider {
    inner: Arc<dyn Provider>,
    result_chars: usize,
}

impl LeanProvider {
    /// Asks this provider's model, which can read so many tokens.
    pub fn new(inner: Arc<dyn Provider>, window: Option<u64>) -> Self {
        // As many characters as the window has tokens: about a quarter of it.
        let chars = window.and_then(|window| usize::try_from(window).ok());
        Self {
            inner,
            result_chars: chars.unwrap_or(RESULT_CHARS).clamp(1_000, RESULT_CHARS),
        }
    }
}

impl Provider for LeanProvider {
    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let request::LeanRequest {
            request,
            offered,
            dropped,
        } = request::to_plain_text(request, self.result_chars);
        let inner = self.inner.stream(request);
        stream::LeanStream::new(inner, offered, dropped).stream()
    }

    fn unenforced(&self, tools: &[&str], workplace: &Workplace) -> Vec<String> {
        self.inner.unenforced(tools, workplace)
    }
}
