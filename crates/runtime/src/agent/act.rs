//! Makes the calls of one reply: checked, permitted, then run by `batch.rs`.
//!
//! Calls that only look run at the same time; a call with effects runs alone, after the ones before it. Results
//! are kept as they come, so that a crash loses as little as possible; `history.rs` gives them to the model in
//! call order.

use std::collections::VecDeque;

use rooftree_protocol::{ErrorCode, EventBody, Outcome, ToolCall};

use super::{
    AgentActor, batch,
    call::{PreparedCall, not_made, record_cancelled},
    check::{CheckedCall, check_with_hooks, refusal},
    fan_out::FanOut,
    hook_points::{self, CallHookAnswers},
    limits::RunEndReason,
    permission,
    permission::PermissionOutcome,
    take::is_steered,
};
use crate::Error;

/// Makes the calls; says if the run must end for something that came meanwhile.
pub(super) async fn act(
    agent: &mut AgentActor,
    calls: Vec<ToolCall>,
) -> Result<Option<RunEndReason>, Error> {
    let mut rest = VecDeque::from(calls);
    let (mut checks, mut used) = (ReplyChecks::default(), Vec::new());
    agent.calls.spawned = 0;
    while let Some(call) = rest.pop_front() {
        if is_steered(agent).await? {
            rest.push_front(call);
            record_cancelled(agent, rest, "cancelled: steered");
            return Ok(None);
        }
        if let Some(end) = agent.inbox.end_reason.take() {
            rest.push_front(call);
            record_cancelled(agent, rest, "[cancelled]");
            return Ok(Some(end));
        }
        // A call before this one may have changed what is allowed, and so may people.
        agent.renew_policy().await?;
        if let Some(end) = checks.judge_fan_out(agent, &call, &rest).await? {
            rest.push_front(call);
            return Ok(Some(stopped(agent, rest, end)));
        }
        let ended = match checks.check(agent, &call).await? {
            CheckedCall::Refused(record) => {
                hook_points::refused(agent, None, &record);
                agent.note(EventBody::ToolCompleted(*record));
                None
            }
            CheckedCall::Ended => {
                rest.push_front(call);
                agent.inbox.end_reason.take()
            }
            CheckedCall::Ready(first) => {
                let calls = together(agent, first, &mut rest, &mut checks).await?;
                batch::run(agent, calls, &mut used).await?
            }
            CheckedCall::Ask(mut prepared, reason) => {
                match permission::ask(agent, &prepared, reason).await? {
                    PermissionOutcome::Yes(by) => {
                        prepared.permitted_by(by);
                        batch::run(agent, vec![prepared], &mut used).await?
                    }
                    PermissionOutcome::No(words) => {
                        let record = refusal(&prepared, words);
                        hook_points::refused(agent, Some(&prepared), &record);
                        agent.note(EventBody::ToolCompleted(record));
                        None
                    }
                    PermissionOutcome::Vain(words) => {
                        let record = not_made(
                            &call,
                            &prepared.title,
                            Outcome::Failed(ErrorCode::ToolFailed),
                            words,
                        );
                        agent.note(EventBody::ToolCompleted(record));
                        None
                    }
                    PermissionOutcome::Ended(end) => {
                        rest.push_front(call);
                        Some(end)
                    }
                }
            }
        };
        if let Some(end) = ended {
            return Ok(Some(stopped(agent, rest, end)));
        }
    }
    hook_points::after_batch(agent, used).await?;
    Ok(None)
}

/// What is known about the calls of one reply while they are made.
#[derive(Default)]
struct ReplyChecks {
    said: CallHookAnswers,
    fan_out: FanOut,
}

impl ReplyChecks {
    async fn judge_fan_out(
        &mut self,
        agent: &mut AgentActor,
        call: &ToolCall,
        rest: &VecDeque<ToolCall>,
    ) -> Result<Option<RunEndReason>, Error> {
        self.fan_out.judge(agent, call, rest, &mut self.said).await
    }

    async fn check(
        &mut self,
        agent: &mut AgentActor,
        call: &ToolCall,
    ) -> Result<CheckedCall, Error> {
        let checked = check_with_hooks(agent, call, &mut self.said).await?;
        Ok(self.fan_out.applied(checked))
    }
}

/// Gives calls that are left a result; a paused run makes them when it goes on.
fn stopped(agent: &mut AgentActor, rest: VecDeque<ToolCall>, end: RunEndReason) -> RunEndReason {
    if end != RunEndReason::Paused {
        record_cancelled(agent, rest, "[cancelled]");
    }
    end
}

/// The first call and those after it that may run at the same time.
async fn together(
    agent: &mut AgentActor,
    first: PreparedCall,
    rest: &mut VecDeque<ToolCall>,
    checks: &mut ReplyChecks,
) -> Result<Vec<PreparedCall>, Error> {
    let mut batch = vec![first];
    while batch.iter().all(PreparedCall::is_concurrent)
        && batch.len() < agent.resolved.limits.concurrent_calls
    {
        let Some(next) = rest.front() else { break };
        match checks.check(agent, next).await? {
            CheckedCall::Ready(prepared) if prepared.is_concurrent() => batch.push(prepared),
            _ => break,
        }
        rest.pop_front();
    }
    Ok(batch)
}
