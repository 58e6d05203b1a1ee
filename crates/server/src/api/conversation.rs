//! Projection of a journal for rendering: messages, replies, calls, results, notices and ends of runs.

use rooftree_protocol::{
    CallId, Event, EventBody, MessageId, Origin, Outcome, Part, RunId, RunStatus, Timestamp, Usage,
    event::NoticeLevel,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Something that was said or done in a conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConversationEntry {
    /// The number of its event.
    event: u64,
    /// When.
    at: Timestamp,
    /// In which run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    /// The person who sent the command that led to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(flatten)]
    body: ConversationBody,
}

/// What was said or done.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum ConversationBody {
    /// A message to the agent.
    Message {
        /// Its id.
        id: MessageId,
        /// Who sent it.
        origin: Origin,
        /// What it says.
        parts: Vec<Part>,
    },
    /// A message that its sender withdrew.
    Withdrawn {
        /// Its id.
        id: MessageId,
    },
    /// A reply of the model.
    Reply {
        /// What it says.
        text: String,
        /// The model.
        model: String,
        /// The calls it makes.
        calls: Vec<ConversationCall>,
        /// What it used.
        usage: Usage,
    },
    /// The result of a call.
    Result {
        /// Which call.
        call: CallId,
        /// The tool.
        tool: String,
        /// What it did, in a few words.
        title: String,
        /// How it ended.
        outcome: Outcome,
        /// What the model was told.
        content: Vec<Part>,
        /// How long it took.
        duration_ms: u64,
    },
    /// The context begins anew after this.
    Cleared,
    /// Earlier messages were summed up or shortened.
    Compacted,
    /// Something people should know.
    Notice {
        /// How bad it is.
        level: NoticeLevel,
        /// In words.
        message: String,
    },
    /// A run ended.
    Ended {
        /// How.
        status: RunStatus,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// A call that a reply makes.
#[derive(Debug, Serialize, JsonSchema)]
struct ConversationCall {
    /// Its id.
    call: CallId,
    /// The tool.
    tool: String,
    /// Its arguments.
    input: Value,
}

/// What an event tells of the conversation; none if it tells nothing that is shown.
pub(super) fn entry(event: &Event) -> Option<ConversationEntry> {
    Some(ConversationEntry {
        event: event.id?,
        at: event.ts,
        run: event.run.clone(),
        by: event.who.as_ref().map(|who| who.person.clone()),
        body: body(&event.body)?,
    })
}

fn body(event: &EventBody) -> Option<ConversationBody> {
    Some(match event {
        EventBody::MessageUser { message, .. } => ConversationBody::Message {
            id: message.id.clone(),
            origin: message.origin.clone(),
            parts: message.parts.clone(),
        },
        EventBody::InboxDropped { message, .. } => ConversationBody::Withdrawn {
            id: message.clone(),
        },
        EventBody::MessageCompleted(reply) => ConversationBody::Reply {
            text: reply.text.clone(),
            model: reply.model.clone(),
            calls: reply
                .calls()
                .map(|call| ConversationCall {
                    call: call.id.clone(),
                    tool: call.tool.clone(),
                    input: call.input.clone(),
                })
                .collect(),
            usage: reply.usage,
        },
        EventBody::ToolCompleted(record) => ConversationBody::Result {
            call: record.call.clone(),
            tool: record.tool.clone(),
            title: record.title.clone(),
            outcome: record.outcome,
            content: record.content.clone(),
            duration_ms: record.duration_ms,
        },
        EventBody::SessionCleared { .. } => ConversationBody::Cleared,
        EventBody::ContextCompacted(_) => ConversationBody::Compacted,
        EventBody::Notice { level, message, .. } => ConversationBody::Notice {
            level: *level,
            message: message.clone(),
        },
        EventBody::RunCompleted(end) => ConversationBody::Ended {
            status: end.status,
            error: end.error.as_ref().map(|problem| problem.message.clone()),
        },
        _ => return None,
    })
}
