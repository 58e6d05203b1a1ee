//! Starts an interactive program: its standard input stays open for writing, and its output is read as it comes.
//!
//! Its standard error is the output of its [`Process`], so that it is read too: a program whose standard error is not
//! read blocks on a full pipe.

use std::{io, sync::Arc};

use tokio::net::unix::pipe;

use crate::{
    Error, Process, ProcessInput, SpawnRequest,
    launch::{output_pipe, start_error, start_process},
    sandbox::{GitGuard, Sandbox},
    spawn::backend,
    spawn_plan::OutputPipes,
};

/// A program that is talked with.
#[derive(Debug)]
pub struct InteractiveProcess {
    /// The program; what it writes to its standard error is its output. Dropping it kills it.
    pub process: Process,
    /// Its standard input. Dropping it closes the input.
    pub input: pipe::Sender,
    /// Its standard output.
    pub output: pipe::Receiver,
}

/// Starts a program as [`crate::spawn`] does, with its input and output left open. What the request
/// says about its input is not used.
pub async fn spawn_interactive(mut spawn: SpawnRequest) -> Result<InteractiveProcess, Error> {
    let (input, reader) = inlet().map_err(|source| start_error(&spawn, source))?;
    spawn.input = ProcessInput::From(Arc::new(reader));
    // A server lives for hours while the user changes repositories too: a comparison could not tell whose change it
    // was.
    spawn.sandbox = spawn.sandbox.map(|sandbox| {
        Sandbox {
            git: GitGuard::default(),
            ..(*sandbox).clone()
        }
        .into()
    });
    let (output, writer) = output_pipe(&spawn)?;
    let (heard, errors) = output_pipe(&spawn)?;
    let backend = backend(&spawn).await?;
    let process = start_process(
        &spawn,
        backend,
        heard,
        OutputPipes {
            output: writer,
            errors,
        },
    )
    .await?;
    Ok(InteractiveProcess {
        process,
        input,
        output,
    })
}

/// A pipe into the program: our end and its end.
fn inlet() -> io::Result<(pipe::Sender, std::os::fd::OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((pipe::Sender::from_owned_fd(writer.into())?, reader.into()))
}
