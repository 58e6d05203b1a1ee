//! The program: parses the command line, executes the command, and reports errors in one place.
//!
//! Everything that knows a terminal, a settings file or an environment variable lives in this
//! crate; the crates below are given plain data. One command is one file in `commands/`.

mod arguments;
mod assemble;
mod command_place;
mod commands;
mod configured_models;
mod control;
mod conversation;
mod credentials;
mod default_model;
mod demo_models;
mod embeddings;
mod environment;
mod exit;
mod explain_policy;
mod external_agents;
mod failure;
mod hooks;
mod human_format;
mod id_lookup;
mod json_schema;
mod listing;
mod local_models;
mod mcp_servers;
mod output;
mod project_agents;
mod providers;
mod rules;
mod sandbox;
mod secrets;
mod server_connection;
mod session_lookup;
mod settings;
mod store_opening;
mod system_zone;
mod table;
mod terminal;
mod told_notices;
mod trust;
mod web;

use std::{io::IsTerminal, process::ExitCode};

use clap::{CommandFactory, Parser};
use futures::future::LocalBoxFuture;
use rooftree_protocol::{ErrorCode, Problem};

use crate::{
    arguments::{CliCommand, CliInvocation, LazyArguments},
    commands::{
        agents, audit, auth, backup, board, call, can, complete, completions, config, connectors,
        demo, doctor, hooks as hooking, init, man, mcp, models, outbox, permissions, person,
        restore, run, runs, schedules, serve, service, sessions, sessions::SessionsOutcome, tasks,
        token, tools, trust as trusting, usage, version, why,
    },
    environment::Environment,
    exit::Exit,
};

/// Threads that drive a server's requests. More of them only hand work to each other: the one writer of the store is
/// the next limit.
const SERVER_THREADS: usize = 2;

fn main() -> ExitCode {
    // If this is the helper that confines another program, it does that and nothing else.
    rooftree_process::sandbox::enter_if_asked();
    let invocation = match arguments::parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(code) => return code,
    };
    if let CliCommand::Call(LazyArguments(arguments)) = invocation.command {
        // It needs nothing of this machine but the socket it is told of.
        return call::execute(arguments)
            .unwrap_or_else(|problem| failure::tell(&problem))
            .into();
    }
    if invocation.everywhere.raw {
        output::set_raw();
    }
    let environment = Environment::read(&invocation.everywhere);
    let done = environment.and_then(|environment| perform(invocation, &environment));
    done.unwrap_or_else(|problem| failure::tell(&problem))
        .into()
}

/// One thread drives everything that waits, and in a server two; the store and the tools bring their own threads.
fn perform(invocation: CliInvocation, environment: &Environment) -> Result<Exit, Problem> {
    let mut waiting = match invocation.command {
        CliCommand::Serve(_) => {
            let mut waiting = tokio::runtime::Builder::new_multi_thread();
            waiting.worker_threads(SERVER_THREADS);
            waiting
        }
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let waiting = waiting.enable_all().build().map_err(|error| {
        Problem::new(ErrorCode::Internal, "cannot start the program's event loop")
            .cause(error.to_string())
    })?;
    // A boxed future is compiled once; as it is, once for each kind of event loop.
    let command: LocalBoxFuture<'_, _> = Box::pin(execute(invocation.command, environment));
    let done = waiting.block_on(command);
    // A thread that still reads standard input must not keep the program from ending.
    waiting.shutdown_background();
    done
}

/// Why `rooftree` alone opens nothing where commands go to a server.
fn no_conversation() -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        "a conversation cannot be sent to a server",
    )
    .cause("--server or ROOFTREE_SERVER names one, and a conversation works with the database of this machine")
    .fix("send single messages: rooftree run \"…\", rooftree run --continue \"…\"; or open the server's page")
}

async fn execute(command: CliCommand, environment: &Environment) -> Result<Exit, Problem> {
    command_place::check(&command, environment)?;
    match command {
        CliCommand::Run(LazyArguments(arguments)) => run::execute(*arguments, environment).await,
        // A conversation needs the runtime in this process; with a server it is one message.
        CliCommand::Chat(LazyArguments(arguments))
            if server_connection::address(environment).is_some() =>
        {
            if arguments.words.is_empty() && std::io::stdin().is_terminal() {
                return Err(no_conversation());
            }
            run::execute(*arguments, environment).await
        }
        CliCommand::Chat(LazyArguments(arguments)) => {
            conversation::execute(*arguments, environment, run_typed).await
        }
        CliCommand::Serve(LazyArguments(arguments)) => serve::execute(arguments, environment).await,
        CliCommand::Service(LazyArguments(arguments)) => service::execute(arguments, environment),
        CliCommand::Demo(LazyArguments(arguments)) => demo::execute(arguments, environment).await,
        CliCommand::Agents(LazyArguments(arguments)) => {
            agents::execute(arguments, environment).await
        }
        CliCommand::Trust(LazyArguments(arguments)) => {
            trusting::execute(arguments, environment).await
        }
        CliCommand::Permissions(LazyArguments(arguments)) => {
            permissions::execute(arguments, environment).await
        }
        CliCommand::Board(LazyArguments(arguments)) => board::execute(arguments, environment).await,
        CliCommand::Can(LazyArguments(arguments)) => can::execute(arguments, environment).await,
        CliCommand::Why(LazyArguments(arguments)) => why::execute(arguments, environment).await,
        CliCommand::Sessions(LazyArguments(arguments)) => {
            match sessions::execute(arguments, environment).await? {
                SessionsOutcome::Done(exit) => Ok(exit),
                SessionsOutcome::GoOn(next) => {
                    run::go_on(
                        &next.session,
                        &next.words,
                        next.model.as_deref(),
                        environment,
                    )
                    .await
                }
            }
        }
        CliCommand::Runs(LazyArguments(arguments)) => runs::execute(arguments, environment).await,
        CliCommand::Tasks(LazyArguments(arguments)) => tasks::execute(arguments, environment).await,
        CliCommand::Schedules(LazyArguments(arguments)) => {
            schedules::execute(arguments, environment).await
        }
        CliCommand::Doctor(LazyArguments(arguments)) => {
            doctor::execute(arguments, environment).await
        }
        CliCommand::Backup(LazyArguments(arguments)) => backup::execute(&arguments, environment),
        CliCommand::Restore(LazyArguments(arguments)) => restore::execute(&arguments, environment),
        CliCommand::Config(LazyArguments(arguments)) => {
            config::execute(arguments, environment).await
        }
        CliCommand::Init(LazyArguments(arguments)) => init::execute(arguments, environment).await,
        CliCommand::Mcp(LazyArguments(arguments)) => mcp::execute(arguments, environment).await,
        CliCommand::Models(LazyArguments(arguments)) => {
            models::execute(arguments, environment).await
        }
        CliCommand::Auth(LazyArguments(arguments)) => auth::execute(arguments, environment).await,
        CliCommand::Token(LazyArguments(arguments)) => token::execute(arguments, environment).await,
        CliCommand::Connectors(LazyArguments(arguments)) => {
            connectors::execute(arguments, environment).await
        }
        CliCommand::Person(LazyArguments(arguments)) => {
            person::execute(arguments, environment).await
        }
        CliCommand::Outbox(LazyArguments(arguments)) => {
            outbox::execute(arguments, environment).await
        }
        CliCommand::Audit(LazyArguments(arguments)) => audit::execute(arguments, environment).await,
        CliCommand::Usage(LazyArguments(arguments)) => usage::execute(arguments, environment).await,
        CliCommand::Call(LazyArguments(arguments)) => call::execute(arguments),
        CliCommand::Tools(LazyArguments(arguments)) => tools::execute(arguments, environment).await,
        CliCommand::Hooks(LazyArguments(arguments)) => {
            hooking::execute(arguments, environment).await
        }
        CliCommand::Completions(LazyArguments(arguments)) => {
            completions::execute(&arguments, CliInvocation::command())
        }
        CliCommand::Man(LazyArguments(arguments)) => {
            man::execute(&arguments, CliInvocation::command(), environment)
        }
        CliCommand::Complete(LazyArguments(arguments)) => {
            complete::execute(arguments, CliInvocation::command(), environment).await
        }
        CliCommand::Version(LazyArguments(arguments)) => {
            version::execute(arguments, environment).await
        }
    }
}

/// Runs a command that was typed inside a conversation.
fn run_typed<'a>(
    typed: &'a [&'a str],
    environment: &'a Environment,
) -> LocalBoxFuture<'a, Result<Exit, Problem>> {
    Box::pin(async move {
        let typed = std::iter::once("rooftree").chain(typed.iter().copied());
        let invocation = CliInvocation::try_parse_from(typed).map_err(|error| {
            let message = error.to_string().trim_end().to_owned();
            Problem::new(ErrorCode::InvalidArguments, message)
        })?;
        execute(invocation.command, environment).await
    })
}
