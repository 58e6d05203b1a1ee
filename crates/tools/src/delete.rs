//! Delete: one file, one link, or a directory if that is clearly meant.

use futures::future::BoxFuture;
use rooftree_protocol::{
    Effect, ToolKind, ToolSpec,
    tool_call::{FileAction, FileNote},
};
use serde_json::Value;

use crate::{
    PlannedFileChange, Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, flag, text},
    blocking,
    tool_info::{FileUse, ToolInfo},
};

pub(crate) const INFO: ToolInfo = ToolInfo {
    aliases: &["delete_file", "remove_file", "rm"],
    kind: ToolKind::Delete,
    effect: Effect::Destructive,
    file_use: FileUse::Deletes,
    ..ToolInfo::changes_files("Delete")
};

const DESCRIPTION: &str = "Delete a file, a link (not its target) or an empty directory.";

pub(crate) const ARGUMENTS: [ToolArgument; 2] = [
    ToolArgument::new("file_path", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["path", "filePath"]),
    ToolArgument::new("recursive", ArgumentKind::Flag, ""),
];

/// The Delete tool.
pub(crate) struct DeleteTool(ToolSpec);

impl DeleteTool {
    pub fn new() -> Self {
        Self(arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for DeleteTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(INFO.name, &ARGUMENTS, input).map(Value::Object)
    }

    fn file_changes(&self, input: &Value, context: &ToolContext) -> Vec<PlannedFileChange> {
        let Ok(target) = context.target(text(input, "file_path")) else {
            return Vec::new();
        };
        let files = target.prior_tree().into_iter();
        let deleted = files.map(|(path, before)| PlannedFileChange {
            path,
            before,
            after: None,
        });
        deleted.collect()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        blocking::run(move || delete(&input, &context))
    }
}

fn delete(input: &Value, context: &ToolContext) -> Result<ToolOutput, String> {
    let shown = text(input, "file_path");
    let target = context.target(shown)?;
    let home = context
        .reach
        .pinned()
        .map(|pinned| pinned.home.clone())
        .unwrap_or_default();
    if context.cwd.starts_with(&target.path) || home.starts_with(&target.path) {
        return Err(format!(
            "{shown} is the working directory or one above it; that is not deleted."
        ));
    }
    let _alone = context.views.changing();
    if flag(input, "recursive") {
        target.remove_all()
    } else {
        target.remove()
    }?;
    let note = FileNote {
        path: target.path,
        action: FileAction::Deleted,
        hash: None,
        added: 0,
        removed: 0,
    };
    context.views.note(&note);
    let mut output = ToolOutput::done(format!("Deleted {shown}"));
    output.files.push(note);
    Ok(output)
}
