//! Sessions as the API shows them, and requests to open and change them.

use std::path::PathBuf;

use rooftree_protocol::{PermissionMode, Session};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::extract::nullable;

/// Which sessions to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SessionListQuery {
    /// Only of this agent.
    pub(super) agent: Option<String>,
    /// Only those whose name, agent or last words contain this.
    pub(super) q: Option<String>,
    /// Only those that this session delegated to; without it, only sessions of people.
    pub(super) parent: Option<String>,
    /// Only those with this id, this end of an id or this name; also delegated ones.
    pub(super) called: Option<String>,
    /// Also those that agents opened for others.
    pub(super) delegated: bool,
    /// Only those in this directory.
    pub(super) cwd: Option<PathBuf>,
    /// Only those in this state.
    pub(super) state: Option<SessionWorkState>,
    /// Only pinned ones, or only others.
    pub(super) pinned: Option<bool>,
    /// Deleted ones instead of live ones.
    pub(super) deleted: bool,
    /// Where the page begins: `next` of the page before.
    pub(super) cursor: Option<String>,
    /// At most this many, up to 200.
    pub(super) limit: Option<usize>,
}

/// Whether something is left to do in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum SessionWorkState {
    /// A process works on it.
    Working,
    /// Something is left to do, and no process works on it.
    Unfinished,
    /// Nothing is left to do.
    Resting,
}

/// A session in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionItem {
    #[serde(flatten)]
    pub(super) session: Session,
    /// Whether something is left to do.
    pub(super) state: SessionWorkState,
}

/// One page of sessions.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionListPage {
    /// The sessions.
    pub(super) sessions: Vec<SessionItem>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

/// How a session is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SessionStrategyChoice {
    /// A new one.
    #[default]
    Create,
    /// The agent's most recently updated one.
    Latest,
    /// The latest, else a new one.
    LatestOrCreate,
}

/// A session to be opened.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenSession {
    /// Which agent.
    pub(super) agent: String,
    /// What to call it.
    #[serde(default)]
    pub(super) name: Option<String>,
    /// The model it should use: `provider/model`.
    #[serde(default)]
    pub(super) model: Option<String>,
    /// The directory its tools work in: the server's own, or one below it; with the scope `admin` any other.
    #[serde(default)]
    pub(super) cwd: Option<PathBuf>,
    /// Whether an existing one will do.
    #[serde(default)]
    pub(super) strategy: SessionStrategyChoice,
}

/// Changes of a session; what is absent stays.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SessionChange {
    /// Its new name; null takes it away.
    #[serde(deserialize_with = "nullable")]
    pub(super) name: Option<Option<String>>,
    /// Whether it is pinned.
    pub(super) pinned: Option<bool>,
    /// The model from its next run on; null for that of its agent.
    #[serde(deserialize_with = "nullable")]
    pub(super) model: Option<Option<String>>,
    /// Attributes to set; null removes one, others stay.
    pub(super) attributes: Option<Map<String, Value>>,
    /// How much may happen without asking; null for the mode it was started with.
    #[serde(deserialize_with = "nullable")]
    pub(super) mode: Option<Option<PermissionMode>>,
}
