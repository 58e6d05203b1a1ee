//! Tool outputs of a delegation for the delegating agent: started, ended, or refused.

use rooftree_protocol::{
    ErrorCode,
    event::{RunEnd, TaskNote},
};
use rooftree_tools::ToolOutput;
use serde_json::{Map, json};

use super::{
    ActiveDelegation,
    request::{DelegationRequest, DelegationSurface},
    response::{self, message, object, written},
};
use crate::{agent::task, caller::Caller, interrupted_runs};

/// Why nothing was asked.
#[derive(Debug)]
pub(super) enum DelegationError {
    Unknown { agent: String, known: Vec<String> },
    NotAccessible(String),
    NoSession(String),
    TooDeep(u32),
    Cycle(String),
    Full(String),
    Model(String),
    NotStarted(String),
    NoWorkspace(String),
}

impl From<rooftree_store::Error> for DelegationError {
    fn from(error: rooftree_store::Error) -> Self {
        Self::NotStarted(error.problem().message)
    }
}

impl DelegationError {
    /// The error for the model. A structural failure says so in its first words.
    pub(super) fn output(self, agent: &str) -> ToolOutput {
        let error = |why: String| format!("[ERROR: sub-agent '{agent}' was not started: {why}]");
        let (code, words) = match self {
            Self::Unknown { agent, known } => (
                ErrorCode::AgentNotFound,
                format!(
                    "Unknown agent type \"{agent}\". Available: {}",
                    known.join(", ")
                ),
            ),
            Self::NotAccessible(why) => (
                ErrorCode::ToolNotAllowed,
                error(format!("agent_not_accessible: {why}")),
            ),
            Self::NoSession(why) => (
                ErrorCode::SessionNotFound,
                error(format!("agent_session_error: {why}")),
            ),
            Self::TooDeep(depth) => (
                ErrorCode::LimitReached,
                format!(
                    "Task is not available inside a sub-agent. Delegation goes {depth} deep here: do the work yourself."
                ),
            ),
            Self::Cycle(chain) => (
                ErrorCode::LimitReached,
                error(format!("it would wait for itself ({chain})")),
            ),
            Self::Full(why) => (
                ErrorCode::LimitReached,
                error(format!("{why}; wait for one to end, or do it yourself")),
            ),
            Self::Model(why) => (ErrorCode::InvalidArguments, error(why)),
            Self::NoWorkspace(why) => (
                ErrorCode::ToolFailed,
                format!(
                    "[ERROR: sub-agent '{agent}' could not provision an isolated workspace and was not dispatched, {why}]"
                ),
            ),
            Self::NotStarted(why) => (ErrorCode::StoreFailed, error(why)),
        };
        ToolOutput::failed(code, words)
    }
}

/// It works in background.
pub(super) fn started(request: &DelegationRequest, asked: &ActiveDelegation) -> ToolOutput {
    let ActiveDelegation {
        task,
        session,
        agent,
        ..
    } = asked;
    let words = match request.surface {
        DelegationSurface::Task | DelegationSurface::Verifier => format!(
            "Sub-agent '{agent}' started in background (task {task}). Continue with other work - you'll be notified \
             when it completes."
        ),
        DelegationSurface::InvokeAgent => {
            format!(
                "Background agent '{agent}' started (task {task}). Results will be injected when complete."
            )
        }
        DelegationSurface::StartBackgroundAgent => format!("Background agent started: {session}."),
        DelegationSurface::AgentsMessage => {
            let status = if asked.is_queued { "queued" } else { "started" };
            written(&message(asked, "async", status, Map::new()))
        }
    };
    ToolOutput {
        task: Some(asked.note()),
        ..ToolOutput::done(words)
    }
}

/// The session was interrupted and is not this process's to go on with: the message waits in its inbox.
pub(super) fn queued(request: &DelegationRequest, asked: &ActiveDelegation) -> ToolOutput {
    let words = interrupted_runs::queued(&asked.session);
    let words = match request.surface {
        DelegationSurface::AgentsMessage => written(&message(
            asked,
            "async",
            "queued",
            object(json!({"message": words})),
        )),
        _ => format!("{words} (task {})", asked.task),
    };
    ToolOutput {
        task: Some(asked.note()),
        ..ToolOutput::done(words)
    }
}

/// A person moved it to background: the call returns, the run goes on.
pub(super) fn moved(request: &DelegationRequest, asked: &ActiveDelegation) -> ToolOutput {
    let ActiveDelegation { task, agent, .. } = asked;
    let words = format!(
        "[detached] '{agent}' was moved to background by the user and goes on there, task_id={task}. You will be \
         notified when it ends."
    );
    let words = match request.surface {
        DelegationSurface::AgentsMessage => {
            let more = json!({"message": words});
            written(&message(asked, "async", "started", object(more)))
        }
        _ => words,
    };
    ToolOutput {
        task: Some(asked.note()),
        ..ToolOutput::done(words)
    }
}

/// The wait timed out: from now on the run works in the background.
pub(super) fn detached(
    request: &DelegationRequest,
    asked: &ActiveDelegation,
    seconds: u64,
) -> ToolOutput {
    let ActiveDelegation { task, agent, .. } = asked;
    let words = format!(
        "[detached] timeout: '{agent}' is still at work after {seconds} s and goes on in background, task_id={task}. \
         You will be notified when it ends."
    );
    let words = match request.surface {
        DelegationSurface::AgentsMessage => {
            let more = json!({"timeoutSeconds": seconds, "message": words});
            written(&message(asked, "sync", "timeout", object(more)))
        }
        _ => words,
    };
    ToolOutput {
        task: Some(asked.note()),
        ..ToolOutput::done(words)
    }
}

/// The wait timed out and the run was stopped, because its answer is not needed any more.
pub(super) fn stopped(asked: &ActiveDelegation, end: Option<&RunEnd>, seconds: u64) -> ToolOutput {
    let words = format!(
        "[ERROR: sub-agent '{}' gave no answer within {seconds} s and was stopped.]",
        asked.agent
    );
    match end {
        Some(end) => output(asked.note(), end, words),
        None => ToolOutput {
            task: Some(asked.note()),
            ..ToolOutput::failed(ErrorCode::ToolFailed, words)
        },
    }
}

/// The delegating run was cancelled, and the delegated run with it.
pub(super) fn cancelled(asked: &ActiveDelegation) -> ToolOutput {
    let words = format!(
        "[cancelled by parent] sub-agent '{}' was stopped.",
        asked.agent
    );
    ToolOutput {
        task: Some(asked.note()),
        ..ToolOutput::failed(ErrorCode::ToolCancelled, words)
    }
}

/// It has ended. What did not succeed is not told as if it had.
pub(super) async fn ended(
    caller: &Caller,
    request: &DelegationRequest,
    asked: &ActiveDelegation,
    end: &RunEnd,
) -> ToolOutput {
    let words = match request.surface {
        DelegationSurface::AgentsMessage => response::spelled(caller, asked, end).await,
        // What it says ends with its verdict, and nothing is said after it.
        DelegationSurface::Verifier => task::said(&asked.agent, end, usize::MAX),
        _ => told(&asked.note(), end),
    };
    output(asked.note(), end, words)
}

/// It was asked before, and nothing has changed since.
pub(super) fn again(note: TaskNote, end: &RunEnd) -> ToolOutput {
    let words = format!("{}\n[cached: true]", told(&note, end));
    let output = output(note, end, words);
    // It costs nothing a second time.
    ToolOutput {
        task: output.task.map(|note| TaskNote {
            usage: None,
            ..note
        }),
        ..output
    }
}

/// The result of a task, for later queries.
pub(super) fn told(note: &TaskNote, end: &RunEnd) -> String {
    let answer = task::answer(&note.agent, &note.task, end, usize::MAX);
    let seconds = end.duration_ms as f64 / 1_000.0;
    let (turns, calls) = (counted(end.turns, "turn"), counted(end.calls, "call"));
    let mut about = vec![
        format!("agent: {}", note.agent),
        format!("task: {}", note.task),
    ];
    about.push(format!("{turns}, {calls}, {seconds:.1} s"));
    let cost = task::total(end).cost_usd;
    if cost > 0.0 {
        about.push(format!("${cost:.4}"));
    }
    about.push(format!("to follow up: resume={}", note.session));
    format!("{answer}\n\n[{}]", about.join(" · "))
}

/// `1 turn`, `3 turns`.
fn counted(count: u32, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

/// The result with what the journal keeps about it.
pub(super) fn output(note: TaskNote, end: &RunEnd, words: String) -> ToolOutput {
    let note = TaskNote {
        status: Some(end.status),
        verified: end.verified,
        usage: Some(task::total(end)),
        outside: end.outside,
        ..note
    };
    let output = ToolOutput {
        task: Some(note),
        ..ToolOutput::done(words)
    };
    let failure = (!end.is_success()).then_some(ErrorCode::ToolFailed);
    ToolOutput { failure, ..output }
}
