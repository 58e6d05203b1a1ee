//! File undo data: what files were before a call changed them, and what taking the changes back does.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BlobId, RunId};

/// A file that a call is about to change. It is stored before the file is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilePreimage {
    /// Absolute path, links followed.
    pub path: PathBuf,
    /// What is there before.
    pub was: PriorContent,
    /// Hash of the content that the call writes; none if it deletes the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub becomes: Option<String>,
}

/// The content of a file before a call changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum PriorContent {
    /// There was no file.
    Absent,
    /// It is stored.
    Stored {
        /// Where.
        blob: BlobId,
        /// Its hash, as in file notes.
        hash: String,
        /// Its permission bits.
        mode: u32,
    },
    /// It is not stored, so the change cannot be taken back.
    NotStored {
        /// Why.
        because: String,
    },
}

/// The file changes of one run, taken back or to be taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileUndo {
    /// The run whose changes these are, those of its sub-agents in the same directory included.
    pub run: RunId,
    /// Its message in short.
    #[serde(default)]
    pub title: String,
    /// Each file once, sorted by path.
    pub files: Vec<UndoneFile>,
    /// Changes that this does not cover, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// What becomes of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndoneFile {
    /// Absolute path.
    pub path: PathBuf,
    /// What is done.
    #[serde(flatten)]
    pub step: UndoStep,
}

/// How a file is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum UndoStep {
    /// It gets its earlier content and mode.
    Restore,
    /// It did not exist before and is deleted.
    Delete,
    /// It is already as it was.
    Unchanged,
    /// It is left as it is.
    Skip {
        /// Why.
        because: String,
    },
}

impl FileUndo {
    /// Whether it changes any file.
    pub fn changes_files(&self) -> bool {
        self.files
            .iter()
            .any(|file| matches!(file.step, UndoStep::Restore | UndoStep::Delete))
    }
}
