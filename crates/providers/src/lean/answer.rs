//! Listens to an answer in plain text and gives it on with its calls as calls.

use std::{collections::VecDeque, sync::Arc};

use futures::{StreamExt, stream};
use rooftree_protocol::{
    CallId, ToolCall,
    event::{ReplyPart, StopReason},
};

use super::scan::{Piece, Scanner};
use crate::{Chunk, Error, Reply, ReplyStream};

/// What stands for a result that the model made up.
const INVENTED: &str = "[The model wrote the result of a tool itself; that is left out. No tool was called.]";

/// An answer being listened to.
pub(super) struct Answer {
    inner: ReplyStream,
    offered: Arc<[String]>,
    /// What the model did not get, besides what the wire says.
    dropped: Vec<String>,
    scanner: Scanner,
    calls: usize,
    ready: VecDeque<Result<Chunk, Error>>,
}

impl Answer {
    pub(super) fn new(inner: ReplyStream, offered: Arc<[String]>, dropped: Vec<String>) -> Self {
        let scanner = Scanner::new(Arc::clone(&offered));
        Self { inner, offered, dropped, scanner, calls: 0, ready: VecDeque::new() }
    }

    /// The answer as a stream.
    pub(super) fn stream(self) -> ReplyStream {
        stream::unfold(self, |mut answer| async move { Some((answer.next().await?, answer)) }).boxed()
    }

    async fn next(&mut self) -> Option<Result<Chunk, Error>> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            match self.inner.next().await? {
                Ok(Chunk::Text(text)) => {
                    let pieces = self.scanner.push(&text);
                    self.show(pieces);
                }
                Ok(Chunk::Reply(reply)) => {
                    let pieces = self.scanner.finish();
                    self.show(pieces);
                    if self.scanner.invents() {
                        self.ready.push_back(Ok(Chunk::Text(INVENTED.to_owned())));
                    }
                    let reply = self.read(reply);
                    self.ready.push_back(Ok(Chunk::Reply(reply)));
                }
                other => return Some(other),
            }
        }
    }

    fn show(&mut self, pieces: Vec<Piece>) {
        for piece in pieces {
            let chunk = match piece {
                Piece::Text(text) => Chunk::Text(text),
                Piece::Call(call) => {
                    self.calls += 1;
                    Chunk::ToolInput { index: self.calls - 1, tool: call.tool, text: call.input.to_string() }
                }
            };
            self.ready.push_back(Ok(chunk));
        }
    }

    /// The whole reply with its calls. It is read anew: the stream was only for watching.
    fn read(&mut self, reply: Reply) -> Reply {
        let mut scanner = Scanner::new(Arc::clone(&self.offered));
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
        if scanner.invents() {
            join(&mut parts, Piece::Text(INVENTED.to_owned()));
        }
        let has_calls = parts.iter().any(|part| matches!(part, ReplyPart::Call(_)));
        tidy(&mut parts, has_calls);
        let stop = match reply.stop {
            StopReason::End if has_calls => StopReason::Calls,
            stop => stop,
        };
        let mut dropped = std::mem::take(&mut self.dropped);
        dropped.extend(reply.dropped);
        Reply { parts, stop, dropped, ..reply }
    }
}

fn join(parts: &mut Vec<ReplyPart>, piece: Piece) {
    match (parts.last_mut(), piece) {
        (Some(ReplyPart::Text { text }), Piece::Text(more)) => text.push_str(&more),
        (_, Piece::Text(text)) => parts.push(ReplyPart::Text { text }),
        (_, Piece::Call(call)) => {
            // Only to tell them apart: the runtime gives ids of its own.
            let id = CallId::from_entropy(parts.len() as u128);
            parts.push(ReplyPart::Call(ToolCall { id, tool: call.tool, input: call.input }));
        }
    }
}

/// Takes away the empty lines that stood between words and blocks.
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
