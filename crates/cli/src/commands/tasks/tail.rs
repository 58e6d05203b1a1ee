//! Follows what an agent does, as lines of text, until its run ends; or what a program writes, until it ends.

use std::{io::stdout, time::Duration};

use clap::Args;
use rooftree_protocol::{EventBody, Problem, RunId, SessionId};
use rooftree_runtime::Queries;
use rooftree_store::RunFilter;

use super::{find, output::follow};
use crate::{
    environment::Environment,
    exit::Exit,
    listing, output,
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
    let store = find::queries(environment)?;
    let task = find::task(&*find::reader(environment)?, &arguments.task).await?;
    let Some((session, run)) = find::agent(&task) else {
        return follow(&store, environment, task).await;
    };
    let mut view = PlainView::new(
        stdout(),
        listing::look(environment).colours,
        ViewDetail::Usual,
    );
    let mut changes = store.changes();
    let mut after = beginning(&store, &run).await?;
    loop {
        let page = page(&store, &session, after).await?;
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
            // A notification may be missed: then the timeout polls.
            let _ = tokio::time::timeout(PATIENCE, changes.changed()).await;
        }
    }
}

async fn page(
    store: &Queries,
    session: &SessionId,
    after: u64,
) -> Result<Vec<rooftree_protocol::Event>, Problem> {
    match store.events(session, after, PAGE).await {
        // It was told to begin and has not: its session is not there yet.
        Err(rooftree_store::Error::NoSession(_)) => Ok(Vec::new()),
        other => other.map_err(|error| error.problem()),
    }
}

/// The event before the run's first one.
async fn beginning(store: &Queries, run: &RunId) -> Result<u64, Problem> {
    let filter = RunFilter {
        run: Some(run.clone()),
        limit: 1,
        ..RunFilter::default()
    };
    let row = store
        .runs(filter)
        .await
        .map_err(|error| error.problem())?
        .pop();
    Ok(row
        .and_then(|row| row.started.id)
        .map_or(0, |id| id.saturating_sub(1)))
}
