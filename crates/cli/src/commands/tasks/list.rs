//! Lists tasks: those at work first, then the latest.

use clap::Args;
use rooftree_client::{ListedTask, RuntimeClient, TaskQuery};
use rooftree_protocol::{Problem, Timestamp};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{TaskRow, TaskStatus};
use serde::Serialize;

use super::{
    find::settle_left,
    output::{TaskOutputSummary, written},
};
use crate::{
    commands::sessions::find,
    environment::Environment,
    exit::Exit,
    listing::{self, ListItem, ListOutput},
    output,
    server_connection::address,
    table::{ColumnShrink, TextTable},
    terminal::run_text::{duration, ending, short},
};

/// Tasks that have ended and are listed all the same, when not all are asked for.
const ENDED: usize = 20;

/// Options of `tasks list`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only tasks of this session
    #[arg(short, long, value_name = "ID|NAME")]
    session: Option<String>,
    /// Only those at work
    #[arg(long, conflicts_with = "all")]
    running: bool,
    /// All that ever were
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    output: ListOutput,
}

/// A task, and whether a process works on it.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    task: TaskRow,
    /// Not ended, and no process works on it: it goes on when its session does.
    is_left: bool,
    /// How much a program wrote, and its last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<TaskOutputSummary>,
}

impl ListItem for Row {
    fn id(&self) -> String {
        self.task.id.clone()
    }
}

/// Prints the list.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let rows = match environment.client()? {
        Some(client) => {
            settle_left(environment, &client.tasks(None).await?).await?;
            rows(&*client, &arguments, environment).await?
        }
        None => Vec::new(),
    };
    listing::print(
        &rows,
        arguments.output.format,
        listing::look(environment),
        table,
    )?;
    if rows.is_empty() {
        output::print_note(
            environment,
            if arguments.running {
                "nothing is at work"
            } else {
                "no tasks yet"
            },
        );
    }
    Ok(Exit::DONE)
}

async fn rows(
    client: &dyn RuntimeClient,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<Vec<Row>, Problem> {
    let session = match &arguments.session {
        Some(typed) => {
            let found = find::session(client, typed, find::LookupScope::Live).await?;
            Some(found.id)
        }
        None => None,
    };
    let query = TaskQuery {
        session,
        ..TaskQuery::default()
    };
    let tasks = client.listed_tasks(query).await?;
    let is_running = |listed: &ListedTask| listed.task.status == TaskStatus::Running;
    let (running, ended): (Vec<ListedTask>, Vec<ListedTask>) =
        tasks.into_iter().partition(is_running);
    let most = match (arguments.running, arguments.all) {
        (true, _) => 0,
        (false, true) => usize::MAX,
        (false, false) => ENDED,
    };
    // What programs of a server wrote is read there: `GET /tasks/{task}/output`.
    let store = match address(environment) {
        Some(_) => None,
        None => environment.queries()?,
    };
    let mut rows = Vec::new();
    for ListedTask { task, is_left } in running.into_iter().chain(ended.into_iter().take(most)) {
        let output = match &store {
            Some(store) if task.child.is_none() => written(store, &task).await?,
            _ => None,
        };
        rows.push(Row {
            task,
            is_left,
            output,
        });
    }
    Ok(rows)
}

fn table(rows: &[Row]) -> TextTable {
    let now = SystemClock.now();
    let mut table = TextTable::new([
        ("ID", ColumnShrink::Stiff),
        ("KIND", ColumnShrink::Stiff),
        ("AGENT", ColumnShrink::Stiff),
        ("STATUS", ColumnShrink::Stiff),
        ("TIME", ColumnShrink::Stiff),
        ("OF", ColumnShrink::Spare),
        ("TASK", ColumnShrink::Soft),
        ("DETAIL", ColumnShrink::Soft),
    ]);
    for Row {
        task,
        is_left,
        output,
    } in rows
    {
        let agent = task
            .data
            .get("agent")
            .and_then(|agent| agent.as_str())
            .unwrap_or_default();
        let detail = if task.detail == status_word(task.status) {
            ""
        } else {
            &task.detail
        };
        let wrote = output
            .as_ref()
            .map(|output| format!("{} B: {}", output.bytes, output.last_line));
        let detail = [
            Some(detail.to_owned()).filter(|detail| !detail.is_empty()),
            wrote,
        ];
        let detail = detail.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        table.row([
            ending(&task.id).to_owned(),
            task.kind.clone(),
            agent.to_owned(),
            status(task, *is_left).to_owned(),
            duration(milliseconds(task, now)),
            short(&task.session).to_owned(),
            task.title.clone(),
            detail,
        ]);
    }
    table
}

fn status(task: &TaskRow, is_left: bool) -> &'static str {
    match task.status {
        TaskStatus::Running if is_left => "! unfinished",
        TaskStatus::Running => "◌ running",
        TaskStatus::Completed => "✓ completed",
        TaskStatus::Failed => "✗ failed",
        TaskStatus::Cancelled => "■ cancelled",
    }
}

fn status_word(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Running => "running",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Cancelled => "cancelled",
    }
}

fn milliseconds(task: &TaskRow, now: Timestamp) -> u64 {
    let lasted = task.ended_at.unwrap_or(now).since(task.started_at);
    u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX)
}
