//! A forker that waits for a command, as the process that started it sees it.

use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::Arc,
    time::Duration,
};

use tokio::{io::AsyncReadExt, time::timeout};

use crate::{
    ProcessIdentity,
    child::GroupLeader,
    sandbox::{FORKER_READY, ForkerProof, Sandbox, SandboxBackend},
    spawn_plan::SpawnPlan,
    spawn_thread,
};

/// How long a sandbox may take to be made.
const MAKING: Duration = Duration::from_secs(20);

/// A forker that waits for a command. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct IdleForker {
    pub(crate) proof: ForkerProof,
    pub(crate) identity: ProcessIdentity,
    pub(crate) leader: GroupLeader,
    /// Readable once the leader has ended.
    pub(crate) watch: OwnedFd,
    pub(crate) socket: UnixStream,
}

impl IdleForker {
    /// Makes the sandbox. None if that does not work here.
    pub(crate) async fn start(
        sandbox: &Arc<Sandbox>,
        backend: SandboxBackend,
    ) -> io::Result<Option<Self>> {
        let proof = ForkerProof::of(sandbox, backend)?;
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        let plan =
            SpawnPlan::for_forker(sandbox, backend, theirs.into(), &spawn_thread::next_mark())?;
        let started = spawn_thread::start(plan).await.map_err(io::Error::other)?;
        let (leader, watch) = started?;
        let mut socket = tokio::net::UnixStream::from_std(socket)?;
        let mut word = [0];
        let heard = timeout(MAKING, socket.read(&mut word)).await;
        if !matches!(heard, Ok(Ok(1))) || word != [FORKER_READY] {
            return Ok(None);
        }
        Ok(Some(Self {
            proof,
            identity: spawn_thread::identity_of(&leader),
            leader,
            watch,
            socket: socket.into_std()?,
        }))
    }
}
