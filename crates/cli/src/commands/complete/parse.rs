//! Parses an unfinished command line against the clap tree: which command, option or value is being typed. Pure.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};

use super::Candidate;

/// What stands at the end of the line.
#[derive(Debug, PartialEq, Eq)]
pub struct CompletionTarget {
    pub expected: Expected,
    /// What stays before each candidate: `--model=`.
    pub prefix: String,
    /// What is typed of it so far.
    pub current: String,
    /// The directory that `-C` names.
    pub directory: Option<PathBuf>,
}

/// What can stand there.
#[derive(Debug, PartialEq, Eq)]
pub enum Expected {
    /// One of these: commands, options, values that are always the same.
    Known(Vec<Candidate>),
    /// Something that is looked up.
    Value(ValueKind),
    Files,
    Directories,
}

/// Values that are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    Agent,
    Model,
    Provider,
    Request,
    Run,
    Server,
    Session,
    Setting,
    Task,
    Tool,
}

/// Finds it. The words come after the name of the program; the last one is unfinished, and may be empty.
pub fn target(tree: &Command, words: &[String]) -> CompletionTarget {
    let (current, done) = words
        .split_last()
        .map_or((String::new(), words), |(last, done)| (last.clone(), done));
    let mut line = ParsedLine {
        command: tree,
        path: Vec::new(),
        positionals: 0,
        pending: None,
        only_values: false,
        directory: None,
    };
    done.iter().for_each(|word| line.take(word));
    let (expected, prefix, current) = line.expected(current);
    CompletionTarget {
        expected,
        prefix,
        current,
        directory: line.directory,
    }
}

/// A line as far as it is typed.
struct ParsedLine<'a> {
    command: &'a Command,
    path: Vec<&'a str>,
    /// Values without an option that came before.
    positionals: usize,
    /// The option whose value comes next.
    pending: Option<&'a Arg>,
    /// Whether `--` came: no options follow.
    only_values: bool,
    directory: Option<PathBuf>,
}

impl<'a> ParsedLine<'a> {
    fn take(&mut self, word: &str) {
        if let Some(option) = self.pending.take() {
            if option.get_short() == Some('C') {
                self.directory = Some(word.into());
            }
        } else if self.only_values {
            self.positionals += 1;
        } else if word == "--" {
            self.only_values = true;
        } else if let Some(option) = self.option(word) {
            let is_whole = word.contains('=') || (!word.starts_with("--") && word.len() > 2);
            self.pending = Some(option).filter(|option| takes_value(option) && !is_whole);
        } else if word.starts_with('-') && word.len() > 1 {
            // An option that is not known: what follows is taken for something else.
        } else if let Some(sub) = self.command.find_subcommand(word) {
            self.path.push(sub.get_name());
            (self.command, self.positionals) = (sub, 0);
        } else {
            self.positionals += 1;
        }
    }

    fn option(&self, word: &str) -> Option<&'a Arg> {
        let mut options = self
            .command
            .get_arguments()
            .filter(|arg| !arg.is_positional());
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            return options.find(|arg| {
                arg.get_long() == Some(name)
                    || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
            });
        }
        let short = word.strip_prefix('-')?.chars().next()?;
        options.find(|arg| arg.get_short() == Some(short))
    }

    /// What is expected, what stays before it, and what is typed of it.
    fn expected(&self, current: String) -> (Expected, String, String) {
        if let Some(option) = self.pending {
            return (self.values(option), String::new(), current);
        }
        if current.starts_with("--")
            && let Some((name, value)) = current.split_once('=')
            && let Some(option) = self.option(name)
        {
            return (self.values(option), format!("{name}="), value.to_owned());
        }
        if current.starts_with('-') && !self.only_values {
            return (Expected::Known(self.options()), String::new(), current);
        }
        let subs = self.subcommands();
        if !subs.is_empty() && self.positionals == 0 {
            return (Expected::Known(subs), String::new(), current);
        }
        let mut positionals = self.command.get_positionals();
        let last = self.command.get_positionals().last();
        let arg = positionals.nth(self.positionals).or(last);
        let expected = arg.map_or(Expected::Known(Vec::new()), |arg| self.values(arg));
        match current.strip_prefix('@').filter(|_| self.takes_prompt()) {
            Some(path) => (Expected::Files, "@".into(), path.to_owned()),
            None => (expected, String::new(), current),
        }
    }

    fn takes_prompt(&self) -> bool {
        self.path.first() == Some(&"run")
    }

    fn options(&self) -> Vec<Candidate> {
        let visible = self
            .command
            .get_arguments()
            .filter(|arg| !arg.is_positional() && !arg.is_hide_set());
        visible
            .filter_map(|arg| Some(Candidate::new(format!("--{}", arg.get_long()?), help(arg))))
            .collect()
    }

    fn subcommands(&self) -> Vec<Candidate> {
        let visible = self
            .command
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set());
        visible
            .map(|sub| {
                let about = sub.get_about().map(ToString::to_string);
                Candidate::new(sub.get_name(), about.unwrap_or_default())
            })
            .collect()
    }

    fn values(&self, arg: &Arg) -> Expected {
        let possible = arg.get_possible_values();
        if !possible.is_empty() {
            let known = possible.iter().filter(|value| !value.is_hide_set());
            let candidate = |value: &clap::builder::PossibleValue| {
                let about = value.get_help().map(ToString::to_string);
                Candidate::new(value.get_name(), about.unwrap_or_default())
            };
            return Expected::Known(known.map(candidate).collect());
        }
        let name = arg.get_value_names().and_then(|names| names.first());
        let name = name.map(clap::builder::Str::as_str).unwrap_or_default();
        match (self.path.as_slice(), name) {
            (_, "PROVIDER/MODEL" | "MODEL") => Expected::Value(ValueKind::Model),
            (_, "ID|NAME") | (["sessions", ..], "ID") => Expected::Value(ValueKind::Session),
            (["runs", ..], "ID") => Expected::Value(ValueKind::Run),
            (["tasks", ..], "ID") => Expected::Value(ValueKind::Task),
            (["permissions", ..], "ID") => Expected::Value(ValueKind::Request),
            (["agents", "new"], "NAME") => Expected::Known(Vec::new()),
            (_, "AGENT") | (["agents", ..], "NAME") => Expected::Value(ValueKind::Agent),
            (_, "NAME") if arg.get_id() == "agent" => Expected::Value(ValueKind::Agent),
            (["mcp", "add"], "NAME") => Expected::Known(Vec::new()),
            (["mcp", ..], "NAME") => Expected::Value(ValueKind::Server),
            (_, "TOOL") | (["tools" | "hooks", ..], "NAME") => Expected::Value(ValueKind::Tool),
            (["models", ..], "NAME") | (_, "PROVIDER") => Expected::Value(ValueKind::Provider),
            (["config", ..], "KEY") => Expected::Value(ValueKind::Setting),
            (_, "DIR") => Expected::Directories,
            (_, "FILE" | "PATH" | "FILE|JSON") => Expected::Files,
            _ => Expected::Known(Vec::new()),
        }
    }
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

fn help(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::CliInvocation;

    fn at(line: &[&str]) -> CompletionTarget {
        let mut tree = CliInvocation::command();
        tree.build();
        let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        target(&tree, &words)
    }

    fn texts(line: &[&str]) -> Vec<String> {
        match at(line).expected {
            Expected::Known(known) => known.into_iter().map(|one| one.text).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn n_23_what_is_looked_up_is_known_by_the_place_in_the_line() {
        let table: [(&[&str], ValueKind); 14] = [
            (&["run", "-a", ""], ValueKind::Agent),
            (&["run", "--agent", "ex"], ValueKind::Agent),
            (&["run", "-m", ""], ValueKind::Model),
            (&["exec", "--model", ""], ValueKind::Model),
            (&["run", "-q", "-s", ""], ValueKind::Session),
            (&["sessions", "show", ""], ValueKind::Session),
            (&["session", "show", "-o", "json", ""], ValueKind::Session),
            (&["sessions", "switch", "k3v9", ""], ValueKind::Agent),
            (&["runs", "trace", ""], ValueKind::Run),
            (&["tasks", "wait", "abcd", ""], ValueKind::Task),
            (&["permissions", "allow", ""], ValueKind::Request),
            (&["config", "set", ""], ValueKind::Setting),
            (&["mcp", "test", ""], ValueKind::Server),
            (&["auth", "login", ""], ValueKind::Provider),
        ];
        for (line, kind) in table {
            assert_eq!(at(line).expected, Expected::Value(kind), "{line:?}");
        }
        assert_eq!(at(&["run", "--replay", ""]).expected, Expected::Files);
        assert_eq!(at(&["-C", ""]).expected, Expected::Directories);
    }

    #[test]
    fn n_23_commands_options_and_fixed_values_come_from_the_tree() {
        assert!(texts(&[""]).contains(&"sessions".to_owned()));
        assert!(!texts(&[""]).contains(&"__complete".to_owned()));
        assert!(texts(&["sessions", ""]).contains(&"export".to_owned()));
        assert!(texts(&["run", "--"]).contains(&"--permission-mode".to_owned()));
        let modes = ["plan", "ask", "accept-edits", "auto", "bypass"];
        assert_eq!(texts(&["run", "--permission-mode", ""]), modes);
        assert_eq!(texts(&["can", "--permission-mode", "a"]), modes);
        assert!(texts(&["completions", ""]).contains(&"fish".to_owned()));
        assert!(texts(&["run", "hello", ""]).is_empty(), "a prompt is free");
    }

    #[test]
    fn n_23_a_value_behind_an_equals_sign_keeps_its_option() {
        let found = at(&["run", "--permission-mode=ac"]);
        assert_eq!(
            (found.prefix.as_str(), found.current.as_str()),
            ("--permission-mode=", "ac")
        );
        let found = at(&["-C", "/tmp", "run", "-a", ""]);
        assert_eq!(found.directory, Some("/tmp".into()));
        let found = at(&["run", "Describe", "@sho"]);
        assert_eq!(
            (found.expected, found.prefix.as_str()),
            (Expected::Files, "@")
        );
    }
}
