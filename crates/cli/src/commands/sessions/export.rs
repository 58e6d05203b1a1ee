//! Writes a session to a file, a directory or standard output.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rooftree_protocol::{Event, Problem, Session};

use super::{
    archive::{self, directory},
    export_file::ExportFile,
    export_source::ExportSource,
    transcript,
};
use crate::{
    environment::Environment,
    exit::Exit,
    output::{self, StdoutReader},
    secrets,
    terminal::sanitize::sanitised,
};

/// Options of `sessions export`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
    /// What to write
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Write a directory with descriptor.json, state.json and history.jsonl
    #[arg(long, value_enum, value_name = "LAYOUT", conflicts_with = "format")]
    layout: Option<ExportLayout>,
    /// Where to; standard output if absent, for `--layout files` a directory named like the session
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
}

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Everything, line by line; `import` reads it
    #[default]
    Jsonl,
    /// The conversation as Markdown
    Md,
}

/// How it is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportLayout {
    /// A directory of files
    Files,
}

/// Writes it. A file appears whole or not at all.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let (source, session, mut events) = ExportSource::open(&arguments.session, environment).await?;
    // Redact again: an event stored before a key was known, or by an older program, must not leave the machine.
    let secrets = secrets::known(environment);
    events
        .iter_mut()
        .for_each(|event| secrets.clean_event(&mut event.body));
    let out = arguments.out.map(|path| environment.cwd.join(path));
    if arguments.layout == Some(ExportLayout::Files) {
        let place = out.unwrap_or_else(|| environment.cwd.join(session.id.as_str()));
        directory::write(&place, &source, &session, &events).await?;
        return said(environment, &session, Some(&place));
    }
    let mut target = Target::open(out.as_deref())?;
    match arguments.format {
        Format::Md => {
            let text = transcript::markdown::text(&session, &transcript::entries(&events));
            // Markdown has no colours of ours: nothing in it is for a terminal to obey.
            target.put(&if output::is_raw() {
                text
            } else {
                sanitised(&text)
            })?;
        }
        Format::Jsonl => lines(&source, &session, &events, &mut target).await?,
    }
    target.close()?;
    said(environment, &session, out.as_deref())
}

fn said(
    environment: &Environment,
    session: &Session,
    place: Option<&Path>,
) -> Result<Exit, Problem> {
    if let Some(place) = place {
        output::print_note(
            environment,
            &format!("wrote session {} to {}", session.id, place.display()),
        );
    }
    Ok(Exit::DONE)
}

async fn lines(
    source: &ExportSource,
    session: &Session,
    events: &[Event],
    target: &mut Target,
) -> Result<(), Problem> {
    let mut reader = target.put(&archive::header_line(session)?)?;
    for page in events.chunks(256) {
        if reader == StdoutReader::Gone {
            return Ok(());
        }
        reader = target.put(
            &page
                .iter()
                .map(output::json_line)
                .collect::<Result<String, Problem>>()?,
        )?;
    }
    for id in archive::referenced(events) {
        let bytes = source.bytes_of(&id).await?;
        target.put(&archive::blob_line(&id, bytes.as_deref())?)?;
    }
    Ok(())
}

/// Where lines go.
enum Target {
    Output,
    File(ExportFile),
}

impl Target {
    fn open(path: Option<&Path>) -> Result<Self, Problem> {
        path.map_or(Ok(Self::Output), |path| {
            ExportFile::create(path).map(Self::File)
        })
    }

    fn put(&mut self, text: &str) -> Result<StdoutReader, Problem> {
        match self {
            Self::Output => output::write(text),
            Self::File(file) => file.write(text.as_bytes()).map(|()| StdoutReader::There),
        }
    }

    fn close(self) -> Result<(), Problem> {
        match self {
            Self::Output => Ok(()),
            Self::File(file) => file.commit(),
        }
    }
}
