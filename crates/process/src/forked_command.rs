//! A command that a forker runs: sent to it, waited for, and its forker kept for the next one.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, Interest},
    net::UnixStream,
};

use crate::{
    ExitReason, ProcessIdentity,
    child::WatchedChild,
    forker_pool,
    idle_forker::IdleForker,
    sandbox::{CommandMessage, ForkerProof, ForkerReply, send_with_streams},
};

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
    /// Lets a forker run a command. An error means that the command was not started.
    pub(crate) async fn start(
        forker: IdleForker,
        command: &CommandMessage,
        streams: [&OwnedFd; 3],
    ) -> io::Result<Self> {
        let mut socket = UnixStream::from_std(forker.socket)?;
        let bytes = command.to_bytes();
        let streams = streams.map(AsFd::as_fd);
        let sent = socket
            .async_io(Interest::WRITABLE, || {
                send_with_streams(&socket, &bytes, streams)
            })
            .await?;
        socket
            .write_all(bytes.get(sent..).unwrap_or_default())
            .await?;
        Ok(Self {
            proof: forker.proof,
            identity: forker.identity,
            child: WatchedChild::new(forker.leader, forker.watch)?,
            socket: Some(socket),
            reply: None,
        })
    }

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
