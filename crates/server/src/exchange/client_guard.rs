//! Cancels or keeps a run when its HTTP client disconnects.

use rooftree_protocol::{Command, Principal, RunId, SessionId};
use rooftree_runtime::Handle;

/// What becomes of a session when its client disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionRetention {
    /// It was opened for this one request: if the client disconnects, the run is cancelled, and afterwards
    /// the session is deleted.
    ForThis,
    /// It has a name of its own. The run goes on, and a client that reconnects finds the answer.
    Kept,
}

/// The client that waits for a run.
pub(crate) struct ClientGuard {
    handle: Handle,
    who: Principal,
    session: SessionId,
    run: RunId,
    stay: SessionRetention,
}

impl ClientGuard {
    pub(crate) fn new(
        (handle, who): (Handle, Principal),
        session: SessionId,
        run: RunId,
        stay: SessionRetention,
    ) -> Self {
        Self {
            handle,
            who,
            session,
            run,
            stay,
        }
    }

    pub(crate) fn session(&self) -> &SessionId {
        &self.session
    }

    pub(crate) fn run(&self) -> &RunId {
        &self.run
    }

    /// The session has something left to do, and is kept for that.
    pub(crate) fn retain_session(&mut self) {
        self.stay = SessionRetention::Kept;
    }

    /// Stops the run if it is only for this client; says whether it is.
    pub(crate) async fn cancel(&self) -> bool {
        if self.stay == SessionRetention::ForThis {
            stop((&self.handle, &self.who), &self.session, &self.run).await;
        }
        self.stay == SessionRetention::ForThis
    }

    /// The run has ended. A session that was opened for this request alone is deleted, unless an agent still
    /// works for it.
    pub(crate) async fn finish_run(&mut self, is_worked_for: bool) {
        if self.stay == SessionRetention::ForThis && !is_worked_for {
            delete_session((&self.handle, &self.who), &self.session).await;
        }
        self.retain_session();
    }
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        let Ok(tokio) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if self.stay == SessionRetention::ForThis {
            let (handle, who) = (self.handle.clone(), self.who.clone());
            let (session, run) = (self.session.clone(), self.run.clone());
            tokio.spawn(async move {
                stop((&handle, &who), &session, &run).await;
                delete_session((&handle, &who), &session).await;
            });
        }
    }
}

async fn stop((handle, who): (&Handle, &Principal), session: &SessionId, run: &RunId) {
    // A runtime that is closing stops it by itself.
    let _ = handle
        .send(
            who,
            Command::Cancel {
                session: session.clone(),
                run: Some(run.clone()),
            },
        )
        .await;
}

/// Deleted as people delete: it is not listed any more, and can be restored.
async fn delete_session((handle, who): (&Handle, &Principal), session: &SessionId) {
    // What is not put away is merely listed.
    let _ = handle
        .send(
            who,
            Command::Delete {
                session: session.clone(),
            },
        )
        .await;
}
