//! Shows the engine at work without a key: real tools, real store, a model that reads from a script.

mod size;

use std::{sync::Arc, time::Duration};

use clap::Args;
use rooftree_protocol::{ModelChoice, Part, Problem, RunId, SessionId, command::NewSession};
use rooftree_runtime::{Asking, Definitions};
use rooftree_tools::SemanticSearch;

use super::run::{Asked, Errand, InputFormat, Job, Linger, Manner, Policy, Report, Target, follow};
use crate::{
    assemble::{Plan, Wishes},
    environment::Environment,
    exit::Exit,
    minds::Minds,
    scenario::{PROVIDER, Scenario},
    secrets,
    settings::Settings,
    terminal::{
        self, chosen, flow,
        line::{Line, Look},
        wording,
    },
    web::Online,
};

/// Options of `rooftree demo`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// What to show
    #[arg(value_enum, default_value_t)]
    pub scenario: Scenario,
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let scenario = arguments.scenario;
    let mut view = chosen::view(environment, chosen::detail(environment));
    let message = scenario.message(size::extent(&environment.cwd));
    view.conclude(&before(environment, message));
    let model = ModelChoice { provider: PROVIDER.into(), model: scenario.name().into(), effort: None };
    let new =
        NewSession { agent: "lead".into(), cwd: environment.cwd.clone(), name: None, model: Some(model) };
    let runtime = Plan {
        store: environment.store()?,
        minds: Minds::of(environment, &Settings::default())?.into(),
        definitions: Definitions::builtin(),
        surroundings: Default::default(),
        // A demo looks the same for everybody and only looks.
        settings: Settings::default(),
        wishes: Wishes { mode: Some(rooftree_protocol::PermissionMode::Plan), ..Wishes::default() },
        search: SemanticSearch::new(None),
        online: Online::default(),
        asking: Asking::Nobody,
        memory: Default::default(),
        private: environment.private(),
        workspaces: environment.workspaces(),
        calls: environment.calls(),
        mark: crate::external_agents::mark(environment),
        servers: Default::default(),
        hooks: Default::default(),
        widest_mode: None,
        secrets: Arc::new(secrets::known(environment)),
    }
    .start();
    let job = Job {
        errand: Errand::Post(vec![Part::text(message)]),
        target: Target::New(new),
        asking: Asked::Nobody,
        input: InputFormat::Text,
        linger: Linger::new(Policy::Wait(Duration::from_secs(30))),
        remarks: Vec::new(),
    };
    let left = follow(&runtime.handle(), job, view, &mut Report::of_text()).await?;
    let (session, run, manner) = (left.session.clone(), left.run.clone(), left.manner);
    let exit = left.leave(runtime).await;
    if manner == Manner::InOrder {
        chosen::view(environment, chosen::detail(environment)).conclude(&after(&session, run.as_ref()));
    }
    Ok(exit)
}

fn before(environment: &Environment, message: &str) -> Vec<Line> {
    let here = environment.cwd.display();
    let words = "The engine, the tools and the store are real. The model is not: it reads its lines \
                 from a script, and so do the three that stand in for Anthropic, OpenAI and Google. No key, no \
                 network; nothing in this directory is changed.";
    let mut lines = vec![Line::of(Look::Strong, "rooftree demo").with(Look::Plain, format!(" in {here}"))];
    lines.extend(flow::rows(words, columns()).into_iter().map(|row| Line::of(Look::Dim, row)));
    lines.push(Line::default());
    let rows = flow::rows(message, columns() - 2).into_iter().enumerate();
    lines.extend(rows.map(|(number, row)| {
        Line::of(Look::Accent, if number == 0 { "› " } else { "  " }).with(Look::Strong, row)
    }));
    lines.push(Line::default());
    lines
}

fn after(session: &SessionId, run: Option<&RunId>) -> Vec<Line> {
    let id = wording::short(session);
    let run = run.map(|run| wording::ending(run.as_str())).unwrap_or_default();
    let mut lines = vec![Line::default()];
    let words = "Those were scripted models; what they found is real. Now try:";
    lines.extend(flow::rows(words, columns()).into_iter().map(Line::of_text));
    let commands = [
        (format!("rooftree runs trace {run}"), "who worked when"),
        (format!("rooftree sessions show {id}"), "what was kept of it"),
        (format!("rooftree run -s {id} \"Look around\""), "the same once more"),
        ("rooftree run -m scripted/FILE.toml \"…\"".into(), "your own script"),
        ("rooftree run -m PROVIDER/MODEL \"…\"".into(), "a real model; see rooftree init"),
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
    terminal::width().clamp(10, 100)
}
