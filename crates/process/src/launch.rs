//! Starts one program: own group, clean environment, its output as one stream or as two.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        LazyLock, OnceLock,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use nix::unistd::Pid;
use tokio::{io::AsyncWriteExt, net::unix::pipe, sync::oneshot};

use crate::{
    Error, Process, ProcessIdentity, ProcessInput, SpawnRequest, StreamedProcess,
    child::{GroupLeader, StartedChild, WatchedChild},
    clone,
    process_tree::ProcessTree,
    sandbox::{CommandMessage, GitGuard, GitSnapshot, SandboxBackend, forker_for, helper},
    spawn_plan::{OutputPipes, SpawnPlan, input_ends},
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
        let Ok(child) = forker.run(&command, [&input, &writer, &writer]).await else {
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

/// Which process a child is. It has not been reaped yet, so `/proc` shows it even if it has ended already.
pub(crate) fn identity_of(leader: &GroupLeader) -> ProcessIdentity {
    ProcessIdentity::of(leader.pid()).unwrap_or(ProcessIdentity {
        group: leader.pid(),
        start: 0,
    })
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

pub(crate) fn next_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    static OWN: LazyLock<ProcessIdentity> = LazyLock::new(|| {
        let own = Pid::this().as_raw();
        ProcessIdentity::of(own).unwrap_or(ProcessIdentity {
            group: own,
            start: 0,
        })
    });
    format!(
        "{}.{}.{}",
        OWN.group,
        OWN.start,
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// The outer error: there is no thread to start it; the inner one: it did not start.
pub(crate) async fn start(plan: SpawnPlan) -> Result<io::Result<(GroupLeader, OwnedFd)>, Error> {
    let (tx, rx) = oneshot::channel();
    let job = move || {
        let started = clone::start(&plan).map(|(pid, watch)| (GroupLeader::new(pid), watch));
        // Drop the plan, and our write ends with it, before sending: the output ends once no process holds a write end.
        drop(plan);
        // If the receiver is gone, dropping the leader kills the program.
        let _ = tx.send(started);
    };
    if !on_spawn_thread(job) {
        return Err(Error::Gone);
    }
    rx.await.map_err(|_| Error::Gone)
}

fn feed(feeding: Option<OwnedFd>, input: &ProcessInput) -> io::Result<()> {
    if let (Some(feeding), ProcessInput::Bytes(bytes)) = (feeding, input) {
        let (mut stdin, bytes) = (pipe::Sender::from_owned_fd(feeding)?, bytes.clone());
        // A program that does not read its input is free not to.
        tokio::spawn(async move { stdin.write_all(&bytes).await });
    }
    Ok(())
}

type SpawnJob = Box<dyn FnOnce() + Send>;

/// Runs a job on the one thread that starts all child processes; says whether there is one.
///
/// The parent-death signal fires when the *thread* that started a child ends, and a worker of an async runtime may
/// end at any time. So one thread that lives as long as this process starts them all.
fn on_spawn_thread(job: impl FnOnce() + Send + 'static) -> bool {
    static JOBS: OnceLock<Option<mpsc::Sender<SpawnJob>>> = OnceLock::new();
    let jobs = JOBS.get_or_init(|| {
        let (tx, rx) = mpsc::channel::<SpawnJob>();
        let work = move || rx.into_iter().for_each(|job| job());
        thread::Builder::new()
            .name("spawner".to_owned())
            .spawn(work)
            .ok()
            .map(|_| tx)
    });
    jobs.as_ref()
        .is_some_and(|jobs| jobs.send(Box::new(job)).is_ok())
}
