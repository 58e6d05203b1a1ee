//! Finds a pending request by its id, and checks whether the process that asked is alive to receive the answer.

use rooftree_protocol::{ErrorCode, Problem, SessionId};
use rooftree_runtime::{Handle, Queries};
use rooftree_store::{Inquiry, Owner};

use crate::{
    environment::Environment,
    id_lookup::{self, IdCandidate, REQUEST},
};

/// The way to answer, if anything can have been asked.
pub fn control(environment: &Environment) -> Result<Handle, Problem> {
    if environment.database.exists() {
        environment.control()
    } else {
        Err(nothing())
    }
}

/// The one request that is meant: open ones by the end of their id, all by the whole id.
pub async fn inquiry(queries: &Queries, typed: &str) -> Result<Inquiry, Problem> {
    let found = queries.inquiry(typed).await;
    if let Some(found) = found.map_err(|error| error.problem())? {
        return Ok(found);
    }
    let open = queries.inquiries(None).await;
    let open = open.map_err(|error| error.problem())?;
    let candidates = open.into_iter().map(|inquiry| IdCandidate {
        id: inquiry.id.clone(),
        description: format!("{}, {}", inquiry.id, inquiry.agent),
        value: inquiry,
    });
    id_lookup::one(REQUEST, typed, candidates.collect())
}

/// Whether a living process works on a session.
pub async fn is_awake(queries: &Queries, session: &SessionId) -> Result<bool, Problem> {
    let owner = queries.owner(session).await;
    let owner = owner.map_err(|error| error.problem())?;
    Ok(owner.is_some_and(|owner| !owner.is_dead_for(&Owner::this_process())))
}

fn nothing() -> Problem {
    Problem::new(ErrorCode::TaskNotFound, "nothing is asked").cause("there are no sessions yet")
}
