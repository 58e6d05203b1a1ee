//! Requests for an event stream: which sessions and topics, and from where on.

use std::collections::BTreeMap;

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
    /// Other topics by name: after which revision; an empty text for all of it. There is `schedules`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub topics: BTreeMap<String, String>,
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
}

/// Whether an event's type is wanted.
pub fn matches_type(types: &[String], name: &str) -> bool {
    types.is_empty()
        || types.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => wanted == name,
        })
}
