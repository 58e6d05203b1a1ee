//! Sets or removes the name of a session.

use clap::Args;
use rooftree_protocol::Problem;
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::SessionPatch;

use super::{
    find::{self, LookupScope},
    in_words, name, open_writable,
};
use crate::{environment::Environment, exit::Exit, output};

/// Options of `sessions rename`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
    /// The new name; "" takes the name away
    #[arg(value_name = "NAME")]
    name: String,
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let name = name::checked(&arguments.name)?;
    let store = open_writable(environment)?;
    let session = find::session(store.as_ref(), &arguments.session, LookupScope::Live).await?;
    let at = Some(SystemClock.now());
    let patch = SessionPatch {
        name: Some(name),
        at,
        ..SessionPatch::default()
    };
    let session = store.update(&session.id, patch).await.map_err(in_words)?;
    let said = match &session.name {
        Some(name) => format!("session {} is called `{name}` now", session.id),
        None => format!("session {} has no name now", session.id),
    };
    output::print_note(environment, &said);
    Ok(Exit::DONE)
}
