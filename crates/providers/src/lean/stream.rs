//! Streams a plain-text answer and converts the calls in it into tool calls.

use std::{collections::VecDeque, sync::Arc};

use futures::{StreamExt, stream};
use rooftree_protocol::{
    CallId, ToolCall,
    event::{ReplyPart, StopReason},
};

use super::call_scanner::{CallScanner, ScannedPart};
use crate::{Error, ModelReply, ReplyChunk, ReplyStream};

/// Replaces a result that the model invented. The runtime finds it in a reply and has the model asked again.
pub const INVENTED_RESULT: &str =
    "[The model wrote the result of a tool itself; that is left out. No tool was called.]";

/// An answer being streamed.
pub(super) struct LeanStream {
    inner: ReplyStream,
    offered: Arc<[String]>,
    /// What was left out for the model, in addition to what the provider reports.
    dropped: Vec<String>,
    scanner: CallScanner,
    calls: usize,
    /// Whether anything was yielded: subscribers want to know when the model has read the prompt.
    has_begun: bool,
    ready: VecDeque<Result<ReplyChunk, Error>>,
}

impl LeanStream {
    pub(super) fn new(inner: ReplyStream, offered: Arc<[String]>, dropped: Vec<String>) -> Self {
        let scanner = CallScanner::new(Arc::clone(&offered));
        Self {
            inner,
            offered,
            dropped,
            scanner,
            calls: 0,
            has_begun: false,
            ready: VecDeque::new(),
        }
    }

    /// The answer as a stream.
    pub(super) fn stream(self) -> ReplyStream {
        stream::unfold(self, |mut answer| async move {
            Some((answer.next().await?, answer))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<Result<ReplyChunk, Error>> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            match self.inner.next().await? {
                Ok(ReplyChunk::Text(text)) => {
                    let pieces = self.scanner.push(&text);
                    self.show(pieces);
                    if !std::mem::replace(&mut self.has_begun, true) && self.ready.is_empty() {
                        self.ready.push_back(Ok(ReplyChunk::Text(String::new())));
                    }
                }
                Ok(ReplyChunk::Reply(reply)) => {
                    let pieces = self.scanner.finish();
                    self.show(pieces);
                    if self.scanner.has_fake_result() {
                        self.ready
                            .push_back(Ok(ReplyChunk::Text(INVENTED_RESULT.to_owned())));
                    }
                    let reply = self.read(reply);
                    self.ready.push_back(Ok(ReplyChunk::Reply(reply)));
                }
                other => return Some(other),
            }
        }
    }

    fn show(&mut self, pieces: Vec<ScannedPart>) {
        for piece in pieces {
            let chunk = match piece {
                ScannedPart::Text(text) => ReplyChunk::Text(text),
                ScannedPart::Call(call) => {
                    self.calls += 1;
                    ReplyChunk::ToolInput {
                        index: self.calls - 1,
                        tool: call.tool,
                        text: call.input.to_string(),
                    }
                }
            };
            self.ready.push_back(Ok(chunk));
        }
    }

    /// The whole reply with its calls. It is scanned again: the streamed chunks were only for watching.
    fn read(&mut self, reply: ModelReply) -> ModelReply {
        let mut scanner = CallScanner::new(Arc::clone(&self.offered));
        let mut parts = Vec::with_capacity(reply.parts.len());
        for part in reply.parts {
            let ReplyPart::Text { text } = part else {
                parts.push(part);
                continue;
            };
            let mut pieces = scanner.push(&text);
            pieces.extend(scanner.finish());
            for piece in pieces {
                join(&mut parts, piece);
            }
        }
        if scanner.has_fake_result() {
            join(&mut parts, ScannedPart::Text(INVENTED_RESULT.to_owned()));
        }
        let has_calls = parts.iter().any(|part| matches!(part, ReplyPart::Call(_)));
        tidy(&mut parts, has_calls);
        let stop = match reply.stop {
            StopReason::End if has_calls => StopReason::Calls,
            stop => stop,
        };
        let mut dropped = std::mem::take(&mut self.dropped);
        dropped.extend(reply.dropped);
        ModelReply {
            parts,
            stop,
            dropped,
            ..reply
        }
    }
}

fn join(parts: &mut Vec<ReplyPart>, piece: ScannedPart) {
    match (parts.last_mut(), piece) {
        (Some(ReplyPart::Text { text }), ScannedPart::Text(more)) => text.push_str(&more),
        (_, ScannedPart::Text(text)) => parts.push(ReplyPart::Text { text }),
        (_, ScannedPart::Call(call)) => {
            // Only to distinguish them: the runtime assigns its own ids.
            let id = CallId::from_entropy(parts.len() as u128);
            parts.push(ReplyPart::Call(ToolCall {
                id,
                tool: call.tool,
                input: call.input,
            }));
        }
    }
}

/// Removes the empty lines between text and blocks.
fn tidy(parts: &mut Vec<ReplyPart>, has_calls: bool) {
    if has_calls {
        for part in parts.iter_mut() {
            if let ReplyPart::Text { text } = part {
                text.truncate(text.trim_end().len());
            }
        }
        parts.retain(|part| !matches!(part, ReplyPart::Text { text } if text.is_empty()));
    }
}
