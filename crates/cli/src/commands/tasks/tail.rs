//! Follows what an agent does, as lines of text, until its run ends; or what a program writes, until it ends.

use std::{io::stdout, time::Duration};

use clap::Args;
use rooftree_client::RuntimeClient;
use rooftree_protocol::{ErrorCode, Event, EventBody, Problem, RunId, SessionId};
use rooftree_store::RunFilter;

use super::{find, output::follow};
use crate::{
    environment::Environment,
    exit::Exit,
    listing, output,
    server_connection::address,
    terminal::{
        plain::PlainView,
        sanitize::clean,
        view::{TerminalView, ViewDetail},
    },
};

/// Polling interval, in case a change notification is missed.
const PATIENCE: Duration = Duration::from_millis(500);
/// Events read at a time.
const PAGE: usize = 256;

/// Options of `tasks tail`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which task: its id, or the last 4 or more characters of it
    #[arg(value_name = "ID")]
    task: String,
}

/// Prints what happened, then what happens.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let client = find::reader(environment)?;
    let task = find::task(&*client, &arguments.task).await?;
    let Some((session, run)) = find::agent(&task) else {
        return follow(&*client, environment, &task).await;
    };
    let mut view = PlainView::new(
        stdout(),
        listing::look(environment).colours,
        ViewDetail::Usual,
    );
    let mut changes = find::changes(environment)?;
    let mut after = beginning(environment, &run).await?;
    loop {
        let page = page(&*client, &session, after).await?;
        for event in page.iter().filter(|event| event.run.as_ref() == Some(&run)) {
            view.show(event);
            if let EventBody::RunCompleted(end) = &event.body {
                output::print(&(clean(end.text.trim_end()) + "\n"))?;
                output::print_note(environment, &format!("{run} {}", end.status));
                return Ok(Exit::DONE);
            }
        }
        after = page.last().and_then(|event| event.id).unwrap_or(after);
        if page.is_empty() {
            find::changed(changes.as_mut(), PATIENCE).await;
        }
    }
}

async fn page(
    client: &dyn RuntimeClient,
    session: &SessionId,
    after: u64,
) -> Result<Vec<Event>, Problem> {
    match client.events(session, after, PAGE).await {
        // It was told to begin and has not: its session is not there yet.
        Err(problem) if problem.code == ErrorCode::SessionNotFound => Ok(Vec::new()),
        other => other,
    }
}

/// The event before the run's first one; of a server the beginning of its session.
async fn beginning(environment: &Environment, run: &RunId) -> Result<u64, Problem> {
    if address(environment).is_some() {
        return Ok(0);
    }
    let filter = RunFilter {
        run: Some(run.clone()),
        limit: 1,
        ..RunFilter::default()
    };
    let rows = find::queries(environment)?.runs(filter).await;
    let row = rows.map_err(|error| error.problem())?.pop();
    Ok(row
        .and_then(|row| row.started.id)
        .map_or(0, |id| id.saturating_sub(1)))
}
