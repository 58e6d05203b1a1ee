//! Finds a pending request by its id, and checks whether the process that asked is alive to receive the answer.

use std::sync::Arc;

use rooftree_protocol::{ErrorCode, Problem, SessionId};
use rooftree_store::{Inquiry, Owner, Store};

use crate::{commands::sessions::open_read_only, environment::Environment, environment::variable};

/// The database, which must be there.
pub fn store(environment: &Environment) -> Result<Arc<dyn Store>, Problem> {
    if environment.database.exists() {
        environment.store()
    } else {
        Err(nothing())
    }
}

/// The database to look at, if there is one.
pub fn readable(environment: &Environment) -> Result<Option<Arc<dyn Store>>, Problem> {
    open_read_only(environment)
}

/// The one question that is meant.
pub async fn inquiry(store: &dyn Store, typed: &str) -> Result<Inquiry, Problem> {
    let found = store
        .inquiry(typed)
        .await
        .map_err(|error| error.problem())?;
    found.ok_or_else(|| {
        Problem::new(
            ErrorCode::TaskNotFound,
            format!("nobody asks `{typed}`, or more than one does"),
        )
        .fix("rooftree permissions list shows what is asked; type 4 or more characters of an id")
    })
}

/// Whether a living process works on a session.
pub async fn is_awake(store: &dyn Store, session: &SessionId) -> Result<bool, Problem> {
    let owner = store
        .owner(session)
        .await
        .map_err(|error| error.problem())?;
    Ok(owner.is_some_and(|owner| !owner.is_dead_for(&Owner::this_process())))
}

/// Who answers, as others are told.
pub fn who() -> String {
    variable("USER")
        .or_else(|| variable("LOGNAME"))
        .unwrap_or_else(|| "user".into())
}

fn nothing() -> Problem {
    Problem::new(ErrorCode::TaskNotFound, "nothing is asked").cause("there are no sessions yet")
}
