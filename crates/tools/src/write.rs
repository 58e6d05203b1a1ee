//! Write: a whole file, new or known, or more at the end of one.

use std::io::Read;

use futures::future::BoxFuture;
use rooftree_protocol::ToolSpec;
use serde_json::Value;

use crate::{
    PlannedFileChange, Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, flag, text},
    blocking,
    file_change::{self, FileChange},
    line_numbers,
    reach::FileTarget,
    resolved_path, text_file,
    tool_info::ToolInfo,
};

pub(crate) const INFO: ToolInfo = ToolInfo {
    aliases: &["write_file", "write_to_file", "create_file", "file_write"],
    ..ToolInfo::changes_files("Write")
};

const DESCRIPTION: &str = "Write a whole file and the directories above it. An existing file must have been read, \
    unless overwrite is true.";

pub(crate) const ARGUMENTS: [ToolArgument; 4] = [
    ToolArgument::new("file_path", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["path", "filePath"]),
    ToolArgument::new("content", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["contents", "text", "file_text"]),
    ToolArgument::new("overwrite", ArgumentKind::Flag, ""),
    ToolArgument::new("append", ArgumentKind::Flag, ""),
];

/// The Write tool.
pub(crate) struct WriteTool(ToolSpec);

impl WriteTool {
    pub fn new() -> Self {
        Self(arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for WriteTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(INFO.name, &ARGUMENTS, input).map(Value::Object)
    }

    fn preflight(&self, input: &Value, context: &ToolContext) -> Result<(), String> {
        plan(input, context).map(|_| ())
    }

    fn preview(&self, input: &Value, context: &ToolContext) -> String {
        file_change::preview(plan(input, context))
    }

    fn file_changes(&self, input: &Value, context: &ToolContext) -> Vec<PlannedFileChange> {
        file_change::planned(plan(input, context))
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        blocking::run(move || {
            Ok(file_change::plan_and_make(&context, || {
                plan(&input, &context)
            }))
        })
    }
}

fn plan(input: &Value, context: &ToolContext) -> Result<(FileChange, String), String> {
    let shown = text(input, "file_path").to_owned();
    let content = text(input, "content");
    let target = context.target(&shown)?;
    let existing = existing(input, context, &target)?;
    let before = existing
        .as_deref()
        .map(String::from_utf8_lossy)
        .unwrap_or_default()
        .into_owned();
    let bytes = match existing {
        Some(mut bytes) if flag(input, "append") => {
            bytes.extend_from_slice(content.as_bytes());
            bytes
        }
        _ => content.as_bytes().to_vec(),
    };
    let lines = match content.lines().count() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    };
    let done = if flag(input, "append") {
        format!("Added {lines} to {shown}")
    } else {
        format!("Wrote {lines} to {shown}")
    };
    let after = String::from_utf8_lossy(&bytes).into_owned();
    line_numbers::refuse_numbered_lines(&shown, &before, &after)?;
    Ok((
        FileChange {
            target,
            before,
            after,
            bytes,
        },
        done,
    ))
}

/// The bytes that would be replaced; none if there is no such file yet.
fn existing(
    input: &Value,
    context: &ToolContext,
    target: &FileTarget,
) -> Result<Option<Vec<u8>>, String> {
    let shown = &target.shown;
    let Some(metadata) = target.replaced()? else {
        return Ok(None);
    };
    if metadata.len() > text_file::WHOLE_BYTES {
        let size = resolved_path::size(metadata.len());
        return Err(format!(
            "{shown} is too large to change here ({size}); a Bash command can."
        ));
    }
    // What must not be read can still be replaced; its content is not part of the answer then.
    if flag(input, "overwrite") && !flag(input, "append") && !target.is_readable() {
        return Ok(None);
    }
    // Adding to a file destroys nothing, so it need not have been read.
    if flag(input, "overwrite") || flag(input, "append") {
        let (file, _) = target.open()?;
        let mut bytes = Vec::new();
        file.take(text_file::WHOLE_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| target.explain(&error, "read"))?;
        return Ok(Some(bytes));
    }
    match text_file::known_bytes(context, target) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(words) => Err(format!("{words} Or give overwrite: true.")),
    }
}
