//! Finds the run that was typed: a full id, its last characters, or the session whose last run is meant.

use std::sync::Arc;

use rooftree_client::{RunQuery, RuntimeClient};
use rooftree_protocol::{ErrorCode, Problem, RunId, SessionId};
use rooftree_view::RunItem;

use crate::{
    environment::Environment,
    id_lookup::{self, IdCandidate, MOST_CANDIDATES, RUN},
};

/// The runtime whose runs to look at, wherever it is.
pub fn reader(environment: &Environment) -> Result<Arc<dyn RuntimeClient>, Problem> {
    environment.client()?.ok_or_else(none_yet)
}

/// The error if there is no database.
pub fn none_yet() -> Problem {
    Problem::new(ErrorCode::TaskNotFound, "there are no runs yet")
        .fix("rooftree run \"…\" starts one, rooftree demo shows how")
}

/// The one run that is meant.
pub async fn run(client: &dyn RuntimeClient, typed: &str) -> Result<RunItem, Problem> {
    let suffix = typed.strip_prefix(RunId::PREFIX).unwrap_or(typed);
    if !id_lookup::is_long_enough(suffix) {
        return Err(id_lookup::missing(RUN, typed).fix(format!(
            "type at least {} characters of an id",
            id_lookup::SHORTEST_SUFFIX
        )));
    }
    if let Ok(session) = SessionId::parse(typed) {
        return last_of(client, session).await;
    }
    let query = RunQuery {
        ending: Some(typed.to_owned()),
        limit: Some(MOST_CANDIDATES + 1),
        ..RunQuery::default()
    };
    let found = client.runs(query).await?;
    let candidates = found.into_iter().map(|item| {
        let id = item.run.to_string();
        IdCandidate {
            value: item,
            description: id.clone(),
            id,
        }
    });
    id_lookup::one(RUN, typed, candidates.collect())
}

/// The last run of a session.
async fn last_of(client: &dyn RuntimeClient, session: SessionId) -> Result<RunItem, Problem> {
    let query = RunQuery {
        session: Some(session.clone()),
        limit: Some(1),
        ..RunQuery::default()
    };
    let found = client.runs(query).await?.pop();
    found.ok_or_else(|| id_lookup::missing(RUN, session.as_str()))
}
