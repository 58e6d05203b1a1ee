//! Imports a session that `export` wrote: all of it, or nothing.

use std::path::PathBuf;

use clap::Args;
use rooftree_protocol::{Command, Problem, command::ExportedSession};
use rooftree_runtime::handle::import;

use super::{
    archive::{self, read::wrong},
    name,
};
use crate::{
    control::send_for_session, environment::Environment, exit::Exit, output,
    terminal::run_text::counted,
};

/// Options of `sessions import`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// A file or directory that `export` wrote; `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What to call the new session, instead of what it was called
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Prints the new session's id.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let asked = arguments
        .name
        .as_deref()
        .map(name::checked)
        .transpose()?
        .flatten();
    let path = if arguments.file.as_os_str() == "-" {
        arguments.file
    } else {
        environment.cwd.join(arguments.file)
    };
    let archive = archive::read(&path)?;
    let (places, events): (Vec<_>, Vec<_>) = archive.events.into_iter().unzip();
    let (count, model) = (events.len() as u64, archive.session.model.clone());
    let exported = ExportedSession {
        session: archive.session,
        events,
        blobs: archive.blobs,
    };
    import::check(&exported).map_err(|found| {
        let place = places.get(found.index).map_or("the file", String::as_str);
        wrong(place, found.why)
    })?;
    let command = Command::Import {
        archive: Box::new(exported),
        cwd: environment.cwd.clone(),
        name: asked,
    };
    let session = send_for_session(&environment.control()?, command).await?;
    output::print(&format!("{}\n", session.id))?;
    let called = session
        .name
        .map(|name| format!(" as `{name}`"))
        .unwrap_or_default();
    let place = environment.cwd.display();
    output::print_note(
        environment,
        &format!(
            "imported {}{called}; it works in {place}",
            counted(count, "event")
        ),
    );
    if let Some(model) = &model {
        let words = format!(
            "the file names the model {model}, which is not taken over; choose one with -m"
        );
        output::print_note(environment, &words);
    }
    Ok(Exit::DONE)
}
