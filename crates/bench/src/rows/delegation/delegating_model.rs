//! A model that delegates to so many helpers at once, and records when each of them is asked.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use rooftree_protocol::{
    CallId, ToolCall, Usage,
    event::{ReplyPart, StopReason},
};
use rooftree_providers::{
    ModelMessage, ModelReply, ModelRequest, Provider, ReplyChunk, ReplyStream,
};
use serde_json::json;
use tokio::sync::watch;

use crate::machine;

/// The model of the lead and of its helpers.
pub struct DelegatingModel {
    round: Mutex<DelegationRound>,
    /// How many helpers have been asked.
    asked: watch::Sender<usize>,
}

/// One run of the lead.
struct DelegationRound {
    helpers: usize,
    thinking: Duration,
    replied: Instant,
    last_asked: Instant,
    memory: f64,
}

/// The figures of one run of the lead.
pub struct RoundFigures {
    /// Seconds from the end of the lead's reply to the last helper's request.
    pub start: f64,
    /// Bytes of memory when all helpers were at work.
    pub memory: f64,
}

impl DelegatingModel {
    pub fn new() -> Arc<Self> {
        let now = Instant::now();
        let round = DelegationRound {
            helpers: 0,
            thinking: Duration::ZERO,
            replied: now,
            last_asked: now,
            memory: 0.0,
        };
        Arc::new(Self {
            round: Mutex::new(round),
            asked: watch::Sender::new(0),
        })
    }

    /// Sets the number of helpers and the thinking time of each.
    pub fn set_round(&self, helpers: usize, thinking: Duration) {
        let mut round = self.lock();
        (round.helpers, round.thinking) = (helpers, thinking);
        self.asked.send_replace(0);
    }

    pub fn figures(&self) -> RoundFigures {
        let round = self.lock();
        RoundFigures {
            start: round.last_asked.duration_since(round.replied).as_secs_f64(),
            memory: round.memory,
        }
    }

    fn lock(&self) -> MutexGuard<'_, DelegationRound> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a helper's request; returns how long the helper thinks.
    fn note(&self) -> Duration {
        let at = Instant::now();
        let mut round = self.lock();
        let mut is_last = false;
        self.asked.send_modify(|asked| {
            *asked += 1;
            is_last = *asked == round.helpers;
        });
        round.last_asked = at;
        if is_last {
            round.memory = machine::memory().unwrap_or_default();
        }
        round.thinking
    }

    /// A helper's answer. It waits until all helpers have been asked.
    fn helper_reply(&self) -> ReplyStream {
        let thinking = self.note();
        let (helpers, mut asked) = (self.lock().helpers, self.asked.subscribe());
        let answer = async move {
            // The model outlives every run.
            let _ = asked.wait_for(|asked| *asked >= helpers).await;
            tokio::time::sleep(thinking).await;
            Ok(reply(vec![ReplyPart::Text {
                text: "Done.".into(),
            }]))
        };
        stream::once(answer).boxed()
    }
}

pub struct DelegatingProvider(pub Arc<DelegatingModel>);

impl Provider for DelegatingProvider {
    fn stream(&self, request: ModelRequest) -> ReplyStream {
        if &*request.agent == "helper" {
            return self.0.helper_reply();
        }
        let has_asked = matches!(
            request.messages.last().map(Arc::as_ref),
            Some(ModelMessage::Results(_))
        );
        if has_asked {
            return stream::once(async {
                Ok(reply(vec![ReplyPart::Text {
                    text: "Done.".into(),
                }]))
            })
            .boxed();
        }
        let helpers = self.0.lock().helpers;
        let asking = reply((0..helpers).map(task).collect());
        let foreman = self.0.clone();
        let answer = async move {
            foreman.lock().replied = Instant::now();
            Ok(asking)
        };
        stream::once(answer).boxed()
    }
}

/// Helpers that share a model: the runtime does not ask one more often than 256 times at once.
const TOGETHER: usize = 250;

fn task(number: usize) -> ReplyPart {
    let (prompt, model) = (
        format!("Do part {number} of the work."),
        format!("quick/{}", number / TOGETHER),
    );
    let input =
        json!({"subagent_type": "helper", "isolation": "none", "prompt": prompt, "model": model});
    ReplyPart::Call(ToolCall {
        id: CallId::from_entropy(0),
        tool: "Task".into(),
        input,
    })
}

fn reply(parts: Vec<ReplyPart>) -> ReplyChunk {
    let calls = parts.iter().any(|part| matches!(part, ReplyPart::Call(_)));
    let stop = if calls {
        StopReason::Calls
    } else {
        StopReason::End
    };
    let usage = Usage {
        input: 1_000,
        output: 20,
        ..Usage::none()
    };
    ReplyChunk::Reply(ModelReply {
        parts,
        stop,
        usage,
        request: None,
        dropped: Vec::new(),
    })
}
