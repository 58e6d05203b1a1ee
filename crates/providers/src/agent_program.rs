//! Other agents' programs as models: `claude`, `codex` and `pi`, started once per reply.
//!
//! The way of an answer: `prompt` says what is sent, `grant` which tools of its own the program
//! gets, the program's own file turns both into flags and its records into an `Account`, and
//! `play` runs it. What the program does with its tools is not ours to do again: it is told as
//! notes and kept in the reply as opaque parts, never as calls. `docs/programs-as-models.md`
//! says what can be expected of them.

mod claude;
mod codex;
mod errors;
mod json_lines;
mod pi;
mod program;
mod program_format;
mod program_rule;
mod program_start;
mod reply_builder;
mod request;
mod stream;
mod tool_grant;
mod tool_title;

use std::{ffi::OsString, sync::Arc, time::Duration};

use rooftree_process::ChildEnvironment;
use rooftree_protocol::{ErrorCode, Problem};

use crate::{Model, ModelRequest, Provider, ReplyStream, Workplace, catalog::ModelOpener};

pub use program::{AgentProgram, CLAUDE, CODEX, PI};
pub use tool_grant::ToolGrant;

/// All of them.
pub const PROGRAMS: [&AgentProgram; 3] = [&CLAUDE, &CODEX, &PI];

/// A program keeps its context small by itself, and reports what all its own turns have read together.
/// A window this wide keeps the runtime from taking that sum for one context that has to be made smaller.
const WINDOW: u64 = 2_000_000;

/// How a program is run.
#[derive(Clone, Debug)]
pub struct ProgramOptions {
    /// The executable, if it is not the usual one in PATH.
    pub executable: Option<OsString>,
    /// What it finds in its environment, besides what it needs to log in.
    pub environment: ChildEnvironment,
    /// How long it may say nothing before it is taken for dead.
    pub silence: Duration,
    /// How long it may take to end after its answer.
    pub patience: Duration,
}

impl Default for ProgramOptions {
    fn default() -> Self {
        Self {
            executable: None,
            environment: ChildEnvironment::default(),
            silence: Duration::from_secs(30 * 60),
            patience: Duration::from_secs(5),
        }
    }
}

/// A program that answers as a model does. Clones share nothing but the options.
#[derive(Clone, Debug)]
pub struct ProgramProvider {
    program: &'static AgentProgram,
    options: Arc<ProgramOptions>,
}

impl ProgramProvider {
    /// This program, run this way.
    pub fn new(program: &'static AgentProgram, options: ProgramOptions) -> Self {
        Self {
            program,
            options: Arc::new(options),
        }
    }
}

impl Provider for ProgramProvider {
    fn stream(&self, request: ModelRequest) -> ReplyStream {
        stream::stream_program(self.program, Arc::clone(&self.options), request)
    }

    fn unenforced(&self, tools: &[&str], workplace: &Workplace) -> Vec<String> {
        self.program.grant(tools, workplace).unenforced
    }
}

/// How the catalog finds a program's models. `default` is whatever the program itself prefers.
pub fn opener(program: &'static AgentProgram, options: ProgramOptions) -> ModelOpener {
    let external = ProgramProvider::new(program, options);
    Arc::new(move |choice| {
        // It becomes an argument: nothing that could be taken for a flag may get through.
        if choice.model.starts_with('-') || choice.model.contains(char::is_control) {
            return Err(Problem::new(
                ErrorCode::InvalidArguments,
                format!("`{}` is no name of a model", choice.model),
            )
            .fix(format!(
                "write {0}/default or {0}/NAME with a name the program knows",
                program.name
            )));
        }
        Ok(Model {
            window: Some(WINDOW),
            ..Model::new(choice, Arc::new(external.clone()))
        })
    })
}
