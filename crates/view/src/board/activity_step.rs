//! Steps of a session's activity: the few facts of an event that the board needs.
//!
//! A step is made on the thread that appends the event, so that the writer of the store handles no texts.

use rooftree_protocol::{
    CallId, ErrorCode, Event, EventBody, Lane, Origin, RunId, RunStatus, Timestamp, ToolKind,
    event::{RunEnd, WaitReason},
    tool_call::TodoStatus,
};

use super::{
    headline::{last_sentence, short},
    session_outcome::SessionOutcome,
};

/// The notice of a tool that is not what it was.
const TOOL_CHANGED: &str = "mcp_changed";

/// What one event changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivityStep {
    pub(super) seq: u64,
    pub(super) ts: Timestamp,
    pub(super) change: ActivityChange,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ActivityChange {
    RunStarted {
        run: RunId,
        title: String,
    },
    RunEnded(EndedActivity),
    Waits(WaitReason, Option<Timestamp>),
    Resumed,
    CameFrom(String),
    /// A reply, and its last sentence.
    Said(Option<String>),
    CallStarted {
        call: CallId,
        delegates: bool,
        title: String,
    },
    CallEnded(CallId),
    Asked(String),
    Settled(String),
    Todo([u32; 2]),
    ToolChanged(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct EndedActivity {
    pub(super) run: RunId,
    pub(super) status: RunStatus,
    pub(super) outcome: SessionOutcome,
    pub(super) error: Option<ErrorCode>,
    pub(super) words: String,
    pub(super) sentence: Option<String>,
}

impl ActivityStep {
    /// The types of events that change anything.
    pub const EVENTS: [&'static str; 14] = [
        "run.started",
        "run.completed",
        "run.waiting",
        "run.resumed",
        "message.user",
        "message.completed",
        "tool.started",
        "tool.completed",
        "permission.requested",
        "permission.resolved",
        "question.requested",
        "question.answered",
        "todo.updated",
        "notice",
    ];

    /// What an event of a journal changes; none if nothing.
    pub fn of(event: &Event) -> Option<Self> {
        Self::of_body(event.id?, event.ts, event.run.as_ref(), &event.body)
    }

    /// The same for the parts of an event.
    pub fn of_body(seq: u64, ts: Timestamp, run: Option<&RunId>, body: &EventBody) -> Option<Self> {
        let change = match body {
            EventBody::RunStarted { title, .. } => ActivityChange::RunStarted {
                run: run?.clone(),
                title: short(title),
            },
            EventBody::RunCompleted(end) => ActivityChange::RunEnded(run_result(run?, end)),
            EventBody::RunWaiting { reason, until, .. } => ActivityChange::Waits(*reason, *until),
            EventBody::RunResumed { .. } => ActivityChange::Resumed,
            EventBody::MessageUser {
                message,
                lane: Lane::Mail,
                ..
            } => ActivityChange::CameFrom(came_from(&message.origin)),
            EventBody::MessageCompleted(reply) => ActivityChange::Said(last_sentence(&reply.text)),
            EventBody::TodoUpdated { items } => {
                let done = items
                    .iter()
                    .filter(|item| item.status == TodoStatus::Completed);
                ActivityChange::Todo([number(done.count()), number(items.len())])
            }
            EventBody::Notice { code, message, .. } if code == TOOL_CHANGED => {
                ActivityChange::ToolChanged(short(message.lines().next().unwrap_or_default()))
            }
            other => call_or_question(other)?,
        };
        Some(Self { seq, ts, change })
    }

    /// Whether it begins or ends a run, which changes where a session stands on the board.
    pub fn moves_session(&self) -> bool {
        matches!(
            self.change,
            ActivityChange::RunStarted { .. } | ActivityChange::RunEnded(_)
        )
    }
}

fn call_or_question(body: &EventBody) -> Option<ActivityChange> {
    Some(match body {
        EventBody::ToolStarted {
            call,
            kind,
            title,
            inside: None,
            ..
        } => ActivityChange::CallStarted {
            call: call.clone(),
            delegates: *kind == ToolKind::Delegate,
            title: short(title),
        },
        EventBody::ToolCompleted(record) if record.inside.is_none() => {
            ActivityChange::CallEnded(record.call.clone())
        }
        EventBody::PermissionRequested { id, .. } => ActivityChange::Asked(id.to_string()),
        EventBody::QuestionRequested { id, .. } => ActivityChange::Asked(id.to_string()),
        EventBody::PermissionResolved { id, .. } => ActivityChange::Settled(id.to_string()),
        EventBody::QuestionAnswered { id, .. } => ActivityChange::Settled(id.to_string()),
        _ => return None,
    })
}

fn run_result(run: &RunId, end: &RunEnd) -> EndedActivity {
    let outcome = match end.status {
        _ if end.is_success() => SessionOutcome::Done,
        RunStatus::Cancelled => SessionOutcome::Stopped,
        _ => SessionOutcome::Failed,
    };
    let words = match &end.error {
        Some(problem) => short(&problem.message),
        None if end.is_refuted() => short(&format!("not verified: {}", end.refutation())),
        None => end.summary(),
    };
    EndedActivity {
        run: run.clone(),
        status: end.status,
        outcome,
        error: end.error.as_ref().map(|problem| problem.code),
        words,
        sentence: last_sentence(&end.text),
    }
}

fn came_from(origin: &Origin) -> String {
    match origin {
        Origin::User => "user".into(),
        Origin::Agent { agent, .. } | Origin::Task { agent, .. } => format!("agent:{agent}"),
        Origin::Schedule { schedule, .. } => format!("schedule:{schedule}"),
        Origin::Connector { connector, .. } => format!("connector:{connector}"),
        Origin::System { .. } => "system".into(),
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
