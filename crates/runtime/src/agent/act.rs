//! Makes the calls of one reply: in scope? permitted? intent kept, run, result kept.
//!
//! Invariant: this is the only place where a tool call is checked and the only place where one
//! is run. Calls that only look run at the same time; a call with effects runs alone, after the
//! ones before it. Results are kept as they come, so that a crash loses as little as possible;
//! `history.rs` gives them to the model in call order.

use std::{collections::VecDeque, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use rooftree_protocol::{ErrorCode, EventBody, Outcome, Repeat, Timestamp, ToolCall, event::ToolRecord};
use rooftree_tools::{Judged, ToolOutput, Verdict, toolset::Found};
use tokio_util::sync::CancellationToken;

use super::{
    Agent,
    call::{Prepared, context, leave, not_made},
    journal::Commit,
    limits::End,
    permission,
    permission::Permitted,
    result,
    take::is_steered,
};
use crate::{
    Error,
    hooks::{self, Said, ToolUse},
    kit::{ONLY_ABOVE, ONLY_FIRST},
};

/// How long a cancelled tool may take to stop before it is given up.
const GRACE: Duration = Duration::from_secs(5);

/// What the checks say about a call.
enum Checked {
    Ready(Prepared),
    Ask(Prepared, String),
    Refused(ToolRecord),
}

/// Makes the calls; says if the run must end for something that came meanwhile.
pub(super) async fn act(agent: &mut Agent, calls: Vec<ToolCall>) -> Result<Option<End>, Error> {
    let mut rest = VecDeque::from(calls);
    let mut said = Said::default();
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
        let ended = match consult(agent, &call, &mut said).await {
            Checked::Refused(record) => {
                agent.note(EventBody::ToolCompleted(record));
                None
            }
            Checked::Ready(first) => {
                let batch = together(agent, first, &mut rest, &mut said).await;
                run_batch(agent, batch).await?
            }
            Checked::Ask(prepared, reason) => match permission::ask(agent, &prepared, reason).await? {
                Permitted::Yes => run_batch(agent, vec![prepared]).await?,
                Permitted::No(words) => {
                    agent.note(EventBody::ToolCompleted(refusal(&prepared, words)));
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
    Ok(None)
}

/// The one place where it is decided whether a call may be made.
fn check(agent: &Agent, call: &ToolCall) -> Checked {
    let refused = |outcome, words: String| {
        let title = call.tool.clone();
        Checked::Refused(not_made(call, &title, outcome, words))
    };
    let Found::Tool(tool) = agent.kit.toolset.find(&call.tool) else {
        let (code, words) = unknown_tool(agent, &call.tool);
        return refused(Outcome::Failed(code), words);
    };
    let input = match tool.normalise(&call.tool, call.input.clone()) {
        Ok(input) => input,
        Err(words) => return refused(Outcome::Failed(ErrorCode::InvalidArguments), words),
    };
    let (effect, repeat, title) = (tool.effect(&input), tool.repeat(&input), tool.title(&input));
    let subject = tool.subject(&input);
    let judged =
        Judged { tool: &tool.spec().name, subject: subject.as_deref(), effect, cwd: &agent.session.cwd };
    let verdict = agent.policy.judge(&judged);
    let prepared = Prepared { call: call.clone(), tool, input, effect, repeat, title };
    match verdict {
        Verdict::Allow(_) => Checked::Ready(prepared),
        Verdict::Ask(reason) => Checked::Ask(prepared, reason),
        Verdict::Deny(reason) => Checked::Refused(refusal(&prepared, format!("[denied] {reason}"))),
    }
}

/// What the checks say, made stricter by what hooks say.
async fn consult(agent: &mut Agent, call: &ToolCall, said: &mut Said) -> Checked {
    let checked = check(agent, call);
    let one = match &checked {
        Checked::Ready(one) | Checked::Ask(one, _) if agent.world.has_say() => one,
        _ => return checked,
    };
    let (world, about) = (agent.world.clone(), tool_use(agent, one));
    let verdict = said.about(&world.options.hooks, &*world.options.clock, about).await;
    match (verdict, checked) {
        (hooks::Verdict::Deny(why), Checked::Ready(one) | Checked::Ask(one, _)) => {
            Checked::Refused(refusal(&one, format!("[denied] {why}")))
        }
        (hooks::Verdict::Ask, Checked::Ready(one)) => {
            Checked::Ask(one, "a hook wants somebody to be asked about it".into())
        }
        (_, checked) => checked,
    }
}

fn tool_use(agent: &Agent, one: &Prepared) -> ToolUse {
    ToolUse {
        session: agent.session.id.clone(),
        run: agent.run_id(),
        agent: agent.session.agent.clone(),
        depth: agent.mandate.as_ref().map_or(0, |mandate| mandate.depth()),
        call: one.call.id.clone(),
        tool: one.tool.spec().name.clone(),
        input: one.input.clone(),
        title: one.title.clone(),
        effect: one.effect,
        cwd: agent.session.cwd.clone(),
    }
}

fn unknown_tool(agent: &Agent, name: &str) -> (ErrorCode, String) {
    let exists = matches!(agent.world.options.tools.find(name), Found::Tool(_));
    let there_are = agent.kit.toolset.names().join(", ");
    if let Some(words) = not_inside(agent, name) {
        return (ErrorCode::ToolNotAllowed, words);
    }
    if exists {
        (
            ErrorCode::ToolNotAllowed,
            format!("tool_not_allowed: this agent may not use `{name}`. It has: {there_are}"),
        )
    } else {
        (
            ErrorCode::ToolNotFound,
            format!("tool_not_found: there is no tool `{name}`. There are: {there_are}"),
        )
    }
}

/// What to say about a tool that only agents further up have.
fn not_inside(agent: &Agent, name: &str) -> Option<String> {
    let Found::Tool(tool) = agent.world.options.tools.find(name) else { return None };
    let name = tool.spec().name.as_str();
    agent.mandate.as_ref()?;
    if ONLY_ABOVE.contains(&name) {
        Some(format!(
            "{name} is not available inside a sub-agent. Do the work yourself, or say in your answer what another agent should do."
        ))
    } else if ONLY_FIRST.contains(&name) {
        Some(format!(
            "{name} is not available inside a sub-agent. Decide by yourself, or ask in your answer."
        ))
    } else {
        None
    }
}

/// The first call and those after it that may run at the same time.
async fn together(
    agent: &mut Agent,
    first: Prepared,
    rest: &mut VecDeque<ToolCall>,
    said: &mut Said,
) -> Vec<Prepared> {
    let mut batch = vec![first];
    while batch.iter().all(Prepared::is_concurrent) && batch.len() < agent.kit.limits.concurrent_calls {
        let Some(next) = rest.front() else { break };
        match consult(agent, next, said).await {
            Checked::Ready(prepared) if prepared.is_concurrent() => batch.push(prepared),
            _ => break,
        }
        rest.pop_front();
    }
    batch
}

type Running = BoxFuture<'static, (Prepared, ToolOutput, Timestamp)>;

/// Keeps the intents, runs the calls, keeps each result as it comes.
async fn run_batch(agent: &mut Agent, batch: Vec<Prepared>) -> Result<Option<End>, Error> {
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
    let mut ended = None;
    while ended.is_none() {
        let came = tokio::select! {
            biased;
            came = agent.interruption() => came,
            done = running.next() => match done {
                Some((call, output, since)) => {
                    result::keep(agent, &call, output, since, None);
                    continue;
                }
                None => return Ok(None),
            },
        };
        ended = agent.heed(came)?;
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
    }
}

fn refusal(one: &Prepared, words: String) -> ToolRecord {
    let record = not_made(&one.call, &one.title, Outcome::Denied, words);
    ToolRecord { tool: one.tool.spec().name.clone(), ..record }
}
