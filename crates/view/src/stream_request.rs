//! Requests for an event stream: which sessions and topics, and from where on.

use std::{collections::BTreeMap, fmt};

use rooftree_protocol::{SessionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The body of `POST /api/v1/stream`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamRequest {
    /// The sessions, and after which event of each.
    #[serde(default)]
    pub sessions: BTreeMap<SessionId, SessionStart>,
    /// The board: after which revision; an empty text for all of it, absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// Topics: after which revision; an empty text for all of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub topics: BTreeMap<StreamTopic, String>,
    /// Only events of these types; `run.*` means all that begin with `run.`. Empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Whether deltas are sent.
    #[serde(default = "yes")]
    pub deltas: bool,
    /// Whether replies are sent as HTML too: `message.html` after each whole one, `message.block` while one is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub html: bool,
}

impl Default for StreamRequest {
    fn default() -> Self {
        Self {
            sessions: BTreeMap::new(),
            board: None,
            topics: BTreeMap::new(),
            types: Vec::new(),
            deltas: true,
            html: false,
        }
    }
}

fn yes() -> bool {
    true
}

/// Where the stream of a session begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SessionStart {
    /// After this event.
    After(u64),
    /// The same in detail.
    Detailed(StreamCursor),
}

/// Where the stream of a session begins, in detail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamCursor {
    /// After this event; absent: only what happens from now on, after a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Whether the sessions that it delegates to are part of the stream.
    #[serde(default)]
    pub tree: bool,
    /// Where to continue with sessions below it. If it is given, those that are not named in it are sent from their
    /// beginning; without it, those that are at work are sent from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<BTreeMap<SessionId, u64>>,
    /// With `below`: sessions that were opened before this time and are not named in it are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

impl SessionStart {
    /// In detail.
    pub fn cursor(&self) -> StreamCursor {
        match self {
            Self::After(after) => StreamCursor {
                after: Some(*after),
                ..StreamCursor::default()
            },
            Self::Detailed(cursor) => cursor.clone(),
        }
    }
}

/// The body of `PATCH /api/v1/stream/{stream}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamPatch {
    /// Sessions to add.
    #[serde(default)]
    pub add: BTreeMap<SessionId, SessionStart>,
    /// Sessions to remove.
    #[serde(default)]
    pub remove: Vec<SessionId>,
    /// Topics to watch, anew if they are watched already: after which revision; null to stop.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub topics: BTreeMap<StreamTopic, Option<String>>,
}

/// Rows with a revision that belong to no session.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StreamTopic {
    /// Sessions, by what they need.
    Board,
    /// Schedules and what became of their due times.
    Schedules,
    /// Connectors, their people and codes. Only the owner sees them.
    Connectors,
    /// Messages to chats: all that are not delivered, and the newest others.
    Outbox,
}

impl StreamTopic {
    /// What names of its frames begin with; the same word as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Board => "board",
            Self::Schedules => "schedules",
            Self::Connectors => "connectors",
            Self::Outbox => "outbox",
        }
    }
}

impl fmt::Display for StreamTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether an event's type is wanted.
pub fn matches_type(types: &[String], name: &str) -> bool {
    types.is_empty()
        || types.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => wanted == name,
        })
}
