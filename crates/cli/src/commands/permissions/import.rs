//! Imports permission rules from another program's settings: shows each converted rule, and asks first.

use std::{
    fs,
    io::{IsTerminal, stderr, stdin},
    path::{Path, PathBuf},
};

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_store::RuleKind;
use rooftree_tools::{PermissionRule, policy::import::ImportedRules};

use super::rules::{self, RuleLocation};
use crate::{
    environment::Environment,
    exit::Exit,
    human_format::place,
    output,
    settings::other_programs::{self, FILES},
    terminal::{
        confirm,
        line::{StyledLine, TextStyle},
    },
};

/// Options of `permissions import`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The file; if it is left out, .claude/settings.json and the like of this directory
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Where the rules hold
    #[arg(long = "for", value_enum, default_value_t, value_name = "WHERE")]
    place: RuleLocation,
    /// Save them without asking
    #[arg(long)]
    yes: bool,
}

/// Shows them, asks, saves them.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let files = files(&arguments, environment)?;
    let mut found: Vec<(RuleKind, PermissionRule)> = Vec::new();
    let mut lines = Vec::new();
    for file in &files {
        let imported = read(file)?;
        lines.push(StyledLine::of(TextStyle::Strong, place(file)));
        let rules = in_order(&imported);
        lines.extend(rules.iter().map(|(kind, rule)| {
            StyledLine::of(TextStyle::Accent, format!("  {:<6}", rules::word(*kind)))
                .with(TextStyle::Plain, rule.to_string())
        }));
        lines.extend(
            lost(&imported).iter().map(|words| {
                StyledLine::of(TextStyle::Warning, "  ! ").with(TextStyle::Plain, words)
            }),
        );
        lines.extend(
            unknown(&rules).into_iter().map(|words| {
                StyledLine::of(TextStyle::Warning, "  ! ").with(TextStyle::Plain, words)
            }),
        );
        found.extend(rules);
    }
    let colours = environment.colours(stderr().is_terminal());
    if found.is_empty() {
        say(environment, &lines, colours);
        output::print_note(environment, "there is no rule to take over");
        return Ok(Exit::DONE);
    }
    if !is_wanted(&arguments, environment, &lines, colours).await? {
        output::print_note(environment, "nothing was saved");
        return Ok(Exit::DONE);
    }
    let client = rules::rule_client(environment)?;
    for (kind, rule) in &found {
        let said =
            rules::save_rule(&*client, *kind, rule, arguments.place.scope(environment)).await?;
        output::print_note(environment, &said);
    }
    Ok(Exit::DONE)
}

async fn is_wanted(
    arguments: &Arguments,
    environment: &Environment,
    lines: &[StyledLine],
    colours: bool,
) -> Result<bool, Problem> {
    if arguments.yes {
        say(environment, lines, colours);
        return Ok(true);
    }
    if environment.everywhere.no_input || !stdin().is_terminal() || !stderr().is_terminal() {
        say(environment, lines, colours);
        return Err(Problem::new(
            ErrorCode::InteractionUnavailable,
            "no user can be asked whether to save these rules",
        )
        .fix("look at them, and add --yes"));
    }
    confirm::ask(lines, "save them? y/N › ", colours).await
}

fn say(environment: &Environment, lines: &[StyledLine], colours: bool) {
    lines
        .iter()
        .for_each(|line| output::print_note(environment, &line.paint(colours)));
}

fn files(arguments: &Arguments, environment: &Environment) -> Result<Vec<PathBuf>, Problem> {
    if let Some(file) = &arguments.file {
        return Ok(vec![environment.cwd.join(file)]);
    }
    let usual = FILES
        .iter()
        .map(|name| environment.cwd.join(name))
        .filter(|path| path.is_file());
    let found: Vec<PathBuf> = usual.collect();
    if found.is_empty() {
        return Err(Problem::new(
            ErrorCode::InvalidArguments,
            "there is nothing to import here",
        )
        .cause(format!("looked for {}", FILES.join(", ")))
        .fix("name the file"));
    }
    Ok(found)
}

fn read(file: &Path) -> Result<ImportedRules, Problem> {
    let wrong = |cause: String| {
        Problem::new(
            ErrorCode::InvalidArguments,
            format!("cannot import {}", file.display()),
        )
        .cause(cause)
    };
    let text = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    other_programs::read(file, &text).map_err(wrong)
}

/// All rules, those that refuse first.
fn in_order(imported: &ImportedRules) -> Vec<(RuleKind, PermissionRule)> {
    let kinds = [
        (RuleKind::Deny, &imported.deny),
        (RuleKind::Ask, &imported.ask),
        (RuleKind::Allow, &imported.allow),
    ];
    kinds
        .into_iter()
        .flat_map(|(kind, rules)| rules.iter().map(move |rule| (kind, rule.clone())))
        .collect()
}

/// What is not taken over.
fn lost(imported: &ImportedRules) -> Vec<String> {
    let mut lost = imported.remarks.clone();
    if let Some(mode) = imported.mode {
        let mode = serde_json::to_value(mode)
            .ok()
            .and_then(|mode| mode.as_str().map(str::to_owned));
        let mode = mode.unwrap_or_default();
        lost.push(format!(
            "its mode stays as it is here; mode = \"{mode}\" in config.toml sets it"
        ));
    }
    if !imported.directories.is_empty() {
        let directories = imported.directories.join(", ");
        lost.push(format!(
            "more directories are not taken over: {directories}; add rules such as Write(DIR/**)"
        ));
    }
    lost
}

/// What is said about rules for tools that are not here. They are saved: they do no harm, and the tool may come.
fn unknown(rules: &[(RuleKind, PermissionRule)]) -> Vec<String> {
    rules
        .iter()
        .filter_map(|(_, rule)| crate::rules::known(vec![rule.clone()]).err())
        .map(|problem| problem.message)
        .collect()
}
