//! Coding-agent programs used as models: `claude`, `codex` and `pi`, started once per reply.
//!
//! `request` builds the prompt and `tool_grant` selects which of its own tools the program gets. The program's
//! own file turns both into flags and its records into calls of a `ProgramReplyBuilder`; `stream` runs the process.
//! The runtime does not repeat what the program did with its tools: that is reported as notes and kept in the
//! reply as opaque parts, never as calls. `docs/programs-as-models.md` lists what to expect of these programs.

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

use std::{ffi::OsString, sync::Arc, time::Duration};

use rooftree_process::ChildEnvironment;
use rooftree_protocol::{ErrorCode, Problem, event::ReplyPart};

use crate::{Model, ModelRequest, Provider, ReplyStream, Workplace, catalog::ModelOpener};

pub use program::{AgentProgram, CLAUDE, CODEX, PI};
pub use tool_grant::ToolGrant;

/// All programs.
pub const PROGRAMS: [&AgentProgram; 3] = [&CLAUDE, &CODEX, &PI];

/// The context window reported for a program. A program compacts its own context, and its usage adds up all its
/// own turns. A window this large keeps the runtime from compacting because of that sum.
const WINDOW: u64 = 2_000_000;

/// Options for running a program.
#[derive(Clone, Debug)]
pub struct ProgramOptions {
    /// The executable; by default the program's usual name, looked up in PATH.
    pub executable: Option<OsString>,
    /// Its environment variables, besides those it needs to log in.
    pub environment: ChildEnvironment,
    /// Idle timeout: how long it may print nothing before it counts as dead.
    pub silence: Duration,
    /// Timeout for exiting after its answer.
    pub timeout: Duration,
}

impl Default for ProgramOptions {
    fn default() -> Self {
        Self {
            executable: None,
            environment: ChildEnvironment::default(),
            silence: Duration::from_secs(30 * 60),
            timeout: Duration::from_secs(5),
        }
    }
}

/// What a program did with one of its own tools, as its reply keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramActivity<'a> {
    /// The program's name of the tool.
    pub tool: &'a str,
    /// What for, in short.
    pub title: &'a str,
}

/// What a program did with its own tools for this reply, in order. Empty for models that are no programs.
pub fn activities(parts: &[ReplyPart]) -> impl Iterator<Item = ProgramActivity<'_>> {
    parts.iter().filter_map(|part| {
        let ReplyPart::Opaque { item, .. } = part else {
            return None;
        };
        let text = |field: &str| item.get(field).and_then(|value| value.as_str());
        (text("activity") == Some("tool")).then(|| ProgramActivity {
            tool: text("tool").unwrap_or_default(),
            title: text("title").unwrap_or_default(),
        })
    })
}

/// Provider that runs a program. Clones share only the options.
#[derive(Clone, Debug)]
pub struct ProgramProvider {
    program: &'static AgentProgram,
    options: Arc<ProgramOptions>,
}

impl ProgramProvider {
    /// Creates a provider for this program with these options.
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

    fn has_own_tools(&self) -> bool {
        true
    }
}

/// Opener for a program's models. The model name `default` means the program's own default.
pub fn opener(program: &'static AgentProgram, options: ProgramOptions) -> ModelOpener {
    let external = ProgramProvider::new(program, options);
    Arc::new(move |choice| {
        // The name becomes a command-line argument: refuse anything that could be parsed as a flag.
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
