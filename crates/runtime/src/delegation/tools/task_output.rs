//! TaskOutput: how a background task is, or what came of it.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use rooftree_protocol::{AgentDialect, ProcessId, SessionId, ToolSpec, event::TaskNote};
use rooftree_store::TaskStatus;
use rooftree_tools::{
    Tool, ToolContext, ToolInfo, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, number, text},
    session_tools::TASK_OUTPUT,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{caller, not_found, task_of};
use crate::{
    caller::Caller,
    delegation::{
        ActiveDelegation, DelegationEnd, answer, dialect,
        wait::{DelegationWait, TimeoutAction, WaitOutcome, look},
    },
};

const DESCRIPTION: &str = "The result of a background task. You are told when it ends: use this only if you cannot go on \
without it.";

const ARGUMENTS: [ToolArgument; 3] = [
    ToolArgument::new("task_id", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["id", "shell_id", "bash_id"]),
    ToolArgument::new(
        "block",
        ArgumentKind::Flag,
        "Wait for its end; default true",
    ),
    ToolArgument::new("timeout", ArgumentKind::Number, "Seconds, default 30")
        .with_aliases(&["timeout_secs"]),
];

/// Seconds to wait if nothing is said, and at most.
const PATIENCE: (u64, u64) = (30, 600);

/// The TaskOutput tool.
pub(super) struct TaskOutputTool {
    spec: ToolSpec,
    /// What tells what processes wrote.
    processes: Option<Arc<dyn Tool>>,
}

impl TaskOutputTool {
    pub(super) fn new(processes: Option<Arc<dyn Tool>>) -> Self {
        Self {
            spec: arguments::spec(TASK_OUTPUT.name, DESCRIPTION, &ARGUMENTS),
            processes,
        }
    }
}

impl Tool for TaskOutputTool {
    fn info(&self) -> &ToolInfo {
        &TASK_OUTPUT
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn spec_in(&self, dialect: AgentDialect) -> Option<ToolSpec> {
        dialect::spec(&self.spec, dialect)
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(TASK_OUTPUT.name, &ARGUMENTS, input).map(Value::Object)
    }

    fn title(&self, input: &Value) -> String {
        text(input, "task_id").to_owned()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let processes = self.processes.clone();
        Box::pin(async move {
            let caller = match caller(&context) {
                Ok(caller) => caller,
                Err(output) => return *output,
            };
            let id = text(&input, "task_id");
            let dialect = caller.resolved.definition.source.dialect;
            let timeout = timeout_in(dialect, number(&input, "timeout"));
            let block = input.get("block").and_then(Value::as_bool).unwrap_or(true);
            let timeout = if block { timeout } else { 0 };
            if let (Some(processes), true) = (processes, id.starts_with(ProcessId::PREFIX)) {
                return of_program(&caller, id, timeout, processes, context).await;
            }
            of_run(&caller, id, timeout, &context).await
        })
    }
}

/// Seconds to wait, by the unit, default and limit of a dialect.
fn timeout_in(dialect: AgentDialect, timeout: Option<u64>) -> u64 {
    let (default, most) = match dialect {
        AgentDialect::Emdash => (60, PATIENCE.1),
        AgentDialect::Koda => (PATIENCE.0, 300),
        _ => PATIENCE,
    };
    let seconds = timeout.map_or(default, |timeout| match dialect {
        AgentDialect::Fourmis => timeout.div_ceil(1_000),
        _ => timeout,
    });
    seconds.min(most)
}

/// A program: waits for its end if that is wanted, then shows what is new.
async fn of_program(
    caller: &Caller,
    id: &str,
    timeout: u64,
    shown: Arc<dyn Tool>,
    context: ToolContext,
) -> ToolOutput {
    let options = &caller.context.options;
    if timeout > 0 {
        tokio::select! {
            _ = options.tools.processes.wait(&context.session, id) => {}
            () = options.clock.sleep(Duration::from_secs(timeout)) => {}
            () = context.cancel.cancelled() => {}
        }
    }
    let session = context.session.clone();
    let output = shown.run(json!({"task_id": id}), context).await;
    if output.failure.is_some() {
        of_ended_program(caller, &session, id)
            .await
            .unwrap_or(output)
    } else {
        output
    }
}

/// A program that another process of Rooftree started: what the store has of it.
async fn of_ended_program(caller: &Caller, session: &SessionId, id: &str) -> Option<ToolOutput> {
    let store = caller.context.store();
    let task = store.task(id).await.ok()??;
    if task.session != *session || task.status == TaskStatus::Running {
        return None;
    }
    let written: String = store
        .output(id, 0)
        .await
        .ok()?
        .into_iter()
        .map(|piece| piece.text)
        .collect();
    Some(ToolOutput::done(format!(
        "{}\n[{id} ended: {}]",
        written.trim_end(),
        task.detail
    )))
}

async fn of_run(caller: &Caller, id: &str, timeout: u64, context: &ToolContext) -> ToolOutput {
    let Some((row, task)) = task_of(caller, id).await else {
        return not_found(id);
    };
    let Some(session) = row.child else {
        return not_found(id);
    };
    let agent = row
        .data
        .get("agent")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let too_late = caller
        .context
        .options
        .clock
        .sleep(Duration::from_secs(timeout));
    let told = DelegationEnd {
        end: caller.context.delegations.subscribe(&task),
        too_late,
    };
    let asked = ActiveDelegation {
        is_repeated: true,
        ..ActiveDelegation::of(task, session, agent)
    };
    let (task, note) = (asked.task.clone(), asked.note());
    let running = || {
        let words = format!("Task \"{task}\" is still running.");
        ToolOutput {
            task: Some(note.clone()),
            ..ToolOutput::done(words)
        }
    };
    let ended = |note: TaskNote, end: &rooftree_protocol::event::RunEnd| {
        let words = answer::told(&note, end);
        answer::output(note, end, words)
    };
    if timeout == 0 || row.status != TaskStatus::Running {
        return match look(&caller.context, &task).await {
            Some(end) => ended(asked.note(), &end),
            None => running(),
        };
    }
    // Cancelling this wait does not stop the task.
    let nobody_stops_it = CancellationToken::new();
    let waiting = DelegationWait {
        asked: &asked,
        told,
        late: TimeoutAction::Detach,
    };
    let waiting = waiting.wait(&caller.context, &nobody_stops_it);
    match context.cancel.run_until_cancelled(waiting).await {
        Some(WaitOutcome::Ended(end)) => ended(asked.note(), &end),
        _ => running(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_d15_how_long_to_wait_is_read_in_the_unit_of_each_dialect() {
        for (dialect, written, seconds) in [
            (AgentDialect::Rooftree, None, 30),
            (AgentDialect::Rooftree, Some(900), 600),
            (AgentDialect::Fourmis, Some(1_000), 1),
            (AgentDialect::Fourmis, None, 30),
            (AgentDialect::Emdash, None, 60),
            (AgentDialect::Koda, Some(900), 300),
        ] {
            assert_eq!(
                timeout_in(dialect, written),
                seconds,
                "{dialect:?} {written:?}"
            );
        }
    }
}
