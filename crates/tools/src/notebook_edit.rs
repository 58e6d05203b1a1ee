//! NotebookEdit: one cell of a Jupyter notebook; everything else stays as it was.

mod notebook;

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, ToolKind, ToolSpec};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, Argument, Kind, text},
    blocking,
    change::{self, Change},
    text_file::TextFile,
};
use notebook::Wish;

const DESCRIPTION: &str = "Replace, insert or delete a cell of a Jupyter notebook that was read. A new cell goes \
    after cell_id, or to the beginning without one.";

pub(crate) const ARGUMENTS: [Argument; 5] = [
    Argument::new("file_path", Kind::Text, "").required().also(&["notebook_path", "path", "filePath"]),
    Argument::new("cell_id", Kind::Text, "The cell's id, or its number from 0")
        .also(&["cell_number", "cell_index"]),
    Argument::new("new_source", Kind::Text, "").also(&["source"]),
    Argument::new("cell_type", Kind::Choice(&["code", "markdown"]), ""),
    Argument::new("edit_mode", Kind::Choice(&["replace", "insert", "delete"]), "Default replace"),
];

/// The NotebookEdit tool.
pub(crate) struct NotebookEdit(ToolSpec);

impl NotebookEdit {
    pub fn new() -> Self {
        Self(arguments::spec("NotebookEdit", DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for NotebookEdit {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["notebook_edit"]
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Edit
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let input = arguments::normalise("NotebookEdit", &ARGUMENTS, input).map(Value::Object)?;
        wish(&input)?;
        Ok(input)
    }

    fn effect(&self, _input: &Value) -> Effect {
        Effect::LocalMutation
    }

    fn title(&self, input: &Value) -> String {
        text(input, "file_path").to_owned()
    }

    fn subject(&self, input: &Value) -> Option<String> {
        Some(text(input, "file_path").to_owned())
    }

    fn foresee(&self, input: &Value, context: &ToolContext) -> Result<(), String> {
        plan(input, context).map(|_| ())
    }

    fn preview(&self, input: &Value, context: &ToolContext) -> String {
        change::preview(plan(input, context))
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        blocking::run(move || Ok(change::plan_and_make(&context, || plan(&input, &context))))
    }
}

/// What is to happen, if everything it takes is there.
fn wish(input: &Value) -> Result<Wish, String> {
    let given = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
    let needed =
        |name: &str, why: &str| given(name).ok_or_else(|| format!("NotebookEdit needs `{name}` to {why}."));
    match text(input, "edit_mode") {
        "delete" => Ok(Wish::Delete { cell: needed("cell_id", "delete a cell")? }),
        "insert" => Ok(Wish::Insert {
            after: given("cell_id"),
            source: needed("new_source", "insert a cell")?,
            cell_type: given("cell_type").unwrap_or_else(|| "code".to_owned()),
        }),
        _ => Ok(Wish::Replace {
            cell: needed("cell_id", "replace a cell")?,
            source: needed("new_source", "replace a cell")?,
            cell_type: given("cell_type"),
        }),
    }
}

fn plan(input: &Value, context: &ToolContext) -> Result<(Change, String), String> {
    let shown = text(input, "file_path").to_owned();
    if !shown.ends_with(".ipynb") {
        return Err(format!("{shown} is not a notebook (.ipynb); Edit changes other files."));
    }
    let file = TextFile::open(context, &shown)?;
    let after = notebook::change(&file.text, wish(input)?).map_err(|words| format!("{shown}: {words}"))?;
    let bytes = file.encode(&after);
    let done = format!("Changed a cell of {shown}");
    Ok((Change { target: file.target, before: file.text, after, bytes }, done))
}
