//! Starts one program: own group, clean environment, its output as one stream or as two.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use nix::unistd::Pid;
use tokio::{io::AsyncWriteExt, net::unix::pipe, sync::oneshot};

use crate::{
    Error, Identity, Input, Process, Spawn, Streamed,
    child::{Child, Leader},
    clone,
    plan::{Outlets, Plan},
    sandbox::{Backend, Before, GitGuard},
    spawner,
    tree::Tree,
};

/// Starts a program whose standard output and error are one stream. Confines it this way, if it has a sandbox.
pub(crate) async fn launch(spawn: &Spawn, backend: Option<Backend>) -> Result<Process, Error> {
    let (output, writer) = outlet(spawn)?;
    let errors = writer.try_clone().map_err(|source| failed(spawn, source))?;
    begin(spawn, backend, output, Outlets { output: writer, errors }).await
}

/// Starts a program the same way, with both apart.
pub(crate) async fn launch_streamed(spawn: &Spawn, backend: Option<Backend>) -> Result<Streamed, Error> {
    let (output, writer) = outlet(spawn)?;
    let (heard, errors) = outlet(spawn)?;
    let process = begin(spawn, backend, output, Outlets { output: writer, errors }).await?;
    Ok(Streamed::new(process, heard))
}

/// A pipe out of the program: our end and its end.
pub(crate) fn outlet(spawn: &Spawn) -> Result<(pipe::Receiver, OwnedFd), Error> {
    let open = || {
        let (reader, writer) = io::pipe()?;
        Ok((pipe::Receiver::from_owned_fd(reader.into())?, writer.into()))
    };
    open().map_err(|source| failed(spawn, source))
}

pub(crate) async fn begin(
    spawn: &Spawn,
    backend: Option<Backend>,
    output: pipe::Receiver,
    outlets: Outlets,
) -> Result<Process, Error> {
    let mark = next_mark();
    let before = before(spawn, backend).await;
    let (plan, feeding) =
        Plan::new(spawn, backend, &mark, outlets).map_err(|source| failed(spawn, source))?;
    let (leader, watch) = start(plan).await?.map_err(|source| failed(spawn, source))?;
    // Nobody has reaped it yet, so it can be looked at even if it has ended already.
    let identity = Identity::of(leader.pid()).unwrap_or(Identity { group: leader.pid(), start: 0 });
    let child = Child::new(leader, watch).map_err(|source| failed(spawn, source))?;
    feed(feeding, &spawn.input).map_err(|source| failed(spawn, source))?;
    let tree = Tree { leader: identity, mark, is_kept: backend == Some(Backend::Bubblewrap) };
    Ok(Process::new(child, output, tree).confined(spawn.sandbox.clone(), before))
}

/// What decides what git runs, read before a confined program can change it.
async fn before(spawn: &Spawn, backend: Option<Backend>) -> Option<Before> {
    let sandbox = spawn.sandbox.clone().filter(|sandbox| sandbox.git != GitGuard::default())?;
    tokio::task::spawn_blocking(move || Before::of(&sandbox, backend)).await.ok().flatten()
}

pub(crate) fn failed(spawn: &Spawn, source: io::Error) -> Error {
    Error::Start {
        program: spawn.program.to_string_lossy().into_owned(),
        directory: spawn.cwd.display().to_string(),
        source,
    }
}

fn next_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    static OWN: LazyLock<Identity> = LazyLock::new(|| {
        let own = Pid::this().as_raw();
        Identity::of(own).unwrap_or(Identity { group: own, start: 0 })
    });
    format!("{}.{}.{}", OWN.group, OWN.start, NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The outer error: there is no thread to start it; the inner one: it did not start.
async fn start(plan: Plan) -> Result<io::Result<(Leader, OwnedFd)>, Error> {
    let (tx, rx) = oneshot::channel();
    let job = move || {
        let started = clone::start(&plan).map(|(pid, watch)| (Leader::new(pid), watch));
        // Before anybody hears of it: its output ends when the program's own ends are closed.
        drop(plan);
        // If nobody waits any more, dropping the leader kills it.
        let _ = tx.send(started);
    };
    if !spawner::run(job) {
        return Err(Error::Gone);
    }
    rx.await.map_err(|_| Error::Gone)
}

fn feed(feeding: Option<OwnedFd>, input: &Input) -> io::Result<()> {
    if let (Some(feeding), Input::Bytes(bytes)) = (feeding, input) {
        let (mut stdin, bytes) = (pipe::Sender::from_owned_fd(feeding)?, bytes.clone());
        // A program that does not read its input is free not to.
        tokio::spawn(async move { stdin.write_all(&bytes).await });
    }
    Ok(())
}
