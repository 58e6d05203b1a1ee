//! The program: reads what was typed, does it, and says in one place what went wrong.
//!
//! Everything that knows a terminal, a settings file or an environment variable lives in this
//! crate; the crates below are given plain data. One command is one file in `commands/`.

mod arguments;
mod assemble;
mod commands;
mod confining;
mod credentials;
mod embeddings;
mod environment;
mod exit;
mod external_agents;
mod failure;
mod hooks;
mod household;
mod judging;
mod listing;
mod minds;
mod output;
mod providers;
mod rules;
mod scenario;
mod secrets;
mod servers;
mod settings;
mod table;
mod terminal;
mod trust;
mod web;
mod whole_file;
mod wording;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use rooftree_protocol::{ErrorCode, Problem};

use crate::{
    arguments::{Command, Invocation, Later},
    commands::{
        agents, auth, call, can, completions, config, demo, doctor, hooks as hooking, init, mcp, models,
        permissions, run, runs, serve, sessions, tasks, tools, trust as trusting, usage, version, why,
    },
    environment::Environment,
    exit::Exit,
};

fn main() -> ExitCode {
    // If this is the helper that confines another program, it does that and nothing else.
    rooftree_process::sandbox::enter_if_asked();
    let invocation = Invocation::parse_from(arguments::spelled_out(std::env::args_os()));
    if let Command::Call(Later(arguments)) = invocation.command {
        // It needs nothing of this machine but the socket it is told of.
        return call::execute(arguments).unwrap_or_else(|problem| failure::tell(&problem)).into();
    }
    if invocation.everywhere.raw {
        output::keep_raw();
    }
    let environment = Environment::read(&invocation.everywhere);
    let done = environment.and_then(|environment| perform(invocation, &environment));
    done.unwrap_or_else(|problem| failure::tell(&problem)).into()
}

/// One thread drives everything that waits; the store and the tools bring their own threads.
fn perform(invocation: Invocation, environment: &Environment) -> Result<Exit, Problem> {
    let waiting = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        Problem::new(ErrorCode::Internal, "cannot start the program's event loop").cause(error.to_string())
    })?;
    let done = waiting.block_on(execute(invocation.command, environment));
    // A thread that still reads standard input must not keep the program from ending.
    waiting.shutdown_background();
    done
}

async fn execute(command: Command, environment: &Environment) -> Result<Exit, Problem> {
    match command {
        Command::Run(Later(arguments)) => run::execute(*arguments, environment).await,
        Command::Serve(Later(arguments)) => serve::execute(arguments, environment).await,
        Command::Demo(Later(arguments)) => demo::execute(arguments, environment).await,
        Command::Agents(Later(arguments)) => agents::execute(arguments, environment).await,
        Command::Trust(Later(arguments)) => trusting::execute(arguments, environment).await,
        Command::Permissions(Later(arguments)) => permissions::execute(arguments, environment).await,
        Command::Can(Later(arguments)) => can::execute(arguments, environment).await,
        Command::Why(Later(arguments)) => why::execute(arguments, environment).await,
        Command::Sessions(Later(arguments)) => sessions::execute(arguments, environment).await,
        Command::Runs(Later(arguments)) => runs::execute(arguments, environment).await,
        Command::Tasks(Later(arguments)) => tasks::execute(arguments, environment).await,
        Command::Doctor(Later(arguments)) => doctor::execute(arguments, environment).await,
        Command::Config(Later(arguments)) => config::execute(arguments, environment).await,
        Command::Init(Later(arguments)) => init::execute(arguments, environment).await,
        Command::Mcp(Later(arguments)) => mcp::execute(arguments, environment).await,
        Command::Models(Later(arguments)) => models::execute(arguments, environment).await,
        Command::Auth(Later(arguments)) => auth::execute(arguments, environment).await,
        Command::Usage(Later(arguments)) => usage::execute(arguments, environment).await,
        Command::Call(Later(arguments)) => call::execute(arguments),
        Command::Tools(Later(arguments)) => tools::execute(arguments, environment).await,
        Command::Hooks(Later(arguments)) => hooking::execute(arguments, environment).await,
        Command::Completions(Later(arguments)) => completions::execute(&arguments, Invocation::command()),
        Command::Version(Later(arguments)) => version::execute(arguments, environment).await,
    }
}
