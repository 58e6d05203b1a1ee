//! ApplyWorkspace: brings what a task changed in its own working copy into this directory.

use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, ErrorCode, PermissionMode, ToolSpec};
use rooftree_tools::{
    FileBefore, PlannedFileChange, Policy, PolicyRequest, PolicyVerdict, Tool, ToolContext,
    ToolInfo, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
    content_before,
    file_restore::{self, FileNow},
    session_tools::APPLY_WORKSPACE,
};
use rooftree_workspace::{self as workspace, ApplyOutcome, ConflictStrategy, Workspace};
use serde_json::Value;

use super::{caller, in_trouble, workspace_of};
use crate::caller::Caller;

const DESCRIPTION: &str =
    "Merge what a task changed in its own working copy into your working directory.";

const ARGUMENTS: [ToolArgument; 2] = [
    ToolArgument::new("task_id", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["id"]),
    ToolArgument::new(
        "strategy",
        ArgumentKind::Choice(&["refuse", "markers"]),
        "On a conflict; default refuse",
    ),
];

/// Most files whose content before the merge is kept, so that it can be undone.
const MOST_KEPT: usize = 500;

/// The ApplyWorkspace tool.
pub(super) struct ApplyWorkspaceTool {
    spec: ToolSpec,
}

impl ApplyWorkspaceTool {
    pub(super) fn new() -> Self {
        Self {
            spec: arguments::spec(APPLY_WORKSPACE.name, DESCRIPTION, &ARGUMENTS),
        }
    }
}

impl Tool for ApplyWorkspaceTool {
    fn info(&self) -> &ToolInfo {
        &APPLY_WORKSPACE
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(APPLY_WORKSPACE.name, &ARGUMENTS, input).map(Value::Object)
    }

    /// The files of the copy that differ from those here. What a three-way merge makes of a file that was changed here
    /// too is not known beforehand; an undo leaves such a file alone and names it.
    fn file_changes(&self, input: &Value, context: &ToolContext) -> Vec<PlannedFileChange> {
        let id = text(input, "task_id");
        // Called on a thread that may block.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return Vec::new();
        };
        let found = runtime.block_on(async {
            let caller = caller(context).ok()?;
            let copy = workspace_of(&caller, id).await.ok()?;
            let changes = workspace::changes(&copy).await.ok()?;
            Some((copy, changes))
        });
        let Some((copy, changes)) = found else {
            return Vec::new();
        };
        let files = changes.files.iter().enumerate();
        let planned = files.map(|(number, file)| planned(&copy, &file.path, number < MOST_KEPT));
        planned.flatten().collect()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let id = text(&input, "task_id");
            let caller = match caller(&context) {
                Ok(caller) => caller,
                Err(output) => return *output,
            };
            let copy = match workspace_of(&caller, id).await {
                Ok(copy) => copy,
                Err(output) => return *output,
            };
            if let Some(refusal) = refusal(&caller, &copy).await {
                return refusal;
            }
            let strategy = if text(&input, "strategy") == "markers" {
                ConflictStrategy::Markers
            } else {
                ConflictStrategy::Refuse
            };
            match workspace::apply(&copy, strategy).await {
                Ok(ApplyOutcome::Clean(changes)) => ToolOutput::done(format!(
                    "Applied the changes of {id}.\n{}",
                    changes.diffstat.trim_end()
                )),
                Ok(ApplyOutcome::Nothing) => {
                    ToolOutput::done(format!("Nothing of {id} was left to bring in."))
                }
                Ok(ApplyOutcome::Conflicts { files, applied }) => {
                    conflict(id, strategy, &files, &applied)
                }
                Err(problem) => in_trouble(&problem),
            }
        })
    }
}

/// What applying does to one file; none if it is here already as it is in the copy.
fn planned(copy: &Workspace, path: &Path, is_kept: bool) -> Option<PlannedFileChange> {
    let (here, there) = (copy.origin.join(path), copy.root.join(path));
    let after = match file_restore::file_now(&there) {
        FileNow::Content(hash) => Some(hash),
        FileNow::Absent => None,
        FileNow::Other(_) => return None,
    };
    let now = match file_restore::file_now(&here) {
        FileNow::Content(hash) => Some(hash),
        FileNow::Absent => None,
        FileNow::Other(_) => return None,
    };
    let before = match is_kept {
        _ if now == after => return None,
        true => content_before(&here),
        false => FileBefore::NotKept("the merge changed more files than are kept".to_owned()),
    };
    Some(PlannedFileChange {
        path: here,
        before,
        after,
    })
}

/// Bringing files in is writing them: what the one who brings them in may not write stays where it is.
async fn refusal(caller: &Caller, copy: &Workspace) -> Option<ToolOutput> {
    let changes = match workspace::changes(copy).await {
        Ok(changes) => changes,
        Err(problem) => return Some(in_trouble(&problem)),
    };
    // If every change needs approval, the user has approved this call.
    let mode = caller.rights.policy.mode.max(PermissionMode::AcceptEdits);
    let policy = Policy {
        mode,
        ..caller.rights.policy.clone()
    };
    let is_refused = |path: &&PathBuf| {
        let subject = path.to_string_lossy();
        let (effect, cwd) = (Effect::LocalMutation, copy.origin.as_path());
        let written = PolicyRequest {
            tool: "Write",
            subject: Some(&subject),
            input: None,
            effect,
            cwd,
        };
        !matches!(policy.judge(&written), PolicyVerdict::Allow(_))
    };
    let paths = changes.files.iter().map(|file| &file.path);
    let refused: Vec<String> = paths
        .filter(is_refused)
        .map(|path| path.display().to_string())
        .collect();
    if refused.is_empty() {
        return None;
    }
    let words = format!(
        "Nothing was applied: you may not write {}. The rest can be taken over by hand, or a person can apply it.",
        refused.join(", ")
    );
    Some(ToolOutput::failed(ErrorCode::ToolDenied, words))
}

fn conflict(
    id: &str,
    strategy: ConflictStrategy,
    files: &[PathBuf],
    applied: &[PathBuf],
) -> ToolOutput {
    let listed = |files: &[PathBuf]| {
        files
            .iter()
            .map(|file| file.display().to_string())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let what = match strategy {
        ConflictStrategy::Refuse => {
            "Nothing was changed. Merge by hand, or apply again with strategy \"markers\"."
                .to_owned()
        }
        ConflictStrategy::Markers => format!(
            "They have conflict markers now. Applied besides: {}.",
            listed(applied)
        ),
    };
    let words = format!(
        "CONFLICT: the changes of {id} meet other changes in {}. {what}",
        listed(files)
    );
    ToolOutput::failed(ErrorCode::ToolFailed, words)
}
