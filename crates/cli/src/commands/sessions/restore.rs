//! Restores a deleted session.

use clap::Args;
use rooftree_protocol::Problem;
use rooftree_store::SessionPatch;

use super::{
    find::{self, LookupScope},
    in_words, open_writable,
};
use crate::{environment::Environment, exit::Exit, output};

/// Options of `sessions restore`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
}

/// Restores it. The store refuses if another session has taken the name by now.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let store = open_writable(environment)?;
    let session = find::session(store.as_ref(), &arguments.session, LookupScope::Deleted).await?;
    let patch = SessionPatch {
        deleted_at: Some(None),
        ..SessionPatch::default()
    };
    let restored = store
        .update(&session.id, patch)
        .await
        .map_err(|error| match error {
            rooftree_store::Error::NameTaken(ref name) => error
                .problem()
                .cause(format!(
                    "the session was deleted and another one is called `{name}` now"
                ))
                .fix(format!(
                    "rename that one first: rooftree sessions rename {name:?} NEW-NAME"
                )),
            _ => in_words(error),
        })?;
    output::print_note(environment, &format!("session {} is back", restored.id));
    Ok(Exit::DONE)
}
