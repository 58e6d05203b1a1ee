//! The loop. Everything an agent does, it does in here; no feature adds a branch.
//!
//! What is read is `prompt`, what follows is `decide`, what is done is `act`, when it ends is
//! `limits`. A run that was interrupted enters here again with the history it had.

use super::{
    Agent,
    act::act,
    ask::ask,
    compaction::compact,
    decide::{Next, decide},
    hook_points::may_end,
    limits::End,
    take::take_in,
    verify::verify,
};
use crate::Error;

/// Works on the open run until nothing is left to do.
pub(super) async fn run(agent: &mut Agent) -> Result<End, Error> {
    loop {
        // With a model and tools that answer at once, nothing else would ever make room for others.
        tokio::task::coop::consume_budget().await;
        take_in(agent).await?;
        let ended = match agent.ending.take() {
            Some(end) => Some(end),
            None => match decide(&agent.history, &agent.kit.limits, agent.room(), agent.checking()) {
                Next::Ask => ask(agent).await?,
                Next::Act(calls) => act(agent, calls).await?,
                Next::Verify => verify(agent).await?,
                Next::Compact(squeeze) => compact(agent, squeeze).await?,
                Next::End(end) => may_end(agent, end).await?,
            },
        };
        if let Some(end) = ended {
            return Ok(end);
        }
    }
}
