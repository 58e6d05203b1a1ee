//! ApplyWorkspace: brings what a task changed in its own working copy into this directory.

use std::path::PathBuf;

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, ErrorCode, PermissionMode, ToolSpec};
use rooftree_tools::{
    Policy, PolicyRequest, PolicyVerdict, Tool, ToolContext, ToolInfo, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
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
