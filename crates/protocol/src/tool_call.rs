//! Tool data: specifications, results, outcomes, file notes and todos.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallId, ErrorCode, Part, message::text_of};

pub use crate::effect::{Effect, Repeat};

/// What a model is told about a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// Canonical name, PascalCase.
    pub name: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// JSON Schema of its input.
    pub input_schema: Value,
}

/// The family a tool belongs to; picks its icon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Looks at something.
    Read,
    /// Changes a file.
    Edit,
    /// Removes something.
    Delete,
    /// Looks for something.
    Search,
    /// Runs a program.
    Execute,
    /// Plans or notes.
    Think,
    /// Gets something from a network.
    Fetch,
    /// Asks another agent.
    Delegate,
    /// Anything else.
    Other,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// Which call.
    pub call: CallId,
    /// How it ended.
    pub outcome: Outcome,
    /// What the model reads.
    pub content: Vec<Part>,
}

impl ToolResult {
    /// The text parts of the result.
    pub fn text(&self) -> String {
        text_of(&self.content)
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is", content = "code")]
pub enum Outcome {
    /// It did what was asked.
    Done,
    /// It ran, or could not run, and says why.
    Failed(ErrorCode),
    /// The policy or a person refused it.
    Denied,
    /// It was stopped, or never started.
    Cancelled,
    /// It was started and nobody knows how far it got.
    Unknown,
}

impl Outcome {
    /// Whether the model should read the result as a success.
    pub fn is_done(self) -> bool {
        self == Self::Done
    }
}

/// A file a call looked at or changed. The journal remembers it so that edits can be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileNote {
    /// Absolute path.
    pub path: PathBuf,
    /// What happened to it.
    pub action: FileAction,
    /// Hash of the whole content the session knows now; none if it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Lines added.
    #[serde(default)]
    pub added: u32,
    /// Lines removed.
    #[serde(default)]
    pub removed: u32,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// The model has seen its content.
    Read,
    /// A search named it, perhaps with the lines that match.
    Found,
    /// It was created or changed.
    Changed,
    /// It was deleted.
    Deleted,
}

impl FileAction {
    /// Whether the file is another one than before.
    pub fn is_change(self) -> bool {
        matches!(self, Self::Changed | Self::Deleted)
    }
}

impl FileNote {
    /// Files that one search notes at most.
    pub const FOUND: usize = 50;

    /// A file that a search named.
    pub fn found(path: PathBuf) -> Self {
        Self {
            path,
            action: FileAction::Found,
            hash: None,
            added: 0,
            removed: 0,
        }
    }
}

/// One line of a session's todo list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Todo {
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
    /// The same in the form "doing …", shown while it is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// How urgent it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
}

/// How far a todo is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being done; at most one of a list.
    InProgress,
    /// Done.
    Completed,
}
