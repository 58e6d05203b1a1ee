//! Interruptions of a wait: a signal, the run's timeout, the shutdown of the runtime.

use std::future::pending;

use futures::future::BoxFuture;
use rooftree_protocol::{Mandate, RunId};
use rooftree_tools::mcp::McpAgentTools;

use super::{AgentActor, limits, limits::RunEndReason};
use crate::{Error, signals::AgentSignal};

/// Something that came while the agent was waiting for something else.
pub(super) enum Interruption {
    Signal(AgentSignal),
    OutOfTime,
    Closing,
}

impl AgentActor {
    /// Resolves when something breaks in. Dropping it loses nothing.
    pub(super) fn interruption(&self) -> BoxFuture<'static, Interruption> {
        let (signals, closing) = (self.inbox.signals.clone(), self.context.closing.clone());
        let left = limits::time_left(
            self.context.now(),
            self.inbox.awake_since,
            &self.history,
            &self.resolved.limits,
        );
        let deadline = left.map(|left| self.context.options.clock.sleep(left));
        Box::pin(async move {
            let deadline = async {
                match deadline {
                    Some(deadline) => deadline.await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = closing.cancelled() => Interruption::Closing,
                signal = signals.next() => Interruption::Signal(signal),
                () = deadline => Interruption::OutOfTime,
            }
        })
    }

    /// Takes it in; says whether the run must end for it.
    pub(super) fn apply_interruption(
        &mut self,
        interruption: Interruption,
    ) -> Result<Option<RunEndReason>, Error> {
        match interruption {
            Interruption::Closing => Ok(Some(RunEndReason::Paused)),
            Interruption::OutOfTime => Ok(Some(RunEndReason::TimedOut)),
            Interruption::Signal(signal) => self.apply_signal(signal),
        }
    }

    pub(super) fn apply_signal(
        &mut self,
        signal: AgentSignal,
    ) -> Result<Option<RunEndReason>, Error> {
        match signal {
            AgentSignal::Mail => {
                self.inbox.has_boundary_mail = true;
                self.inbox.prefetched.forget();
            }
            AgentSignal::Cancel(None, who) => {
                self.inbox.cancel(who);
                return Ok(Some(RunEndReason::Cancelled));
            }
            AgentSignal::Cancel(Some(run), who) if self.run_id().as_ref() == Some(&run) => {
                self.inbox.cancel(who);
                return Ok(Some(RunEndReason::Cancelled));
            }
            // It may still be in the mail.
            AgentSignal::Cancel(Some(run), who) => self.inbox.runs_to_cancel.push((run, who)),
            AgentSignal::Clear(who) => {
                self.inbox.cancel(who.clone());
                self.inbox.clear.get_or_insert(who);
                return Ok(Some(RunEndReason::Cancelled));
            }
            AgentSignal::Compact(request) => self.inbox.compact = Some(request),
            AgentSignal::SetMode(mode, who) => self.change_mode(mode, who),
            AgentSignal::StopProcess(process) => self.stop_process(process),
            AgentSignal::MoveToBackground(run) => self.context.delegations.detach(&run),
            AgentSignal::Broken(error) => return Err(error.into()),
        }
        Ok(None)
    }

    /// The tools of MCP servers. Stops waiting for them when the run is cancelled.
    pub(super) async fn server_tools(
        &mut self,
        mandate: Option<&Mandate>,
        run: &RunId,
    ) -> Result<McpAgentTools, Error> {
        let (context, signals) = (self.context.clone(), self.inbox.signals.clone());
        let agent = self.session.agent.clone();
        let offered = context.server_tools(&agent, mandate);
        tokio::pin!(offered);
        loop {
            let signal = tokio::select! {
                biased;
                offered = &mut offered => return Ok(offered?),
                signal = signals.next() => signal,
            };
            let is_about_run = match &signal {
                AgentSignal::Cancel(about, _) => about.as_ref().is_none_or(|about| about == run),
                AgentSignal::Clear(_) => true,
                AgentSignal::Mail
                | AgentSignal::Compact(_)
                | AgentSignal::SetMode(..)
                | AgentSignal::StopProcess(_)
                | AgentSignal::MoveToBackground(_)
                | AgentSignal::Broken(_) => false,
            };
            let sender = match &signal {
                AgentSignal::Cancel(_, who) | AgentSignal::Clear(who) => who.clone(),
                _ => None,
            };
            self.apply_signal(signal)?;
            if is_about_run {
                let runs = &mut self.inbox.runs_to_cancel;
                runs.retain(|(unwanted, _)| unwanted != run);
                runs.push((run.clone(), sender));
                return Ok(McpAgentTools::default());
            }
        }
    }

    fn stop_process(&self, process: rooftree_protocol::ProcessId) {
        let (processes, session) = (
            self.context.options.tools.processes.clone(),
            self.session.id.clone(),
        );
        self.context.task_tracker.spawn(async move {
            let _ = processes.stop(&session, process.as_str()).await;
        });
    }
}
