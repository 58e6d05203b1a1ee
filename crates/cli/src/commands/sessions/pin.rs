//! Pins a session, or takes the pin away.

use clap::Args;
use rooftree_protocol::{Command, Problem};

use super::change;
use crate::{environment::Environment, exit::Exit, output};

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
    let pinned = wanted == PinState::Pinned;
    let command = |session| Command::Pin { session, pinned };
    let session = change(environment, &arguments.session, command).await?;
    let said = match session.pinned_at {
        Some(_) => format!("session {} is pinned", session.id),
        None => format!("session {} is not pinned", session.id),
    };
    output::print_note(environment, &said);
    Ok(Exit::DONE)
}
