//! Sends a message to an agent and shows what it does, until it is done.

mod apply_input;
mod attachment;
mod background_wait;
mod begin;
mod finish;
mod follow;
mod follower_events;
mod input_lines;
mod mcp_prompt;
mod on_server;
mod output_schema;
mod prepare;
mod prompt_queue;
mod report;
mod result_json;
mod run_tracker;
mod select_model;
mod session_target;
pub mod slash_prompt;
mod user_input;

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use clap::{
    Args, FromArgMatches, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use rooftree_client::RuntimeClient;
use rooftree_protocol::{ErrorCode, PermissionMode, Problem, SessionId};
use rooftree_runtime::{ApprovalSource, Definitions};
use rooftree_tools::PermissionRule;

pub use self::{
    background_wait::{BackgroundPolicy, BackgroundWait},
    begin::{CliRequest, UserPost},
    finish::{FollowPlace, ShutdownMode},
    follow::{RunJob, follow},
    mcp_prompt::expand_prompt,
    prepare::{PreparedRun, PreparedRuntime},
    report::StdoutReport,
    select_model::SelectedModels,
    session_target::{SessionTarget, find as find_session},
    user_input::{UserInput, UserMessage, note_missing_files},
};
use self::{finish::RunExit, output_schema::OutputSchema};
use crate::{
    assemble::CliOverrides,
    commands::sandbox_flags::SandboxFlags,
    control::{self, owner},
    environment::Environment,
    exit::Exit,
    rules,
    server_connection::ServerConnection,
    terminal::{answer_text::AnswerFormat, controlling_tty, select_view, view},
    told_notices::ToldNotices,
};

/// How long agents in background are waited for if nothing else is said.
const AGENTS_WAIT: Duration = Duration::from_secs(600);

/// Options of `rooftree run`.
#[derive(Args, Debug)]
#[command(
    before_long_help = "`rooftree -p …` and `rooftree exec …` are the same as `rooftree run …`."
)]
pub struct Arguments {
    /// What to say; `-` reads it from standard input, `@FILE` attaches a file
    #[arg(value_name = "PROMPT|-|@FILE")]
    pub words: Vec<OsString>,
    /// The model to use: provider/model[:effort], or a short name; also ROOFTREE_MODEL
    #[arg(short, long, value_name = "PROVIDER/MODEL", help_heading = "Model")]
    pub model: Option<String>,
    /// The agent to talk to
    #[arg(short, long, value_name = "NAME", help_heading = "Agent and session")]
    pub agent: Option<String>,
    /// More agents: a TOML or JSON file, or JSON itself
    #[arg(long, value_name = "FILE|JSON", help_heading = "Agent and session")]
    pub agents: Option<String>,
    /// More MCP servers: a JSON file like .mcp.json, or JSON itself; may be repeated
    #[arg(long, value_name = "FILE|JSON", help_heading = "Agent and session")]
    pub mcp_config: Vec<String>,
    /// Continue this session: its id, the end of its id, or its name
    #[arg(
        short,
        long,
        value_name = "ID|NAME",
        conflicts_with = "latest",
        help_heading = "Agent and session"
    )]
    pub session: Option<String>,
    /// Continue the latest session of this directory
    #[arg(long = "continue", help_heading = "Agent and session")]
    pub latest: bool,
    /// End the run after so many replies of the model
    #[arg(long, value_name = "N", help_heading = "Limits", allow_negative_numbers = true, value_parser = some_turns)]
    pub max_turns: Option<u32>,
    /// End the run after this time, e.g. 90s or 10m
    #[arg(long, value_name = "DURATION", help_heading = "Limits", value_parser = some_time)]
    pub timeout: Option<Duration>,
    /// End the run when it has cost so many US dollars, as far as prices are known
    #[arg(long, value_name = "USD", help_heading = "Limits", allow_negative_numbers = true, value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// Record every request to a model and its reply in this file
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "replay",
        help_heading = "Model"
    )]
    pub record: Option<PathBuf>,
    /// Replay a recording: no network, no key
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub replay: Option<PathBuf>,
    /// What may happen without asking
    #[arg(
        long,
        value_name = "MODE",
        help_heading = "Permissions and sandbox",
        value_parser = permission_mode_parser()
    )]
    pub permission_mode: Option<PermissionMode>,
    /// Allow without asking, e.g. 'Bash(git log *)'; may be repeated
    #[arg(long, value_name = "RULE", help_heading = "Permissions and sandbox")]
    pub allow: Vec<PermissionRule>,
    /// Never allow; may be repeated
    #[arg(long, value_name = "RULE", help_heading = "Permissions and sandbox")]
    pub deny: Vec<PermissionRule>,
    #[command(flatten)]
    pub confined: SandboxFlags,
    /// What is written to standard output
    #[arg(
        short,
        long,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        help_heading = "Input and output"
    )]
    pub output_format: OutputFormat,
    /// The answer must be JSON that fits the JSON Schema in this file; it is mended once, else the exit code is 10
    #[arg(
        long,
        visible_alias = "schema",
        value_name = "FILE",
        help_heading = "Input and output"
    )]
    pub output_schema: Option<PathBuf>,
    /// What is read from standard input
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        help_heading = "Input and output"
    )]
    pub input_format: InputFormat,
    /// With stream-json: also write text as it comes
    #[arg(long, help_heading = "Input and output")]
    pub include_deltas: bool,
    /// Time to wait for agents and programs in background after the answer, e.g. 90s; then they are stopped.
    /// Without it agents are waited for 10 minutes, and programs end with the run
    #[arg(
        long,
        value_name = "DURATION",
        help_heading = "Limits",
        value_parser = crate::human_format::some_duration
    )]
    pub wait: Option<Duration>,
    /// Do not wait for agents in background: they go on when the session does
    #[arg(long, conflicts_with = "wait", help_heading = "Limits")]
    pub no_wait: bool,
    /// Also write the answer to this file
    #[arg(long, value_name = "FILE", help_heading = "Input and output")]
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
    /// One request per line: user, steer, permission, answer, cancel
    StreamJson,
}

/// Goes on with a session for another command, as `rooftree run -s ID WORDS` does.
pub async fn go_on(
    session: &SessionId,
    words: &[OsString],
    model: Option<&str>,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let mut line = vec!["-s".into(), session.as_str().into()];
    if let Some(model) = model {
        line.extend(["-m".into(), model.into()]);
    }
    line.push("--".into());
    line.extend(words.iter().cloned());
    execute(typed(line)?, environment).await
}

/// The arguments as they would be typed behind `rooftree run`, for another command.
pub fn typed(line: Vec<OsString>) -> Result<Arguments, Problem> {
    let command = Arguments::augment_args(clap::Command::new("run"));
    let line = std::iter::once("run".into()).chain(line);
    let parsed = command.try_get_matches_from(line);
    let arguments = parsed.and_then(|matches| Arguments::from_arg_matches(&matches));
    arguments.map_err(|error| usage(error.to_string()))
}

/// Does it.
pub async fn execute(mut arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let mut report = StdoutReport::new(&arguments).shown_as(AnswerFormat::of(environment));
    let done = match ServerConnection::of(environment)? {
        Some(server) => on_server::attempt(&arguments, environment, &server, &mut report).await,
        None => attempt(&mut arguments, environment, &mut report).await,
    };
    if let Err(problem) = &done {
        report.failed(problem);
    }
    done
}

async fn attempt(
    arguments: &mut Arguments,
    environment: &Environment,
    report: &mut StdoutReport,
) -> Result<Exit, Problem> {
    // Everything that can be wrong with what was typed is found before anything is stored.
    let prepared = PreparedRun::load(arguments, environment).await?;
    let schema = OutputSchema::read(arguments, environment)?;
    let schema_remark = schema.as_ref().and_then(OutputSchema::remark);
    let definitions = prepared.project.definitions.clone();
    let said = user_input::read_user_input(
        arguments,
        environment,
        initial_prompt(arguments, &definitions).as_deref(),
    )?;
    let said = mcp_prompt::expand_prompt(said, &prepared.gathered, environment).await?;
    let said = slash_prompt::expand_typed(said, arguments, &prepared, environment)?;
    let handle = prepared.control(environment)?;
    let queries = handle.queries(&owner());
    let target = session_target::find(arguments, environment, &definitions, &queries)
        .await
        .map_err(|problem| prepared.project.explain_unknown(problem))?;
    let elsewhere = target.elsewhere(environment);
    let chosen = prepared.choose(arguments).await?;
    let (target, model) = prepared.with_model(target, &chosen, &handle).await?;
    let request = match said {
        UserInput::Nothing if arguments.input_format == InputFormat::StreamJson => {
            CliRequest::Lines
        }
        UserInput::Nothing => CliRequest::Resume,
        UserInput::Message(message) => {
            let said = message.post(&*control::client(&handle)).await?;
            CliRequest::Post(said.with_instruction(schema.as_ref()))
        }
    };
    report.expect(schema);
    let (answerer, tape) = (prepared.answerer, prepared.tape.clone());
    let started = prepared.start(chosen, &model, environment)?;
    let PreparedRuntime {
        runtime,
        remarks,
        told,
        ..
    } = started;
    let remarks = remarks
        .into_iter()
        .chain(schema_remark)
        .chain(elsewhere)
        .collect();
    let policy = match arguments.wait {
        _ if arguments.no_wait => BackgroundPolicy::Leave,
        Some(most) => BackgroundPolicy::WaitForAll(most),
        None => BackgroundPolicy::Wait(AGENTS_WAIT),
    };
    let job = RunJob {
        linger: BackgroundWait::new(policy),
        remarks,
        told,
        input: arguments.input_format,
        ..RunJob::new(request, target, answerer)
    };
    job.settle_programs(&handle).await?;
    let view = || view_for(arguments, environment);
    match follow_to_fit(&control::client(&runtime.handle()), job, report, view).await {
        Ok(left) => {
            let exit = left.leave(runtime).await;
            select_model::warn_unplayed(&tape, environment);
            Ok(exit)
        }
        Err(problem) => {
            runtime.stop().await;
            Err(problem)
        }
    }
}

/// The message with which a conversation begins: what was typed behind the command, or what the agent begins with.
pub fn first_message(
    arguments: &Arguments,
    definitions: &Definitions,
) -> Result<Option<String>, Problem> {
    let words = arguments.words.iter().map(|word| {
        word.to_str()
            .ok_or_else(|| usage("the prompt is not valid UTF-8"))
    });
    let words = words.collect::<Result<Vec<_>, _>>()?.join(" ");
    let typed = Some(words).filter(|words| !words.trim().is_empty());
    Ok(typed.or_else(|| initial_prompt(arguments, definitions)))
}

/// Follows the run; if its answer does not fit the schema, asks once more in the same session.
async fn follow_to_fit(
    client: &Arc<dyn RuntimeClient>,
    job: RunJob,
    report: &mut StdoutReport,
    view: impl Fn() -> Box<dyn view::TerminalView>,
) -> Result<RunExit, Problem> {
    let (answerer, input, place) = (job.answerer, job.input, job.place);
    let left = follow(client, job, view(), report).await?;
    let Some(mend) = report.take_mend() else {
        return Ok(left);
    };
    let Some(session) = client.session(&left.session).await? else {
        return Ok(left);
    };
    let request = CliRequest::Post(UserPost::text(mend));
    let target = SessionTarget::Known(Box::new(session));
    let again = RunJob {
        linger: BackgroundWait::new(BackgroundPolicy::Wait(AGENTS_WAIT)),
        remarks: vec!["the answer does not fit the schema; asking once more".into()],
        told: ToldNotices::default(),
        input,
        place,
        ..RunJob::new(request, target, answerer)
    };
    follow(client, again, view(), report).await
}

/// The first message of a new session of an agent if the user gives none.
fn initial_prompt(arguments: &Arguments, definitions: &Definitions) -> Option<String> {
    let is_new = arguments.session.is_none() && !arguments.latest;
    let agent = arguments.agent.as_deref().filter(|_| is_new)?;
    definitions.find(agent).ok()?.initial_prompt.clone()
}

/// Who can answer permission prompts and questions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptAnswerer {
    /// No one: requests are refused.
    Nobody,
    /// A person at the terminal.
    Person,
    /// A program that answers with lines.
    Program,
}

impl PromptAnswerer {
    fn in_runtime(self) -> ApprovalSource {
        if self == Self::Nobody {
            ApprovalSource::Nobody
        } else {
            ApprovalSource::Client
        }
    }
}

fn prompt_answerer(arguments: &Arguments, environment: &Environment) -> PromptAnswerer {
    match arguments.input_format {
        InputFormat::StreamJson => PromptAnswerer::Program,
        InputFormat::Text if !environment.everywhere.no_input && controlling_tty::has_person() => {
            PromptAnswerer::Person
        }
        InputFormat::Text => PromptAnswerer::Nobody,
    }
}

/// Where events go to standard output, they need not be told on standard error too.
fn view_for(arguments: &Arguments, environment: &Environment) -> Box<dyn view::TerminalView> {
    let detail = match (arguments.output_format, select_view::detail(environment)) {
        (OutputFormat::StreamJson, view::ViewDetail::Usual) => view::ViewDetail::Remarks,
        (_, detail) => detail,
    };
    match prompt_answerer(arguments, environment) {
        PromptAnswerer::Person => select_view::view_for_person(environment, detail),
        PromptAnswerer::Nobody | PromptAnswerer::Program => select_view::view(environment, detail),
    }
}

/// What was typed, but for models.
fn cli_overrides(arguments: &Arguments) -> Result<CliOverrides, Problem> {
    Ok(CliOverrides {
        mode: arguments.permission_mode,
        allow: known(&arguments.allow)?,
        deny: known(&arguments.deny)?,
        sandbox: arguments.confined.sandbox,
        network: arguments.confined.network.clone(),
        max_turns: arguments.max_turns,
        timeout: arguments.timeout,
        max_cost: arguments.max_cost,
        ..CliOverrides::default()
    })
}

/// Rules that were typed, under the names of tools that exist.
pub fn known(typed: &[PermissionRule]) -> Result<Vec<PermissionRule>, Problem> {
    rules::known(typed.to_vec()).map_err(|problem| Problem {
        code: ErrorCode::InvalidArguments,
        ..problem
    })
}

/// Parses a mode that was typed; help and completions show what each means.
pub fn permission_mode_parser() -> impl TypedValueParser<Value = PermissionMode> {
    let values = MODES.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(|text| serde_json::from_value(text.into()))
}

/// The permission modes, and what each lets agents do without asking.
const MODES: [(&str, &str); 5] = [
    ("plan", "only look"),
    (
        "ask",
        "ask before anything that changes something (default)",
    ),
    ("accept-edits", "also change files below the directory"),
    ("auto", "also run programs and delete"),
    ("bypass", "never ask; deny rules still hold"),
];

/// A mode that was typed.
pub fn permission_mode(text: &str) -> Result<PermissionMode, String> {
    let names = MODES.map(|(name, _)| name);
    serde_json::from_value(text.into()).map_err(|_| format!("choose one of {}", names.join(", ")))
}

fn some_turns(text: &str) -> Result<u32, String> {
    let turns = text.parse().ok().filter(|turns| *turns > 0);
    turns.ok_or_else(|| "write a whole number of at least 1, for example 20".into())
}

fn some_time(text: &str) -> Result<Duration, String> {
    let time = crate::human_format::some_duration(text)?;
    if time.is_zero() {
        Err("the timeout must be greater than zero; omit it for no limit".into())
    } else {
        Ok(time)
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    let dollars: f64 = text
        .trim_start_matches('$')
        .parse()
        .map_err(|_| "write US dollars, e.g. 0.50")?;
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
