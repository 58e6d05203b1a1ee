//! Background processes: a registry of running ones, their output, and how they are stopped.
//!
//! One value per runtime, shared. A process belongs to the session that started it and does
//! not exist for others. Dropping the value ends them all.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use rooftree_process::{
    BoundedOutput, EnvironmentFilter, ExitReason, Process, ProcessBounds, ProcessIdentity,
};
use rooftree_protocol::{CallId, ProcessId, SessionId};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::proxy::ProxyRefusals;

/// Processes of one session that may run at the same time.
const RUNNING: usize = 16;

/// Ended processes of one session whose output can still be looked at.
const REMEMBERED: usize = 32;

/// Bytes kept of one process's output.
const SPOOL_BYTES: usize = 1024 * 1024;

/// Bytes of unrecorded output that are buffered; of more, only the head and the tail are kept.
const NEWS_BYTES: usize = 32 * 1024;

/// An event of a process; the runtime records it in the journal.
#[derive(Clone, Debug)]
pub enum ProcessEvent {
    /// One was started.
    Started {
        /// Its task id.
        id: ProcessId,
        /// The session it belongs to.
        session: SessionId,
        /// The call that started it.
        call: CallId,
        /// Its command.
        command: String,
        /// With this, `rooftree_process::kill_group` can clean up after a crash.
        identity: ProcessIdentity,
    },
    /// One has ended, with everything it started.
    Ended {
        /// Its task id.
        id: ProcessId,
        /// The session it belonged to.
        session: SessionId,
        /// The exit reason.
        ending: ExitReason,
        /// Whether a tool call waits for it, whose result tells the agent.
        is_told: bool,
    },
}

/// Request to start a background process.
pub(crate) struct BackgroundRequest {
    pub session: SessionId,
    pub call: CallId,
    pub command: String,
    pub refused: ProxyRefusals,
}

/// News about a process.
pub(crate) struct ProcessUpdate {
    /// Output since the last look, and hosts that the proxy refused.
    pub text: String,
    /// How it ended, if it did.
    pub ending: Option<ExitReason>,
}

/// All background processes of a runtime.
pub struct BackgroundProcesses {
    entropy: Box<dyn Fn() -> u128 + Send + Sync>,
    inheritance: Arc<EnvironmentFilter>,
    all: Mutex<Vec<Arc<BackgroundProcess>>>,
    watchers: ProcessWatchers,
    /// Whether the warning that programs are not confined here was already given.
    is_told: AtomicBool,
}

struct BackgroundProcess {
    id: ProcessId,
    session: SessionId,
    stop: CancellationToken,
    /// Fires when nothing of it is left.
    gone: CancellationToken,
    refused: ProxyRefusals,
    seen: Mutex<BackgroundState>,
}

struct BackgroundState {
    output: BoundedOutput,
    /// How far the model has read.
    position: u64,
    /// Output that is not in the journal yet.
    news: BoundedOutput,
    ending: Option<ExitReason>,
    /// Tool calls that wait for its end.
    waiting: usize,
}

impl BackgroundState {
    fn take(&mut self, bytes: &[u8]) {
        self.output.push(bytes);
        self.news.push(bytes);
    }
}

#[derive(Clone, Default)]
struct ProcessWatchers(Arc<Mutex<Vec<UnboundedSender<ProcessEvent>>>>);

impl BackgroundProcesses {
    /// None yet. `entropy` makes their ids.
    pub fn new(entropy: impl Fn() -> u128 + Send + Sync + 'static) -> Self {
        Self {
            entropy: Box::new(entropy),
            inheritance: Arc::default(),
            all: Mutex::default(),
            watchers: ProcessWatchers::default(),
            is_told: false.into(),
        }
    }

    /// With what the programs of this runtime may inherit, in the background or not.
    pub fn inheriting(mut self, inheritance: Arc<EnvironmentFilter>) -> Self {
        self.inheritance = inheritance;
        self
    }

    /// What the programs of this runtime may inherit.
    pub fn inheritance(&self) -> Arc<EnvironmentFilter> {
        self.inheritance.clone()
    }

    /// Everything that happens to processes from now on.
    pub fn events(&self) -> UnboundedReceiver<ProcessEvent> {
        let (tx, rx) = unbounded_channel();
        hold(&self.watchers.0).push(tx);
        rx
    }

    /// Ends one process of a session and waits until it is gone; none if there is no such process.
    pub async fn stop(&self, session: &SessionId, id: &str) -> Option<ExitReason> {
        let process = self.find(session, id)?;
        process.stop.cancel();
        process.gone.cancelled().await;
        hold(&process.seen).ending
    }

    /// Waits until a process has ended. The caller tells the agent: it gets no message about that end.
    /// Says whether there is such a process.
    pub async fn wait(&self, session: &SessionId, id: &str) -> bool {
        let Some(process) = self.find(session, id) else {
            return false;
        };
        let _waiting = WaitGuard::new(&process);
        process.gone.cancelled().await;
        true
    }

    /// Ends all processes of a session and waits until they are gone.
    pub async fn stop_session_processes(&self, session: &SessionId) {
        let theirs: Vec<_> = hold(&self.all)
            .iter()
            .filter(|process| process.session == *session)
            .cloned()
            .collect();
        theirs.iter().for_each(|process| process.stop.cancel());
        for process in theirs {
            process.gone.cancelled().await;
        }
    }

    /// Ends all processes there are and waits until they are gone.
    pub async fn stop_everything(&self) {
        let all: Vec<_> = hold(&self.all).clone();
        all.iter().for_each(|process| process.stop.cancel());
        for process in all {
            process.gone.cancelled().await;
        }
    }

    /// Whether this is the first time that a program is started unconfined which should not be.
    pub(crate) fn is_first_unconfined(&self) -> bool {
        !self.is_told.swap(true, Ordering::Relaxed)
    }

    /// Whether a session may start another one; else the reason.
    pub(crate) fn check_process_limit(&self, session: &SessionId) -> Result<(), String> {
        let all = hold(&self.all);
        let running = all
            .iter()
            .filter(|process| process.session == *session && !process.gone.is_cancelled());
        if running.count() < RUNNING {
            return Ok(());
        }
        Err(format!(
            "{RUNNING} background processes are running already. Stop one with TaskStop first."
        ))
    }

    /// Takes over a process that was started.
    pub(crate) fn adopt(&self, process: Process, request: BackgroundRequest) -> ProcessId {
        let id = ProcessId::from_entropy((self.entropy)());
        let background = Arc::new(BackgroundProcess {
            id: id.clone(),
            session: request.session.clone(),
            stop: CancellationToken::new(),
            gone: CancellationToken::new(),
            refused: request.refused,
            seen: Mutex::new(BackgroundState {
                output: BoundedOutput::new(SPOOL_BYTES),
                position: 0,
                news: BoundedOutput::new(NEWS_BYTES),
                ending: None,
                waiting: 0,
            }),
        });
        self.remember(background.clone());
        self.watchers.tell(&ProcessEvent::Started {
            id: id.clone(),
            session: request.session,
            call: request.call,
            command: request.command,
            identity: process.identity(),
        });
        tokio::spawn(watch(process, background, self.watchers.clone()));
        id
    }

    /// What a process wrote since the last look, and how it is; none if there is no such process.
    pub(crate) fn read_new_output(&self, session: &SessionId, id: &str) -> Option<ProcessUpdate> {
        let process = self.find(session, id)?;
        let mut seen = hold(&process.seen);
        let (written, position) = seen.output.text_since(seen.position);
        seen.position = position;
        let text = process
            .refused
            .news()
            .into_iter()
            .map(|line| line + "\n")
            .chain([written])
            .collect();
        Some(ProcessUpdate {
            text,
            ending: seen.ending,
        })
    }

    /// Takes the output of a process since the last call, to be recorded in the journal. An incomplete UTF-8
    /// character is left for the next call.
    pub fn take_unrecorded_output(&self, session: &SessionId, id: &str) -> String {
        let Some(process) = self.find(session, id) else {
            return String::new();
        };
        let mut seen = hold(&process.seen);
        let (text, position) = seen.news.text_since(0);
        let begun = seen.news.last_bytes(seen.news.total() - position);
        seen.news = BoundedOutput::new(NEWS_BYTES);
        seen.news.push(&begun);
        text
    }

    fn find(&self, session: &SessionId, id: &str) -> Option<Arc<BackgroundProcess>> {
        hold(&self.all)
            .iter()
            .find(|process| process.session == *session && process.id.as_str() == id)
            .cloned()
    }

    /// Forgets the oldest that ended, so that memory stays bounded.
    fn remember(&self, process: Arc<BackgroundProcess>) {
        let mut all = hold(&self.all);
        let is_old = |other: &Arc<BackgroundProcess>| {
            other.session == process.session && other.gone.is_cancelled()
        };
        let ended = all.iter().filter(|other| is_old(other)).count();
        let mut surplus = (ended + 1).saturating_sub(REMEMBERED);
        all.retain(|other| {
            let goes = surplus > 0 && is_old(other);
            surplus -= usize::from(goes);
            !goes
        });
        all.push(process);
    }
}

/// A tool call that waits for the end of a process, counted until it stops waiting.
struct WaitGuard<'a>(&'a BackgroundProcess);

impl<'a> WaitGuard<'a> {
    fn new(process: &'a BackgroundProcess) -> Self {
        hold(&process.seen).waiting += 1;
        Self(process)
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        hold(&self.0.seen).waiting -= 1;
    }
}

impl Drop for BackgroundProcesses {
    fn drop(&mut self) {
        hold(&self.all)
            .iter()
            .for_each(|process| process.stop.cancel());
    }
}

impl ProcessWatchers {
    fn tell(&self, event: &ProcessEvent) {
        hold(&self.0).retain(|watcher| watcher.send(event.clone()).is_ok());
    }
}

/// Reads what a process writes until it ends. If this task is dropped, the process is killed.
async fn watch(process: Process, background: Arc<BackgroundProcess>, watchers: ProcessWatchers) {
    let bounds = ProcessBounds {
        time: None,
        output: 0,
    };
    let finished = process
        .finish(bounds, &background.stop, |bytes| {
            hold(&background.seen).take(bytes)
        })
        .await;
    for words in &finished.kept_out {
        hold(&background.seen).take(format!("[sandbox: {words}]\n").as_bytes());
    }
    let is_told = {
        let mut seen = hold(&background.seen);
        seen.ending = Some(finished.ending);
        seen.waiting > 0
    };
    // Before `gone`: a caller that waits until it is gone finds that every watcher was told.
    watchers.tell(&ProcessEvent::Ended {
        id: background.id.clone(),
        session: background.session.clone(),
        ending: finished.ending,
        is_told,
    });
    background.gone.cancel();
}

/// Nothing that is held here can be left half-done, so a panic elsewhere is no reason to stop.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
