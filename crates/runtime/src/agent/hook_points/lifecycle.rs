//! Hooks about the life of a session and its runs: beginning, prompts, ending.

use rooftree_protocol::{
    DefinitionLevel, ErrorCode, EventBody, Problem, event::HookNote, message::text_of,
};
use rooftree_providers::ModelMessage;
use serde_json::json;

use super::{ask_hooks, is_any, payload, record_hook_answer, run_context, tell, wants};
use crate::{
    Error,
    agent::{AgentActor, limits::RunEndReason, reply_check},
    hooks::{
        self, ConfiguredHook, EndedSession, HookAnswer, HookPayload, HookPoint, SessionBeginning,
    },
};

/// Maximum number of times that hooks can keep a run from ending.
const PUT_OFF: u32 = 5;

/// At a turn boundary: tells of the beginning once, and has what people said judged.
pub(in crate::agent) async fn begin(agent: &mut AgentActor) -> Result<(), Error> {
    look(agent);
    if !is_any(agent)
        || agent.inbox.end_reason.is_some()
        || agent.history.open_calls().next().is_some()
    {
        return Ok(());
    }
    if let Some(why) = agent
        .history
        .run()
        .and_then(|run| run.hooks.refused_message.clone())
    {
        // Cut off between the refusal and the end of the run.
        agent.inbox.end_reason = Some(refused(&why));
        return Ok(());
    }
    run_session_start(agent).await?;
    if agent.inbox.end_reason.is_none() && wants(agent, HookPoint::UserPromptSubmit) {
        prompts(agent).await?;
    }
    Ok(())
}

/// Pins the files that hooks name, before an agent could have changed them here.
///
/// A child may be in a copy that was made after an agent has worked: what counts there is what was
/// seen in the project. The same goes for a project's hooks in other directories than the first.
fn look(agent: &mut AgentActor) {
    if agent.hook_state.has_looked || !is_any(agent) {
        return;
    }
    agent.hook_state.has_looked = true;
    let (hooks, cwd) = (&agent.context.options.agents.hooks, &agent.session.cwd);
    hooks.pin(&agent.resolved.hooks);
    if agent.mandate.is_none() {
        let root = hooks.project.as_ref().unwrap_or(cwd);
        let all = hooks.hooks.iter().chain(&agent.resolved.hooks);
        let is_meant = |hook: &&ConfiguredHook| {
            hooks.project.is_none() || hook.level != DefinitionLevel::Project
        };
        hooks.pins.see(
            all.filter(is_meant)
                .flat_map(|hook| hook.scripts(root, cwd)),
        );
    }
}

async fn run_session_start(agent: &mut AgentActor) -> Result<(), Error> {
    if agent.is_asked() {
        return run_subagent_start(agent).await;
    }
    let points = [
        HookPoint::SessionStart,
        HookPoint::SessionEnd,
        HookPoint::InstructionsLoaded,
    ];
    if !points.into_iter().any(|point| wants(agent, point)) {
        return Ok(());
    }
    let source = match agent.context.session_tracker.how(&agent.session.id) {
        SessionBeginning::Done => return Ok(()),
        SessionBeginning::Cleared => "clear",
        SessionBeginning::First if crate::agent::opening(&agent.session).is_some() => "startup",
        SessionBeginning::First => "resume",
    };
    let about = payload(agent, HookPoint::SessionEnd, json!({}));
    end_evicted_session(
        agent,
        agent
            .context
            .session_tracker
            .begin(about, agent.resolved.hooks.clone()),
    );
    instructions(agent);
    start_session(agent, source).await
}

/// Tells of each instruction file that the session is worked on with.
fn instructions(agent: &AgentActor) {
    if !wants(agent, HookPoint::InstructionsLoaded) {
        return;
    }
    let (reason, project) = (
        "session_start",
        agent.context.options.agents.hooks.project.as_ref(),
    );
    for file in &agent.project_context.instructions.files {
        let is_theirs = file.starts_with(project.unwrap_or(&agent.session.cwd));
        let kind = if is_theirs { "Project" } else { "User" };
        let details = json!({"file_path": file, "memory_type": kind, "load_reason": reason});
        tell(
            agent,
            payload(agent, HookPoint::InstructionsLoaded, details).named([reason.to_owned()]),
        );
    }
}

/// There was no room to remember another session any longer: it ends for its hooks.
fn end_evicted_session(agent: &AgentActor, left: Option<EndedSession>) {
    let Some(left) = left else { return };
    let (context, run_context) = (agent.context.clone(), run_context(agent));
    agent.context.task_tracker.spawn(async move {
        let options = &context.options;
        let (hooks, clock) = (&options.agents.hooks, options.clock.clone());
        hooks::notify_session_end(left, hooks, run_context, clock).await;
    });
}

/// Tells that a session begins, whatever that means.
pub(super) async fn start_session(agent: &mut AgentActor, source: &str) -> Result<(), Error> {
    if agent.is_asked() || !wants(agent, HookPoint::SessionStart) {
        return Ok(());
    }
    let details =
        json!({"source": source, "model": agent.model_name(), "agent_type": agent.session.agent});
    let about = payload(agent, HookPoint::SessionStart, details).named([source.to_owned()]);
    said(agent, about).await
}

/// A delegated run begins; told once, also if it is cut off later.
async fn run_subagent_start(agent: &mut AgentActor) -> Result<(), Error> {
    let is_wanted = wants(agent, HookPoint::SubagentStart) || wants(agent, HookPoint::SubagentStop);
    if !is_wanted || is_greeted(agent) {
        return Ok(());
    }
    let title = agent.history.run().map(|run| run.title.clone());
    let about = payload(
        agent,
        HookPoint::SubagentStart,
        json!({ "description": title }),
    );
    let name = agent.session.agent.clone();
    let answer = ask_hooks(agent, about.named([name])).await?;
    if agent.inbox.end_reason != Some(RunEndReason::Paused) {
        // Kept also where nothing was said, so that a run that a crash interrupts does not begin twice.
        let text = answer
            .map(|answer| answer.context.join("\n\n"))
            .unwrap_or_default();
        note_told(agent, HookPoint::SubagentStart, text);
    }
    Ok(())
}

/// Whether hooks were told that the delegated run begins.
fn is_greeted(agent: &AgentActor) -> bool {
    agent
        .history
        .run()
        .is_some_and(|run| run.has_heard(HookPoint::SubagentStart.name(), None))
}

/// Keeps that hooks were told of the beginning or the end of a delegated run.
fn note_told(agent: &mut AgentActor, point: HookPoint, text: String) {
    let note = HookNote {
        point: point.name().into(),
        about: None,
        blocks: false,
        text,
    };
    agent.note(EventBody::HookSaid(note));
}

/// Asks, and keeps what the model should read.
async fn said(agent: &mut AgentActor, payload: HookPayload) -> Result<(), Error> {
    let point = payload.point;
    if let Some(answer) = ask_hooks(agent, payload).await? {
        // Nothing waits here that could be refused.
        let answer = HookAnswer {
            verdict: Default::default(),
            ..answer
        };
        record_hook_answer(agent, point, None, &answer);
    }
    Ok(())
}

/// Has what people said since the last reply judged, each message once.
async fn prompts(agent: &mut AgentActor) -> Result<(), Error> {
    for (id, message) in agent.history.prompts().to_vec() {
        let is_kept = |run: &crate::agent::run_view::RunView| {
            run.has_heard(HookPoint::UserPromptSubmit.name(), Some(id.as_str()))
        };
        if agent.history.run().is_some_and(is_kept) || !agent.hook_state.passed.insert(id.clone()) {
            continue;
        }
        let ModelMessage::User(parts) = message.as_ref() else {
            continue;
        };
        let about = payload(
            agent,
            HookPoint::UserPromptSubmit,
            json!({ "prompt": text_of(parts) }),
        );
        let Some(answer) = ask_hooks(agent, about).await? else {
            // The process that resumes the run asks again.
            agent.hook_state.passed.remove(&id);
            return Ok(());
        };
        record_hook_answer(
            agent,
            HookPoint::UserPromptSubmit,
            Some(id.to_string()),
            &answer,
        );
        if let Some(why) = agent
            .history
            .run()
            .and_then(|run| run.hooks.refused_message.clone())
        {
            agent.inbox.end_reason = Some(refused(&why));
            return Ok(());
        }
    }
    Ok(())
}

fn refused(why: &str) -> RunEndReason {
    let problem = Problem::new(
        ErrorCode::ToolDenied,
        format!("a hook refused the message: {why}"),
    );
    RunEndReason::Failed(
        problem.fix("say it differently; rooftree hooks list shows the hooks there are"),
    )
}

/// Whether a run that is done may end. If not, the model reads why and goes on.
pub(in crate::agent) async fn may_end(
    agent: &mut AgentActor,
    end: RunEndReason,
) -> Result<Option<RunEndReason>, Error> {
    if end == RunEndReason::Completed && reply_check::sent_back(agent) {
        return Ok(None);
    }
    let point = if agent.is_asked() {
        HookPoint::SubagentStop
    } else {
        HookPoint::Stop
    };
    if !matches!(end, RunEndReason::Completed | RunEndReason::Truncated)
        || !is_any(agent)
        || !wants(agent, point)
    {
        return Ok(Some(end));
    }
    if agent.history.run().is_some_and(|run| run.hooks.is_end_told) {
        // Interrupted between the hooks' yes and the end of the run.
        return Ok(Some(end));
    }
    let (text, before) = agent.history.run().map_or((String::new(), 0), |run| {
        (run.reply.text.as_str().to_owned(), run.hooks.refused_ends)
    });
    let status = end.status().map(|status| status.to_string());
    let details = json!({"stop_hook_active": before > 0, "last_assistant_message": text,
        "status": status, "verified": agent.history.run().and_then(|run| run.verification.passed)});
    let mut about = payload(agent, point, details);
    if point == HookPoint::SubagentStop {
        about.names = vec![agent.session.agent.clone()];
    }
    let Some(mut answer) = ask_hooks(agent, about).await? else {
        if agent.inbox.end_reason != Some(RunEndReason::Paused) {
            end_told(agent, point);
        }
        return Ok(agent.inbox.end_reason.take());
    };
    if answer.stops.is_some() {
        // It ends anyway, and as well as it would have.
        agent.inbox.end_reason = None;
        end_told(agent, point);
        return Ok(Some(end));
    }
    if answer.refusal().is_some() && before >= PUT_OFF {
        let words =
            format!("a {point} hook has kept the run from ending {PUT_OFF} times; now it ends");
        super::apply_hook_answer(
            agent,
            &HookAnswer {
                notices: vec![words],
                ..HookAnswer::default()
            },
        );
        end_told(agent, point);
        return Ok(Some(end));
    }
    if answer.refusal().is_none() {
        // Context that no model will read is not recorded.
        answer.context.clear();
        end_told(agent, point);
    }
    record_hook_answer(agent, point, None, &answer);
    Ok(answer.refusal().is_none().then_some(end))
}

/// Keeps that hooks have let a delegated run end, so that they are told once.
fn end_told(agent: &mut AgentActor, point: HookPoint) {
    if point == HookPoint::SubagentStop {
        note_told(agent, point, String::new());
    }
}

/// A run ends and was not asked about: it failed, reached a limit, or was stopped. For each delegated run
/// whose beginning hooks were told of, they are told of its end, once; nothing they say changes it.
pub(in crate::agent) fn ended(agent: &mut AgentActor, end: &RunEndReason) {
    failed(agent, end);
    let is_told = agent.history.run().is_none_or(|run| run.hooks.is_end_told);
    if !agent.is_asked() || is_told || !is_greeted(agent) || !wants(agent, HookPoint::SubagentStop)
    {
        return;
    }
    let status = end.status().map(|status| status.to_string());
    let run = agent.history.run();
    let details = json!({
        "stop_hook_active": false,
        "last_assistant_message": run.map(|run| run.reply.text.as_str().to_owned()),
        "status": status,
        "verified": run.and_then(|run| run.verification.passed),
    });
    let name = agent.session.agent.clone();
    tell(
        agent,
        payload(agent, HookPoint::SubagentStop, details).named([name]),
    );
    note_told(agent, HookPoint::SubagentStop, String::new());
}

/// Why a run ends without an answer, for StopFailure; none if it has one or a person stopped it.
fn failure_of(end: &RunEndReason) -> Option<Problem> {
    let limit = |words: &str| Some(Problem::new(ErrorCode::LimitReached, words));
    match end {
        RunEndReason::Failed(problem) => Some(problem.clone()),
        RunEndReason::MaxTurns => limit("the run used up its turns"),
        RunEndReason::Budget => limit("the run used up its money"),
        RunEndReason::TimedOut => limit("the run used up its time"),
        RunEndReason::Completed
        | RunEndReason::Truncated
        | RunEndReason::Cancelled
        | RunEndReason::Paused => None,
    }
}

/// A run ends because of a failure or a limit.
fn failed(agent: &AgentActor, end: &RunEndReason) {
    let Some(problem) = failure_of(end) else {
        return;
    };
    if !wants(agent, HookPoint::StopFailure) {
        return;
    }
    let code = json!(problem.code);
    let name = code.as_str().unwrap_or_default().to_owned();
    let text = agent
        .history
        .run()
        .map(|run| run.reply.text.as_str().to_owned());
    let details =
        json!({"error": code, "error_details": problem.message, "last_assistant_message": text});
    tell(
        agent,
        payload(agent, HookPoint::StopFailure, details).named([name]),
    );
}

/// The session was cleared: it ends, and begins anew with the next message.
pub(in crate::agent) fn cleared(agent: &AgentActor) {
    if !is_any(agent) {
        return;
    }
    end_evicted_session(
        agent,
        agent.context.session_tracker.clear(&agent.session.id),
    );
    let about = payload(agent, HookPoint::SessionEnd, json!({"reason": "clear"}));
    tell(agent, about.named(["clear".to_owned()]));
}
