//! A forker as the process that started it sees it: to be sent a command, and asked how it ended.

use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream as Pair,
    },
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, Interest},
    net::UnixStream,
    time::timeout,
};

use super::{
    command_message::{CommandMessage, ForkerReply, READY, send_first},
    forker_pool,
    forker_proof::ForkerProof,
};
use crate::{
    ExitReason, ProcessIdentity,
    child::{GroupLeader, WatchedChild},
    launch,
    sandbox::{Sandbox, SandboxBackend},
    spawn_plan::SpawnPlan,
};

/// How long a sandbox may take to be made.
const MAKING: Duration = Duration::from_secs(20);

/// A forker that waits for a command. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct IdleForker {
    pub(super) proof: ForkerProof,
    identity: ProcessIdentity,
    leader: GroupLeader,
    /// Readable once the leader has ended.
    watch: OwnedFd,
    socket: Pair,
}

impl IdleForker {
    /// Makes the sandbox. None if that does not work here.
    pub(super) async fn start(
        sandbox: &Arc<Sandbox>,
        backend: SandboxBackend,
    ) -> io::Result<Option<Self>> {
        let proof = ForkerProof::of(sandbox, backend)?;
        let (socket, theirs) = Pair::pair()?;
        socket.set_nonblocking(true)?;
        let plan = SpawnPlan::for_forker(sandbox, backend, theirs.into(), &launch::next_mark())?;
        let started = launch::start(plan).await.map_err(io::Error::other)?;
        let (leader, watch) = started?;
        let mut socket = UnixStream::from_std(socket)?;
        let mut word = [0];
        let heard = timeout(MAKING, socket.read(&mut word)).await;
        if !matches!(heard, Ok(Ok(1))) || word != [READY] {
            return Ok(None);
        }
        Ok(Some(Self {
            proof,
            identity: launch::identity_of(&leader),
            leader,
            watch,
            socket: socket.into_std()?,
        }))
    }

    /// Lets it run a command. An error means that the command was not started.
    pub(crate) async fn run(
        self,
        command: &CommandMessage,
        streams: [&OwnedFd; 3],
    ) -> io::Result<ForkedCommand> {
        let mut socket = UnixStream::from_std(self.socket)?;
        let bytes = command.to_bytes();
        let streams = streams.map(AsFd::as_fd);
        let sent = socket
            .async_io(Interest::WRITABLE, || send_first(&socket, &bytes, streams))
            .await?;
        socket
            .write_all(bytes.get(sent..).unwrap_or_default())
            .await?;
        Ok(ForkedCommand {
            proof: self.proof,
            identity: self.identity,
            child: WatchedChild::new(self.leader, self.watch)?,
            socket: Some(socket),
            reply: None,
        })
    }
}

/// A command that a forker runs. Dropping it ends both.
#[derive(Debug)]
pub(crate) struct ForkedCommand {
    proof: ForkerProof,
    identity: ProcessIdentity,
    child: WatchedChild,
    /// None once nothing more is wanted from the forker.
    socket: Option<UnixStream>,
    reply: Option<ForkerReply>,
}

impl ForkedCommand {
    /// The process outside that everything belongs to.
    pub(crate) fn identity(&self) -> ProcessIdentity {
        self.identity
    }

    /// Waits for its end; may be asked again. Dropping the wait loses nothing.
    pub(crate) async fn wait(&mut self) -> ExitReason {
        if let Some(reply) = self.reply {
            return reply.ending;
        }
        if let Some(socket) = &mut self.socket {
            let mut bytes = [0; ForkerReply::LENGTH];
            let length = socket.read(&mut bytes).await.unwrap_or(0);
            self.reply = bytes.get(..length).and_then(ForkerReply::read);
            match self.reply {
                Some(reply) => return reply.ending,
                None => self.socket = None,
            }
        }
        // The forker ended without a word: it was killed.
        self.child.wait().await
    }

    /// Whether the forker has said that nothing of the command is left.
    pub(crate) fn is_swept(&self) -> bool {
        self.reply.is_some()
    }

    /// Lets the forker end as soon as its command has.
    pub(crate) fn hang_up(&mut self) {
        self.socket = None;
    }

    /// Keeps the forker for the next command if it can be used again, else ends it.
    pub(crate) fn release(self) {
        let Some(ForkerReply {
            is_untouched: true, ..
        }) = self.reply
        else {
            return;
        };
        let (leader, watch) = self.child.into_parts();
        let Some(socket) = self.socket.and_then(|socket| socket.into_std().ok()) else {
            return;
        };
        forker_pool::keep(IdleForker {
            proof: self.proof,
            identity: self.identity,
            leader,
            watch,
            socket,
        });
    }
}
