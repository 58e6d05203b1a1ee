//! Delete: one file, one link, or a directory if that is clearly meant.

use std::{fs, io};

use futures::future::BoxFuture;
use rooftree_protocol::{
    Effect, ToolKind, ToolSpec,
    tool_call::{FileAction, FileNote},
};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, Argument, Kind, flag, text},
    blocking, place,
};

const DESCRIPTION: &str = "Delete a file or an empty directory. Of a link only the link is removed.";

pub(crate) const ARGUMENTS: [Argument; 2] = [
    Argument::new("file_path", Kind::Text, "").required().also(&["path", "filePath"]),
    Argument::new("recursive", Kind::Flag, "Also a directory with all that is in it"),
];

/// The Delete tool.
pub(crate) struct Delete(ToolSpec);

impl Delete {
    pub fn new() -> Self {
        Self(arguments::spec("Delete", DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for Delete {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["delete_file", "remove_file", "rm"]
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Delete
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise("Delete", &ARGUMENTS, input).map(Value::Object)
    }

    fn effect(&self, _input: &Value) -> Effect {
        Effect::Destructive
    }

    fn title(&self, input: &Value) -> String {
        text(input, "file_path").to_owned()
    }

    fn subject(&self, input: &Value) -> Option<String> {
        Some(text(input, "file_path").to_owned())
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        blocking::run(move || delete(&input, &context))
    }
}

fn delete(input: &Value, context: &ToolContext) -> Result<ToolOutput, String> {
    let shown = text(input, "file_path");
    let path = place::unlinked(&context.resolve(shown));
    if context.cwd.starts_with(&path) {
        return Err(format!("{shown} is the working directory or one above it; that is not deleted."));
    }
    let _alone = context.views.changing();
    let kind = fs::symlink_metadata(&path).map_err(|error| place::explain(&error, &path, shown, "delete"))?;
    let removed = match (kind.is_dir(), flag(input, "recursive")) {
        (false, _) => fs::remove_file(&path),
        (true, true) => fs::remove_dir_all(&path),
        (true, false) => fs::remove_dir(&path),
    };
    removed.map_err(|error| match error.kind() {
        io::ErrorKind::DirectoryNotEmpty => {
            format!(
                "{shown} is a directory that is not empty. Give recursive: true to delete all that is in it."
            )
        }
        _ => place::explain(&error, &path, shown, "delete"),
    })?;
    let note = FileNote { path, action: FileAction::Deleted, hash: None, added: 0, removed: 0 };
    context.views.note(&note);
    let mut output = ToolOutput::done(format!("Deleted {shown}"));
    output.files.push(note);
    Ok(output)
}
