//! NotebookEdit: one cell of a Jupyter notebook; everything else stays as it was.

mod notebook;

use futures::future::BoxFuture;
use rooftree_protocol::ToolSpec;
use serde_json::Value;

use crate::{
    PlannedFileChange, Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
    blocking,
    file_change::{self, FileChange},
    text_file::TextFile,
    tool_info::ToolInfo,
};
use notebook::CellEdit;

pub(crate) const INFO: ToolInfo = ToolInfo {
    aliases: &["notebook_edit"],
    ..ToolInfo::changes_files("NotebookEdit")
};

const DESCRIPTION: &str = "Replace, insert or delete a cell of a Jupyter notebook that was read. A new cell goes \
    after cell_id, or first without one.";

pub(crate) const ARGUMENTS: [ToolArgument; 5] = [
    ToolArgument::new("file_path", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["notebook_path", "path", "filePath"]),
    ToolArgument::new("cell_id", ArgumentKind::Text, "Its id, or number from 0")
        .with_aliases(&["cell_number", "cell_index"]),
    ToolArgument::new("new_source", ArgumentKind::Text, "").with_aliases(&["source"]),
    ToolArgument::new("cell_type", ArgumentKind::Choice(&["code", "markdown"]), ""),
    ToolArgument::new(
        "edit_mode",
        ArgumentKind::Choice(&["replace", "insert", "delete"]),
        "",
    ),
];

/// The NotebookEdit tool.
pub(crate) struct NotebookEditTool(ToolSpec);

impl NotebookEditTool {
    pub fn new() -> Self {
        Self(arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for NotebookEditTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let input = arguments::normalise(INFO.name, &ARGUMENTS, input).map(Value::Object)?;
        wish(&input)?;
        Ok(input)
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

/// What is to happen, if everything it takes is there.
fn wish(input: &Value) -> Result<CellEdit, String> {
    let given = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
    let needed = |name: &str, why: &str| {
        given(name).ok_or_else(|| format!("NotebookEdit needs `{name}` to {why}."))
    };
    match text(input, "edit_mode") {
        "delete" => Ok(CellEdit::Delete {
            cell: needed("cell_id", "delete a cell")?,
        }),
        "insert" => Ok(CellEdit::Insert {
            after: given("cell_id"),
            source: needed("new_source", "insert a cell")?,
            cell_type: given("cell_type").unwrap_or_else(|| "code".to_owned()),
        }),
        _ => Ok(CellEdit::Replace {
            cell: needed("cell_id", "replace a cell")?,
            source: needed("new_source", "replace a cell")?,
            cell_type: given("cell_type"),
        }),
    }
}

fn plan(input: &Value, context: &ToolContext) -> Result<(FileChange, String), String> {
    let shown = text(input, "file_path").to_owned();
    if !shown.ends_with(".ipynb") {
        return Err(format!(
            "{shown} is not a notebook (.ipynb); Edit changes other files."
        ));
    }
    let file = TextFile::open(context, &shown)?;
    let after =
        notebook::change(&file.text, wish(input)?).map_err(|words| format!("{shown}: {words}"))?;
    let bytes = file.encode(&after);
    let done = format!("Changed a cell of {shown}");
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
