//! Lifecycle of an agent: claim → take → run → settle → rest, around the loop.

use std::{sync::Arc, time::Duration};

use rooftree_protocol::{
    EventBody, SessionId,
    event::{ClearReason, NoticeLevel},
};
use rooftree_store::{ClaimOutcome, ClaimedSession, Pending};

use super::{
    AgentActor, JournalCommit, compaction, history::History, hook_points, limits, recovery, run,
    settle, take,
};
use crate::{
    Error,
    runtime_context::{LEASE, RuntimeContext, SessionAction},
    signals::SignalQueue,
    tasks,
};

/// Retry interval for a claim that another process holds.
const HELD_ELSEWHERE: Duration = Duration::from_millis(250);

/// Retry interval after a store error.
const STORE_FAILED: Duration = Duration::from_secs(5);

/// Lives until there is nothing left to do, or the runtime stops.
pub(crate) async fn run_until_idle(
    context: Arc<RuntimeContext>,
    session: SessionId,
    signals: SignalQueue,
) {
    loop {
        let now = context.now();
        let claim = context
            .store()
            .claim(&session, &context.owner, now, now.after(LEASE))
            .await;
        let ended = match claim {
            Ok(ClaimOutcome::Granted(claimed)) => wake(&context, claimed, &signals).await,
            Ok(ClaimOutcome::Held(_)) => wait_for_claim(&context, &session, &signals).await,
            Err(error) => Err(error.into()),
        };
        match ended {
            Ok(RestOutcome::Yes) => return,
            Ok(RestOutcome::Not) => {}
            // Another process works on it now. Should it fail, what is left is ours again.
            Err(Error::Store(rooftree_store::Error::Fenced)) => {
                tokio::time::sleep(HELD_ELSEWHERE).await
            }
            // A message was withdrawn or replaced after this agent had read it. Nothing was written: start again.
            Err(Error::Store(rooftree_store::Error::Superseded(_))) => {}
            Err(error) => {
                report_failure(&context, &session, &error).await;
                let is_over = matches!(error, Error::Refused(_) | Error::Closed);
                // A full disk may have room again: what was accepted is tried again after a while.
                if is_over || closes_within(&context, STORE_FAILED).await {
                    return;
                }
            }
        }
    }
}

/// Waits; says whether the runtime closed meanwhile.
async fn closes_within(context: &RuntimeContext, pause: Duration) -> bool {
    tokio::time::timeout(pause, context.closing.cancelled())
        .await
        .is_ok()
}

enum RestOutcome {
    Yes,
    Not,
}

/// Another process works on this session. It finds what was posted in the store, and what we are
/// told is passed on to it; if it dies, we take over.
async fn wait_for_claim(
    context: &Arc<RuntimeContext>,
    session: &SessionId,
    signals: &SignalQueue,
) -> Result<RestOutcome, Error> {
    forward_signals(context, session, signals).await?;
    let idle = !context.store().unfinished().await?.contains(session);
    if idle && signals.close_if_empty(|| ()) {
        return Ok(RestOutcome::Yes);
    }
    let mut changes = context.store().changes();
    tokio::select! {
        () = context.closing.cancelled() => return Ok(RestOutcome::Yes),
        _ = changes.changed() => {}
        () = tokio::time::sleep(HELD_ELSEWHERE) => {}
    }
    Ok(RestOutcome::Not)
}

/// Leaves what we are told for the process that works on the session, or will.
async fn forward_signals(
    context: &RuntimeContext,
    session: &SessionId,
    signals: &SignalQueue,
) -> Result<(), Error> {
    while let Some(signal) = signals.try_next() {
        if let Some(row) = signal.command(session, context.now()) {
            context.store().put_command(session, row).await?;
        }
    }
    Ok(())
}

/// Tells watchers that the agent could not go on. Nothing accepted is lost: it is in the store.
async fn report_failure(context: &Arc<RuntimeContext>, session: &SessionId, error: &Error) {
    let problem = error.problem();
    let Ok(Some(session)) = context.store().session(session).await else {
        return;
    };
    let notice = EventBody::Notice {
        level: NoticeLevel::Error,
        code: "agent_stopped".into(),
        message: problem.message,
        hint: problem.fix,
    };
    context.mention(&session, None, notice);
}

async fn wake(
    context: &Arc<RuntimeContext>,
    mut claimed: ClaimedSession,
    signals: &SignalQueue,
) -> Result<RestOutcome, Error> {
    let attempts = claimed.attempts;
    if attempts > 0 {
        // The previous owner did not release the claim: it crashed.
        tasks::clean_up(context, &claimed.session.id).await?;
    } else if claimed.session.head > 0 {
        tasks::settle_left(context, &claimed.session.id).await?;
    }
    context.caches.saved_rules.expect(claimed.rules);
    let left = std::mem::take(&mut claimed.commands);
    if let Ok(definition) = context
        .options
        .agents
        .definitions
        .find(&claimed.session.agent)
    {
        context
            .prepare_model(&claimed.session, &definition, None)
            .await;
    }
    let mut agent = AgentActor::new(context.clone(), claimed, signals.clone())?;
    let worked = match recovery::load(&mut agent).await {
        Ok(()) if is_foreign(&agent) => {
            for row in left {
                context.store().put_command(&agent.session.id, row).detach();
            }
            forward_signals(context, &agent.session.id, signals).await
        }
        Ok(()) => {
            // Whatever run is open from here on is ours.
            signals.own();
            recovery::apply_left_commands(&mut agent, left);
            agent.work(attempts).await
        }
        Err(error) => Err(error),
    };
    agent.rest(worked).await
}

/// Whether another process left this session's run open, and this process may not resume it: the session was woken by
/// a message, and the process that had it has died since.
fn is_foreign(agent: &AgentActor) -> bool {
    let takes_all = agent
        .context
        .takes_all
        .load(std::sync::atomic::Ordering::Relaxed);
    agent.history.run().is_some() && !agent.inbox.signals.is_own() && !takes_all
}

/// Another process may have posted after the last check and before the claim was released. It was told that an agent
/// is awake here, so wake one.
async fn wake_again(
    context: &RuntimeContext,
    session: &SessionId,
    history: &History,
    waits: Pending<bool>,
) {
    let waits = waits.await.unwrap_or_default();
    if waits && !context.closing.is_cancelled() && take::is_left(context, session, history).await {
        let _ = context
            .session_actions
            .send(SessionAction::Wake(session.clone()));
    }
}

impl AgentActor {
    /// Works off what was left open, then the mail, until nothing is left.
    async fn work(&mut self, attempts: u32) -> Result<(), Error> {
        if self.session.forked_from.is_some() {
            // At once: it closes the run its parent was in.
            self.open_journal();
        }
        if let Some(run) = self.history.run() {
            let (run, context) = (run.id.clone(), run.context);
            let mandate = take::open_mandate(self).await?;
            self.set_up_run(mandate, &run, context).await?;
            self.send_notices();
            self.renew_policy().await?;
            recovery::tell_rights(self);
        }
        recovery::recover(self, attempts).await?;
        loop {
            if let Some(run) = self.history.run() {
                if let Some(at) = self
                    .inbox
                    .runs_to_cancel
                    .iter()
                    .position(|(unwanted, _)| *unwanted == run.id)
                {
                    let (_, who) = self.inbox.runs_to_cancel.swap_remove(at);
                    self.inbox.cancel(who);
                    self.inbox.end_reason = Some(limits::RunEndReason::Cancelled);
                }
                let end = run::run(self).await?;
                if end == limits::RunEndReason::Paused {
                    return Ok(());
                }
                settle::settle(self, end).await?;
            }
            self.apply_pending_signals()?;
            // A cancel that came after the run had ended has nothing to end.
            self.inbox.forget_end();
            if self.inbox.clear.is_none() {
                compaction::compact_idle(self).await?;
            }
            if let Some(who) = self.inbox.clear.take() {
                self.inbox.compact = None;
                self.append(JournalCommit {
                    bodies: vec![EventBody::SessionCleared {
                        reason: ClearReason::Asked,
                    }],
                    run: self.run_id(),
                    who,
                    ..JournalCommit::default()
                });
                hook_points::cleared(self);
                self.journal.barrier().await?;
            }
            if self.context.closing.is_cancelled() || !take::take_next(self).await? {
                self.open_journal();
                return Ok(());
            }
            self.apply_signals_before_run()?;
            rooftree_store::failpoint::reach("mail.taken");
        }
    }

    /// Gives the claim back, in one step with making sure that nothing came meanwhile.
    async fn rest(self, worked: Result<(), Error>) -> Result<RestOutcome, Error> {
        let (context, signals, place) = (self.context, self.inbox.signals, self.journal.place());
        let folded = Arc::new(recovery::FoldedSession {
            history: self.history,
            file_views: self.calls.file_views,
        });
        let worked = match worked {
            Ok(()) => self.journal.barrier().await,
            Err(error) => {
                context
                    .options
                    .tools
                    .processes
                    .stop_session_processes(&self.session.id)
                    .await;
                Err(error)
            }
        };
        if worked.is_ok() {
            // Before the claim is released: the next agent may be waiting for it.
            let tokens = folded.history.estimate();
            let id = self.session.id.clone();
            context
                .caches
                .resting
                .keep(id, place, tokens, folded.clone());
        }
        let mut claim = self.journal.close().await;
        let mut released = None;
        let mut release = || {
            released = claim
                .take()
                .map(|claim| context.store().release(claim))
                .or(released.take());
        };
        let slept = worked.is_ok() && signals.close_if_empty(&mut release);
        // A signal came while falling asleep, or an error occurred: the next agent claims anew.
        release();
        // No event tells that no process works on it any more.
        context.bus.touch();
        worked?;
        if slept && let Some(waits) = released {
            wake_again(&context, &self.session.id, &folded.history, waits).await;
        }
        Ok(if slept || context.closing.is_cancelled() {
            RestOutcome::Yes
        } else {
            RestOutcome::Not
        })
    }
}
