//! Trusts what the project around the working directory brings: agents, skills, hooks, servers, rules.

use std::{path::Path, sync::Arc};

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_runtime::{
    Definitions, SystemClock,
    definitions::{SearchDirs, Severity},
};
use serde_json::json;

use crate::{
    configured_models::ConfiguredModels,
    environment::Environment,
    exit::Exit,
    human_format::place,
    listing::PageOutput,
    output, project_agents,
    settings::{
        self,
        other_programs::{self, FILES},
    },
    terminal::sanitize::clean_line,
    trust::{
        self, TrustStatus,
        content::{ProjectContent, from},
    },
};

/// Digits of a SHA-256 that are shown.
const DIGITS: usize = 12;

/// Options of `trust`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only show what it brings, and what changed since it was trusted
    #[arg(long, conflicts_with_all = ["list", "remove"])]
    show: bool,
    #[command(flatten)]
    output: PageOutput,
    /// Trust it no longer
    #[arg(long, conflicts_with = "list")]
    remove: bool,
    /// Show the folders that are trusted
    #[arg(long)]
    list: bool,
}

/// Does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    if arguments.list {
        let folders = trust::folders(environment);
        let text = if arguments.output.is_json() {
            output::json_page(&folders)?
        } else {
            folders
                .iter()
                .map(|folder| format!("{}\n", folder.display()))
                .collect()
        };
        output::print(&text)?;
        if folders.is_empty() {
            output::print_note(environment, "no folder is trusted");
        }
        return Ok(Exit::DONE);
    }
    let places = project_agents::places(environment);
    let root = places.root().ok_or_else(|| {
        Problem::new(
            ErrorCode::InvalidArguments,
            "your home directory needs no trust",
        )
        .fix("choose a project with -C DIR")
    })?;
    if arguments.show {
        return show(&places, environment, arguments.output.is_json());
    }
    if arguments.remove {
        if !trust::folders(environment)
            .iter()
            .any(|folder| folder == root)
        {
            let words = format!("{} was not trusted", place(root));
            output::print_note(environment, &words);
            return Ok(Exit::DONE);
        }
        trust::withdraw(environment, root).await?;
        output::print_note(
            environment,
            &format!("{} is no longer trusted", place(root)),
        );
        return Ok(Exit::DONE);
    }
    let content = content(&places)?;
    trust::give(environment, root, &content).await?;
    output::print_note(
        environment,
        &format!("{} is trusted as it is now", place(root)),
    );
    if arguments.output.is_json() {
        return show(&places, environment, true);
    }
    let broken = broken(root, environment);
    for path in content.acting.keys().chain(&content.text) {
        let path = clean_line(path);
        let words = if broken.contains(&path) {
            format!("  cannot be used: {path}; rooftree agents validate says why")
        } else {
            format!("  from now on used: {path}")
        };
        output::print_note(environment, &words);
    }
    for file in FILES
        .iter()
        .map(|name| root.join(name))
        .filter(|file| file.is_file())
    {
        tell_unused(&file, environment);
    }
    Ok(Exit::DONE)
}

/// Files with agents of this folder that hold errors, as they are listed. What cannot be looked at is not broken here.
fn broken(root: &Path, environment: &Environment) -> Vec<String> {
    let look = || {
        let settings = settings::load(environment)?;
        let models = Arc::new(ConfiguredModels::of(environment, &settings)?);
        let library = project_agents::library(environment, &settings, &models);
        Ok::<_, Problem>(Definitions::reading(library, Arc::new(SystemClock)))
    };
    let diagnostics = look().map(|definitions| definitions.diagnostics());
    diagnostics
        .unwrap_or_default()
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .map(|found| clean_line(&from(root, &found.path)))
        .collect()
}

/// Of another program's settings, only hooks and the rules that deny or ask are used.
fn tell_unused(file: &Path, environment: &Environment) {
    let unused = other_programs::unused(file);
    if !unused.is_empty() {
        let said = format!(
            "  of {} only hooks and deny and ask rules are used, not {}; rooftree permissions import takes rules over",
            place(file),
            clean_line(&unused.join(", "))
        );
        output::print_note(environment, &said);
    }
}

fn show(places: &SearchDirs, environment: &Environment, as_json: bool) -> Result<Exit, Problem> {
    let status = trust::status(environment, places);
    let content = content(places)?;
    let changed = |path: &str| match &status {
        TrustStatus::Changed(changes) => changes
            .iter()
            .find(|change| change.path == path)
            .map(|change| change.is_new),
        _ => None,
    };
    let word = |path: &str| match (&status, changed(path)) {
        (TrustStatus::Trusted, _) | (TrustStatus::Changed(_), None) => "trusted",
        (_, Some(true)) => "new",
        (_, Some(false)) => "changed",
        (TrustStatus::Refused, None) => "refused",
        (_, None) => "not trusted",
    };
    let acting = content
        .acting
        .keys()
        .map(|path| (path.as_str(), word(path)));
    let is_used = status == TrustStatus::Trusted;
    let text = content.text.iter().map(|path| {
        (
            path.as_str(),
            if is_used { "trusted" } else { "not trusted" },
        )
    });
    let files: Vec<(&str, &str)> = acting.chain(text).collect();
    // What is text for models counts by its path alone.
    let held = |path: &str| {
        content
            .acting
            .get(path)
            .map(String::as_str)
            .unwrap_or_default()
    };
    if as_json {
        let files: Vec<_> = files
            .iter()
            .map(|(path, is)| json!({ "path": path, "is": is, "holds": held(path) }))
            .collect();
        let shown = json!({ "root": places.root(), "trusted": is_used, "files": files });
        output::print(&output::json_page(&shown)?)?;
        return Ok(Exit::DONE);
    }
    let lines = files.iter().map(|(path, is)| {
        let digits: String = held(path).chars().take(DIGITS).collect();
        format!(
            "{}\n",
            format!("{is:<12} {} {digits}", clean_line(path)).trim_end()
        )
    });
    output::print(&lines.collect::<String>())?;
    let said = match (files.is_empty(), is_used) {
        (true, _) => "it brings nothing that needs trust",
        (false, true) => "all of it is used",
        (false, false) => "none of it is used; rooftree trust changes that",
    };
    output::print_note(environment, said);
    Ok(Exit::DONE)
}

fn content(places: &SearchDirs) -> Result<ProjectContent, Problem> {
    ProjectContent::of(places).ok_or_else(|| {
        Problem::new(
            ErrorCode::InvalidConfig,
            "this folder brings more than can be looked at",
        )
        .cause(
            "its agents and skills are too many files, or directories that lead back to themselves",
        )
        .fix("remove what does not belong there, or use --trust to take all of it for once")
    })
}
