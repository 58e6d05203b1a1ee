//! ApplyWorkspace: brings what a task changed in its own working copy into this directory.

use std::path::PathBuf;

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, ErrorCode, Repeat, ToolKind, ToolSpec};
use rooftree_tools::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, Argument, Kind, text},
};
use serde_json::Value;

use super::{caller, in_trouble, workspace_of};
use crate::workspace::{self, Applied, Strategy};

const DESCRIPTION: &str = "Bring what a task changed in its own working copy into your working directory, merged with \
what is there.";

const ARGUMENTS: [Argument; 2] = [
    Argument::new("task_id", Kind::Text, "").required().also(&["id"]),
    Argument::new(
        "strategy",
        Kind::Choice(&["refuse", "markers"]),
        "On a conflict: change nothing (refuse, the default), or write conflict markers.",
    ),
];

/// The ApplyWorkspace tool.
pub(super) struct ApplyWorkspace {
    spec: ToolSpec,
}

impl ApplyWorkspace {
    pub(super) fn new() -> Self {
        Self { spec: arguments::spec("ApplyWorkspace", DESCRIPTION, &ARGUMENTS) }
    }
}

impl Tool for ApplyWorkspace {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["apply_workspace"]
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Edit
    }

    fn needs_caller(&self) -> bool {
        true
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise("ApplyWorkspace", &ARGUMENTS, input).map(Value::Object)
    }

    fn effect(&self, _input: &Value) -> Effect {
        Effect::LocalMutation
    }

    /// What is in place already is found to be so.
    fn repeat(&self, _input: &Value) -> Repeat {
        Repeat::Idempotent
    }

    fn title(&self, input: &Value) -> String {
        text(input, "task_id").to_owned()
    }

    fn subject(&self, input: &Value) -> Option<String> {
        Some(text(input, "task_id").to_owned())
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let id = text(&input, "task_id");
            let copy = match caller(&context) {
                Ok(caller) => workspace_of(&caller, id).await,
                Err(output) => Err(output),
            };
            let copy = match copy {
                Ok(copy) => copy,
                Err(output) => return *output,
            };
            let strategy =
                if text(&input, "strategy") == "markers" { Strategy::Markers } else { Strategy::Refuse };
            match workspace::apply(&copy, strategy).await {
                Ok(Applied::Clean(changes)) => {
                    ToolOutput::done(format!("Applied the changes of {id}.\n{}", changes.diffstat.trim_end()))
                }
                Ok(Applied::Nothing) => ToolOutput::done(format!("Nothing of {id} was left to bring in.")),
                Ok(Applied::Conflicts { files, applied }) => conflict(id, strategy, &files, &applied),
                Err(problem) => in_trouble(&problem),
            }
        })
    }
}

fn conflict(id: &str, strategy: Strategy, files: &[PathBuf], applied: &[PathBuf]) -> ToolOutput {
    let listed = |files: &[PathBuf]| {
        files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
    };
    let what = match strategy {
        Strategy::Refuse => {
            "Nothing was changed. Merge by hand, or apply again with strategy \"markers\".".to_owned()
        }
        Strategy::Markers => format!("They have conflict markers now. Applied besides: {}.", listed(applied)),
    };
    let words = format!("CONFLICT: the changes of {id} meet other changes in {}. {what}", listed(files));
    ToolOutput::failed(ErrorCode::ToolFailed, words)
}
