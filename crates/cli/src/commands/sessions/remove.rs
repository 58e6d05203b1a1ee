//! Deletes sessions. Asks nothing, because it can be undone.

use clap::Args;
use rooftree_protocol::{Command, Problem, Session};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{Owner, SessionPatch, Store};

use super::{
    find::{self, LookupScope},
    in_words, open_writable,
};
use crate::{environment::Environment, exit::Exit, output};

/// Options of `sessions rm`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which sessions: ids, the last 4 or more characters of them, or names
    #[arg(required = true, value_name = "ID")]
    sessions: Vec<String>,
}

/// Deletes all of them, or none if one of them is not there.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let store = open_writable(environment)?;
    let mut sessions: Vec<Session> = Vec::new();
    for typed in &arguments.sessions {
        let session = find::session(store.as_ref(), typed, LookupScope::Live).await?;
        if !sessions.iter().any(|known| known.id == session.id) {
            sessions.push(session);
        }
    }
    for session in &sessions {
        delete(store.as_ref(), session).await?;
        let id = &session.id;
        output::print_note(
            environment,
            &format!("deleted {id}; to undo: rooftree sessions restore {id}"),
        );
    }
    Ok(Exit::DONE)
}

/// Marks it as deleted, and tells the process that works on it, if one does, to stop.
async fn delete(store: &dyn Store, session: &Session) -> Result<(), Problem> {
    let now = SystemClock.now();
    let patch = SessionPatch {
        deleted_at: Some(Some(now)),
        ..SessionPatch::default()
    };
    store.update(&session.id, patch).await.map_err(in_words)?;
    let owner = store.owner(&session.id).await.map_err(in_words)?;
    if owner.is_some_and(|owner| !owner.is_dead_for(&Owner::this_process())) {
        let command = Command::Delete {
            session: session.id.clone(),
        };
        store
            .put_command(&session.id, command, now)
            .await
            .map_err(in_words)?;
    }
    Ok(())
}
