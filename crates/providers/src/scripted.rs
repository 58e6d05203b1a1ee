//! A model that answers from a script: for the demo, for tests, for trying agents out offline.
//!
//! A script is TOML for people (`docs/scripted-models.md`) or a list of entries in Rust:
//!
//! ```
//! use rooftree_providers::scripted::{ScriptedModel, call, say};
//! use serde_json::json;
//!
//! let model = ScriptedModel::from_replies([
//!     say("Let me look.").calls([call("Read", json!({"file_path": "README.md"}))]),
//!     say("It begins with: {{ results[0].text | first_line }}"),
//! ])?;
//! # Ok::<(), rooftree_protocol::Problem>(())
//! ```
//!
//! `select_entry` finds the entry for a request, `build_reply` fills it in, `stream` streams it.

mod build_reply;
mod call_input;
mod conversation;
mod entry;
mod entry_builder;
mod errors;
mod estimate_usage;
mod parse;
mod script;
mod script_position;
mod select_entry;
mod stream;
mod template_context;
mod template_filters;
mod templates;
mod toml_fields;

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use rooftree_protocol::{ErrorCode, Problem};

use crate::{Model, ModelRequest, Provider, ReplyStream, catalog::ModelOpener};

pub use entry::{ScriptEntry, ScriptedCall, ScriptedFailureKind};
pub use entry_builder::{call, fail, say};

/// Sleep function of a script; the runtime passes its own clock. Not called for pauses of zero length.
pub type SleepFn = Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// Maximum requests kept for [`ScriptedModel::requests`]; older ones are dropped.
const LOGGED_REQUESTS: usize = 1000;

/// A scripted model. Clones share the script and the log of requests.
#[derive(Clone)]
pub struct ScriptedModel {
    script: Arc<script::CompiledScript>,
    sleeper: SleepFn,
    /// The requests received, for tests; none if the log is off.
    log: Option<Arc<Mutex<VecDeque<Arc<ModelRequest>>>>>,
}

impl ScriptedModel {
    /// Parses a script from a file.
    pub fn from_file(path: impl AsRef<Path>, sleeper: SleepFn) -> Result<Self, Problem> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Problem::new(
                ErrorCode::InvalidConfig,
                format!("cannot read script {name}"),
            )
            .cause(error.to_string())
            .fix("the model scripted/PATH names a TOML file; docs/scripted-models.md describes it")
        })?;
        Self::from_text(&name, &text, sleeper)
    }

    /// Parses a script from its text; `name` is its name in errors.
    pub fn from_text(name: &str, text: &str, sleeper: SleepFn) -> Result<Self, Problem> {
        let script = parse::read(text)
            .and_then(|(header, entries)| script::CompiledScript::compile(name, header, entries));
        Ok(Self::playing(
            script.map_err(|flaw| flaw.problem(name))?,
            sleeper,
        ))
    }

    /// Builds a script from entries written in Rust. Pauses have no length until [`ScriptedModel::with_sleep`] is used.
    pub fn from_replies(entries: impl IntoIterator<Item = ScriptEntry>) -> Result<Self, Problem> {
        let name = "script in Rust";
        let script = script::CompiledScript::compile(
            name,
            entry::ScriptHeader::default(),
            entries.into_iter().collect(),
        );
        Ok(Self::playing(
            script.map_err(|flaw| flaw.problem(name))?,
            no_wait(),
        ))
    }

    fn playing(script: script::CompiledScript, sleeper: SleepFn) -> Self {
        Self {
            script: Arc::new(script),
            sleeper,
            log: Some(Arc::default()),
        }
    }

    /// Sets the sleep function.
    pub fn with_sleep(mut self, sleeper: SleepFn) -> Self {
        self.sleeper = sleeper;
        self
    }

    /// Turns the log off, so that it does not keep histories in memory.
    pub fn without_log(mut self) -> Self {
        self.log = None;
        self
    }

    /// The context window the script declares.
    pub fn window(&self) -> Option<u64> {
        self.script.header.window
    }

    /// The newest requests, oldest first; at most a thousand.
    pub fn requests(&self) -> Vec<Arc<ModelRequest>> {
        let Some(log) = &self.log else {
            return Vec::new();
        };
        log.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect()
    }

    fn note(&self, request: &Arc<ModelRequest>) {
        let Some(log) = &self.log else { return };
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() == LOGGED_REQUESTS {
            log.pop_front();
        }
        log.push_back(Arc::clone(request));
    }
}

impl Provider for ScriptedModel {
    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let request = Arc::new(request);
        self.note(&request);
        stream::stream_steps(
            build_reply::answer(&self.script, &request),
            Arc::clone(&self.sleeper),
        )
    }
}

/// A sleep function that returns at once.
pub fn no_wait() -> SleepFn {
    Arc::new(|_| Box::pin(std::future::ready(())))
}

/// Opens `scripted/PATH` for the catalog: each file is parsed and validated once (cache). Relative paths are resolved against `directory`.
///
/// A script with errors is not cached and is read again the next time, so that fixing
/// it does not need a restart.
pub fn opener(directory: impl Into<PathBuf>, sleeper: SleepFn) -> ModelOpener {
    let directory = directory.into();
    let opened: Mutex<HashMap<PathBuf, ScriptedModel>> = Mutex::default();
    Arc::new(move |choice| {
        let path = directory.join(&choice.model);
        let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
        let scripted = match opened.get(&path) {
            Some(known) => known.clone(),
            None => {
                let read = ScriptedModel::from_file(&path, Arc::clone(&sleeper))?.without_log();
                opened.insert(path, read.clone());
                read
            }
        };
        let window = scripted.window();
        Ok(Model {
            window,
            ..Model::new(choice, Arc::new(scripted))
        })
    })
}
