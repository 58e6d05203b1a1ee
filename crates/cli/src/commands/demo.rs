//! Shows the engine at work without a key: real tools, real store, a model that reads from a script.

use std::{
    collections::VecDeque,
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use rooftree_protocol::{Problem, RunId, SessionId, command::NewSession};
use rooftree_runtime::ApprovalSource;
use rooftree_tools::SemanticSearchTool;

use super::run::{
    BackgroundPolicy, BackgroundWait, CliRequest, PromptAnswerer, RunJob, SessionTarget,
    ShutdownMode, StdoutReport, UserPost, follow,
};
use crate::{
    assemble::{CliOverrides, RuntimePlan},
    configured_models::ConfiguredModels,
    control,
    demo_models::{DemoExtent, DemoScenario},
    environment::Environment,
    exit::Exit,
    project_agents::ProjectAgents,
    secrets,
    settings::Settings,
    terminal::{
        self,
        answer_text::AnswerFormat,
        line::{StyledLine, TextStyle},
        run_text, select_view, wrap,
    },
    web::WebAccess,
};

/// Options of `rooftree demo`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// What to show
    #[arg(value_enum, default_value_t)]
    pub scenario: DemoScenario,
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let scenario = arguments.scenario;
    let mut view = select_view::view(environment, select_view::detail(environment));
    let message = scenario.message(extent(&environment.cwd));
    view.conclude(&before(environment, message));
    let new = NewSession {
        agent: "lead".into(),
        cwd: environment.cwd.clone(),
        name: None,
        model: Some(scenario.model()),
    };
    let runtime = RuntimePlan {
        store: environment.store()?,
        models: ConfiguredModels::of(environment, &Settings::default())?.into(),
        project: ProjectAgents::builtin(),
        // A demo ignores the user's settings and is read-only (plan mode).
        settings: Settings::default(),
        overrides: CliOverrides {
            mode: Some(rooftree_protocol::PermissionMode::Plan),
            ..CliOverrides::default()
        },
        search: SemanticSearchTool::new(None),
        online: WebAccess::default(),
        approvals: ApprovalSource::Nobody,
        memory: Default::default(),
        servers: Default::default(),
        secrets: Arc::new(secrets::known(environment)),
    }
    .start(environment)?;
    let request = CliRequest::Post(UserPost::text(message));
    let job = RunJob {
        linger: BackgroundWait::new(BackgroundPolicy::Wait(Duration::from_secs(30))),
        ..RunJob::new(request, SessionTarget::New(new), PromptAnswerer::Nobody)
    };
    let mut report = StdoutReport::of_text().shown_as(AnswerFormat::of(environment));
    let left = follow(&control::client(&runtime.handle()), job, view, &mut report).await?;
    let (session, run, shutdown) = (left.session.clone(), left.run.clone(), left.shutdown);
    let exit = left.leave(runtime).await;
    if shutdown == ShutdownMode::InOrder {
        select_view::view(environment, select_view::detail(environment))
            .conclude(&after(&session, run.as_ref()));
    }
    Ok(exit)
}

fn before(environment: &Environment, message: &str) -> Vec<StyledLine> {
    let here = environment.cwd.display();
    let words = "The engine, the tools and the store are real. The model is not: it reads its lines \
                 from a script, and so do the three that stand in for Anthropic, OpenAI and Google. No key, no \
                 network; nothing in this directory is changed.";
    let mut lines = vec![
        StyledLine::of(TextStyle::Strong, "rooftree demo")
            .with(TextStyle::Plain, format!(" in {here}")),
    ];
    lines.extend(
        wrap::rows(words, columns())
            .into_iter()
            .map(|row| StyledLine::of(TextStyle::Dim, row)),
    );
    lines.push(StyledLine::default());
    let rows = wrap::rows(message, columns() - 2).into_iter().enumerate();
    lines.extend(rows.map(|(number, row)| {
        StyledLine::of(TextStyle::Accent, if number == 0 { "› " } else { "  " })
            .with(TextStyle::Strong, row)
    }));
    lines.push(StyledLine::default());
    lines
}

fn after(session: &SessionId, run: Option<&RunId>) -> Vec<StyledLine> {
    let id = run_text::short(session);
    let run = run
        .map(|run| run_text::ending(run.as_str()))
        .unwrap_or_default();
    let mut lines = vec![StyledLine::default()];
    let words = "Those were scripted models; what they found is real. Now try:";
    lines.extend(
        wrap::rows(words, columns())
            .into_iter()
            .map(StyledLine::of_text),
    );
    let commands = [
        (format!("rooftree runs trace {run}"), "who worked when"),
        (
            format!("rooftree sessions show {id}"),
            "what was kept of it",
        ),
        (
            format!("rooftree run -s {id} \"Look around\""),
            "the same once more",
        ),
        (
            "rooftree run -m scripted/FILE.toml \"…\"".into(),
            "your own script",
        ),
        (
            "rooftree run -m PROVIDER/MODEL \"…\"".into(),
            "a real model; see rooftree init",
        ),
    ];
    for (command, what) in commands {
        let line = StyledLine::of(TextStyle::Accent, format!("  {command:<40}"))
            .with(TextStyle::Dim, format!(" {what}"));
        if line.width() <= columns() {
            lines.push(line);
        } else {
            lines.push(StyledLine::of(TextStyle::Dim, format!("  {what}:")));
            lines.push(StyledLine::of(TextStyle::Accent, format!("    {command}")));
        }
    }
    lines
}

/// Prose is not wider than this, however wide the terminal is.
fn columns() -> usize {
    terminal::width().clamp(10, 100)
}

/// Maximum number of entries that can be scanned without a noticeable delay.
const MANY: usize = 20_000;
/// Timeout of the scan that counts them.
const PATIENCE: Duration = Duration::from_millis(250);

/// Whether a directory holds generated files: tools skip it, as ignore files say.
fn is_made(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default();
    name == ".git" || name == "node_modules" || directory.join("CACHEDIR.TAG").is_file()
}

/// Estimates whether a directory is small enough to scan quickly: counts entries until the limit or the timeout. Unreadable ones do not count: no tool will read them either.
pub fn extent(directory: &Path) -> DemoExtent {
    let since = Instant::now();
    let mut count = 0;
    let mut rest = VecDeque::from([directory.to_owned()]);
    while let Some(place) = rest.pop_front() {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            count += 1;
            if count > MANY || since.elapsed() > PATIENCE {
                return DemoExtent::Top;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_made(&entry.path()) {
                rest.push_back(entry.path());
            }
        }
    }
    DemoExtent::All
}
