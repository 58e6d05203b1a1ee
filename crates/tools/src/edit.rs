//! Edit: replaces pieces of a file that was read; all of them or none.

pub(crate) mod replace;

use futures::future::BoxFuture;
use rooftree_protocol::ToolSpec;
use serde_json::{Map, Value, json};

use crate::{
    PlannedFileChange, Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, flag, text},
    blocking,
    file_change::{self, FileChange},
    line_numbers,
    text_file::TextFile,
    tool_info::ToolInfo,
};
use replace::{MatchMode, TextReplacement};

pub(crate) const INFO: ToolInfo = ToolInfo {
    aliases: &["edit_file", "file_edit"],
    definition_aliases: &["MultiEdit", "multi_edit"],
    ..ToolInfo::changes_files("Edit")
};

const DESCRIPTION: &str = "Replace exact text in a file that was read. Each old_string must occur exactly once, \
    unless replace_all. All edits are made, in order, or none.";

const FIELDS: [ToolArgument; 3] = [
    ToolArgument::new("old_string", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["old_str", "oldText", "old_text", "search"]),
    ToolArgument::new("new_string", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["new_str", "newText", "new_text", "replace"]),
    ToolArgument::new("replace_all", ArgumentKind::Flag, "").with_aliases(&["replaceAll"]),
];

pub(crate) const ARGUMENTS: [ToolArgument; 2] = [
    ToolArgument::new("file_path", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["path", "filePath"]),
    ToolArgument::new("edits", ArgumentKind::Objects(&FIELDS), "").required(),
];

/// The Edit tool.
pub(crate) struct EditTool(ToolSpec);

impl EditTool {
    pub fn new() -> Self {
        Self(arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for EditTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(INFO.name, &ARGUMENTS, listed(input)).map(Value::Object)
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

/// The single form as a list of one. What is wrong with it is found by the normaliser.
fn listed(input: Value) -> Value {
    let Value::Object(written) = input else {
        return input;
    };
    if written.contains_key("edits") {
        return Value::Object(written);
    }
    let belongs_to_edit = |name: &String| {
        FIELDS
            .iter()
            .any(|field| field.name() == name || field.aliases().contains(&name.as_str()))
    };
    let (edit, mut rest): (Map<String, Value>, Map<String, Value>) = written
        .into_iter()
        .partition(|(name, _)| belongs_to_edit(name));
    if !edit.is_empty() {
        rest.insert("edits".to_owned(), json!([edit]));
    }
    Value::Object(rest)
}

fn plan(input: &Value, context: &ToolContext) -> Result<(FileChange, String), String> {
    let edits = input
        .get("edits")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let replacements = edits.iter().map(|edit| TextReplacement {
        old: text(edit, "old_string").to_owned(),
        new: text(edit, "new_string").to_owned(),
        matches: if flag(edit, "replace_all") {
            MatchMode::All
        } else {
            MatchMode::One
        },
    });
    plan_replacements(
        text(input, "file_path"),
        &replacements.collect::<Vec<_>>(),
        context,
    )
}

/// Plans a list of replacements in a file that was read.
pub(crate) fn plan_replacements(
    shown: &str,
    replacements: &[TextReplacement],
    context: &ToolContext,
) -> Result<(FileChange, String), String> {
    let file = TextFile::open(context, shown)?;
    let fitted: Vec<TextReplacement> = replacements
        .iter()
        .map(|one| TextReplacement {
            old: file.fit(&one.old),
            new: file.fit(&one.new),
            matches: one.matches,
        })
        .collect();
    let (after, count) = replace::all_or_nothing(&file.text, &fitted)
        .map_err(|words| format!("{shown}: {words}"))?;
    line_numbers::refuse_numbered_lines(shown, &file.text, &after)?;
    let bytes = file.encode(&after);
    let done = match count {
        1 => format!("Replaced 1 place in {shown}"),
        count => format!("Replaced {count} places in {shown}"),
    };
    Ok((
        FileChange {
            target: file.target,
            before: file.text,
            after,
            bytes,
        },
        done,
    ))
}
