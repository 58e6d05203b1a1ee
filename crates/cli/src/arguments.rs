//! The clap command tree: every subcommand and its arguments.

mod examples;
mod lazy;
mod shorthand;

use clap::{Parser, Subcommand};

pub use self::{lazy::LazyArguments, shorthand::parse};

use crate::{commands, environment::GlobalFlags};

/// Durable agents: run them, watch them, resume them where they stopped.
#[derive(Debug, Parser)]
#[command(
    name = "rooftree",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    override_usage = "rooftree                       opens a conversation\n       \
                      rooftree \"fix the bug\"         the same, with a first message\n       \
                      rooftree [OPTIONS] <COMMAND>"
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
    /// Run the server: the page, the HTTP API, schedules and chats; resumes unfinished sessions
    Serve(LazyArguments<commands::serve::Arguments>),
    /// Install the server as a systemd service of yours
    Service(LazyArguments<commands::service::Arguments>),
    /// List, show, make, check and try out agents
    #[command(visible_alias = "agent")]
    Agents(LazyArguments<commands::agents::Arguments>),
    /// Let this project's agents, rules, skills and instructions be used
    Trust(LazyArguments<commands::trust::Arguments>),
    /// List and answer what agents ask; manage permission rules
    #[command(visible_alias = "permission")]
    Permissions(LazyArguments<commands::permissions::Arguments>),
    /// Show what needs you, works, waits and is done, and follow it
    Board(LazyArguments<commands::board::Arguments>),
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
    /// Have agents work at set times: add, list, pause, history
    #[command(visible_alias = "schedule")]
    Schedules(LazyArguments<commands::schedules::Arguments>),
    /// Messages to chats: list them, deliver one again, or give one up
    Outbox(LazyArguments<commands::outbox::Arguments>),
    /// Diagnose the installation: settings, keys, models, sandbox, database
    Doctor(LazyArguments<commands::doctor::Arguments>),
    /// Copy all sessions to one file, also while the server runs, and verify the copy
    Backup(LazyArguments<commands::backup::Arguments>),
    /// Replace all sessions by those of a backup; what was there is kept
    Restore(LazyArguments<commands::restore::Arguments>),
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
    /// Make, list and revoke access tokens for the HTTP API
    #[command(visible_alias = "tokens")]
    Token(LazyArguments<commands::token::Arguments>),
    /// Invite, list and disable persons; print login links
    #[command(visible_alias = "persons")]
    Person(LazyArguments<commands::person::Arguments>),
    /// Connect chats and webhooks: add, pair people, show how they are
    #[command(visible_alias = "connector")]
    Connectors(LazyArguments<commands::connectors::Arguments>),
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
    /// Print a script that completes commands, agents, sessions and models in your shell
    Completions(LazyArguments<commands::completions::Arguments>),
    /// Print the manual page, or write one per command
    Man(LazyArguments<commands::man::Arguments>),
    /// Print completions of a command line; the scripts of `completions` call it
    #[command(name = "__complete", hide = true)]
    Complete(LazyArguments<commands::complete::Arguments>),
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

    /// Calls `visit` for every command that people can type, with its path.
    fn walk(command: &clap::Command, path: &str, visit: &mut dyn FnMut(&str, &clap::Command)) {
        for sub in command.get_subcommands() {
            if sub.is_hide_set() || sub.get_name() == "help" {
                continue;
            }
            let below = format!("{path} {}", sub.get_name());
            visit(below.trim_start(), sub);
            walk(sub, &below, visit);
        }
    }

    /// Splits like a shell does: single and double quotes, nothing else. Redirections are left out.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for letter in line.chars() {
            match (letter, quote) {
                ('"' | '\'', None) => {
                    quote = Some(letter);
                    word.get_or_insert_default();
                }
                (letter, Some(open)) if letter == open => quote = None,
                (' ', None) => words.extend(word.take()),
                ('<' | '>' | '|', None) => break,
                (letter, _) => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        words
    }

    #[test]
    fn n_23_every_command_has_an_example_and_every_example_can_be_parsed() {
        let mut tree = CliInvocation::command();
        tree.build();
        let mut paths = Vec::new();
        walk(&tree, "", &mut |path, command| {
            let shown = command.get_after_help().map(ToString::to_string);
            let shown = shown.unwrap_or_default();
            assert!(
                shown.contains(&format!("rooftree {}", path.split(' ').next().unwrap())),
                "{path}: {shown}"
            );
            paths.push(path.to_owned());
        });
        for (path, examples) in examples::EXAMPLES {
            assert!(
                paths.iter().any(|known| known == path),
                "no command `{path}`"
            );
            for (example, _) in *examples {
                let typed = words(example);
                let parsed = CliInvocation::try_parse_from(&typed);
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
                // An id may stand between the words of a command.
                let mut rest = typed.iter();
                let is_own = format!("rooftree {path}")
                    .split(' ')
                    .all(|word| rest.any(|typed| typed == word));
                assert!(is_own, "{example}");
            }
        }
        let leaves = paths.iter().filter(|path| {
            !paths
                .iter()
                .any(|other| other.starts_with(&format!("{path} ")))
        });
        for leaf in leaves {
            assert!(
                examples::EXAMPLES.iter().any(|(path, _)| path == leaf),
                "`{leaf}` has no example"
            );
        }
    }

    #[test]
    fn n_23_an_option_with_a_few_values_names_them_and_global_ones_stand_apart() {
        let mut tree = CliInvocation::command();
        tree.build();
        let run = tree.find_subcommand_mut("run").unwrap();
        let help = run.render_long_help().to_string();
        for value in ["accept-edits", "bypass", "required", "stream-json"] {
            assert!(help.contains(&format!("- {value}:")), "{value}: {help}");
        }
        for heading in [
            "Global options:",
            "Model:",
            "Permissions and sandbox:",
            "Limits:",
            "Input and output:",
        ] {
            assert!(help.contains(heading), "{heading}: {help}");
        }
        assert!(
            help.contains("answer"),
            "--input-format names all its lines: {help}"
        );
        assert!(help.contains("rooftree -p"), "{help}");
    }

    #[test]
    fn n_23_every_command_that_prints_something_prints_json_with_the_same_option() {
        let mut tree = CliInvocation::command();
        tree.build();
        let reading = [
            "agents list",
            "agents show",
            "agents validate",
            "permissions list",
            "permissions show",
            "permissions rules",
            "can",
            "why",
            "sessions list",
            "sessions show",
            "sessions events",
            "sessions search",
            "runs list",
            "runs show",
            "runs trace",
            "tasks list",
            "doctor",
            "doctor verify",
            "backup",
            "restore",
            "config show",
            "config get",
            "config path",
            "models list",
            "models show",
            "mcp list",
            "mcp test",
            "mcp tools",
            "mcp prompts",
            "auth list",
            "token list",
            "token create",
            "person list",
            "audit",
            "usage",
            "tools list",
            "tools show",
            "hooks list",
            "hooks test",
            "version",
            "trust",
        ];
        let mut found = 0;
        walk(&tree, "", &mut |path, command| {
            if reading.contains(&path) {
                found += 1;
                let format = command
                    .get_arguments()
                    .find(|option| option.get_short() == Some('o'));
                let values = format
                    .map(clap::Arg::get_possible_values)
                    .unwrap_or_default();
                assert!(
                    values.iter().any(|value| value.matches("json", false)),
                    "{path}"
                );
            }
        });
        assert_eq!(found, reading.len());
    }
}
