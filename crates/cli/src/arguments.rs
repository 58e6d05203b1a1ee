//! The clap command tree: every subcommand and its arguments.

mod lazy;
mod shorthand;

use clap::{Parser, Subcommand};

pub use self::{lazy::LazyArguments, shorthand::parse};

use crate::{commands, environment::GlobalFlags};

/// Agents that keep what they did: run them, watch them, go on where they stopped.
#[derive(Debug, Parser)]
#[command(
    name = "rooftree",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct CliInvocation {
    #[command(flatten)]
    pub everywhere: GlobalFlags,
    #[command(subcommand)]
    pub command: CliCommand,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Send a message to an agent and show what it does
    #[command(visible_alias = "exec")]
    Run(LazyArguments<Box<commands::run::Arguments>>),
    /// Open a conversation; on a terminal `rooftree` alone does that
    Chat(LazyArguments<Box<commands::run::Arguments>>),
    /// See it work: real engine, real tools, scripted model; no key, no network
    Demo(LazyArguments<commands::demo::Arguments>),
    /// Run the server: resume unfinished sessions, OpenAI-compatible API, agent callbacks
    Serve(LazyArguments<commands::serve::Arguments>),
    /// List, show, make, check and try out agents
    #[command(visible_alias = "agent")]
    Agents(LazyArguments<commands::agents::Arguments>),
    /// Let this project's agents, rules, skills and instructions be used
    Trust(LazyArguments<commands::trust::Arguments>),
    /// List and answer what agents ask; manage permission rules
    #[command(visible_alias = "permission")]
    Permissions(LazyArguments<commands::permissions::Arguments>),
    /// Say whether an agent may make a call here, and why
    Can(LazyArguments<commands::can::Arguments>),
    /// Say why a call was made or refused
    Why(LazyArguments<commands::why::Arguments>),
    /// List, read, fork, export and delete sessions
    #[command(visible_alias = "session")]
    Sessions(LazyArguments<commands::sessions::Arguments>),
    /// List runs, show what they did, draw the trace of a delegation
    Runs(LazyArguments<commands::runs::Arguments>),
    /// Agents and programs in background: list, follow, wait, stop, tell
    #[command(visible_alias = "task")]
    Tasks(LazyArguments<commands::tasks::Arguments>),
    /// Diagnose the installation: settings, keys, models, sandbox, database
    Doctor(LazyArguments<commands::doctor::Arguments>),
    /// Show settings, where each comes from, and their precedence
    Config(LazyArguments<commands::config::Arguments>),
    /// Find keys and local models, and write a first config.toml
    Init(LazyArguments<commands::init::Arguments>),
    /// Show the models that are known, with prices and abilities
    #[command(visible_alias = "model")]
    Models(LazyArguments<commands::models::Arguments>),
    /// Manage MCP servers: add, test, log in
    Mcp(LazyArguments<commands::mcp::Arguments>),
    /// Store, list and remove keys of providers
    Auth(LazyArguments<commands::auth::Arguments>),
    /// Show who changed sessions, rules, trust, settings, agents and keys
    Audit(LazyArguments<commands::audit::Arguments>),
    /// Sum up tokens and cost
    Usage(LazyArguments<commands::usage::Arguments>),
    /// Call a tool of the agent that runs this command; for agents, and for scripts they run
    Call(LazyArguments<commands::call::Arguments>),
    /// Show the tools agents can use
    #[command(visible_alias = "tool")]
    Tools(LazyArguments<commands::tools::Arguments>),
    /// Show the hooks there are, and try them out
    #[command(visible_alias = "hook")]
    Hooks(LazyArguments<commands::hooks::Arguments>),
    /// Print a script that completes commands in your shell
    Completions(LazyArguments<commands::completions::Arguments>),
    /// Print the version
    Version(LazyArguments<commands::version::Arguments>),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_tree_of_commands_is_well_formed() {
        CliInvocation::command().debug_assert();
    }
}
