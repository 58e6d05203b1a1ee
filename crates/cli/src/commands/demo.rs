//! Shows the engine at work without a key: real tools, real store, a model that reads from a script.

mod size;

use std::sync::Arc;

use clap::{Args, ValueEnum};
use rooftree_protocol::{ErrorCode, ModelChoice, Part, Problem, SessionId, command::NewSession};
use rooftree_providers::{
    Model,
    catalog::Opener,
    scripted::{Scripted, Sleeper},
};
use rooftree_runtime::Asking;

use self::size::Size;
use super::run::{Asked, Errand, InputFormat, Job, Manner, Report, Target, follow};
use crate::{
    assemble::{self, Plan, Wishes},
    environment::Environment,
    exit::Exit,
    settings::Settings,
    terminal::{
        self, flow,
        line::{Line, Look},
        view, wording,
    },
};

/// What stands before the slash of a demo's model.
pub const PROVIDER: &str = "demo";

/// Options of `rooftree demo`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// What to show
    #[arg(value_enum, default_value_t)]
    pub scenario: Scenario,
}

/// What there is to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// An agent looks around in this directory and says what it found
    #[default]
    Tour,
}

impl Scenario {
    fn name(self) -> &'static str {
        match self {
            Self::Tour => "tour",
        }
    }

    fn script(self) -> &'static str {
        match self {
            Self::Tour => include_str!("../../demo/tour.toml"),
        }
    }

    fn message(self, size: Size) -> &'static str {
        match (self, size) {
            (Self::Tour, Size::Usual) => "Look around in this directory and tell me what is here.",
            (Self::Tour, Size::Huge) => "Look at the top of this directory and tell me what is here.",
        }
    }
}

/// Opens the scripts that are built in, so that a demo's session can be gone on with.
pub fn opener(sleeper: Sleeper) -> Opener {
    Arc::new(move |choice: &ModelChoice| {
        let scenario = Scenario::value_variants().iter().find(|scenario| scenario.name() == choice.model);
        let scenario = scenario.ok_or_else(|| {
            let names: Vec<&str> = Scenario::value_variants().iter().map(|scenario| scenario.name()).collect();
            Problem::new(ErrorCode::InvalidConfig, format!("there is no demo `{}`", choice.model))
                .fix(format!("demos there are: {}", names.join(", ")))
        })?;
        let script = Scripted::from_text(scenario.name(), scenario.script(), sleeper.clone())?.without_log();
        Ok(Model { choice: choice.clone(), window: script.window(), provider: Arc::new(script) })
    })
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let scenario = arguments.scenario;
    let mut view = view::choose(environment, view::detail(environment));
    let message = scenario.message(Size::of(&environment.cwd));
    view.conclude(&before(environment, message));
    let model = ModelChoice { provider: PROVIDER.into(), model: scenario.name().into(), effort: None };
    let new = NewSession { agent: "lead".into(), cwd: environment.cwd.clone(), name: None, model: Some(model) };
    let runtime = Plan {
        store: environment.store()?,
        catalog: assemble::catalog(environment),
        // A demo looks the same for everybody and only looks.
        settings: Settings::default(),
        wishes: Wishes { mode: Some(rooftree_protocol::PermissionMode::Plan), ..Wishes::default() },
        asking: Asking::Nobody,
    }
    .start();
    let job = Job {
        errand: Errand::Post(vec![Part::text(message)]),
        target: Target::New(new),
        asking: Asked::Nobody,
        input: InputFormat::Text,
        remarks: Vec::new(),
    };
    let left = follow(&runtime.handle(), job, view, &mut Report::of_text()).await?;
    let (session, manner) = (left.session.clone(), left.manner);
    let exit = left.leave(runtime).await;
    if manner == Manner::InOrder {
        view::choose(environment, view::detail(environment)).conclude(&after(&session));
    }
    Ok(exit)
}

fn before(environment: &Environment, message: &str) -> Vec<Line> {
    let here = environment.cwd.display();
    let words = "The engine, the tools and the store are real. The model is not: it reads its lines from a script. \
                 No key, no network; nothing in this directory is changed.";
    let mut lines = vec![Line::of(Look::Strong, "rooftree demo").with(Look::Plain, format!(" in {here}"))];
    lines.extend(flow::rows(words, columns()).into_iter().map(|row| Line::of(Look::Dim, row)));
    lines.push(Line::default());
    lines.push(Line::of(Look::Accent, "› ").with(Look::Strong, message));
    lines.push(Line::default());
    lines
}

fn after(session: &SessionId) -> Vec<Line> {
    let id = wording::short(session);
    let mut lines = vec![Line::default()];
    let words = "That was a scripted model; what it found is real. Now try:";
    lines.extend(flow::rows(words, columns()).into_iter().map(Line::of_text));
    let commands = [
        (format!("rooftree sessions show {id}"), "what was kept of it"),
        (format!("rooftree run -s {id} \"Look around\""), "the same once more"),
        ("rooftree run -m scripted/FILE.toml \"…\"".into(), "your own script"),
        ("rooftree run -m PROVIDER/MODEL \"…\"".into(), "a real model, once you have one"),
    ];
    for (command, what) in commands {
        let line = Line::of(Look::Accent, format!("  {command:<40}")).with(Look::Dim, format!(" {what}"));
        if line.width() <= columns() {
            lines.push(line);
        } else {
            lines.push(Line::of(Look::Dim, format!("  {what}:")));
            lines.push(Line::of(Look::Accent, format!("    {command}")));
        }
    }
    lines
}

/// Prose is not wider than this, however wide the terminal is.
fn columns() -> usize {
    terminal::width().min(100)
}
