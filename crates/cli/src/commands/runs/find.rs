//! Finds the run that was typed: a full id, its last characters, or the session whose last run is meant.

use rooftree_protocol::{ErrorCode, Problem, RunId, SessionId};
use rooftree_runtime::Queries;
use rooftree_store::{RunFilter, RunRow};

use crate::{
    environment::Environment,
    id_lookup::{self, IdCandidate, MOST_CANDIDATES, RUN},
};

/// The runs to look at, of which there must be some.
pub fn queries(environment: &Environment) -> Result<Queries, Problem> {
    environment.queries()?.ok_or_else(|| {
        Problem::new(ErrorCode::TaskNotFound, "there are no runs yet")
            .fix("rooftree run \"…\" starts one, rooftree demo shows how")
    })
}

/// The one run that is meant.
pub async fn run(queries: &Queries, typed: &str) -> Result<RunRow, Problem> {
    let suffix = typed.strip_prefix(RunId::PREFIX).unwrap_or(typed);
    if !id_lookup::is_long_enough(suffix) {
        return Err(id_lookup::missing(RUN, typed).fix(format!(
            "type at least {} characters of an id",
            id_lookup::SHORTEST_SUFFIX
        )));
    }
    if let Ok(session) = SessionId::parse(typed) {
        return last_of(queries, session).await;
    }
    let filter = RunFilter {
        ending: Some(typed.to_owned()),
        limit: MOST_CANDIDATES + 1,
        ..RunFilter::default()
    };
    let found = queries
        .runs(filter)
        .await
        .map_err(|error| error.problem())?;
    let candidates = found.into_iter().map(|row| {
        let id = row.started.run.as_ref().map(ToString::to_string);
        let id = id.unwrap_or_default();
        IdCandidate {
            value: row,
            description: id.clone(),
            id,
        }
    });
    id_lookup::one(RUN, typed, candidates.collect())
}

/// The last run of a session.
async fn last_of(queries: &Queries, session: SessionId) -> Result<RunRow, Problem> {
    let filter = RunFilter {
        session: Some(session.clone()),
        limit: 1,
        ..RunFilter::default()
    };
    let found = queries.runs(filter).await;
    let found = found.map_err(|error| error.problem())?;
    found
        .into_iter()
        .next()
        .ok_or_else(|| id_lookup::missing(RUN, session.as_str()))
}
