//! A runtime at work for this crate: with its listeners, its directory, and an orderly end.

use std::sync::{Arc, Mutex, PoisonError};

use rooftree_protocol::{
    Command, ErrorCode, MessageId, Origin, Part, PermissionId, RunId, SessionId, ToolCall,
    command::{Address, Delivery, Reply},
};
use rooftree_runtime::{Handle, Options, Runtime};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Error, Result},
    listeners::{Line, Listeners, Readers},
    permission::Decision,
};

/// Everything that lives while agents do. Dropping it stops them in the background.
pub(crate) struct Roof {
    handle: Handle,
    readers: Readers,
    ending: CancellationToken,
    parts: Mutex<Option<Parts>>,
}

struct Parts {
    runtime: Runtime,
    listening: JoinHandle<()>,
    /// Where the store is, if it is gone with the roof.
    place: Option<TempDir>,
}

/// A message that was accepted, and the run that works on it.
pub(crate) struct Posted {
    pub(crate) session: SessionId,
    pub(crate) run: RunId,
}

impl Roof {
    pub(crate) fn raise(options: Options, listeners: Listeners, line: Line, place: Option<TempDir>) -> Self {
        let runtime = Runtime::start(options);
        let (handle, ending) = (runtime.handle(), CancellationToken::new());
        let readers = line.readers.clone();
        let listening = tokio::spawn(listeners.listen(line, handle.clone(), ending.clone()));
        Self { handle, readers, ending, parts: Mutex::new(Some(Parts { runtime, listening, place })) }
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Lets sessions that were cut off go on.
    pub(crate) async fn recover(&self) -> Result<()> {
        let unfinished = self.handle.store().unfinished().await?;
        for session in unfinished {
            self.handle.send(Command::Resume { session }).await?;
        }
        Ok(())
    }

    /// Puts a message into an inbox.
    pub(crate) async fn post(&self, to: Address, text: &str, origin: Origin) -> Result<Posted> {
        let parts = vec![Part::text(text)];
        self.queue(Command::Post { to, parts, origin, key: None, delivery: Delivery::Queue }).await
    }

    /// Has a session's agent make a call.
    pub(crate) async fn call(&self, session: &SessionId, call: ToolCall) -> Result<Posted> {
        self.queue(Command::Call { session: session.clone(), call }).await
    }

    async fn queue(&self, command: Command) -> Result<Posted> {
        match self.handle.send(command).await? {
            Reply::Accepted { session, message, .. } => Ok(Posted { run: run_of(&message), session }),
            _ => Err(Error::new(ErrorCode::Internal, "the message was answered with something else")),
        }
    }

    /// Answers a question that is open.
    pub(crate) async fn respond(&self, permission: &PermissionId, decision: Decision) -> Result<()> {
        let asked = self.handle.store().inquiry(permission.as_str()).await?;
        let asked = asked.filter(|asked| asked.answer.is_none() && !asked.settled).ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidArguments,
                format!("question {permission} is not open, or not any more"),
            )
        })?;
        let (session, permission, answer) = (asked.session, permission.clone(), decision.answer());
        self.handle.send(Command::Permit { session, permission, answer }).await?;
        Ok(())
    }

    /// Stops in order: agents first, then those who are told about them.
    pub(crate) async fn stop(&self) {
        if let Some(parts) = self.taken() {
            parts.stop(self.ending.clone()).await;
        }
    }

    /// The parts, for whoever comes first to stop them.
    fn taken(&self) -> Option<Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Parts {
    async fn stop(self, ending: CancellationToken) {
        self.runtime.stop().await;
        ending.cancel();
        let _ = self.listening.await;
        drop(self.place);
    }
}

impl Drop for Roof {
    fn drop(&mut self) {
        if let (Some(parts), Ok(tokio)) = (self.taken(), tokio::runtime::Handle::try_current()) {
            tokio.spawn(parts.stop(self.ending.clone()));
        }
    }
}

/// Shared by all who look at what happens under it.
pub(crate) type Shared = Arc<Roof>;

/// A message and the run that works on it have the same name under other prefixes.
fn run_of(message: &MessageId) -> RunId {
    RunId::akin_to(message.as_str())
}
