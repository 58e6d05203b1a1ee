//! Messages to an inbox: parts, an origin, and the delivery lane.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    BlobId, CallId, ChatTarget, Mandate, MessageId, Principal, PromptContext, RunBudget, RunId,
    SessionId, SkillNote, Timestamp, ToolCall, Usage, run::RunStatus,
};

/// A message to a session. Content and context only: where an answer goes is not its business.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Its own name.
    pub id: MessageId,
    /// What it says, in order.
    pub parts: Vec<Part>,
    /// Who sent it.
    pub origin: Origin,
    /// Recorded and seen at the next run, but starts none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
    /// Whether something from outside, such as a web page, went into what it says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
    /// A line about the sender's surroundings, made by the client and kept verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What whoever answers may do, if another agent asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mandate: Option<Box<Mandate>>,
    /// A call to make instead of asking the model what to do. The run ends with what comes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<ToolCall>>,
    /// The only tools to be used in its run, if it is the text of a command file that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restriction: Option<Box<SkillNote>>,
    /// How often its sender replaced it while it waited.
    #[serde(default, skip_serializing_if = "is_first_revision")]
    pub revision: u32,
    /// Who sent it, while it waits in an inbox. The event that tells it has this in its envelope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<Box<Principal>>,
    /// When it was sent.
    pub at: Timestamp,
}

impl Message {
    /// A message with only these fields; the optional ones are empty.
    pub fn new(id: MessageId, parts: Vec<Part>, origin: Origin, at: Timestamp) -> Self {
        Self {
            id,
            parts,
            origin,
            silent: false,
            outside: false,
            context: None,
            mandate: None,
            call: None,
            restriction: None,
            revision: 0,
            who: None,
            at,
        }
    }

    /// All text parts, one per line.
    pub fn text(&self) -> String {
        text_of(&self.parts)
    }
}

fn is_first_revision(revision: &u32) -> bool {
    *revision == 0
}

/// The text in some parts, one per line; images and files are left out.
pub fn text_of(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| {
            if let Part::Text { text } = part {
                Some(text.as_str())
            } else {
                None
            }
        })
        .collect();
    texts.join("\n")
}

/// A piece of a message or of a tool's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Plain text or Markdown.
    Text {
        /// The text.
        text: String,
    },
    /// A picture kept in the store.
    Image {
        /// Where its bytes are.
        blob: BlobId,
        /// `image/png` and the like.
        media_type: String,
        /// How many bytes.
        bytes: u64,
    },
    /// Any other attachment kept in the store.
    File {
        /// Where its bytes are.
        blob: BlobId,
        /// What the sender calls it.
        name: String,
        /// Its media type.
        media_type: String,
        /// How many bytes.
        bytes: u64,
    },
}

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// Who sent a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// A person at a terminal, a page or a program acting for one.
    User,
    /// Another agent.
    Agent {
        /// Its session.
        session: SessionId,
        /// Its definition's name.
        agent: String,
        /// The call that sent it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },
    /// A task this session started, which has ended.
    Task {
        /// Which one.
        task: RunId,
        /// The session it ran in.
        session: SessionId,
        /// Its definition's name.
        agent: String,
        /// How it ended.
        status: RunStatus,
        /// Whether its work was checked, and found good.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verified: Option<bool>,
        /// What it cost, with everything it delegated.
        #[serde(default)]
        usage: Usage,
        /// Whether it checked work: its answer belongs to a verdict, and is told nowhere else.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        checks: bool,
    },
    /// A schedule or heartbeat.
    Schedule {
        /// Which one.
        schedule: String,
        /// The time at which it was due.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<Timestamp>,
        /// Where the result is delivered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<ChatTarget>,
        /// What the run may cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<RunBudget>,
        /// What its agent reads besides the message.
        #[serde(default, skip_serializing_if = "PromptContext::is_full")]
        context: PromptContext,
    },
    /// A chat or webhook.
    Connector {
        /// Which connector.
        connector: String,
        /// Which channel of it.
        channel: String,
        /// Which person in it.
        user: String,
        /// Where the answer is delivered; none if the client reads it itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply: Option<ChatTarget>,
    },
    /// The runtime itself.
    System {
        /// What about: `notice`, `signal` …
        about: String,
    },
}

impl Origin {
    /// Where the answer to the message is delivered. It is part of the message, so no later message changes it.
    pub fn reply_target(&self) -> Option<&ChatTarget> {
        match self {
            Self::Connector { reply, .. } => reply.as_ref(),
            Self::Schedule { target, .. } => target.as_ref(),
            Self::User | Self::Agent { .. } | Self::Task { .. } | Self::System { .. } => None,
        }
    }
}

/// How a message travels through the inbox. Order is kept within a lane.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// First in, first out; each message starts its own run.
    Mail,
    /// Taken in at the next turn boundary of a running session, else wakes it (unless silent).
    Boundary,
}
