//! Recorder: writes every request and its answer to the file.

use std::{
    collections::{HashMap, HashSet},
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{StreamExt, stream};
use rooftree_protocol::{ErrorCode, ModelChoice, Problem, SessionId};
use serde_json::{Map, Value, json};

use super::{
    file_format::{self, CassetteLine, RecordedModel},
    placeholders::{PlaceholderMap, Placeholders},
    recorded_answer::{RecordedAnswer, RecordedNotice, RecordedOutcome},
    request,
};
use crate::{
    Error, Model, ModelRequest, Provider, ReplyChunk, ReplyStream, Workplace, catalog::ModelOpener,
};

/// A recording in progress. Clones write to the same file.
#[derive(Clone)]
pub struct CassetteRecorder {
    tape: Arc<CassetteFile>,
    names: Arc<Placeholders>,
}

struct CassetteFile {
    path: PathBuf,
    state: Mutex<CassetteFileState>,
}

#[derive(Default)]
struct CassetteFileState {
    file: Option<File>,
    written: usize,
    opened: HashSet<String>,
    /// Lines of opened models that are not written yet; the next answer writes them first.
    waiting: Vec<CassetteLine>,
    /// The last request of each conversation and its index: the next one builds on it.
    last: HashMap<(SessionId, Arc<str>), (usize, Value)>,
}

impl CassetteRecorder {
    /// Prepares a new file, which is created with the first answer; an existing file is not overwritten.
    pub fn create(path: &Path, names: Placeholders) -> Result<Self, Problem> {
        let cannot = || {
            Problem::new(
                ErrorCode::InvalidArguments,
                format!("cannot record to {}", path.display()),
            )
        };
        if path.exists() {
            return Err(cannot()
                .cause("there is such a file already")
                .fix("name another file, or remove that one"));
        }
        if path
            .parent()
            .is_some_and(|directory| !directory.as_os_str().is_empty() && !directory.is_dir())
        {
            return Err(cannot().cause("there is no such directory"));
        }
        let tape = CassetteFile {
            path: path.to_owned(),
            state: Mutex::default(),
        };
        Ok(Self {
            tape: Arc::new(tape),
            names: Arc::new(names),
        })
    }

    /// The same recording with other placeholders and secrets.
    pub(super) fn with_names(&self, names: Placeholders) -> Self {
        Self {
            tape: self.tape.clone(),
            names: Arc::new(names),
        }
    }

    /// Wraps an opener: the models it opens are recorded.
    pub fn opener(&self, inner: ModelOpener) -> ModelOpener {
        let recorder = self.clone();
        Arc::new(move |choice| {
            let model = inner(choice)?;
            recorder.note_opened(&model);
            let provider = RecordingProvider {
                choice: choice.clone(),
                inner: model.provider.clone(),
                recorder: recorder.clone(),
            };
            Ok(Model {
                provider: Arc::new(provider),
                ..model
            })
        })
    }

    fn note_opened(&self, model: &Model) {
        let mut name = json!(model.choice.to_string());
        PlaceholderMap::new(&self.names).hide(&mut name);
        let name = name.as_str().unwrap_or_default().to_owned();
        let mut state = self.tape.lock();
        if state.opened.insert(name.clone()) {
            let own_tools = model.provider.has_own_tools();
            let Model {
                window,
                output,
                price,
                ..
            } = model.clone();
            state.waiting.push(CassetteLine::Model(RecordedModel {
                model: name,
                window,
                output,
                price,
                own_tools,
            }));
        }
    }
}

impl CassetteFile {
    fn lock(&self) -> MutexGuard<'_, CassetteFileState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(
        &self,
        write: impl FnOnce(&mut CassetteFileState) -> io::Result<()>,
    ) -> Result<(), Error> {
        let mut state = self.lock();
        // An incomplete recording is useless, so a write error ends the run.
        state
            .begin(&self.path)
            .and_then(|()| write(&mut state))
            .map_err(|error| {
                Error::Exhausted(format!("cannot record to {}: {error}", self.path.display()))
            })
    }
}

impl CassetteFileState {
    fn begin(&mut self, path: &Path) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(OpenOptions::new().write(true).create_new(true).open(path)?);
            self.line(&CassetteLine::Cassette {
                v: file_format::VERSION,
            })?;
        }
        std::mem::take(&mut self.waiting)
            .iter()
            .try_for_each(|line| self.line(line))
    }

    fn line(&mut self, line: &CassetteLine) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.file
            .as_mut()
            .map_or(Ok(()), |file| file.write_all(&text))
    }

    fn exchange(&mut self, asked: PendingExchange, answer: Value) -> io::Result<()> {
        let (base, kept, request) = match self.last.get(&asked.conversation) {
            Some((place, before)) => {
                let (kept, new) = file_format::added(before, &asked.question);
                (Some(*place), kept, new)
            }
            None => (
                None,
                0,
                asked.question.as_object().cloned().unwrap_or_else(Map::new),
            ),
        };
        self.line(&CassetteLine::Exchange {
            base,
            kept,
            request,
            answer,
        })?;
        self.last
            .insert(asked.conversation, (self.written, asked.question));
        self.written += 1;
        Ok(())
    }
}

/// Provider that records its requests and answers.
pub struct RecordingProvider {
    choice: ModelChoice,
    inner: Arc<dyn Provider>,
    recorder: CassetteRecorder,
}

/// A request that has no answer yet.
struct PendingExchange {
    conversation: (SessionId, Arc<str>),
    question: Value,
}

impl Provider for RecordingProvider {
    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let mut question = request::spell(&self.choice, &request);
        let conversation = (request.session.clone(), request.agent.clone());
        let (inner, recorder) = (self.inner.stream(request), self.recorder.clone());
        let mut order = PlaceholderMap::new(&recorder.names);
        order.hide(&mut question);
        let listening = RecordingStream {
            inner,
            recorder,
            order,
            notes: Vec::new(),
            asked: Some(PendingExchange {
                conversation,
                question,
            }),
        };
        stream::unfold(listening, RecordingStream::next).boxed()
    }

    fn unenforced(&self, tools: &[&str], workplace: &Workplace) -> Vec<String> {
        self.inner.unenforced(tools, workplace)
    }

    fn has_own_tools(&self) -> bool {
        self.inner.has_own_tools()
    }
}

/// An answer that is being recorded.
struct RecordingStream {
    inner: ReplyStream,
    recorder: CassetteRecorder,
    order: PlaceholderMap,
    notes: Vec<RecordedNotice>,
    /// Taken when the answer is complete.
    asked: Option<PendingExchange>,
}

impl RecordingStream {
    /// The next chunk. An answer whose stream is dropped early is not recorded, and neither is an error about the
    /// key or the machine: once that is fixed, a replay would still report it.
    async fn next(mut self) -> Option<(Result<ReplyChunk, Error>, Self)> {
        let asked = self.asked.take()?;
        let piece = match self.inner.next().await {
            Some(piece) => piece,
            None => Err(Error::Broken("the stream ended early".into())),
        };
        let answer = match &piece {
            Ok(ReplyChunk::Reply(reply)) => RecordedOutcome::of_reply(reply),
            Err(Error::Unauthorized(_) | Error::Unusable(_)) => return Some((piece, self)),
            Err(error) => RecordedOutcome::of_error(error),
            Ok(chunk) => {
                self.notes.extend(note(chunk));
                self.asked = Some(asked);
                return Some((piece, self));
            }
        };
        let kept = self.keep(asked, answer);
        Some((kept.and(piece), self))
    }

    fn keep(&mut self, asked: PendingExchange, answer: RecordedOutcome) -> Result<(), Error> {
        let answered = RecordedAnswer {
            notes: std::mem::take(&mut self.notes),
            answer,
        };
        let mut answer = serde_json::to_value(answered)
            .map_err(|error| Error::Exhausted(format!("cannot spell an answer: {error}")))?;
        self.order.hide_known(&mut answer);
        self.recorder
            .tape
            .write(|state| state.exchange(asked, answer))
    }
}

fn note(chunk: &ReplyChunk) -> Option<RecordedNotice> {
    match chunk {
        ReplyChunk::Note {
            level,
            code,
            message,
        } => Some(RecordedNotice {
            level: *level,
            code: code.clone().into_owned(),
            message: message.clone(),
        }),
        _ => None,
    }
}
