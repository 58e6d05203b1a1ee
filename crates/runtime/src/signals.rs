//! Signal queue of an awake agent: one queue, one reader.
//!
//! The queue can be closed only when it is empty, atomically. That is what makes falling asleep safe: a sender that
//! comes a moment later finds it closed and wakes a new agent.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rooftree_protocol::{
    Command, PermissionMode, Principal, ProcessId, RunId, SessionId, Timestamp,
};
use rooftree_store::{CommandRow, Error};
use tokio::sync::Notify;

/// Something an agent should know.
#[derive(Debug)]
pub(crate) enum AgentSignal {
    /// The inbox may hold something new.
    Mail,
    /// Stop the run; only this one, if it is named. With the person who wants it, if one does.
    Cancel(Option<RunId>, Sender),
    /// Stop the run, then start the context anew.
    Clear(Sender),
    /// Make the context smaller, as a person wants it.
    Compact(CompactionRequest),
    /// Change the permission mode, as a person wants it.
    SetMode(Option<PermissionMode>, Sender),
    /// Stop a background process.
    StopProcess(ProcessId),
    /// Let the call that waits for this delegated run return.
    MoveToBackground(RunId),
    /// The journal could not be written; stop.
    Broken(Error),
}

/// The principal who sent the command for a signal; none if an agent did.
pub(crate) type Sender = Option<Box<Principal>>;

/// A person's request to make the context smaller.
#[derive(Clone, Debug)]
pub(crate) struct CompactionRequest {
    /// What the summary should keep above all.
    pub(crate) focus: Option<String>,
    pub(crate) who: Sender,
}

impl AgentSignal {
    /// The same command for an agent in another process, if it is one.
    pub(crate) fn command(self, session: &SessionId, at: Timestamp) -> Option<CommandRow> {
        let session = session.clone();
        let (command, who) = match self {
            Self::Cancel(run, who) => (Command::Cancel { session, run }, who),
            Self::Clear(who) => (
                Command::Clear {
                    session,
                    unless_busy: false,
                },
                who,
            ),
            Self::Compact(request) => {
                let focus = request.focus;
                (Command::Compact { session, focus }, request.who)
            }
            Self::SetMode(mode, who) => (Command::SetMode { session, mode }, who),
            Self::StopProcess(process) => (Command::StopProcess { session, process }, None),
            Self::MoveToBackground(run) => (Command::MoveToBackground { session, run }, None),
            Self::Mail | Self::Broken(_) => return None,
        };
        Some(CommandRow {
            who,
            ..CommandRow::new(command, at)
        })
    }

    /// The signal for a command that was left in the store.
    pub(crate) fn of(row: CommandRow) -> Self {
        match row.command {
            Command::Cancel { run, .. } => Self::Cancel(run, row.who),
            Command::Delete { .. } => Self::Cancel(None, row.who),
            Command::Clear { .. } => Self::Clear(row.who),
            Command::Compact { focus, .. } => Self::Compact(CompactionRequest {
                focus,
                who: row.who,
            }),
            Command::SetMode { mode, .. } => Self::SetMode(mode, row.who),
            Command::StopProcess { process, .. } => Self::StopProcess(process),
            Command::MoveToBackground { run, .. } => Self::MoveToBackground(run),
            _ => Self::Mail,
        }
    }
}

#[derive(Clone, Default)]
pub(crate) struct SignalQueue(Arc<SignalQueueShared>);

#[derive(Default)]
struct SignalQueueShared {
    queue: Mutex<SignalQueueState>,
    arrived: Notify,
}

#[derive(Default)]
struct SignalQueueState {
    waiting: VecDeque<AgentSignal>,
    is_closed: bool,
    is_own: bool,
}

/// The sessions that are awake in this process.
#[derive(Default)]
pub(crate) struct AwakeSessions(Mutex<HashMap<SessionId, SignalQueue>>);

impl AwakeSessions {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, SignalQueue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this session's agent is awake.
    pub(crate) fn has(&self, session: &SessionId) -> bool {
        self.lock()
            .get(session)
            .is_some_and(|signals| !signals.is_closed())
    }
}

impl SignalQueue {
    /// Leaves a signal; gives it back if the agent has gone to rest.
    pub(crate) fn send(&self, signal: AgentSignal) -> Result<(), AgentSignal> {
        let mut queue = self.lock();
        if queue.is_closed {
            return Err(signal);
        }
        queue.waiting.push_back(signal);
        drop(queue);
        self.0.arrived.notify_one();
        Ok(())
    }

    /// The session belongs to this process: a client of it, or an agent above that is awake here, wants it to work. So
    /// a run that another process left open goes on here.
    pub(crate) fn own(&self) {
        self.lock().is_own = true;
    }

    /// Whether the session belongs to this process.
    pub(crate) fn is_own(&self) -> bool {
        self.lock().is_own
    }

    /// The next signal. Dropping the future loses nothing.
    pub(crate) async fn next(&self) -> AgentSignal {
        loop {
            if let Some(signal) = self.try_next() {
                return signal;
            }
            self.0.arrived.notified().await;
        }
    }

    pub(crate) fn try_next(&self) -> Option<AgentSignal> {
        self.lock().waiting.pop_front()
    }

    /// Closes the queue and does `last`, in one step, if nothing waits.
    pub(crate) fn close_if_empty(&self, last: impl FnOnce()) -> bool {
        let mut queue = self.lock();
        if !queue.waiting.is_empty() {
            return false;
        }
        queue.is_closed = true;
        last();
        true
    }

    /// Closes the queue whatever waits: the agent cannot go on.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
    }

    /// Whether the agent has gone to rest.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn lock(&self) -> MutexGuard<'_, SignalQueueState> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
