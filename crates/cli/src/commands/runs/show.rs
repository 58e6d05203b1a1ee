//! Shows what a run did: status, files read and changed, delegated runs, cost.

use clap::Args;
use rooftree_client::{RunQuery, RuntimeClient};
use rooftree_protocol::{
    Problem, RunId,
    event::RunEnd,
    tool_call::{FileAction, FileNote},
};
use rooftree_view::RunDetail;
use serde_json::{Value, json};

use super::{find, run_summary::RunSummary};
use crate::{
    environment::Environment,
    exit::Exit,
    human_format,
    id_lookup::{self, RUN},
    listing::{self, PageOutput},
    output,
    terminal::{
        run_text::{counted, duration, ending, model, money, tokens},
        sanitize::clean,
    },
};

/// Paths and steps listed for people, at most; programs get all of them.
const LISTED: usize = 12;

/// Options of `runs show`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which run: its id, or the last 4 or more characters of it
    #[arg(value_name = "ID")]
    run: String,
    #[command(flatten)]
    output: PageOutput,
}

/// Prints it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let client = find::reader(environment)?;
    let found = find::run(&*client, &arguments.run).await?;
    let Some(RunDetail { item, end }) = client.run(&found.run).await? else {
        return Err(id_lookup::missing(RUN, &arguments.run));
    };
    let run = RunSummary::from(item);
    let below = below(&*client, &run.run).await?;
    let text = if arguments.output.is_json() {
        output::json_page(&object(&run, end.as_ref(), &below))?
    } else {
        let width = listing::look(environment).width;
        human_format::wrapped(&page(&run, end.as_ref(), &below), width)
    };
    output::print(&text)?;
    Ok(Exit::DONE)
}

/// The runs it delegated to, oldest first.
async fn below(client: &dyn RuntimeClient, run: &RunId) -> Result<Vec<RunSummary>, Problem> {
    let query = RunQuery {
        parent: Some(run.clone()),
        ..RunQuery::default()
    };
    let found = client.runs(query).await?;
    Ok(found.into_iter().rev().map(RunSummary::from).collect())
}

fn object(run: &RunSummary, end: Option<&RunEnd>, below: &[RunSummary]) -> Value {
    let mut object = json!(run);
    if let (Some(end), Value::Object(fields)) = (end, &mut object) {
        fields.insert("text".into(), json!(end.text));
        fields.insert("tools_used".into(), json!(end.tools));
        fields.insert("explored".into(), json!(end.explored));
        fields.insert("findings".into(), json!(end.findings));
        fields.insert("files".into(), json!(end.files));
        fields.insert("steps".into(), json!(end.steps));
        fields.insert("denials".into(), json!(end.denials));
        fields.insert("failed_checks".into(), json!(end.failed_checks));
    }
    if let Value::Object(fields) = &mut object {
        fields.insert("children".into(), json!(below));
    }
    object
}

fn page(run: &RunSummary, end: Option<&RunEnd>, below: &[RunSummary]) -> String {
    let mut page = format!("{} {} {}\n", run.status.sign(), run.run, run.status);
    let mut line = |label: &str, what: &str| {
        if !what.is_empty() {
            page.push_str(&format!("  {label:<9} {what}\n"));
        }
    };
    line("asked", &clean(&run.title));
    line("agent", &format!("{} · {}", run.agent, model(&run.model)));
    line("session", run.session.as_str());
    let mode = serde_json::to_value(run.mode)
        .ok()
        .and_then(|mode| mode.as_str().map(str::to_owned));
    let asker = run
        .parent
        .as_ref()
        .map(|parent| format!(" for {parent}"))
        .unwrap_or_default();
    line("mode", &format!("{}{asker}", mode.unwrap_or_default()));
    let took = run
        .duration_ms
        .map(|time| format!(", took {}", duration(time)))
        .unwrap_or_default();
    line(
        "began",
        &format!("{}{took}", human_format::moment(run.started_at)),
    );
    line("used", &used(run));
    if let Some(end) = end {
        line("tools", &end.tools.join(", "));
        line(
            "explored",
            &listed(end.explored.iter().map(|path| human_format::place(path))),
        );
        let changed = end.files.iter().filter(|note| note.action.is_change());
        line("changed", &listed(changed.map(change)));
        line("copy", &copy(end).unwrap_or_default());
        line("steps", &listed(end.steps.iter().cloned()));
        line(
            "findings",
            &listed(end.findings.iter().map(|found| clean(&found.to_string()))),
        );
        line(
            "verified",
            &match end.verified {
                None => String::new(),
                Some(true) => "yes".to_owned(),
                Some(false) => format!("no: {}", clean(&end.refutation())),
            },
        );
    }
    if let Some(problem) = &run.error {
        line(
            "error",
            &format!("{} {}", problem.code.number(), clean(&problem.message)),
        );
    }
    for child in below {
        let RunSummary {
            run, agent, status, ..
        } = child;
        let time = child.duration_ms.map(duration).unwrap_or_default();
        line(
            "asked for",
            &format!(
                "{} {agent} {} {status} {time}",
                status.sign(),
                ending(run.as_str())
            ),
        );
    }
    if let Some(text) = end
        .map(|end| clean(end.text.trim()))
        .filter(|text| !text.is_empty())
    {
        page.push_str(&format!("\n{text}\n"));
    }
    page
}

fn used(run: &RunSummary) -> String {
    let mut facts = vec![
        counted(run.turns.into(), "turn"),
        counted(run.tools.into(), "tool"),
        format!("{} · {}", tokens(run.usage.total()), money(&run.usage)),
    ];
    if run.delegated.total() > 0 {
        facts.push(format!(
            "others {} · {}",
            tokens(run.delegated.total()),
            money(&run.delegated)
        ));
    }
    facts.join(" · ")
}

/// The working copy that still holds what the run changed; none once that was applied or discarded.
fn copy(end: &RunEnd) -> Option<String> {
    let note = end.workspace.as_ref().filter(|note| note.root.exists())?;
    let files = counted(note.files.len() as u64, "file");
    Some(format!(
        "{} holds {files} that no agent has brought in",
        human_format::place(&note.root)
    ))
}

fn change(note: &FileNote) -> String {
    match note.action {
        FileAction::Deleted => format!("{} deleted", human_format::place(&note.path)),
        _ => format!(
            "{} +{} −{}",
            human_format::place(&note.path),
            note.added,
            note.removed
        ),
    }
}

fn listed(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.map(|item| clean(&item)).collect();
    let more = items.len().saturating_sub(LISTED);
    items.truncate(LISTED);
    if more > 0 {
        items.push(format!("and {more} more"));
    }
    items.join("\n            ")
}
