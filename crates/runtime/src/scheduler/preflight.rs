//! Checks before a schedule fires, without asking a model: its agent, its model and the connectors it delivers to.

use rooftree_protocol::{ModelChoice, Problem};
use rooftree_store::{ScheduleRow, ScheduledWork};

use super::Scheduler;

impl Scheduler {
    /// Why a schedule cannot fire, if it cannot.
    pub(super) fn blocked(&self, row: &ScheduleRow) -> Option<String> {
        let plan = &row.plan;
        let found = match &plan.work {
            ScheduledWork::Prompt { .. } => self.model_of(row),
            ScheduledWork::Command { .. } => self.context.definitions().find(&plan.agent).map(drop),
        };
        if let Err(problem) = found {
            return Some(problem.message);
        }
        if !plan.cwd.is_dir() {
            return Some(format!("{} is no directory", plan.cwd.display()));
        }
        let known = self.options.connectors.as_ref()?;
        let mut targets = [&plan.target, &plan.fail_target].into_iter().flatten();
        let missing = targets.find(|target| !known(&target.connector))?;
        Some(format!("there is no connector `{}`", missing.connector))
    }

    /// Fails if the agent is not there or its model cannot be asked.
    fn model_of(&self, row: &ScheduleRow) -> Result<(), Problem> {
        let definition = self.context.definitions().find(&row.plan.agent)?;
        let models = &self.context.options.models;
        let written = row.plan.model.as_deref().map(str::parse::<ModelChoice>);
        let choice = match written.transpose()? {
            Some(choice) => Some(choice),
            None => definition.model.clone().or_else(|| models.default_now()),
        };
        let choice = choice.ok_or_else(|| {
            let code = rooftree_protocol::ErrorCode::Unauthorized;
            Problem::new(
                code,
                format!("no usable model for agent `{}`", definition.name),
            )
        })?;
        models.catalog.open(&choice).map(drop)
    }
}
