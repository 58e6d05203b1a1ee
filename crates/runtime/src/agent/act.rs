//! Makes the calls of one reply: checked, permitted, intent kept, run, result kept.
//!
//! Invariant: this is the only place where a tool is run. Calls that only look run at the same time;
//! a call with effects runs alone, after the ones before it. Results are kept as they come, so that a crash loses as little as possible;
//! `history.rs` gives them to the model in call order.

use std::{collections::VecDeque, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use rooftree_protocol::{ErrorCode, EventBody, Outcome, Repeat, Timestamp, ToolCall};
use rooftree_tools::ToolOutput;
use tokio_util::sync::CancellationToken;

use super::{
    Agent,
    call::{Prepared, context, leave, not_made},
    check::{Checked, consult, refusal},
    hook_points::{self, Said, Used},
    journal::Commit,
    limits::End,
    permission,
    permission::Permitted,
    questions, result,
    take::is_steered,
};
use crate::Error;

/// How long a cancelled tool may take to stop before it is given up.
const GRACE: Duration = Duration::from_secs(5);

/// Makes the calls; says if the run must end for something that came meanwhile.
pub(super) async fn act(agent: &mut Agent, calls: Vec<ToolCall>) -> Result<Option<End>, Error> {
    let mut rest = VecDeque::from(calls);
    let (mut said, mut used) = (Said::default(), Vec::new());
    while let Some(call) = rest.pop_front() {
        if is_steered(agent).await? {
            rest.push_front(call);
            leave(agent, rest, "cancelled: steered");
            return Ok(None);
        }
        if let Some(end) = agent.ending.take() {
            rest.push_front(call);
            leave(agent, rest, "[cancelled]");
            return Ok(Some(end));
        }
        // A call before this one may have changed what is allowed, and so may people.
        agent.renew_policy().await?;
        let ended = match consult(agent, &call, &mut said).await? {
            Checked::Refused(record) => {
                hook_points::refused(agent, None, &record);
                agent.note(EventBody::ToolCompleted(record));
                None
            }
            Checked::Ended => {
                rest.push_front(call);
                agent.ending.take()
            }
            Checked::Ready(first) => {
                let batch = together(agent, first, &mut rest, &mut said).await?;
                run_batch(agent, batch, &mut used).await?
            }
            Checked::Ask(mut prepared, reason) => match permission::ask(agent, &prepared, reason).await? {
                Permitted::Yes(by) => {
                    prepared.permitted_by(by);
                    run_batch(agent, vec![prepared], &mut used).await?
                }
                Permitted::No(words) => {
                    let record = refusal(&prepared, words);
                    hook_points::refused(agent, Some(&prepared), &record);
                    agent.note(EventBody::ToolCompleted(record));
                    None
                }
                Permitted::Vain(words) => {
                    let record =
                        not_made(&call, &prepared.title, Outcome::Failed(ErrorCode::ToolFailed), words);
                    agent.note(EventBody::ToolCompleted(record));
                    None
                }
                Permitted::Ended(end) => {
                    rest.push_front(call);
                    Some(end)
                }
            },
        };
        if let Some(end) = ended {
            // A paused run makes its remaining calls when it goes on.
            if end != End::Paused {
                leave(agent, rest, "[cancelled]");
            }
            return Ok(Some(end));
        }
    }
    hook_points::after_batch(agent, used).await?;
    Ok(None)
}

/// The first call and those after it that may run at the same time.
async fn together(
    agent: &mut Agent,
    first: Prepared,
    rest: &mut VecDeque<ToolCall>,
    said: &mut Said,
) -> Result<Vec<Prepared>, Error> {
    let mut batch = vec![first];
    while batch.iter().all(Prepared::is_concurrent) && batch.len() < agent.kit.limits.concurrent_calls {
        let Some(next) = rest.front() else { break };
        match consult(agent, next, said).await? {
            Checked::Ready(prepared) if prepared.is_concurrent() => batch.push(prepared),
            _ => break,
        }
        rest.pop_front();
    }
    Ok(batch)
}

type Running = BoxFuture<'static, (Prepared, ToolOutput, Timestamp)>;

/// Keeps the intents, runs the calls, keeps each result as it comes.
async fn run_batch(
    agent: &mut Agent,
    batch: Vec<Prepared>,
    used: &mut Vec<Used>,
) -> Result<Option<End>, Error> {
    let before = used.len();
    let bodies = batch.iter().map(intent).collect();
    agent.append(Commit { bodies, run: agent.run_id(), ..Commit::default() });
    if batch.iter().any(|one| one.repeat != Repeat::Pure) {
        // The intent must be on disk before anything happens that cannot be repeated.
        agent.journal.barrier().await?;
    }
    rooftree_store::failpoint::reach_at("tool.intended", agent.depth());
    let stop = CancellationToken::new();
    let mut running: FuturesUnordered<Running> =
        batch.into_iter().map(|one| start(agent, one, &stop)).collect();
    let (mut ended, mut asked) = (None, Vec::new());
    while ended.is_none() {
        let (interruption, too_late) = (agent.interruption(), questions::too_late(agent, &asked));
        let came = tokio::select! {
            biased;
            came = interruption => came,
            wish = agent.wishes.next() => {
                questions::put(agent, wish, &mut asked).await?;
                // A hook was asked first, and something may have come meanwhile.
                ended = agent.ending.take();
                continue;
            }
            () = too_late => {
                questions::look(agent, &mut asked).await?;
                continue;
            }
            done = running.next() => match done {
                Some((call, output, since)) => {
                    used.extend(hook_points::used(agent, &call, &output));
                    result::keep(agent, &call, output, since, None);
                    continue;
                }
                None => {
                    hook_points::after_tools(agent, used.get(before..).unwrap_or_default()).await?;
                    return Ok(None);
                }
            },
        };
        ended = agent.heed(came)?;
        questions::look(agent, &mut asked).await?;
    }
    if ended != Some(End::Paused) {
        questions::withdraw(agent, asked).await?;
    }
    stop.cancel();
    wind_up(agent, running, ended.as_ref()).await;
    Ok(ended)
}

/// Lets cancelled tools stop and keeps what they have. When the run is only paused, calls that
/// can be repeated are left without a result and are made again later.
async fn wind_up(agent: &mut Agent, mut running: FuturesUnordered<Running>, ended: Option<&End>) {
    while let Ok(Some((call, output, since))) = tokio::time::timeout(GRACE, running.next()).await {
        if ended != Some(&End::Paused) || call.repeat == Repeat::AtMostOnce {
            result::keep(agent, &call, output, since, Some(Outcome::Cancelled));
        }
    }
    drop(running);
    if ended != Some(&End::Paused) {
        let late = agent.history.open_calls().filter(|open| open.intent.is_some());
        let late: VecDeque<ToolCall> = late.map(|open| open.call.clone()).collect();
        leave(agent, late, "[cancelled] it did not stop in time and was abandoned");
    }
}

fn start(agent: &Agent, one: Prepared, stop: &CancellationToken) -> Running {
    let context = context(agent, &one, stop.child_token());
    let since = agent.world.now();
    let work = one.tool.run(one.input.clone(), context);
    Box::pin(async move {
        let output = std::panic::AssertUnwindSafe(work).catch_unwind().await;
        let output = output
            .unwrap_or_else(|_| ToolOutput::failed(ErrorCode::Internal, "the tool crashed; this is a bug"));
        (one, output, since)
    })
}

fn intent(one: &Prepared) -> EventBody {
    EventBody::ToolStarted {
        call: one.call.id.clone(),
        tool: one.tool.spec().name.clone(),
        kind: one.tool.kind(),
        title: one.title.clone(),
        input: one.input.clone(),
        effect: one.effect,
        repeat: one.repeat,
        permitted: one.permitted.clone(),
    }
}
