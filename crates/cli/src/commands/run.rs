//! Sends a message to an agent and shows what it does, until it is done.

mod asker;
mod attachment;
mod begin;
mod finish;
mod follow;
mod input;
mod outcome;
mod prompt;
mod report;
mod sources;
mod target;
mod thinking;
mod watch;

use std::{ffi::OsString, io::IsTerminal, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use rooftree_protocol::{ErrorCode, PermissionMode, Problem};
use rooftree_runtime::Asking;
use rooftree_tools::Rule;

use self::prompt::Said;
pub use self::{
    begin::Errand,
    finish::Manner,
    follow::{Job, follow},
    report::Report,
    target::Target,
};
use crate::{
    assemble::{Plan, Wishes},
    embeddings,
    environment::Environment,
    exit::Exit,
    minds::Minds,
    rules, settings,
    terminal::{chosen, view},
};

/// Options of `rooftree run`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// What to say; `-` reads it from standard input, `@FILE` attaches a file
    #[arg(value_name = "PROMPT|-|@FILE")]
    pub words: Vec<OsString>,
    /// The model to think with: provider/model[:effort], or a name; also ROOFTREE_MODEL
    #[arg(short, long, value_name = "PROVIDER/MODEL")]
    pub model: Option<String>,
    /// The agent to talk to
    #[arg(short, long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Go on with this session: its id, the end of its id, or its name
    #[arg(short, long, value_name = "ID|NAME", conflicts_with = "latest")]
    pub session: Option<String>,
    /// Go on with the latest session in this directory
    #[arg(long = "continue")]
    pub latest: bool,
    /// Replies of the model before the run is ended
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
    /// Time before the run is ended, e.g. 90s or 10m
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub timeout: Option<Duration>,
    /// US dollars the run may cost, as far as prices are known
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// Write every question to a model and its answer to this file
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Let models answer from a recording: no network, no key
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// How much may happen without asking
    #[arg(long, value_name = "MODE", value_parser = permission_mode)]
    pub permission_mode: Option<PermissionMode>,
    /// Allow without asking, e.g. 'Bash(git log *)'; may be repeated
    #[arg(long, value_name = "RULE")]
    pub allow: Vec<Rule>,
    /// Never allow; may be repeated
    #[arg(long, value_name = "RULE")]
    pub deny: Vec<Rule>,
    /// What is written to standard output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output_format: OutputFormat,
    /// What is read from standard input
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub input_format: InputFormat,
    /// With stream-json: also write text as it comes
    #[arg(long)]
    pub include_deltas: bool,
    /// Also write the answer to this file
    #[arg(long, value_name = "FILE")]
    pub last_message: Option<PathBuf>,
}

/// What is written to standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The answer
    #[default]
    Text,
    /// One object at the end
    Json,
    /// One event per line, then the object
    StreamJson,
}

/// What is read from standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// The prompt, or what belongs below it
    #[default]
    Text,
    /// One wish per line: user, steer, permission, cancel
    StreamJson,
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let mut report = Report::new(&arguments);
    let done = attempt(&arguments, environment, &mut report).await;
    if let Err(problem) = &done {
        report.failed(problem);
    }
    done
}

async fn attempt(
    arguments: &Arguments,
    environment: &Environment,
    report: &mut Report,
) -> Result<Exit, Problem> {
    // Everything that can be wrong with what was typed is found before anything is stored.
    let settings = settings::load(environment)?;
    let wishes = wishes(arguments)?;
    let said = prompt::gather(arguments, environment)?;
    let store = environment.store()?;
    let target = target::find(arguments, environment, &*store).await?;
    let tape = thinking::tape(arguments, environment, &settings)?;
    let minds = Minds::taped(environment, &settings, &tape)?;
    let search = embeddings::search(environment, &settings, &minds, &tape)?;
    let chosen = thinking::choose(arguments, &settings, &minds, &tape)?;
    let model = target.model(chosen.named.as_ref(), chosen.default.as_ref())?;
    let unpriced = thinking::unpriced(&minds.catalog.open(&model)?, arguments.max_cost.or(settings.max_cost));
    let asking = asking(arguments, environment);
    let remarks = settings.remarks.iter().cloned().chain(chosen.remarks).chain(unpriced).collect();
    let wishes = Wishes { fallbacks: chosen.fallbacks, model: chosen.default, ..wishes };
    let target = target.using(chosen.named, wishes.model.as_ref(), &*store).await?;
    let errand = match said {
        Said::Nothing if arguments.input_format == InputFormat::StreamJson => Errand::Lines,
        Said::Nothing => Errand::Resume,
        Said::Message(message) => Errand::Post(message.parts(&*store).await?),
    };
    let (memory, workspaces) = (environment.memory(), environment.workspaces());
    let asked = asking.in_runtime();
    let runtime = Plan { store, minds, settings, wishes, search, asking: asked, memory, workspaces }.start();
    let job = Job { errand, target, asking, remarks, input: arguments.input_format };
    match follow(&runtime.handle(), job, view_for(arguments, environment), report).await {
        Ok(left) => {
            let exit = left.leave(runtime).await;
            thinking::tell_what_is_left(&tape, environment);
            Ok(exit)
        }
        Err(problem) => {
            runtime.stop().await;
            Err(problem)
        }
    }
}

/// How somebody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nobody can.
    Nobody,
    /// A person at the terminal.
    Person,
    /// A program that answers with lines.
    Program,
}

impl Asked {
    fn in_runtime(self) -> Asking {
        if self == Self::Nobody { Asking::Nobody } else { Asking::Client }
    }
}

fn asking(arguments: &Arguments, environment: &Environment) -> Asked {
    let is_person = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    match arguments.input_format {
        InputFormat::StreamJson => Asked::Program,
        InputFormat::Text if is_person && !environment.everywhere.no_input => Asked::Person,
        InputFormat::Text => Asked::Nobody,
    }
}

/// Where events go to standard output, they need not be told on standard error too.
fn view_for(arguments: &Arguments, environment: &Environment) -> Box<dyn view::View> {
    let detail = match (arguments.output_format, chosen::detail(environment)) {
        (OutputFormat::StreamJson, view::Detail::Usual) => view::Detail::Quiet,
        (_, detail) => detail,
    };
    chosen::view(environment, detail)
}

/// What was typed, but for models.
fn wishes(arguments: &Arguments) -> Result<Wishes, Problem> {
    Ok(Wishes {
        mode: arguments.permission_mode,
        allow: known(&arguments.allow)?,
        deny: known(&arguments.deny)?,
        max_turns: arguments.max_turns,
        timeout: arguments.timeout,
        max_cost: arguments.max_cost,
        ..Wishes::default()
    })
}

fn known(typed: &[Rule]) -> Result<Vec<Rule>, Problem> {
    rules::known(typed.to_vec()).map_err(|problem| Problem { code: ErrorCode::InvalidArguments, ..problem })
}

fn permission_mode(text: &str) -> Result<PermissionMode, String> {
    let modes = ["plan", "ask", "accept-edits", "auto", "bypass"];
    serde_json::from_value(text.into()).map_err(|_| format!("choose one of {}", modes.join(", ")))
}

fn dollars(text: &str) -> Result<f64, String> {
    let dollars: f64 = text.trim_start_matches('$').parse().map_err(|_| "write US dollars, e.g. 0.50")?;
    if dollars.is_finite() && dollars >= 0.0 {
        Ok(dollars)
    } else {
        Err("it cannot be less than nothing".into())
    }
}

/// A mistake in what was typed.
fn usage(message: impl Into<String>) -> Problem {
    Problem::new(ErrorCode::InvalidArguments, message)
}
