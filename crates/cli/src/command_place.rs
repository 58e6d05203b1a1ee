//! Refuses commands that cannot be sent to the server that was named, and says which are carried out here.

use rooftree_protocol::{ErrorCode, Problem};

use crate::{
    arguments::{CliCommand, LazyArguments},
    environment::Environment,
    server_connection::address,
};

/// Refuses a command that cannot be sent to the server that was named. Where only the variable names one, commands
/// about this machine itself are carried out here; those about sessions are refused, because they would show others.
pub fn check(command: &CliCommand, environment: &Environment) -> Result<(), Problem> {
    let Some(address) = address(environment) else {
        return Ok(());
    };
    let is_typed = environment.everywhere.server.is_some();
    match place(command) {
        CommandPlace::Anywhere => Ok(()),
        CommandPlace::ThisMachine if !is_typed => Ok(()),
        CommandPlace::ThisMachine => Err(refused(&address, "is about this machine")),
        CommandPlace::OwnDatabase => Err(refused(
            &address,
            "works with the database of this machine only",
        )),
    }
}

/// Where a command can be carried out.
enum CommandPlace {
    /// Here, and by a server.
    Anywhere,
    /// Only here; it is about this machine.
    ThisMachine,
    /// Only here; it is about sessions or access, of which a server has its own.
    OwnDatabase,
}

fn place(command: &CliCommand) -> CommandPlace {
    match command {
        CliCommand::Run(_)
        | CliCommand::Chat(_)
        | CliCommand::Board(_)
        | CliCommand::Version(_) => CommandPlace::Anywhere,
        CliCommand::Sessions(LazyArguments(arguments)) if arguments.can_be_sent() => {
            CommandPlace::Anywhere
        }
        CliCommand::Permissions(LazyArguments(arguments)) if arguments.can_be_sent() => {
            CommandPlace::Anywhere
        }
        CliCommand::Runs(LazyArguments(_)) => CommandPlace::Anywhere,
        CliCommand::Tasks(LazyArguments(arguments)) if arguments.can_be_sent() => {
            CommandPlace::Anywhere
        }
        CliCommand::Agents(LazyArguments(arguments)) if arguments.can_be_sent() => {
            CommandPlace::Anywhere
        }
        CliCommand::Demo(_)
        | CliCommand::Serve(_)
        | CliCommand::Trust(_)
        | CliCommand::Doctor(_)
        | CliCommand::Config(_)
        | CliCommand::Init(_)
        | CliCommand::Models(_)
        | CliCommand::Mcp(_)
        | CliCommand::Auth(_)
        | CliCommand::Call(_)
        | CliCommand::Tools(_)
        | CliCommand::Hooks(_)
        | CliCommand::Completions(_)
        | CliCommand::Man(_)
        | CliCommand::Complete(_) => CommandPlace::ThisMachine,
        _ => CommandPlace::OwnDatabase,
    }
}

fn refused(address: &str, why: &str) -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        "this command cannot be sent to a server",
    )
    .cause(format!("commands go to {address}, and this one {why}"))
    .fix("run it on the machine of the server, or leave out --server and ROOFTREE_SERVER")
}
