//! Plans a change of one file, shows it as a diff, then applies it.

use std::time::Duration;

use rooftree_protocol::{
    ErrorCode,
    tool_call::{FileAction, FileNote},
};
use similar::{ChangeTag, TextDiff};

use crate::{PlannedFileChange, ToolContext, ToolOutput, reach::FileTarget, text_file};

/// Timeout of the diff algorithm; after that, a coarser diff is used.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// A planned change of a file, not applied yet.
pub(crate) struct FileChange {
    /// What is changed.
    pub target: FileTarget,
    /// Its text now; empty if it does not exist.
    pub before: String,
    /// Its text afterwards.
    pub after: String,
    /// What is saved.
    pub bytes: Vec<u8>,
}

/// A diff and its size.
struct FileDiff {
    text: String,
    added: u32,
    removed: u32,
}

impl FileChange {
    /// The change as a unified diff.
    pub fn diff(&self) -> String {
        self.difference().text
    }

    /// Makes the change. `done` is what the model reads first; the size of it follows.
    pub fn make(&self, done: &str, context: &ToolContext) -> Result<ToolOutput, String> {
        self.target.save(&self.bytes)?;
        let FileDiff {
            text,
            added,
            removed,
        } = self.difference();
        let hash = Some(text_file::hash(&self.bytes));
        let note = FileNote {
            path: self.target.path.clone(),
            action: FileAction::Changed,
            hash,
            added,
            removed,
        };
        // At once, not when the call is recorded: another call of the same reply may follow.
        context.views.note(&note);
        let mut output = ToolOutput::done(format!("{done} (+{added} −{removed} lines)"));
        output.files.push(note);
        output.diff = Some(text);
        Ok(output)
    }

    fn difference(&self) -> FileDiff {
        let diff = TextDiff::configure()
            .timeout(DIFF_TIME)
            .diff_lines(self.before.as_str(), self.after.as_str());
        let count = |tag: ChangeTag| {
            u32::try_from(
                diff.iter_all_changes()
                    .filter(|change| change.tag() == tag)
                    .count(),
            )
            .unwrap_or(u32::MAX)
        };
        let old = if self.before.is_empty() {
            "/dev/null".to_owned()
        } else {
            format!("a/{}", self.target.shown)
        };
        let text = diff
            .unified_diff()
            .context_radius(3)
            .header(&old, &format!("b/{}", self.target.shown))
            .to_string();
        FileDiff {
            text,
            added: count(ChangeTag::Insert),
            removed: count(ChangeTag::Delete),
        }
    }
}

/// Plans and makes a change while no other call of the session changes a file.
pub(crate) fn plan_and_make(
    context: &ToolContext,
    plan: impl FnOnce() -> Result<(FileChange, String), String>,
) -> ToolOutput {
    let _alone = context.views.changing();
    let made = plan().and_then(|(change, done)| change.make(&done, context));
    made.unwrap_or_else(|words| ToolOutput::failed(ErrorCode::ToolFailed, words))
}

/// A planned change with what is replaced; none if it cannot be made.
pub(crate) fn planned(plan: Result<(FileChange, String), String>) -> Vec<PlannedFileChange> {
    let planned = plan.ok().map(|(change, _)| PlannedFileChange {
        path: change.target.path.clone(),
        before: change.target.prior(),
        after: Some(text_file::hash(&change.bytes)),
    });
    planned.into_iter().collect()
}

/// Preview of a change for the user: its diff, or why it cannot be made.
pub(crate) fn preview(plan: Result<(FileChange, String), String>) -> String {
    plan.map_or_else(|words| words, |(change, _)| change.diff())
}
