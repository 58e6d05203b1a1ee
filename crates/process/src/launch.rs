//! Starts one program: own group, clean environment, its output as one stream or as two.

use std::{io, os::fd::OwnedFd};

use tokio::{io::AsyncWriteExt, net::unix::pipe};

use crate::{
    Error, Process, ProcessInput, SpawnRequest, StreamedProcess,
    child::WatchedChild,
    forked_command::ForkedCommand,
    forker_pool::forker_for,
    process_tree::ProcessTree,
    sandbox::{CommandMessage, GitGuard, GitSnapshot, SandboxBackend, helper},
    spawn_plan::{OutputPipes, SpawnPlan, input_ends},
    spawn_thread::{identity_of, next_mark, start},
    started_child::StartedChild,
};

/// Starts a program whose standard output and error are one stream. Confines it this way, if it has a sandbox.
pub(crate) async fn launch(
    spawn: &SpawnRequest,
    backend: Option<SandboxBackend>,
) -> Result<Process, Error> {
    let (output, writer) = output_pipe(spawn)?;
    let errors = writer
        .try_clone()
        .map_err(|source| start_error(spawn, source))?;
    start_process(
        spawn,
        backend,
        output,
        OutputPipes {
            output: writer,
            errors,
        },
    )
    .await
}

/// Starts a program the same way, with both apart.
pub(crate) async fn launch_streamed(
    spawn: &SpawnRequest,
    backend: Option<SandboxBackend>,
) -> Result<StreamedProcess, Error> {
    let (output, writer) = output_pipe(spawn)?;
    let (heard, errors) = output_pipe(spawn)?;
    let process = start_process(
        spawn,
        backend,
        output,
        OutputPipes {
            output: writer,
            errors,
        },
    )
    .await?;
    Ok(StreamedProcess::new(process, heard))
}

/// A pipe out of the program: our end and its end.
pub(crate) fn output_pipe(spawn: &SpawnRequest) -> Result<(pipe::Receiver, OwnedFd), Error> {
    let open = || {
        let (reader, writer) = io::pipe()?;
        Ok((pipe::Receiver::from_owned_fd(reader.into())?, writer.into()))
    };
    open().map_err(|source| start_error(spawn, source))
}

pub(crate) async fn start_process(
    spawn: &SpawnRequest,
    backend: Option<SandboxBackend>,
    output: pipe::Receiver,
    outlets: OutputPipes,
) -> Result<Process, Error> {
    let mark = next_mark();
    let before = before(spawn, backend).await;
    let (plan, feeding) = SpawnPlan::new(spawn, backend, &mark, outlets)
        .map_err(|source| start_error(spawn, source))?;
    let (leader, watch) = start(plan)
        .await?
        .map_err(|source| start_error(spawn, source))?;
    let identity = identity_of(&leader);
    let child = WatchedChild::new(leader, watch).map_err(|source| start_error(spawn, source))?;
    feed(feeding, &spawn.input).map_err(|source| start_error(spawn, source))?;
    let tree = ProcessTree {
        leader: identity,
        mark,
        is_kept: backend == Some(SandboxBackend::Bubblewrap),
        is_guarded: match backend {
            Some(SandboxBackend::Bubblewrap) => false,
            Some(SandboxBackend::Landlock) => true,
            None => helper().is_some(),
        },
    };
    let child = StartedChild::Own(child);
    Ok(Process::new(child, output, tree).with_sandbox(spawn.sandbox.clone(), before))
}

/// Lets the forker of a session's sandbox start a program; none if it has to be started by itself.
pub(crate) async fn launch_forked(
    spawn: &SpawnRequest,
    backend: SandboxBackend,
) -> Result<Option<Process>, Error> {
    let failed = |source| start_error(spawn, source);
    let Some(sandbox) = &spawn.sandbox else {
        return Ok(None);
    };
    let mark = next_mark();
    let command = CommandMessage::new(spawn, sandbox, backend, &mark).map_err(failed)?;
    let (output, writer) = output_pipe(spawn)?;
    let (input, feeding) = input_ends(&spawn.input).map_err(failed)?;
    let before = before(spawn, Some(backend)).await;
    // One that has waited may have been killed meanwhile; a new one has not.
    for _ in 0..2 {
        let Some(forker) = forker_for(sandbox, backend).await else {
            return Ok(None);
        };
        let streams = [&input, &writer, &writer];
        let Ok(child) = ForkedCommand::start(forker, &command, streams).await else {
            continue;
        };
        feed(feeding, &spawn.input).map_err(failed)?;
        let tree = ProcessTree {
            leader: child.identity(),
            mark,
            is_kept: backend == SandboxBackend::Bubblewrap,
            is_guarded: backend == SandboxBackend::Landlock,
        };
        let process = Process::new(StartedChild::Forked(child.into()), output, tree);
        return Ok(Some(process.with_sandbox(spawn.sandbox.clone(), before)));
    }
    Ok(None)
}

/// What decides what git runs, read before a confined program can change it.
async fn before(spawn: &SpawnRequest, backend: Option<SandboxBackend>) -> Option<GitSnapshot> {
    let sandbox = spawn
        .sandbox
        .clone()
        .filter(|sandbox| sandbox.git != GitGuard::default())?;
    tokio::task::spawn_blocking(move || GitSnapshot::of(&sandbox, backend))
        .await
        .ok()
        .flatten()
}

pub(crate) fn start_error(spawn: &SpawnRequest, source: io::Error) -> Error {
    Error::Start {
        program: spawn.program.to_string_lossy().into_owned(),
        directory: spawn.cwd.display().to_string(),
        source,
    }
}

fn feed(feeding: Option<OwnedFd>, input: &ProcessInput) -> io::Result<()> {
    if let (Some(feeding), ProcessInput::Bytes(bytes)) = (feeding, input) {
        let (mut stdin, bytes) = (pipe::Sender::from_owned_fd(feeding)?, bytes.clone());
        // A program that does not read its input is free not to.
        tokio::spawn(async move { stdin.write_all(&bytes).await });
    }
    Ok(())
}
