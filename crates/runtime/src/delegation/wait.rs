//! Waits for a delegated run to end: told in memory if it runs here, found in the store if not.

use std::{sync::Arc, time::Duration};

use rooftree_protocol::{EventBody, RunId, event::RunEnd};
use rooftree_store::RunFilter;
use tokio_util::sync::CancellationToken;

use super::{ActiveDelegation, DelegationEnd};
use crate::runtime_context::{RuntimeContext, SessionAction};

/// How long to wait for a cancelled run to stop.
const GRACE: Duration = Duration::from_secs(4);

/// A wait for one delegated run.
pub(super) struct DelegationWait<'a> {
    pub(super) asked: &'a ActiveDelegation,
    pub(super) told: DelegationEnd,
    pub(super) late: TimeoutAction,
}

/// What to do with a run when the wait for it times out.
#[derive(Clone, Copy)]
pub(super) enum TimeoutAction {
    /// It goes on in background.
    Detach,
    /// It is stopped: its answer is not needed any more.
    Stop,
}

/// Outcome of the wait.
pub(super) enum WaitOutcome {
    Ended(Arc<RunEnd>),
    Detached,
    /// A person moved it to background.
    Moved,
    /// It took too long and was stopped, with what it had if it stopped in time.
    Stopped(Option<Arc<RunEnd>>),
    Cancelled,
}

impl DelegationWait<'_> {
    /// Waits for the end, for patience to run out, or to be told to stop, which stops the run too.
    pub(super) async fn wait(
        mut self,
        context: &RuntimeContext,
        cancel: &CancellationToken,
    ) -> WaitOutcome {
        let mut changes = context.store().changes();
        let moved = context.delegations.detachment(&self.asked.task);
        // It may have ended before this wait began, in an earlier process.
        if self.asked.is_repeated
            && let Some(end) = look(context, &self.asked.task).await
        {
            return WaitOutcome::Ended(end);
        }
        loop {
            tokio::select! {
                biased;
                Ok(end) = &mut self.told.end => return WaitOutcome::Ended(end),
                () = cancel.cancelled() => {
                    self.stop(context).await;
                    return WaitOutcome::Cancelled;
                }
                () = &mut self.told.too_late => return match self.late {
                    TimeoutAction::Detach => WaitOutcome::Detached,
                    TimeoutAction::Stop => WaitOutcome::Stopped(self.stop(context).await),
                },
                () = moved.cancelled(), if matches!(self.late, TimeoutAction::Detach) => {
                    return WaitOutcome::Moved;
                }
                // Another process may have ended it.
                _ = changes.changed() => if let Some(end) = look(context, &self.asked.task).await {
                    return WaitOutcome::Ended(end);
                },
            }
        }
    }

    /// Stops the run, unless the runtime itself stops: then it goes on at the next start.
    async fn stop(self, context: &RuntimeContext) -> Option<Arc<RunEnd>> {
        if context.closing.is_cancelled() {
            return None;
        }
        let _ = context.session_actions.send(SessionAction::Cancel(
            self.asked.session.clone(),
            self.asked.task.clone(),
        ));
        tokio::time::timeout(GRACE, self.told.end).await.ok()?.ok()
    }
}

/// The end of a run, if the store has it.
pub(super) async fn look(context: &RuntimeContext, task: &RunId) -> Option<Arc<RunEnd>> {
    let filter = RunFilter {
        run: Some(task.clone()),
        limit: 1,
        ..RunFilter::default()
    };
    let row = context.store().runs(filter).await.ok()?.pop()?;
    match row.ended?.body {
        EventBody::RunCompleted(end) => {
            context.delegations.release(task);
            Some(Arc::new(end))
        }
        _ => None,
    }
}
