//! The points at which an agent asks hooks: each is one call in the file it belongs to.
//!
//! What a hook says that has an effect is an event, so that a replay knows it; a verdict without
//! effect is not kept, and is asked for again after a crash. Without hooks every point is a look at
//! an empty list.

mod compaction;
mod lifecycle;
mod questions;
mod tools;

use std::{collections::HashSet, pin::pin};

use rooftree_protocol::{
    ErrorCode, EventBody, MessageId, Problem,
    event::{HookNote, NoticeLevel},
};
use serde_json::{Map, Value};

use super::{
    AgentActor,
    call::{PreparedCall, confining},
    limits::RunEndReason,
};
use crate::{
    Error,
    hooks::{self, ConfiguredHook, HookAnswer, HookPayload, HookPoint, HookRunContext, HookWait},
};

pub(super) use compaction::{CompactionTrigger, compacted, not_compacted, puts_off};
pub(super) use lifecycle::{begin, cleared, ended, may_end};
pub(super) use questions::{elicitation, elicited, notify, permission, server_of};
pub(super) use tools::{
    CallHookAnswers, CompletedToolUse, after_batch, after_tools, has_say, refused, used,
};

/// State about hooks that an agent keeps while it is awake.
#[derive(Default)]
pub(super) struct HookState {
    /// Whether the files that its hooks name were looked at.
    has_looked: bool,
    /// Messages that hooks have let pass.
    passed: HashSet<MessageId>,
    /// The reply after which a hook has put off making the context smaller.
    put_off: Option<u64>,
}

impl HookState {
    /// Whether a hook wants the context left alone until the next reply.
    pub(super) fn is_put_off(&self, reply_at: u64) -> bool {
        self.put_off == Some(reply_at)
    }
}

/// Whether any hook is registered for this point.
fn wants(agent: &AgentActor, point: HookPoint) -> bool {
    agent.context.options.agents.hooks.wants(point)
        || agent.resolved.hooks.iter().any(|hook| hook.point == point)
}

/// Whether there are hooks at all.
fn is_any(agent: &AgentActor) -> bool {
    !agent.context.options.agents.hooks.hooks.is_empty() || !agent.resolved.hooks.is_empty()
}

fn payload(agent: &AgentActor, point: HookPoint, details: Value) -> HookPayload {
    HookPayload {
        point,
        session: agent.session.id.clone(),
        root: agent.root(),
        run: agent.run_id(),
        message: agent.history.run().map(|run| run.message.clone()),
        agent: agent.session.agent.clone(),
        depth: agent.depth(),
        cwd: agent.session.cwd.clone(),
        mode: agent.rights.policy.mode,
        names: Vec::new(),
        call: None,
        details: if let Value::Object(details) = details {
            details
        } else {
            Map::new()
        },
    }
}

/// Asks, and waits for the answer. None if the run must end first; `agent.inbox.end_reason` says how.
async fn ask_hooks(
    agent: &mut AgentActor,
    payload: HookPayload,
) -> Result<Option<HookAnswer>, Error> {
    let (ahead, aside) = chosen(agent, &payload);
    in_background(agent, aside, &payload);
    if ahead.is_empty() {
        return Ok(Some(HookAnswer::default()));
    }
    for status in ahead.iter().filter_map(|hook| hook.status.clone()) {
        agent.say(notice(NoticeLevel::Info, "hook_status", status));
    }
    let asking = hooks::ask(
        ahead,
        payload,
        run_context(agent),
        agent.context.options.clock.clone(),
    );
    let Some(answer) = unless_interrupted(agent, asking).await? else {
        return Ok(None);
    };
    apply_hook_answer(agent, &answer);
    Ok(Some(answer))
}

/// Tells hooks in background: whatever they say, the work goes on.
fn tell(agent: &AgentActor, payload: HookPayload) {
    let (ahead, aside) = chosen(agent, &payload);
    in_background(agent, [ahead, aside].concat(), &payload);
}

/// The hooks to be asked: those that are waited for, and the others.
fn chosen(agent: &AgentActor, payload: &HookPayload) -> (Vec<ConfiguredHook>, Vec<ConfiguredHook>) {
    let all = agent
        .context
        .options
        .agents
        .hooks
        .hooks
        .iter()
        .chain(&agent.resolved.hooks);
    hooks::asked_on(all, payload)
        .into_iter()
        .partition(|hook| hook.wait == HookWait::Foreground)
}

/// Context that this agent's hooks run in: sandboxed as it is.
fn run_context(agent: &AgentActor) -> HookRunContext {
    agent
        .context
        .options
        .agents
        .hooks
        .run_context(confining(agent))
}

fn in_background(agent: &AgentActor, hooks: Vec<ConfiguredHook>, payload: &HookPayload) {
    if hooks.is_empty() {
        return;
    }
    let (context, session, run_context) = (
        agent.context.clone(),
        agent.session.clone(),
        run_context(agent),
    );
    let payload = payload.clone();
    // A runtime that stops waits for it; its time is bounded.
    agent.context.task_tracker.spawn(async move {
        let run = payload.run.clone();
        let answer = hooks::ask(hooks, payload, run_context, context.options.clock.clone()).await;
        for words in answer.notices {
            context.mention(
                &session,
                run.clone(),
                notice(NoticeLevel::Warning, "hook", words),
            );
        }
    });
}

/// Waits for something, unless the run must end first: then `agent.inbox.end_reason` says how.
async fn unless_interrupted<T>(
    agent: &mut AgentActor,
    work: impl Future<Output = T>,
) -> Result<Option<T>, Error> {
    let mut work = pin!(work);
    loop {
        let came = tokio::select! {
            biased;
            came = agent.interruption() => came,
            done = &mut work => return Ok(Some(done)),
        };
        if let Some(end) = agent.apply_interruption(came)? {
            agent.inbox.end_reason = Some(end);
            return Ok(None);
        }
    }
}

/// Tells people what hooks want them to know, and ends the run if one wants that.
fn apply_hook_answer(agent: &mut AgentActor, answer: &HookAnswer) {
    for words in &answer.notices {
        agent.note(notice(NoticeLevel::Warning, "hook", words.clone()));
    }
    if let Some(why) = &answer.stops {
        agent.inbox.end_reason = Some(stopped(why));
    }
}

/// The end of a run that a hook has stopped.
fn stopped(why: &str) -> RunEndReason {
    let problem = Problem::new(
        ErrorCode::ToolDenied,
        format!("a hook stopped the run: {why}"),
    );
    RunEndReason::Failed(problem.fix("rooftree hooks list shows the hooks there are"))
}

fn notice(level: NoticeLevel, code: &str, message: String) -> EventBody {
    EventBody::Notice {
        level,
        code: code.into(),
        message,
        hint: None,
    }
}

/// Keeps what hooks want the model to read, and what they have put off.
fn record_hook_answer(
    agent: &mut AgentActor,
    point: HookPoint,
    about: Option<String>,
    answer: &HookAnswer,
) {
    let texts = answer
        .refusal()
        .into_iter()
        .chain(answer.context.iter().map(String::as_str));
    let text = texts.collect::<Vec<_>>().join("\n\n");
    let blocks = answer.refusal().is_some();
    if blocks || !text.is_empty() {
        agent.note(EventBody::HookSaid(HookNote {
            point: point.name().into(),
            about,
            blocks,
            text,
        }));
    }
}
