//! A running runtime: its callbacks, its temporary directory, and its graceful shutdown.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use rooftree_protocol::{
    Command, ErrorCode, MessageId, Origin, Part, PermissionId, RunId, SessionId, ToolCall,
    command::{Address, CommandReply, Delivery},
};
use rooftree_runtime::{AgentRuntime, Assembly, Handle, Service, StopService};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::{
    callbacks::{CallbackChannel, CallbackSet, EventSubscribers},
    error::{Error, Result},
    permission::Decision,
    principal::owner,
};

/// Everything that lives while agents do. Dropping it stops them in the background.
pub(crate) struct RunningRuntime {
    handle: Handle,
    readers: EventSubscribers,
    parts: Mutex<Option<RuntimeParts>>,
}

struct RuntimeParts {
    runtime: AgentRuntime,
    /// The temporary directory of the store, if it has one.
    place: Option<TempDir>,
}

/// A message that was accepted, and the run that works on it.
pub(crate) struct AcceptedMessage {
    pub(crate) session: SessionId,
    pub(crate) run: RunId,
}

impl RunningRuntime {
    /// Starts the runtime with a service that calls back.
    pub(crate) fn start(
        mut assembly: Assembly,
        callbacks: CallbackSet,
        channel: CallbackChannel,
        place: Option<TempDir>,
    ) -> Self {
        let readers = channel.readers.clone();
        assembly.services.push(Service::new("callbacks", |handle| {
            callback_service(handle, callbacks, channel)
        }));
        let runtime = assembly.start();
        Self {
            handle: runtime.handle(),
            readers,
            parts: Mutex::new(Some(RuntimeParts { runtime, place })),
        }
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn readers(&self) -> &EventSubscribers {
        &self.readers
    }

    /// Resumes sessions that were interrupted.
    pub(crate) async fn recover(&self) -> Result<()> {
        let unfinished = self.handle.queries(&owner()).unfinished().await?;
        for session in unfinished {
            self.handle
                .send(&owner(), Command::Resume { session })
                .await?;
        }
        Ok(())
    }

    /// Puts a message into an inbox.
    pub(crate) async fn post(
        &self,
        to: Address,
        parts: Vec<Part>,
        origin: Origin,
    ) -> Result<AcceptedMessage> {
        self.queue(Command::Post {
            to,
            parts,
            origin,
            key: None,
            delivery: Delivery::Queue,
            context: None,
        })
        .await
    }

    /// Has a session's agent make a call.
    pub(crate) async fn call(
        &self,
        session: &SessionId,
        call: ToolCall,
    ) -> Result<AcceptedMessage> {
        self.queue(Command::Call {
            session: session.clone(),
            call,
        })
        .await
    }

    async fn queue(&self, command: Command) -> Result<AcceptedMessage> {
        match self.handle.send(&owner(), command).await? {
            CommandReply::Accepted {
                session, message, ..
            } => Ok(AcceptedMessage {
                run: run_of_message(&message),
                session,
            }),
            _ => Err(Error::new(
                ErrorCode::Internal,
                "the message was answered with something else",
            )),
        }
    }

    /// Answers a question that is open.
    pub(crate) async fn respond(
        &self,
        permission: &PermissionId,
        decision: Decision,
    ) -> Result<()> {
        let asked = self
            .handle
            .queries(&owner())
            .inquiry(permission.as_str())
            .await?;
        let asked = asked
            .filter(|asked| asked.answer.is_none() && !asked.settled)
            .ok_or_else(|| {
                Error::new(
                    ErrorCode::InvalidArguments,
                    format!("question {permission} is not open, or not any more"),
                )
            })?;
        let (session, permission, answer) = (asked.session, permission.clone(), decision.answer());
        self.handle
            .send(
                &owner(),
                Command::Permit {
                    session,
                    permission,
                    answer,
                },
            )
            .await?;
        Ok(())
    }

    /// Shuts down in order: agents first, then the callbacks.
    pub(crate) async fn stop(&self) {
        if let Some(parts) = self.take_parts() {
            parts.stop().await;
        }
    }

    /// The parts to stop; none if an earlier caller has taken them.
    fn take_parts(&self) -> Option<RuntimeParts> {
        self.parts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl RuntimeParts {
    async fn stop(self) {
        self.runtime.stop().await;
        drop(self.place);
    }
}

impl Drop for RunningRuntime {
    fn drop(&mut self) {
        if let (Some(parts), Ok(tokio)) = (self.take_parts(), tokio::runtime::Handle::try_current())
        {
            tokio.spawn(parts.stop());
        }
    }
}

/// Calls back until agents have stopped, and then what they said last.
fn callback_service(
    handle: &Handle,
    callbacks: CallbackSet,
    channel: CallbackChannel,
) -> StopService {
    let ending = CancellationToken::new();
    let listening = tokio::spawn(callbacks.listen(channel, handle.clone(), ending.clone()));
    Box::new(move || {
        ending.cancel();
        listening.map(drop).boxed()
    })
}

/// A running runtime, shared by its runs, sessions and feeds.
pub(crate) type SharedRuntime = Arc<RunningRuntime>;

/// A message and the run that works on it have the same name under other prefixes.
fn run_of_message(message: &MessageId) -> RunId {
    RunId::derived_from(message.as_str())
}
