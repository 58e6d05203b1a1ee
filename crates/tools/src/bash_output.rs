//! BashOutput: what a background process wrote since the last look.

use std::sync::Arc;

use futures::future::BoxFuture;
use rooftree_process::ExitReason;
use rooftree_protocol::{Effect, ErrorCode, ToolKind, ToolSpec};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
    bash::background_processes::BackgroundProcesses,
    tool_info::{ExposedAs, SkillExemption, ToolInfo, ToolSubject},
};

pub(crate) const INFO: ToolInfo = ToolInfo {
    name: "BashOutput",
    aliases: &["exec_poll", "bash_output"],
    kind: ToolKind::Execute,
    effect: Effect::ReadOnly,
    subject: ToolSubject::Name("task_id"),
    capabilities: &["process"],
    needs_working_copy: false,
    skill_exemption: SkillExemption::AllowList,
    exposed_as: ExposedAs::Function,
    ..ToolInfo::UNDECLARED
};

const DESCRIPTION: &str =
    "What a background Bash task wrote since the last look, and whether it still runs.";

pub(crate) const ARGUMENTS: [ToolArgument; 1] =
    [ToolArgument::new("task_id", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["bash_id", "shell_id", "id"])];

/// The BashOutput tool.
pub(crate) struct BashOutputTool {
    spec: ToolSpec,
    processes: Arc<BackgroundProcesses>,
}

impl BashOutputTool {
    pub fn new(processes: Arc<BackgroundProcesses>) -> Self {
        Self {
            spec: arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS),
            processes,
        }
    }
}

impl Tool for BashOutputTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(INFO.name, &ARGUMENTS, input).map(Value::Object)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let id = text(&input, "task_id").to_owned();
        let look = self.processes.read_new_output(&context.session, &id);
        Box::pin(async move {
            let Some(look) = look else {
                return not_found(&id);
            };
            let status = match look.ending {
                None => format!("[{id} is still running]"),
                Some(ending) => format!("[{id} {}]", words_for(ending)),
            };
            match look.text.trim_end() {
                "" => ToolOutput::done(format!("[nothing new]\n{status}")),
                news => ToolOutput::done(format!("{news}\n{status}")),
            }
        })
    }
}

/// How a process ended, after its name.
pub(crate) fn words_for(ending: ExitReason) -> String {
    match ending {
        ExitReason::Exited(code) => format!("ended with exit code {code}"),
        ExitReason::Signalled(signal) => format!("was ended by signal {signal}"),
        ExitReason::TimedOut => "was stopped at its time limit".to_owned(),
        ExitReason::Cancelled => "was stopped".to_owned(),
    }
}

/// A process of another session is not there either.
pub(crate) fn not_found(id: &str) -> ToolOutput {
    ToolOutput::failed(ErrorCode::TaskNotFound, format!("Task \"{id}\" not found."))
}
