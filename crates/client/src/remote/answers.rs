//! Answers of the API as this client reads them.

use rooftree_protocol::{
    AgentDefinition, BlobId, ErrorCode, Event, EventBody, Lane, MessageId, Part, Problem, RuleKind,
    RuleScope, RunId, Session, SessionId, Timestamp, file_undo::FileUndo,
};
use rooftree_store::{OutputPiece, RuleRow, TaskRow, TaskStatus};
use rooftree_view::{RunItem, RunSpan};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    AnswerState, FoundWords, ListedInquiry, ListedSession, ListedTask, SessionStanding,
    WaitingMessage,
};

/// One page of a list.
pub(super) trait AnswerPage: serde::de::DeserializeOwned {
    type Row;

    /// Its rows, and the cursor of the next page.
    fn into_parts(self) -> (Vec<Self::Row>, Option<String>);
}

/// A page whose rows are in the field of this name.
macro_rules! page {
    ($name:ident, $field:ident, $row:ty) => {
        #[derive(Deserialize)]
        pub(super) struct $name {
            $field: Vec<$row>,
            next: Option<String>,
        }

        impl AnswerPage for $name {
            type Row = $row;

            fn into_parts(self) -> (Vec<$row>, Option<String>) {
                (self.$field, self.next)
            }
        }
    };
}

page!(SessionsPage, sessions, ListedSession);
page!(RunsPage, runs, RunItem);
page!(TasksPage, tasks, TaskAnswer);
page!(PermissionsPage, permissions, Map<String, Value>);
page!(QuestionsPage, questions, Map<String, Value>);

#[derive(Deserialize)]
pub(super) struct EventsAnswer {
    pub(super) events: Vec<Event>,
}

/// A session of a server with all that belongs to it.
#[derive(Debug, Deserialize)]
pub struct RemoteExport {
    /// Its row.
    pub session: Session,
    /// Its events, in order.
    pub events: Vec<Event>,
    /// The bytes they name.
    pub blobs: Vec<RemoteBlob>,
}

/// Bytes of a session of a server.
#[derive(Debug, Deserialize)]
pub struct RemoteBlob {
    /// Their id.
    pub blob: BlobId,
    /// In base64; absent if the store has lost them.
    pub base64: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct OutputAnswer {
    end: u64,
    text: String,
}

impl OutputAnswer {
    /// Bytes that are not kept between its pieces are told before all of them.
    pub(super) fn piece(self) -> Option<OutputPiece> {
        let start = self.end.saturating_sub(self.text.len() as u64);
        let text = self.text;
        (!text.is_empty()).then_some(OutputPiece { start, text })
    }
}

#[derive(Deserialize)]
pub(super) struct HitsAnswer {
    pub(super) hits: Vec<FoundWords>,
}

#[derive(Deserialize)]
pub(super) struct UndoAnswer {
    pub(super) undo: Option<FileUndo>,
}

#[derive(Deserialize)]
pub(super) struct QueueAnswer {
    pub(super) queued: Vec<QueuedAnswer>,
    pub(super) steering: Vec<QueuedAnswer>,
}

#[derive(Deserialize)]
pub(super) struct QueuedAnswer {
    message: MessageId,
    position: u64,
    parts: Vec<Part>,
    silent: bool,
    revision: u32,
    withdrawn: bool,
    at: Timestamp,
}

impl QueuedAnswer {
    pub(super) fn in_lane(self, lane: Lane) -> WaitingMessage {
        WaitingMessage {
            message: self.message,
            lane,
            position: self.position,
            parts: self.parts,
            silent: self.silent,
            withdrawn: self.withdrawn,
            revision: self.revision,
            at: self.at,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct RulesAnswer {
    pub(super) rules: Vec<RuleAnswer>,
}

#[derive(Deserialize)]
pub(super) struct RuleAnswer {
    number: i64,
    kind: RuleKind,
    rule: String,
    #[serde(flatten)]
    scope: RuleScope,
    by: String,
    at: Timestamp,
}

impl From<RuleAnswer> for RuleRow {
    fn from(answer: RuleAnswer) -> Self {
        Self {
            number: answer.number,
            kind: answer.kind,
            rule: answer.rule,
            scope: answer.scope,
            by: answer.by,
            at: answer.at,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct SpansAnswer {
    pub(super) spans: Vec<RunSpan>,
}

#[derive(Deserialize)]
pub(super) struct WorkAnswer {
    pub(super) state: SessionStanding,
}

#[derive(Deserialize)]
pub(super) struct UploadAnswer {
    pub(super) blob: BlobId,
}

#[derive(Deserialize)]
pub(super) struct AgentsAnswer {
    pub(super) agents: Vec<AgentName>,
}

#[derive(Deserialize)]
pub(super) struct AgentName {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct AgentAnswer {
    pub(super) definition: AgentDefinition,
}

#[derive(Deserialize)]
pub(super) struct TaskAnswer {
    task: String,
    session: SessionId,
    kind: String,
    title: String,
    state: TaskStatus,
    detail: String,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    child: Option<SessionId>,
    agent: Option<String>,
    #[serde(default)]
    is_left: bool,
}

impl From<TaskAnswer> for ListedTask {
    fn from(answer: TaskAnswer) -> Self {
        let agent = answer.agent.map(|agent| ("agent".to_owned(), json!(agent)));
        let task = TaskRow {
            id: answer.task,
            session: answer.session,
            kind: answer.kind,
            title: answer.title,
            status: answer.state,
            process_group: None,
            detail: answer.detail,
            started_at: answer.started_at,
            ended_at: answer.ended_at,
            child: answer.child,
            data: agent.into_iter().collect(),
        };
        Self {
            task,
            is_left: answer.is_left,
        }
    }
}

/// What permission requests and questions have in common.
#[derive(Deserialize)]
struct InquiryFields {
    id: String,
    session: SessionId,
    root: SessionId,
    run: Option<RunId>,
    agent: String,
    state: AnswerState,
    asked_at: Timestamp,
    until: Timestamp,
    digest: String,
    answered: Option<AnsweredBy>,
}

#[derive(Deserialize)]
struct AnsweredBy {
    by: String,
}

/// A permission request or question. Its fields besides those of every request are those of the event that asked.
pub(super) fn inquiry(fields: Map<String, Value>) -> Result<ListedInquiry, Problem> {
    let kind = if fields.contains_key("questions") {
        "question.requested"
    } else {
        "permission.requested"
    };
    let fields = Value::Object(fields);
    let event = json!({ "type": kind, "data": &fields });
    let asked: EventBody = serde_json::from_value(event).map_err(|error| unread(&error))?;
    let common: InquiryFields = serde_json::from_value(fields).map_err(|error| unread(&error))?;
    Ok(ListedInquiry {
        id: common.id,
        session: common.session,
        root: common.root,
        run: common.run,
        agent: common.agent,
        digest: common.digest,
        asked,
        asked_at: common.asked_at,
        until: common.until,
        state: common.state,
        by: common.answered.map(|answered| answered.by),
    })
}

fn unread(error: &serde_json::Error) -> Problem {
    Problem::new(
        ErrorCode::ProviderUnavailable,
        "a request of the server cannot be read",
    )
    .cause(error.to_string())
    .fix("use the version of the program that the server has")
}
