//! Lean profile for small models: few tools, described and called in plain text.
//!
//! It wraps any provider. `request` turns a request with tools, calls and results into text, `call_scanner`
//! finds the calls in the text that comes back. The runtime sees calls and results as with any other
//! model; the wrapped provider sees a conversation without tools.

mod call_block;
mod call_scanner;
mod parse_call;
mod request;
mod stream;
mod tools;

use std::sync::Arc;

use rooftree_protocol::{PermissionMode, ToolSpec};

use crate::{ModelRequest, Provider, ReplyStream, Workplace};

pub use request::{CALL_NOW, SESSION_PART};
pub use stream::INVENTED_RESULT;

/// Default limit for the characters of a result, if the model's context window is not known.
const RESULT_CHARS: usize = 8_000;

/// The names of the tools that a small model is given, of these, in this permission mode.
pub fn offered_tools(tools: &[ToolSpec], mode: PermissionMode) -> Vec<&str> {
    let (offered, _) = tools::choose(tools, mode);
    offered.into_iter().map(|spec| spec.name.as_str()).collect()
}

/// The system prompt as a small model reads it.
pub fn system_prompt(system: &str, tools: &[ToolSpec], mode: PermissionMode) -> String {
    request::system_text(system, &tools::choose(tools, mode).0, mode)
}

/// Wraps a provider whose model is prompted in plain text.
pub struct LeanProvider {
    inner: Arc<dyn Provider>,
    result_chars: usize,
}

impl LeanProvider {
    /// Wraps this provider; its model has a context window of so many tokens.
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

    fn has_own_tools(&self) -> bool {
        self.inner.has_own_tools()
    }
}
