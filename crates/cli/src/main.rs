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
    arguments::{Command, Invocation},
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
    if let Command::Call(arguments) = invocation.command {
        // It needs nothing of this machine but the socket it is told of.
        return call::execute(arguments).unwrap_or_else(|problem| failure::tell(&problem)).into();
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
        Command::Run(arguments) => run::execute(*arguments, environment).await,
        Command::Serve(arguments) => serve::execute(arguments, environment).await,
        Command::Demo(arguments) => demo::execute(arguments, environment).await,
        Command::Agents(arguments) => agents::execute(arguments, environment).await,
        Command::Trust(arguments) => trusting::execute(arguments, environment).await,
        Command::Permissions(arguments) => permissions::execute(arguments, environment).await,
        Command::Can(arguments) => can::execute(arguments, environment).await,
        Command::Why(arguments) => why::execute(arguments, environment).await,
        Command::Sessions(arguments) => sessions::execute(arguments, environment).await,
        Command::Runs(arguments) => runs::execute(arguments, environment).await,
        Command::Tasks(arguments) => tasks::execute(arguments, environment).await,
        Command::Doctor(arguments) => doctor::execute(arguments, environment).await,
        Command::Config(arguments) => config::execute(arguments, environment).await,
        Command::Init(arguments) => init::execute(arguments, environment).await,
        Command::Mcp(arguments) => mcp::execute(arguments, environment).await,
        Command::Models(arguments) => models::execute(arguments, environment).await,
        Command::Auth(arguments) => auth::execute(arguments, environment).await,
        Command::Usage(arguments) => usage::execute(arguments, environment).await,
        Command::Call(arguments) => call::execute(arguments),
        Command::Tools(arguments) => tools::execute(arguments, environment).await,
        Command::Hooks(arguments) => hooking::execute(arguments, environment).await,
        Command::Completions(arguments) => completions::execute(&arguments, Invocation::command()),
        Command::Version(arguments) => version::execute(arguments, environment).await,
    }
}
