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
mod prompt_queue;
mod report;
mod result_json;
mod run_tracker;
mod select_model;
mod session_target;
mod user_input;

use std::{ffi::OsString, io::IsTerminal, path::PathBuf, sync::Arc, time::Duration};

use clap::{Args, ValueEnum};
use rooftree_protocol::{ErrorCode, PermissionMode, Problem};
use rooftree_runtime::{ApprovalSource, Definitions, Handle, SystemClock};
use rooftree_tools::PermissionRule;

use self::user_input::UserInput;
pub use self::{
    background_wait::{BackgroundPolicy, BackgroundWait},
    begin::CliRequest,
    finish::ShutdownMode,
    follow::{RunJob, follow},
    report::StdoutReport,
    session_target::SessionTarget,
};
use crate::{
    assemble::{CliOverrides, RuntimePlan},
    commands::sandbox_flags::SandboxFlags,
    configured_models::ConfiguredModels,
    control::owner,
    embeddings,
    environment::Environment,
    exit::Exit,
    mcp_servers,
    project_agents::{self, ProjectAgents},
    rules, secrets, settings,
    terminal::{answer_text::AnswerFormat, select_view, view},
    told_notices::ToldNotices,
    trust,
    web::WebAccess,
};

/// How long agents in background are waited for if nothing else is said.
const AGENTS_WAIT: Duration = Duration::from_secs(600);

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
    /// More agents: a TOML or JSON file, or JSON itself
    #[arg(long, value_name = "FILE|JSON")]
    pub agents: Option<String>,
    /// More servers of tools: a JSON file like .mcp.json, or JSON itself; may be repeated
    #[arg(long, value_name = "FILE|JSON")]
    pub mcp_config: Vec<String>,
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
    #[arg(long, value_name = "DURATION", value_parser = some_time)]
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
    pub allow: Vec<PermissionRule>,
    /// Never allow; may be repeated
    #[arg(long, value_name = "RULE")]
    pub deny: Vec<PermissionRule>,
    #[command(flatten)]
    pub confined: SandboxFlags,
    /// What is written to standard output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output_format: OutputFormat,
    /// What is read from standard input
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub input_format: InputFormat,
    /// With stream-json: also write text as it comes
    #[arg(long)]
    pub include_deltas: bool,
    /// Time to wait for agents and programs in background after the answer, e.g. 90s; then they are stopped.
    /// Without it agents are waited for 10 minutes, and programs end with the run
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub wait: Option<Duration>,
    /// Do not wait for agents in background: they go on when the session does
    #[arg(long, conflicts_with = "wait")]
    pub no_wait: bool,
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
    let mut report = StdoutReport::new(&arguments).shown_as(AnswerFormat::of(environment));
    let done = attempt(&arguments, environment, &mut report).await;
    if let Err(problem) = &done {
        report.failed(problem);
    }
    done
}

async fn attempt(
    arguments: &Arguments,
    environment: &Environment,
    report: &mut StdoutReport,
) -> Result<Exit, Problem> {
    // Everything that can be wrong with what was typed is found before anything is stored.
    let settings = settings::load(environment)?;
    let (overrides, pinned) = cli_overrides(arguments)?.without_pinned(&settings);
    let tape = select_model::tape(arguments, environment, &settings)?;
    let models = Arc::new(ConfiguredModels::with_tape(environment, &settings, &tape)?);
    let search = embeddings::search(environment, &settings, &models, &tape)?;
    let online = WebAccess::of(&settings, &models.credentials, &models.catalog)?;
    let answerer = prompt_answerer(arguments, environment);
    if answerer == PromptAnswerer::Person {
        trust::trust_prompt::ask(environment, &project_agents::places(environment)).await?;
    }
    let project =
        ProjectAgents::find(environment, &settings, &models, arguments.agents.as_deref())?;
    let gathered = mcp_servers::gather(
        environment,
        &project_agents::places(environment),
        &settings,
        &arguments.mcp_config,
    )?;
    let definitions = project.definitions.clone();
    let said = user_input::read_user_input(
        arguments,
        environment,
        initial_prompt(arguments, &definitions).as_deref(),
    )?;
    let said = mcp_prompt::expand_prompt(said, &gathered, environment).await?;
    let store = environment.store()?;
    let handle = Handle::without_agents(store.clone(), Arc::new(SystemClock));
    let queries = handle.queries(&owner());
    let target = session_target::find(arguments, environment, &definitions, &queries).await?;
    let chosen = select_model::choose(arguments, &settings, &models, &tape).await?;
    let model = target.model(&definitions, chosen.named.as_ref(), chosen.default.as_ref())?;
    models.catalog.prepare(&model).await;
    let unpriced = select_model::unpriced(
        &models.catalog.open(&model)?,
        overrides.max_cost.or(settings.limits.max_cost),
    );
    // What describes the setup is said once in a project; what bounds this very run is said each time.
    let mut told = ToldNotices::read(environment);
    let about_setup = settings
        .remarks
        .iter()
        .chain(&project.remarks)
        .chain(&gathered.remarks)
        .chain(&chosen.remarks);
    let remarks = about_setup
        .filter(|remark| *remark == project_agents::GUARDS_OFF || told.is_new(remark))
        .cloned()
        .chain(pinned)
        .chain(unpriced)
        .collect();
    let overrides = CliOverrides {
        fallbacks: chosen.fallbacks,
        model: chosen.default,
        ..overrides
    };
    let target = target
        .using(
            &definitions,
            chosen.named,
            overrides.model.as_ref(),
            &handle,
        )
        .await?;
    let request = match said {
        UserInput::Nothing if arguments.input_format == InputFormat::StreamJson => {
            CliRequest::Lines
        }
        UserInput::Nothing => CliRequest::Resume,
        UserInput::Message(message) => CliRequest::Post(message.parts(&handle).await?),
    };
    let secrets = Arc::new(secrets::known_besides(
        environment,
        &settings,
        gathered.confided(&definitions),
    ));
    let plan = RuntimePlan {
        secrets,
        store,
        models,
        project,
        settings,
        overrides,
        search,
        online,
        approvals: answerer.in_runtime(),
        memory: environment.memory(),
        servers: gathered.setup(environment),
    };
    let runtime = plan.start(environment)?;
    let policy = match arguments.wait {
        _ if arguments.no_wait => BackgroundPolicy::Leave,
        Some(most) => BackgroundPolicy::WaitForAll(most),
        None => BackgroundPolicy::Wait(AGENTS_WAIT),
    };
    let linger = BackgroundWait::new(policy);
    let job = RunJob {
        request,
        target,
        answerer,
        linger,
        remarks,
        told,
        input: arguments.input_format,
    };
    match follow(
        &runtime.handle(),
        job,
        view_for(arguments, environment),
        report,
    )
    .await
    {
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
    let is_person = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    match arguments.input_format {
        InputFormat::StreamJson => PromptAnswerer::Program,
        InputFormat::Text if is_person && !environment.everywhere.no_input => {
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
    select_view::view(environment, detail)
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

/// A mode that was typed.
pub fn permission_mode(text: &str) -> Result<PermissionMode, String> {
    let modes = ["plan", "ask", "accept-edits", "auto", "bypass"];
    serde_json::from_value(text.into()).map_err(|_| format!("choose one of {}", modes.join(", ")))
}

fn some_time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
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
