//! Finds the run that was typed: a full id, or its last characters.

use std::sync::Arc;

use rooftree_protocol::{ErrorCode, Problem, RunId};
use rooftree_store::{RunFilter, RunRow, Store};

use crate::{commands::sessions::open_read_only, environment::Environment};

/// Fewer characters than this are no end of an id: too many runs could be meant.
const SHORTEST_END: usize = 4;
/// More candidates than this are not listed.
const MOST_CANDIDATES: usize = 10;

/// The database to look at, which must be there.
pub fn store(environment: &Environment) -> Result<Arc<dyn Store>, Problem> {
    open_read_only(environment)?.ok_or_else(|| {
        Problem::new(ErrorCode::TaskNotFound, "there are no runs yet")
            .fix("rooftree run \"…\" starts one, rooftree demo shows how")
    })
}

/// The one run that is meant.
pub async fn run(store: &dyn Store, typed: &str) -> Result<RunRow, Problem> {
    let tail = typed.strip_prefix(RunId::PREFIX).unwrap_or(typed);
    let missing = |message: String| Problem::new(ErrorCode::TaskNotFound, message);
    if tail.len() < SHORTEST_END {
        return Err(missing(format!("there is no run `{typed}`"))
            .fix(format!("type at least {SHORTEST_END} characters of an id")));
    }
    let filter = RunFilter {
        ending: Some(typed.to_owned()),
        limit: MOST_CANDIDATES + 1,
        ..RunFilter::default()
    };
    let mut found = store.runs(filter).await.map_err(|error| error.problem())?;
    match (found.pop(), found.len()) {
        (Some(only), 0) => Ok(only),
        (Some(last), _) => {
            found.push(last);
            Err(ambiguous(typed, &found))
        }
        (None, _) => Err(missing(format!("there is no run `{typed}`"))
            .fix("rooftree runs list --all shows what there is")),
    }
}

fn ambiguous(typed: &str, candidates: &[RunRow]) -> Problem {
    let ids = candidates
        .iter()
        .take(MOST_CANDIDATES)
        .filter_map(|row| row.started.run.as_ref());
    let lines: Vec<String> = ids.map(ToString::to_string).collect();
    Problem::new(
        ErrorCode::InvalidArguments,
        format!("`{typed}` could be any of several runs"),
    )
    .cause(lines.join("\n"))
    .fix("type more of the id")
}
