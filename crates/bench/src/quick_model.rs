//! A model without latency: so many tool calls per run, then a final answer.
//!
//! It derives the turn from the request, like a scripted model, but looks only at the newest
//! exchange, so that a long history costs nothing here. The remaining time is our own.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use futures::{StreamExt, stream};
use rooftree_protocol::{
    CallId, ToolCall, Usage,
    event::{ReplyPart, StopReason},
};
use rooftree_providers::{
    ModelMessage, ModelReply, ModelRequest, Provider, ReplyChunk, ReplyStream,
};
use serde_json::{Value, json};

use crate::baseline::SourceFiles;

/// What it does before its final answer.
#[derive(Clone, Copy, Debug)]
pub enum ModelBehavior {
    /// Reads so many files, one per turn.
    Read(usize),
    /// Runs so many commands that do nothing.
    Bash(usize),
    /// Streams so many small deltas.
    Talk(usize),
}

/// The model.
pub struct QuickModel {
    habit: ModelBehavior,
    first_asked: Mutex<Option<FirstRequest>>,
    last_words: AtomicUsize,
}

/// The first request since [`QuickModel::reset_first_request`].
#[derive(Clone, Copy, Debug)]
pub struct FirstRequest {
    pub at: Instant,
    /// Bytes of prompt, tools and messages.
    pub bytes: usize,
}

impl QuickModel {
    pub fn new(habit: ModelBehavior) -> Arc<Self> {
        Arc::new(Self {
            habit,
            first_asked: Mutex::default(),
            last_words: AtomicUsize::new(0),
        })
    }

    /// Makes the next request count as the first one.
    pub fn reset_first_request(&self) {
        *self
            .first_asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The first request: when it came and its size.
    pub fn first_request(&self) -> Option<FirstRequest> {
        *self
            .first_asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// How many runs it has finished.
    pub fn finished_runs(&self) -> usize {
        self.last_words.load(Ordering::Relaxed)
    }

    fn note(&self, request: &ModelRequest) {
        let at = Instant::now();
        let mut first = self
            .first_asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| FirstRequest {
            at,
            bytes: size(request),
        });
    }

    fn call(&self, turn: usize) -> Option<(&'static str, Value)> {
        match self.habit {
            ModelBehavior::Read(turns) if turn < turns => {
                Some(("Read", json!({"file_path": SourceFiles::name(turn)})))
            }
            // The number makes each command distinct: a repeated one would end the run.
            ModelBehavior::Bash(turns) if turn < turns => {
                Some(("Bash", json!({"command": format!("true {turn}")})))
            }
            _ => None,
        }
    }
}

impl Provider for QuickModel {
    fn stream(&self, request: ModelRequest) -> ReplyStream {
        self.note(&request);
        let part = match self.call(turn(&request)) {
            Some((tool, input)) => {
                let id = CallId::from_entropy(0);
                ReplyPart::Call(ToolCall {
                    id,
                    tool: tool.to_owned(),
                    input,
                })
            }
            None => {
                self.last_words.fetch_add(1, Ordering::Relaxed);
                ReplyPart::Text {
                    text: "Done.".into(),
                }
            }
        };
        let stop = if matches!(part, ReplyPart::Call(_)) {
            StopReason::Calls
        } else {
            StopReason::End
        };
        let usage = Usage {
            input: 1_000,
            output: 20,
            ..Usage::none()
        };
        let reply = ReplyChunk::Reply(ModelReply {
            parts: vec![part],
            stop,
            usage,
            request: None,
            dropped: Vec::new(),
        });
        match self.habit {
            ModelBehavior::Talk(pieces) => stream_words(pieces, reply),
            _ => stream::once(async { Ok(reply) }).boxed(),
        }
    }
}

/// Streams small deltas and yields before each, so that the task is woken as for data from a network.
fn stream_words(pieces: usize, reply: ReplyChunk) -> ReplyStream {
    let piece = |_| async {
        tokio::task::yield_now().await;
        Ok(ReplyChunk::Text("word ".to_owned()))
    };
    stream::iter(0..pieces)
        .then(piece)
        .chain(stream::once(async { Ok(reply) }))
        .boxed()
}

/// How many replies were given since the last user message.
fn turn(request: &ModelRequest) -> usize {
    let since = request
        .messages
        .iter()
        .rev()
        .take_while(|one| !matches!(***one, ModelMessage::User(_)));
    since
        .filter(|one| matches!(***one, ModelMessage::Assistant { .. }))
        .count()
}

fn size(request: &ModelRequest) -> usize {
    let tools = serde_json::to_string(&request.tools).map_or(0, |text| text.len());
    let said = request
        .messages
        .iter()
        .map(|message| match message.as_ref() {
            ModelMessage::User(parts) => serde_json::to_string(parts).map_or(0, |text| text.len()),
            _ => 0,
        });
    request.system.len() + tools + said.sum::<usize>()
}
