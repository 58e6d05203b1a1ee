//! Runs the shell commands of a schedule: its gate, or its work without a model. Sandboxed as commands of its agent are.

use std::{path::Path, sync::Arc, time::Duration};

use rooftree_process::{
    ChildEnvironment, Error, ExitReason, ProcessInput, SpawnRequest, spawn_streamed,
};
use rooftree_protocol::SandboxMode;
use rooftree_store::ScheduleRow;

use crate::{rights::RightsBounds, runtime_context::RuntimeContext, saved_rules::ApplicableRules};

/// Bytes of output that are kept.
const LONGEST: usize = 64 * 1024;

/// A command that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EndedCommand {
    /// Its exit code; none if it was ended by a signal.
    pub(crate) code: Option<i32>,
    /// What it printed.
    pub(crate) printed: String,
    /// What it printed as errors.
    pub(crate) errors: String,
}

/// A command line, with what it is given to read and for how long it may run.
pub(crate) struct ScheduleCommand<'a> {
    pub(crate) row: &'a ScheduleRow,
    pub(crate) line: &'a str,
    pub(crate) input: String,
    pub(crate) time: Duration,
}

impl ScheduleCommand<'_> {
    /// Runs it. The error says why it did not run to its end.
    pub(crate) async fn run(&self, context: &RuntimeContext) -> Result<EndedCommand, String> {
        tokio::select! {
            () = context.closing.cancelled() => Err("the program stops".to_owned()),
            ended = tokio::time::timeout(self.time, self.output(context)) => ended
                .unwrap_or_else(|_| Err(format!("it did not end within {} seconds", self.time.as_secs()))),
        }
    }

    async fn output(&self, context: &RuntimeContext) -> Result<EndedCommand, String> {
        let mut process = match spawn_streamed(self.request(context)?).await {
            Ok(process) => process,
            Err(Error::Unconfined { reason, .. }) => {
                return Err(format!("it cannot be confined: {reason}"));
            }
            Err(error) => return Err(error.to_string()),
        };
        let mut printed = Vec::new();
        while let Some(bytes) = process.read().await {
            printed.extend_from_slice(&bytes);
            if printed.len() > LONGEST {
                return Err(format!("it printed more than {LONGEST} bytes"));
            }
        }
        let finished = process.finish(self.time).await;
        let code = match finished.ending {
            ExitReason::Exited(code) => Some(code),
            ExitReason::Signalled(_) | ExitReason::TimedOut | ExitReason::Cancelled => None,
        };
        Ok(EndedCommand {
            code,
            printed: String::from_utf8_lossy(&printed).into_owned(),
            errors: finished.output.text(),
        })
    }

    /// Invariant: it is confined as strictly as the definition of its agent and the rights of its maker demand.
    fn request(&self, context: &RuntimeContext) -> Result<SpawnRequest, String> {
        let plan = &self.row.plan;
        let definition = context.definitions().find(&plan.agent);
        let definition = definition.map_err(|problem| problem.message)?;
        let definitions = context.bounding(&definition);
        let bounds = RightsBounds {
            definitions: &definitions,
            mandate: plan.rights.as_deref(),
            ceiling: None,
        };
        let confinement = context.confinement(bounds);
        let is_required = confinement.mode == SandboxMode::Required;
        let rules = ApplicableRules {
            rules: &[],
            sessions: &[],
            home: Path::new("/"),
        };
        let unreadable = context.policy(&rules, bounds).unreadable(&plan.cwd);
        let sandbox = &context.options.rights.sandbox;
        let sandbox = sandbox
            .with(confinement, unreadable)
            .standalone_sandbox(&plan.cwd);
        if is_required && sandbox.is_none() {
            return Err("it cannot be confined here".to_owned());
        }
        let inherited = context.options.tools.environment.clone();
        Ok(SpawnRequest {
            program: "bash".into(),
            args: vec!["-c".into(), self.line.into()],
            cwd: plan.cwd.clone(),
            environment: ChildEnvironment::inheriting(inherited)
                .with("ROOFTREE_SCHEDULE", &self.row.id)
                .with(
                    "ROOFTREE_GATE_STATE",
                    self.row.gate_state.as_deref().unwrap_or_default(),
                ),
            input: ProcessInput::Bytes(self.input.clone().into_bytes()),
            sandbox: sandbox.map(Arc::new),
        })
    }
}
