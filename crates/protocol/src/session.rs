//! Session metadata: one conversation of one definition, as it is listed.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Account, CallId, ChatTarget, Principal, RunId, SessionId, Timestamp};

/// A session's identity and metadata. Its content is its journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Its own name.
    pub id: SessionId,
    /// The definition it is a conversation of.
    pub agent: String,
    /// What people call it; unique without regard to case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The model it was told to use, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The directory its tools work in. Never the process's own.
    pub cwd: PathBuf,
    /// The run and call that opened it, for a delegated session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentCall>,
    /// Where its journal branches off, for a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkPoint>,
    /// When it was pinned, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_at: Option<Timestamp>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub updated_at: Timestamp,
    /// When it was deleted; it can be restored for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
    /// The last thing said, in short.
    #[serde(default)]
    pub last_snippet: String,
    /// The tenant and person it belongs to.
    #[serde(flatten)]
    pub account: Account,
    /// Whatever clients keep about it.
    #[serde(default)]
    pub attributes: Map<String, Value>,
    /// The chat it is a conversation in, if a connector opened it: where results go that answer no message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatTarget>,
    /// The number of the last event in its journal; zero if there is none.
    #[serde(default)]
    pub head: u64,
}

impl Principal {
    /// Whether a session that was not delegated is one that it may see. For a delegated one the topmost session above
    /// it decides.
    pub fn may_see(&self, session: &Session) -> bool {
        self.may_see_account(&session.account) && self.may_use(&session.agent)
    }
}

/// Who delegated: a run and the call in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParentCall {
    /// The delegating session.
    pub session: SessionId,
    /// The delegating run.
    pub run: RunId,
    /// The delegating call.
    pub call: CallId,
}

/// A place in another session's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkPoint {
    /// Whose journal.
    pub session: SessionId,
    /// The last event that is taken over.
    pub at: u64,
}
