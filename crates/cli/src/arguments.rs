//! What can be typed: the tree of commands.

mod later;

use std::ffi::OsString;

use clap::{Parser, Subcommand};
pub use later::Later;

use crate::{commands, environment::Everywhere};

/// Agents that keep what they did: run them, watch them, go on where they stopped.
#[derive(Debug, Parser)]
#[command(name = "rooftree", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Invocation {
    #[command(flatten)]
    pub everywhere: Everywhere,
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Send a message to an agent and show what it does
    #[command(visible_alias = "exec")]
    Run(Later<Box<commands::run::Arguments>>),
    /// See it work: real engine, real tools, scripted model; no key, no network
    Demo(Later<commands::demo::Arguments>),
    /// Stay: go on with what is unfinished, answer OpenAI clients, hear external agents
    Serve(Later<commands::serve::Arguments>),
    /// List, show, make, check and try out agents
    #[command(visible_alias = "agent")]
    Agents(Later<commands::agents::Arguments>),
    /// Let this project's agents, rules, skills and instructions be used
    Trust(Later<commands::trust::Arguments>),
    /// What agents ask: list it, answer it, keep rules
    #[command(visible_alias = "permission")]
    Permissions(Later<commands::permissions::Arguments>),
    /// Say whether an agent may make a call here, and why
    Can(Later<commands::can::Arguments>),
    /// Say why a call was made or refused
    Why(Later<commands::why::Arguments>),
    /// List, read, fork, export and delete sessions
    #[command(visible_alias = "session")]
    Sessions(Later<commands::sessions::Arguments>),
    /// List runs, say what they did, draw who worked for whom
    Runs(Later<commands::runs::Arguments>),
    /// Agents and programs in background: list, follow, wait, stop, tell
    #[command(visible_alias = "task")]
    Tasks(Later<commands::tasks::Arguments>),
    /// Check that everything is in order
    Doctor(Later<commands::doctor::Arguments>),
    /// Show what is set, where, and what goes before what
    Config(Later<commands::config::Arguments>),
    /// Find keys and local models, and write a first config.toml
    Init(Later<commands::init::Arguments>),
    /// Show the models that are known, with prices and abilities
    #[command(visible_alias = "model")]
    Models(Later<commands::models::Arguments>),
    /// Set up servers of tools (MCP), try them out, log in to them
    Mcp(Later<commands::mcp::Arguments>),
    /// Store, list and remove keys of providers
    Auth(Later<commands::auth::Arguments>),
    /// Add up tokens and money
    Usage(Later<commands::usage::Arguments>),
    /// Call a tool of the agent that runs this command; for agents, and for scripts they run
    Call(Later<commands::call::Arguments>),
    /// Show the tools agents can use
    #[command(visible_alias = "tool")]
    Tools(Later<commands::tools::Arguments>),
    /// Show the hooks there are, and try them out
    #[command(visible_alias = "hook")]
    Hooks(Later<commands::hooks::Arguments>),
    /// Print a script that completes commands in your shell
    Completions(Later<commands::completions::Arguments>),
    /// Print the version
    Version(Later<commands::version::Arguments>),
}

/// `rooftree -p …` is short for `rooftree run …`.
pub fn spelled_out(typed: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut typed: Vec<OsString> = typed.collect();
    if let Some(first) = typed.get_mut(1)
        && *first == "-p"
    {
        *first = "run".into();
    }
    typed
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_tree_of_commands_is_well_formed() {
        Invocation::command().debug_assert();
    }

    #[test]
    fn a_leading_p_means_run() {
        let typed = ["rooftree", "-p", "hello"].into_iter().map(OsString::from);
        assert!(matches!(Invocation::parse_from(spelled_out(typed)).command, Command::Run(_)));
    }
}
