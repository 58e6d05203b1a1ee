//! Pins a session, or takes the pin away.

use clap::Args;
use rooftree_protocol::{Command, Problem};

use super::{
    control,
    find::{self, LookupScope},
};
use crate::{
    control::{owner, send_for_session},
    environment::Environment,
    exit::Exit,
    output,
};

/// Options of `sessions pin` and `sessions unpin`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
}

/// Whether a session is pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinState {
    Pinned,
    Unpinned,
}

/// Does it.
pub async fn execute(
    arguments: Arguments,
    wanted: PinState,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let handle = control(environment)?;
    let queries = handle.queries(&owner());
    let session = find::session(&queries, &arguments.session, LookupScope::Live).await?;
    let command = Command::Pin {
        session: session.id,
        pinned: wanted == PinState::Pinned,
    };
    let session = send_for_session(&handle, command).await?;
    let said = match session.pinned_at {
        Some(_) => format!("session {} is pinned", session.id),
        None => format!("session {} is not pinned", session.id),
    };
    output::print_note(environment, &said);
    Ok(Exit::DONE)
}
