//! A running program with a timeout and an output limit; ends together with its whole process tree.

mod streamed;

use std::{sync::Arc, time::Duration};

use tokio::{
    io::AsyncReadExt,
    net::unix::pipe,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    BoundedOutput, ExitReason, ProcessIdentity, Sandbox, kill, process_limit::ProcessLimiter,
    process_tree::ProcessTree, sandbox::GitSnapshot, started_child::StartedChild,
};

pub use streamed::StreamedProcess;

/// How long output is awaited after everything that could write it is gone.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// A program that was started. Dropping it kills it and all its descendants.
#[derive(Debug)]
pub struct Process {
    child: StartedChild,
    output: pipe::Receiver,
    tree: ProcessTree,
    /// What decided what git runs, until it has been compared.
    before: Option<GitSnapshot>,
    kept_out: Vec<String>,
    /// Its gate stays open as long as this is there.
    _sandbox: Option<Arc<Sandbox>>,
    /// Ends all of it if it becomes too many; gone with this.
    _crowd: Option<ProcessLimiter>,
    is_ended: bool,
}

/// Where a program ends.
#[derive(Clone, Copy, Debug)]
pub struct ProcessBounds {
    /// How long it may run; none: as long as it likes.
    pub time: Option<Duration>,
    /// How many bytes of its output are kept, half from each end.
    pub output: usize,
}

/// A program that ended, and what it wrote.
#[derive(Clone, Debug)]
pub struct FinishedProcess {
    /// Its exit reason.
    pub ending: ExitReason,
    /// Its output.
    pub output: BoundedOutput,
    /// Files it left that git would have run outside the sandbox, and what was done about them, in words for users.
    pub kept_out: Vec<String>,
}

impl Process {
    pub(crate) fn new(child: StartedChild, output: pipe::Receiver, tree: ProcessTree) -> Self {
        Self {
            child,
            output,
            tree,
            before: None,
            kept_out: Vec::new(),
            _sandbox: None,
            _crowd: None,
            is_ended: false,
        }
    }

    /// Confined: with a limit of processes, and with what is to be compared when it has ended.
    pub(crate) fn with_sandbox(
        mut self,
        sandbox: Option<Arc<Sandbox>>,
        before: Option<GitSnapshot>,
    ) -> Self {
        let most = sandbox
            .as_ref()
            .and_then(|sandbox| sandbox.limits.processes);
        self._crowd = most.map(|most| ProcessLimiter::start(self.tree.clone(), most));
        self._sandbox = sandbox;
        self.before = before;
        self
    }

    /// What to write down so that a later process can clean up after a crash of this one.
    pub fn identity(&self) -> ProcessIdentity {
        self.tree.leader
    }

    /// Waits until it ends, by itself, at its bounds or on request; nothing of it is left then.
    ///
    /// `on_output` sees everything as it is written, also what is not kept.
    pub async fn finish(
        mut self,
        bounds: ProcessBounds,
        cancel: &CancellationToken,
        mut on_output: impl FnMut(&[u8]),
    ) -> FinishedProcess {
        let mut kept = BoundedOutput::new(bounds.output);
        let mut take = |bytes: &[u8]| {
            kept.push(bytes);
            on_output(bytes);
        };
        let mut buffer = vec![0; 64 * 1024];
        let ending = self
            .until_end(bounds.time, cancel, &mut buffer, &mut take)
            .await;
        self.end_all(Some(ending), &mut buffer, &mut take).await;
        FinishedProcess {
            ending,
            output: kept,
            kept_out: self.kept_out.drain(..).collect(),
        }
    }

    async fn until_end(
        &mut self,
        time: Option<Duration>,
        cancel: &CancellationToken,
        buffer: &mut [u8],
        take: &mut impl FnMut(&[u8]),
    ) -> ExitReason {
        let far_away = Duration::from_secs(60 * 60 * 24 * 365);
        let deadline = Instant::now() + time.unwrap_or(far_away);
        let mut is_open = true;
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return ExitReason::Cancelled,
                () = sleep_until(deadline) => return ExitReason::TimedOut,
                // Before the output: a flood from a descendant must not hide the leader's end.
                ending = self.child.wait() => return ending,
                read = self.output.read(buffer), if is_open => {
                    let bytes = read.ok().and_then(|length| buffer.get(..length)).unwrap_or_default();
                    is_open = !bytes.is_empty();
                    take(bytes);
                }
            }
        }
    }

    /// Ends whatever is left and takes in its last words.
    async fn end_all(
        &mut self,
        ending: Option<ExitReason>,
        buffer: &mut [u8],
        take: &mut impl FnMut(&[u8]),
    ) {
        let mut is_open = true;
        if !self.child.is_swept() {
            self.child.hang_up();
            let mut ending = std::pin::pin!(kill::end_tree(&self.tree, ending));
            // A program that is blocked on a full pipe can only end politely if someone reads.
            loop {
                tokio::select! {
                    () = &mut ending => break,
                    read = self.output.read(buffer), if is_open => {
                        let bytes = read.ok().and_then(|length| buffer.get(..length)).unwrap_or_default();
                        is_open = !bytes.is_empty();
                        take(bytes);
                    }
                }
            }
            let _ = timeout(LAST_OUTPUT, self.child.wait()).await;
        }
        let rest = async {
            while is_open {
                let read = self.output.read(buffer).await;
                let bytes = read
                    .ok()
                    .and_then(|length| buffer.get(..length))
                    .unwrap_or_default();
                is_open = !bytes.is_empty();
                take(bytes);
            }
        };
        // The end of the output comes at once, unless something escaped that still holds it open.
        let _ = timeout(LAST_OUTPUT, rest).await;
        self.is_ended = true;
        if self.child.is_swept() {
            let ending = self.child.wait().await;
            self.child.release(ending);
        }
        if let Some(before) = self.before.take() {
            // Continues even if the caller has dropped its handle.
            let settled = tokio::task::spawn_blocking(move || before.undo_unsafe_changes()).await;
            self.kept_out = settled.unwrap_or_default();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_ended {
            kill::kill_tree(&self.tree);
        }
        if let Some(before) = self.before.take() {
            before.undo_unsafe_changes();
        }
    }
}
