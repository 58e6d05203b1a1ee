//! Finds a pending request by its id, and checks whether the process that asked is alive to receive the answer.

use std::sync::Arc;

use rooftree_client::{ListedInquiry, RuntimeClient};
use rooftree_protocol::{ErrorCode, Problem, SessionId};

use crate::{
    control::named_owner,
    environment::Environment,
    id_lookup::{self, IdCandidate, REQUEST},
};

/// The runtime whose requests are answered, wherever it is.
pub fn answering(environment: &Environment) -> Result<Arc<dyn RuntimeClient>, Problem> {
    let client = environment.changing_client(named_owner())?;
    client.ok_or_else(nothing)
}

/// The one request that is meant: open ones by the end of their id, all by the whole id.
pub async fn inquiry(client: &dyn RuntimeClient, typed: &str) -> Result<ListedInquiry, Problem> {
    if let Some(found) = client.inquiry(typed).await? {
        return Ok(found);
    }
    let open = client.open_questions().await?;
    let candidates = open.into_iter().map(|inquiry| IdCandidate {
        id: inquiry.id.clone(),
        description: format!("{}, {}", inquiry.id, inquiry.agent),
        value: inquiry,
    });
    id_lookup::one(REQUEST, typed, candidates.collect())
}

/// Whether a living process works on a session.
pub async fn is_awake(client: &dyn RuntimeClient, session: &SessionId) -> Result<bool, Problem> {
    Ok(client.session_work(session).await?.is_worked_on)
}

fn nothing() -> Problem {
    Problem::new(ErrorCode::TaskNotFound, "nothing is asked").cause("there are no sessions yet")
}
