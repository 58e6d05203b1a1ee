//! Answers from a recording, and from nothing else.

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
    answer::{Answered, Note},
    difference,
    line::{self, Line, Opened},
    names::{Names, Order},
    question,
};
use crate::{Chunk, Error, Model, Provider, ReplyStream, Request, catalog::Opener};

/// A recording being played. Clones play the same one.
#[derive(Clone)]
pub struct Player {
    path: Arc<PathBuf>,
    names: Arc<Names>,
    opened: Arc<[Opened]>,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
}

struct Exchange {
    question: Value,
    answer: Value,
    is_played: bool,
}

impl Player {
    /// Reads a recording.
    pub fn open(path: &Path, names: Names) -> Result<Self, Problem> {
        let flaw = |cause: String| {
            Problem::new(ErrorCode::InvalidArguments, format!("cannot replay {}", path.display()))
                .cause(cause)
                .fix("rooftree run --record FILE … makes a recording")
        };
        let text = fs::read_to_string(path).map_err(|error| flaw(error.to_string()))?;
        let (mut opened, mut exchanges) = (Vec::new(), Vec::<Exchange>::new());
        for (at, content) in text.lines().enumerate() {
            let read = serde_json::from_str(content);
            let line: Line = read.map_err(|error| flaw(format!("line {}: {error}", at + 1)))?;
            match line {
                Line::Cassette { v } if at == 0 && v == line::VERSION => {}
                Line::Cassette { v } => {
                    return Err(flaw(format!("line {}: version {v} of the file", at + 1)));
                }
                _ if at == 0 => return Err(flaw("line 1 does not say that this is a recording".into())),
                Line::Model(model) => opened.push(model),
                Line::Exchange { base, kept, request, answer } => {
                    let base =
                        base.and_then(|base| exchanges.get(base)).map_or(&Value::Null, |base| &base.question);
                    exchanges.push(Exchange {
                        question: line::whole(base, kept, request),
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
        Ok(Self { path, names: Arc::new(names), opened: opened.into(), exchanges })
    }

    /// The same recording, played at another place.
    pub(super) fn with_names(&self, names: Names) -> Self {
        Self { names: Arc::new(names), ..self.clone() }
    }

    /// The models that were recorded, as they are called here and now; the first one first.
    pub fn models(&self) -> Vec<String> {
        let order = Order::new(&self.names);
        let names = self.opened.iter().map(|opened| {
            let mut name = json!(opened.model);
            order.reveal(&mut name);
            name.as_str().unwrap_or_default().to_owned()
        });
        names.collect()
    }

    /// How many answers nobody has asked for yet.
    pub fn left(&self) -> usize {
        let exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        exchanges.iter().filter(|exchange| !exchange.is_played).count()
    }

    /// Opens any model: what it is asked is answered from the recording.
    pub fn opener(&self) -> Opener {
        let player = self.clone();
        Arc::new(move |choice| {
            let mut name = json!(choice.to_string());
            Order::new(&player.names).hide(&mut name);
            let opened = player.opened.iter().find(|opened| name == opened.model.as_str());
            let provider = Replaying { choice: choice.clone(), player: player.clone() };
            let model = Model::new(choice, Arc::new(provider));
            Ok(match opened.cloned() {
                Some(Opened { window, output, price, .. }) => Model { window, output, price, ..model },
                None => model,
            })
        })
    }

    /// The recorded answer to this very question. Questions of several agents may come in another
    /// order than they did, so any that was not asked yet will do.
    fn answer(&self, question: &Value) -> Result<Value, Error> {
        let mut exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        match exchanges.iter_mut().find(|exchange| !exchange.is_played && exchange.question == *question) {
            Some(exchange) => {
                exchange.is_played = true;
                Ok(exchange.answer.clone())
            }
            None => Err(self.unusable(differs(&exchanges, question))),
        }
    }

    /// There is no answer, and asking again will not help.
    fn unusable(&self, why: String) -> Error {
        let again = format!("undo what changed, or remove {} and record it again", self.path.display());
        Error::Unusable(Box::new(Problem::new(ErrorCode::ScriptExhausted, why).fix(again)))
    }
}

/// Says how a question differs from the most similar one that was not asked yet.
fn differs(exchanges: &[Exchange], question: &Value) -> String {
    let shared = |exchange: &Exchange| {
        let pairs = line::messages(&exchange.question).iter().zip(line::messages(question));
        let is_of_agent = exchange.question.get("agent") == question.get("agent");
        (is_of_agent, pairs.take_while(|(old, new)| old == new).count())
    };
    let left = exchanges.iter().enumerate().filter(|(_, exchange)| !exchange.is_played);
    // The first of the most similar ones.
    let likely = left.rev().max_by_key(|(_, exchange)| shared(exchange));
    let Some((at, exchange)) = likely else {
        let asked = line::messages(question).last().map_or_else(String::new, Value::to_string);
        let asked: String = asked.chars().take(200).collect();
        return format!("the recording is over, and the run goes on\nasked now: {asked}");
    };
    let (place, recorded, now) = difference::first(&exchange.question, question).unwrap_or_default();
    format!(
        "the run differs from the recording at question {}: {place}\nrecorded: {recorded}\nnow:      {now}",
        at + 1
    )
}

/// A provider that answers from a recording.
pub struct Replaying {
    choice: ModelChoice,
    player: Player,
}

impl Provider for Replaying {
    fn stream(&self, request: Request) -> ReplyStream {
        let mut question = question::spell(&self.choice, &request);
        let mut order = Order::new(&self.player.names);
        order.hide(&mut question);
        let answered = self.player.answer(&question).and_then(|mut answer| {
            order.reveal(&mut answer);
            serde_json::from_value::<Answered>(answer)
                .map_err(|error| self.player.unusable(format!("the recording is damaged: {error}")))
        });
        stream::iter(match answered {
            Ok(answered) => pieces(answered),
            Err(error) => vec![Err(error)],
        })
        .boxed()
    }
}

/// An answer as it comes from a provider: notes, its text in pieces, then the whole.
fn pieces(answered: Answered) -> Vec<Result<Chunk, Error>> {
    let note = |Note { level, code, message }| Ok(Chunk::Note { level, code: code.into(), message });
    let mut pieces: Vec<_> = answered.notes.into_iter().map(note).collect();
    match answered.answer.into_result() {
        Ok(reply) => {
            pieces.extend(reply.parts.iter().filter_map(delta).map(Ok));
            pieces.push(Ok(Chunk::Reply(reply)));
        }
        Err(error) => pieces.push(Err(at_once(error))),
    }
    pieces
}

/// The same failure without a wait: nobody is there who would have to recover.
fn at_once(error: Error) -> Error {
    let retry_after = Some(Duration::ZERO);
    match error {
        Error::RateLimited { .. } => Error::RateLimited { retry_after },
        Error::Overloaded { .. } => Error::Overloaded { retry_after },
        other => other,
    }
}

fn delta(part: &ReplyPart) -> Option<Chunk> {
    match part {
        ReplyPart::Text { text } => Some(Chunk::Text(text.clone())),
        ReplyPart::Thinking { text, .. } => Some(Chunk::Thinking(text.clone())),
        ReplyPart::Call(_) | ReplyPart::Opaque { .. } => None,
    }
}
