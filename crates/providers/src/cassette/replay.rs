//! Replays answers from a recording, without network.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{StreamExt, stream};
use rooftree_protocol::{ErrorCode, ModelChoice, Problem, event::ReplyPart};
use serde_json::{Value, json};

use super::{
    diff,
    file_format::{self, CassetteLine, RecordedModel},
    placeholders::{PlaceholderMap, Placeholders},
    recorded_answer::{RecordedAnswer, RecordedNotice},
    request,
};
use crate::{Error, Model, ModelRequest, Provider, ReplyChunk, ReplyStream, catalog::ModelOpener};

/// A recording being replayed. Clones share its position.
#[derive(Clone)]
pub struct CassettePlayer {
    path: Arc<PathBuf>,
    names: Arc<Placeholders>,
    opened: Arc<[RecordedModel]>,
    exchanges: Arc<Mutex<Vec<RecordedExchange>>>,
}

struct RecordedExchange {
    question: Value,
    answer: Value,
    is_played: bool,
}

impl CassettePlayer {
    /// Reads a recording.
    pub fn open(path: &Path, names: Placeholders) -> Result<Self, Problem> {
        let flaw = |cause: String| {
            Problem::new(
                ErrorCode::InvalidArguments,
                format!("cannot replay {}", path.display()),
            )
            .cause(cause)
            .fix("rooftree run --record FILE … makes a recording")
        };
        let text = fs::read_to_string(path).map_err(|error| flaw(error.to_string()))?;
        let (mut opened, mut exchanges) = (Vec::new(), Vec::<RecordedExchange>::new());
        for (at, content) in text.lines().enumerate() {
            let read = serde_json::from_str(content);
            let line: CassetteLine =
                read.map_err(|error| flaw(format!("line {}: {error}", at + 1)))?;
            match line {
                CassetteLine::Cassette { v } if at == 0 && v == file_format::VERSION => {}
                CassetteLine::Cassette { v } => {
                    return Err(flaw(format!("line {}: version {v} of the file", at + 1)));
                }
                _ if at == 0 => {
                    return Err(flaw("line 1 does not say that this is a recording".into()));
                }
                CassetteLine::Model(model) => opened.push(model),
                CassetteLine::Exchange {
                    base,
                    kept,
                    request,
                    answer,
                } => {
                    let base = base
                        .and_then(|base| exchanges.get(base))
                        .map_or(&Value::Null, |base| &base.question);
                    exchanges.push(RecordedExchange {
                        question: file_format::whole(base, kept, request),
                        answer,
                        is_played: false,
                    });
                }
            }
        }
        if text.is_empty() {
            return Err(flaw("it is empty".into()));
        }
        let (path, exchanges) = (Arc::new(path.to_owned()), Arc::new(Mutex::new(exchanges)));
        Ok(Self {
            path,
            names: Arc::new(names),
            opened: opened.into(),
            exchanges,
        })
    }

    /// The same recording with other placeholders.
    pub(super) fn with_names(&self, names: Placeholders) -> Self {
        Self {
            names: Arc::new(names),
            ..self.clone()
        }
    }

    /// The recorded models by their names in this run; the first one first.
    pub fn models(&self) -> Vec<String> {
        let order = PlaceholderMap::new(&self.names);
        let names = self.opened.iter().map(|opened| {
            let mut name = json!(opened.model);
            order.reveal(&mut name);
            name.as_str().unwrap_or_default().to_owned()
        });
        names.collect()
    }

    /// How many recorded answers have not been requested yet.
    pub fn left(&self) -> usize {
        let exchanges = self
            .exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        exchanges
            .iter()
            .filter(|exchange| !exchange.is_played)
            .count()
    }

    /// Opener for any model: its requests are answered from the recording.
    pub fn opener(&self) -> ModelOpener {
        let player = self.clone();
        Arc::new(move |choice| {
            let mut name = json!(choice.to_string());
            PlaceholderMap::new(&player.names).hide(&mut name);
            let opened = player
                .opened
                .iter()
                .find(|opened| name == opened.model.as_str());
            let provider = ReplayProvider {
                choice: choice.clone(),
                player: player.clone(),
                own_tools: opened.is_some_and(|opened| opened.own_tools),
            };
            let model = Model::new(choice, Arc::new(provider));
            Ok(match opened.cloned() {
                Some(RecordedModel {
                    window,
                    output,
                    price,
                    ..
                }) => Model {
                    window,
                    output,
                    price,
                    ..model
                },
                None => model,
            })
        })
    }

    /// The recorded answer to an identical request. Requests of several agents may come in another
    /// order than they were recorded, so any unused match will do.
    fn answer(&self, question: &Value) -> Result<Value, Error> {
        let mut exchanges = self
            .exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match exchanges
            .iter_mut()
            .find(|exchange| !exchange.is_played && exchange.question == *question)
        {
            Some(exchange) => {
                exchange.is_played = true;
                Ok(exchange.answer.clone())
            }
            None => Err(self.unusable(differs(&exchanges, question))),
        }
    }

    /// A final error: a retry will not help.
    fn unusable(&self, why: String) -> Error {
        let again = format!(
            "undo what changed, or remove {} and record it again",
            self.path.display()
        );
        Error::Unusable(Box::new(
            Problem::new(ErrorCode::ScriptExhausted, why).fix(again),
        ))
    }
}

/// Describes how a request differs from the most similar unused one.
fn differs(exchanges: &[RecordedExchange], question: &Value) -> String {
    let shared = |exchange: &RecordedExchange| {
        let pairs = file_format::messages(&exchange.question)
            .iter()
            .zip(file_format::messages(question));
        let is_of_agent = exchange.question.get("agent") == question.get("agent");
        (
            is_of_agent,
            pairs.take_while(|(old, new)| old == new).count(),
        )
    };
    let left = exchanges
        .iter()
        .enumerate()
        .filter(|(_, exchange)| !exchange.is_played);
    // The first of the most similar ones.
    let likely = left.rev().max_by_key(|(_, exchange)| shared(exchange));
    let Some((at, exchange)) = likely else {
        let asked = file_format::messages(question)
            .last()
            .map_or_else(String::new, Value::to_string);
        let asked: String = asked.chars().take(200).collect();
        return format!("the recording is over, and the run goes on\nasked now: {asked}");
    };
    let (place, recorded, now) = diff::first(&exchange.question, question).unwrap_or_default();
    format!(
        "the run differs from the recording at question {}: {place}\nrecorded: {recorded}\nnow:      {now}",
        at + 1
    )
}

/// Provider that answers from a recording.
pub struct ReplayProvider {
    choice: ModelChoice,
    player: CassettePlayer,
    own_tools: bool,
}

impl Provider for ReplayProvider {
    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let mut question = request::spell(&self.choice, &request);
        let mut order = PlaceholderMap::new(&self.player.names);
        order.hide(&mut question);
        let answered = self.player.answer(&question).and_then(|mut answer| {
            order.reveal(&mut answer);
            serde_json::from_value::<RecordedAnswer>(answer).map_err(|error| {
                self.player
                    .unusable(format!("the recording is damaged: {error}"))
            })
        });
        stream::iter(match answered {
            Ok(answered) => pieces(answered),
            Err(error) => vec![Err(error)],
        })
        .boxed()
    }

    fn has_own_tools(&self) -> bool {
        self.own_tools
    }
}

/// Splits an answer into chunks: notes, its text in pieces, then the whole reply.
fn pieces(answered: RecordedAnswer) -> Vec<Result<ReplyChunk, Error>> {
    let note = |RecordedNotice {
                    level,
                    code,
                    message,
                }| {
        Ok(ReplyChunk::Note {
            level,
            code: code.into(),
            message,
        })
    };
    let mut pieces: Vec<_> = answered.notes.into_iter().map(note).collect();
    match answered.answer.into_result() {
        Ok(reply) => {
            pieces.extend(reply.parts.iter().filter_map(delta).map(Ok));
            pieces.push(Ok(ReplyChunk::Reply(reply)));
        }
        Err(error) => pieces.push(Err(at_once(error))),
    }
    pieces
}

/// The same error with a retry delay of zero: a replay has no rate limit to recover from.
fn at_once(error: Error) -> Error {
    let retry_after = Some(Duration::ZERO);
    match error {
        Error::RateLimited { .. } => Error::RateLimited { retry_after },
        Error::Overloaded { .. } => Error::Overloaded { retry_after },
        other => other,
    }
}

fn delta(part: &ReplyPart) -> Option<ReplyChunk> {
    match part {
        ReplyPart::Text { text } => Some(ReplyChunk::Text(text.clone())),
        ReplyPart::Thinking { text, .. } => Some(ReplyChunk::Thinking(text.clone())),
        ReplyPart::Call(_) | ReplyPart::Opaque { .. } => None,
    }
}
