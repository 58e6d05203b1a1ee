//! Undoes the file changes of a session's last run, after a preview.

use std::io::{IsTerminal, stderr, stdin};

use clap::{Args, ValueEnum};
use rooftree_protocol::{
    Command, ErrorCode, Problem, Session,
    command::CommandReply,
    file_undo::{FileUndo, UndoStep, UndoneFile},
};
use rooftree_store::SessionFilter;
use serde_json::json;

use super::{
    changer, existing,
    find::{self, LookupScope},
    in_words,
};
use crate::{
    environment::Environment,
    exit::Exit,
    human_format::place,
    output,
    server_connection::address,
    terminal::{
        confirm,
        line::{StyledLine, TextStyle},
        run_text::short,
    },
};

/// Options of `sessions undo`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name; the latest one in this directory if
    /// absent
    #[arg(value_name = "ID")]
    session: Option<String>,
    /// Do it without asking
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,
    /// Only show what it would do
    #[arg(long)]
    dry_run: bool,
    /// How to print it
    #[arg(
        short = 'o',
        long = "output-format",
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    format: UndoFormat,
}

/// How the files are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum UndoFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object: the run, its files and what becomes of each
    Json,
}

/// Shows what it would do, asks, and does it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let client = changer(environment)?;
    let session = match &arguments.session {
        Some(typed) => find::session(&*client, typed, LookupScope::Live).await?,
        None => latest(environment).await?,
    };
    let preview = client.undo_preview(&session.id).await?;
    let is_json = arguments.format == UndoFormat::Json;
    if arguments.dry_run {
        match preview {
            preview if is_json => print_json(preview.as_ref())?,
            Some(preview) => print_files(&preview, "would be")?,
            None => output::print_note(environment, "nothing is left to undo"),
        }
        return Ok(Exit::DONE);
    }
    let run = preview.as_ref().map(|preview| preview.run.clone());
    if let Some(preview) = preview.filter(|_| !arguments.yes)
        && !is_confirmed(&session, &preview, environment).await?
    {
        output::print_note(environment, "nothing was changed");
        return Ok(Exit::DONE);
    }
    let command = Command::Undo {
        session: session.id,
        run,
    };
    match client.send(command).await? {
        CommandReply::Undone(undone) if is_json => print_json(Some(&undone))?,
        CommandReply::Undone(undone) => print_files(&undone, "")?,
        other => {
            let message = format!("an undo was answered with {other:?}");
            return Err(Problem::new(ErrorCode::Internal, message));
        }
    }
    Ok(Exit::DONE)
}

async fn latest(environment: &Environment) -> Result<Session, Problem> {
    if address(environment).is_some() {
        let message = "a server has sessions of other directories: name one";
        return Err(Problem::new(ErrorCode::InvalidArguments, message)
            .fix("rooftree sessions list shows what there is; rooftree sessions undo ID"));
    }
    let filter = SessionFilter {
        cwd: Some(environment.cwd.clone()),
        foreground: true,
        limit: 1,
        ..SessionFilter::default()
    };
    let found = existing(environment)?.sessions(filter).await;
    let found = found.map_err(in_words)?;
    found.into_iter().next().ok_or_else(|| {
        Problem::new(
            ErrorCode::SessionNotFound,
            format!("no session works in {}", place(&environment.cwd)),
        )
        .fix("rooftree sessions list --all shows those of other directories; give an ID")
    })
}

async fn is_confirmed(
    session: &Session,
    preview: &FileUndo,
    environment: &Environment,
) -> Result<bool, Problem> {
    if !stdin().is_terminal() || !stderr().is_terminal() || environment.everywhere.no_input {
        return Err(Problem::new(
            ErrorCode::InvalidArguments,
            "an undo changes files, and no person can be asked here",
        )
        .fix(format!(
            "rooftree sessions undo {0} --dry-run shows what it does, rooftree sessions undo {0} --yes does it",
            short(&session.id)
        )));
    }
    let mut lines = vec![StyledLine::of(TextStyle::Strong, heading(preview))];
    lines.extend(preview.files.iter().map(|file| file_line(file, "will be")));
    lines.extend(
        preview
            .remarks
            .iter()
            .map(|remark| StyledLine::of(TextStyle::Warning, format!("! {remark}"))),
    );
    confirm::ask(
        &lines,
        "Take these changes back? [y/N] ",
        environment.colours(true),
    )
    .await
}

fn print_json(undo: Option<&FileUndo>) -> Result<(), Problem> {
    output::print(&output::json_page(&json!({ "undo": undo }))?)
}

fn print_files(undo: &FileUndo, tense: &str) -> Result<(), Problem> {
    let mut text = format!("{}\n", heading(undo));
    for file in &undo.files {
        text.push_str(&file_line(file, tense).paint(false));
        text.push('\n');
    }
    for remark in &undo.remarks {
        text.push_str(&format!("! {remark}\n"));
    }
    output::print(&text)
}

fn heading(undo: &FileUndo) -> String {
    format!("file changes of run {}: {}", undo.run, undo.title)
}

fn file_line(file: &UndoneFile, tense: &str) -> StyledLine {
    let path = place(&file.path);
    let would = if tense.is_empty() {
        String::new()
    } else {
        format!("{tense} ")
    };
    let (look, words) = match &file.step {
        UndoStep::Restore => (TextStyle::Good, format!("  {path}: {would}restored")),
        UndoStep::Delete => (TextStyle::Good, format!("  {path}: {would}deleted")),
        UndoStep::Unchanged => (TextStyle::Dim, format!("  {path}: is as it was")),
        UndoStep::Skip { because } => (TextStyle::Warning, format!("  {path}: kept, {because}")),
    };
    StyledLine::of(look, words)
}
