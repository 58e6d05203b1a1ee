//! Bash: one shell command, waited for or left running in the background.

pub mod background_processes;
mod output_reporter;
mod sandbox_hints;
mod start;

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use rooftree_process::{ExitReason, FinishedProcess, ProcessBounds};
use rooftree_protocol::{Effect, ErrorCode, Part, Repeat, ToolKind, ToolSpec};
use rooftree_shell as shell;
use serde_json::{Value, json};

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, flag, number, text},
    tool_info::{ExposedAs, ToolInfo, ToolSubject},
    web::guard::NetworkGuard,
};
use background_processes::{BackgroundProcesses, BackgroundRequest};
use output_reporter::OutputReporter;
use start::{StartedCommand, start};

const DEFAULT_SECS: u64 = 120;
const MAX_SECS: u64 = 600;

/// Maximum bytes of a command's output in memory. The caller truncates further for the model.
const OUTPUT_BYTES: usize = 8 * 1024 * 1024;

pub(crate) const INFO: ToolInfo = ToolInfo {
    name: "Bash",
    aliases: &[
        "exec",
        "execute_command",
        "shell",
        "run_command",
        "run_shell_command",
    ],
    kind: ToolKind::Execute,
    subject: ToolSubject::Command("command"),
    capabilities: &["shell"],
    exposed_as: ExposedAs::Function,
    ..ToolInfo::UNDECLARED
};

const DESCRIPTION: &str = "Run a shell command (bash -c) in the working directory, without input. What it started \
    ends with it. With run_in_background it returns a task id at once, for BashOutput and TaskStop. Prefer Read, Grep \
    and Glob to cat, grep and find.";

pub(crate) const ARGUMENTS: [ToolArgument; 5] = [
    ToolArgument::new("command", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["cmd"]),
    ToolArgument::new(
        "timeout_secs",
        ArgumentKind::Number,
        "Default 120, at most 600",
    ),
    ToolArgument::new("run_in_background", ArgumentKind::Flag, "").with_aliases(&["background"]),
    ToolArgument::new(
        "description",
        ArgumentKind::Text,
        "What it does, in five words",
    ),
    // In milliseconds by definition of the dialects that use these names, never by guessing.
    ToolArgument::accepted("timeout", ArgumentKind::Number)
        .with_aliases(&["timeoutMs", "timeout_ms"]),
];

/// Milliseconds that one unit of `timeout` has under a name of the tool, and its default in seconds if that differs.
fn timeout_in(called_as: &str) -> (u64, Option<u64>) {
    match called_as {
        // emdash
        "execute_command" => (1_000, Some(60)),
        // daycare
        "exec" => (1, Some(30)),
        _ => (1, None),
    }
}

/// The Bash tool.
pub(crate) struct BashTool {
    spec: ToolSpec,
    processes: Arc<BackgroundProcesses>,
    /// Network guard for hosts of an allow list.
    guard: NetworkGuard,
}

impl BashTool {
    pub fn new(processes: Arc<BackgroundProcesses>, guard: NetworkGuard) -> Self {
        Self {
            spec: arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS),
            processes,
            guard,
        }
    }
}

impl Tool for BashTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, called_as: &str, input: Value) -> Result<Value, String> {
        let is_plain = input.get("timeout").is_some();
        let mut input = arguments::normalise(INFO.name, &ARGUMENTS, input)?;
        let (unit, default) = timeout_in(called_as);
        let timeout = input.remove("timeout").and_then(|timeout| timeout.as_u64());
        // `timeoutMs` says its unit itself.
        let unit = if is_plain { unit } else { 1 };
        let millis = timeout.map(|timeout| timeout.saturating_mul(unit));
        let secs = input
            .get("timeout_secs")
            .and_then(Value::as_u64)
            .or(millis.map(|millis| millis.div_ceil(1000)))
            .or(default);
        match secs {
            Some(0) => return Err("Bash: `timeout_secs` must be at least 1.".to_owned()),
            Some(secs) => drop(input.insert("timeout_secs".to_owned(), json!(secs.min(MAX_SECS)))),
            None => {}
        }
        let command = input
            .get("command")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if command.trim().is_empty() || command.contains('\0') {
            return Err("Bash: `command` is empty or contains a NUL character.".to_owned());
        }
        Ok(Value::Object(input))
    }

    /// Conservative: a line that is not surely harmless may do anything. Who stays in the background
    /// outlives the question whether it may.
    fn effect(&self, input: &Value) -> Effect {
        let is_waited_for = !flag(input, "run_in_background");
        if is_waited_for && shell::is_read_only_line(text(input, "command")) {
            Effect::ReadOnly
        } else {
            Effect::Destructive
        }
    }

    /// A line that calls tools of the agent only looks by itself; what those did must not be done again.
    fn repeat(&self, input: &Value) -> Repeat {
        let is_pure =
            self.effect(input) == Effect::ReadOnly && !shell::calls_tools(text(input, "command"));
        if is_pure {
            Repeat::Pure
        } else {
            Repeat::AtMostOnce
        }
    }

    fn title(&self, input: &Value) -> String {
        let command = text(input, "command").trim();
        match command.split_once('\n') {
            Some((first, _)) => format!("{first} …"),
            None => command.to_owned(),
        }
    }

    fn preview(&self, input: &Value, context: &ToolContext) -> String {
        let mut preview = text(input, "command").to_owned();
        let description =
            Some(text(input, "description")).filter(|description| !description.is_empty());
        for line in description
            .into_iter()
            .chain(sandbox_hints::weak_sandbox_warning(context))
        {
            preview.push_str("\n# ");
            preview.push_str(line);
        }
        preview
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let (processes, guard) = (self.processes.clone(), self.guard.clone());
        Box::pin(async move {
            let is_left = flag(&input, "run_in_background");
            if is_left && let Err(words) = processes.check_process_limit(&context.session) {
                return ToolOutput::failed(ErrorCode::LimitReached, words);
            }
            match start(text(&input, "command"), &context, &processes, &guard).await {
                Ok(started) if is_left => leave(&processes, started, &input, &context),
                Ok(started) => wait(started, &input, &context).await,
                Err(output) => output,
            }
        })
    }
}

async fn wait(started: StartedCommand, input: &Value, context: &ToolContext) -> ToolOutput {
    let StartedCommand {
        process,
        remark,
        refused,
        notices,
        told,
    } = started;
    refused.watched(context.progress.clone());
    let secs = number(input, "timeout_secs").unwrap_or(DEFAULT_SECS);
    let bounds = ProcessBounds {
        time: Some(Duration::from_secs(secs)),
        output: OUTPUT_BYTES,
    };
    let teller = OutputReporter::new(context.progress.clone());
    let finish = process.finish(bounds, &context.cancel, |bytes| teller.push(bytes));
    let finished = tokio::select! {
        finished = finish => finished,
        () = teller.report_periodically() => return ToolOutput::failed(ErrorCode::Internal, "The command was lost."),
    };
    teller.report();
    let kept_out = finished
        .kept_out
        .iter()
        .map(|words| format!("[sandbox: {words}]"));
    let remarks: Vec<String> = remark
        .into_iter()
        .chain(refused.news())
        .chain(kept_out)
        .collect();
    let mut output = describe(&finished, secs);
    if let Some(hint) = told.hint(&output) {
        output.content.push(Part::text(format!("\n{hint}")));
    }
    output.notices.extend(notices);
    output
        .notices
        .extend(sandbox_hints::reverted_notice(&finished.kept_out));
    with_remark((!remarks.is_empty()).then(|| remarks.join("\n")), output)
}

/// Prepends a remark about the run to the output.
fn with_remark(remark: Option<String>, mut output: ToolOutput) -> ToolOutput {
    output
        .content
        .splice(0..0, remark.map(|remark| Part::text(format!("{remark}\n"))));
    output
}

fn describe(finished: &FinishedProcess, secs: u64) -> ToolOutput {
    let written = finished.output.text();
    let written = written.trim_end();
    let with = |line: String| {
        if written.is_empty() {
            line
        } else {
            format!("{written}\n{line}")
        }
    };
    match finished.ending {
        ExitReason::Exited(0) if written.is_empty() => ToolOutput::done("[no output]"),
        ExitReason::Exited(0) => ToolOutput::done(written),
        ExitReason::Exited(code) => {
            ToolOutput::failed(ErrorCode::ToolFailed, with(format!("[exit code {code}]")))
        }
        ExitReason::Signalled(signal) => ToolOutput::failed(
            ErrorCode::ToolFailed,
            with(format!("[ended by signal {signal}]")),
        ),
        ExitReason::TimedOut => {
            let line =
                format!("[stopped after {secs} seconds; for longer work set run_in_background]");
            ToolOutput::failed(ErrorCode::ToolCancelled, with(line))
        }
        ExitReason::Cancelled => {
            ToolOutput::failed(ErrorCode::ToolCancelled, with("[cancelled]".to_owned()))
        }
    }
}

/// Leaves it running in the background.
fn leave(
    processes: &BackgroundProcesses,
    started: StartedCommand,
    input: &Value,
    context: &ToolContext,
) -> ToolOutput {
    let StartedCommand {
        process,
        remark,
        refused,
        notices,
        told: _,
    } = started;
    let (session, call) = (context.session.clone(), context.call.clone());
    let command = text(input, "command").to_owned();
    let id = processes.adopt(
        process,
        BackgroundRequest {
            session,
            call,
            command,
            refused,
        },
    );
    let words = format!(
        "Started in the background as task {id}. BashOutput shows what it writes, TaskStop ends it."
    );
    with_remark(
        remark,
        ToolOutput {
            notices,
            ..ToolOutput::done(words)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolset::ToolLookup;

    #[test]
    fn r1_d15_a_timeout_has_the_unit_and_default_of_the_name_that_is_called() {
        let tools = crate::builtin(Arc::new(BackgroundProcesses::new(|| 1)));
        let ToolLookup::Tool(bash) = tools.find("Bash") else {
            panic!("there is Bash")
        };
        for (name, mut input, seconds) in [
            ("Bash", json!({}), None),
            ("Bash", json!({"timeout": 5_000}), Some(5)),
            ("execute_command", json!({}), Some(60)),
            ("execute_command", json!({"timeout": 5}), Some(5)),
            ("execute_command", json!({"timeoutMs": 5_000}), Some(5)),
            ("exec", json!({}), Some(30)),
            ("exec", json!({"timeout": 5_000}), Some(5)),
        ] {
            input["command"] = json!("ls");
            let read = bash.normalise(name, input.clone()).unwrap();
            assert_eq!(number(&read, "timeout_secs"), seconds, "{name} {input}");
        }
    }
}
