//! The loop. Everything an agent does, it does in here; no feature adds a branch.
//!
//! What is read is `prompt`, what follows is `decide`, what is done is `act`, when it ends is
//! `limits`. A run that was interrupted enters here again with the history it had.

use super::{
    AgentActor,
    act::act,
    ask::ask,
    chat_posts::note_working,
    compaction::compact,
    decide::{NextStep, decide},
    hook_points::may_end,
    limits::RunEndReason,
    take::take_in,
    verify::verify,
};
use crate::Error;

/// Works on the open run until nothing is left to do.
pub(super) async fn run(agent: &mut AgentActor) -> Result<RunEndReason, Error> {
    loop {
        // With a model and tools that answer at once, nothing else would ever make room for others.
        tokio::task::coop::consume_budget().await;
        take_in(agent).await?;
        note_working(agent);
        let ended = match agent.inbox.end_reason.take() {
            Some(end) => Some(end),
            None => match decide(
                &agent.history,
                &agent.resolved.limits,
                agent.room(),
                agent.checking(),
            ) {
                NextStep::Ask => ask(agent).await?,
                NextStep::Act(calls) => act(agent, calls).await?,
                NextStep::Verify => verify(agent).await?,
                NextStep::Compact(squeeze) => compact(agent, squeeze).await?,
                NextStep::End(end) => may_end(agent, end).await?,
            },
        };
        if let Some(end) = ended {
            return Ok(end);
        }
    }
}
