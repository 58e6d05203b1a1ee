//! Checks before a schedule fires, without asking a model: its agent, its model and the connectors it delivers to.

use rooftree_protocol::{ChatTarget, LOCAL_OWNER, ModelChoice, Problem};
use rooftree_store::{ScheduleRow, ScheduledWork};

use super::Scheduler;
use crate::Error;

impl Scheduler {
    /// Why a schedule cannot fire, if it cannot.
    pub(super) async fn blocked(&self, row: &ScheduleRow) -> Result<Option<String>, Error> {
        let plan = &row.plan;
        if let Some(why) = self.disabled_person(row).await? {
            return Ok(Some(why));
        }
        let found = match &plan.work {
            ScheduledWork::Prompt { .. } => self.model_of(row),
            ScheduledWork::Command { .. } => self.context.definitions().find(&plan.agent).map(drop),
        };
        if let Err(problem) = found {
            return Ok(Some(problem.message));
        }
        if !plan.cwd.is_dir() {
            return Ok(Some(format!("{} is no directory", plan.cwd.display())));
        }
        self.missing_connector(row).await
    }

    /// Says that the owner of a schedule may do nothing here any more. The local owner has no row, and cannot be disabled.
    async fn disabled_person(&self, row: &ScheduleRow) -> Result<Option<String>, Error> {
        let person = &row.account.person;
        if person == LOCAL_OWNER {
            return Ok(None);
        }
        let persons = self.store().persons(&row.account.tenant).await?;
        let mut same = persons
            .into_iter()
            .filter(|known| known.account.person == *person);
        let may = same.any(|known| known.disabled_at.is_none());
        Ok((!may).then(|| format!("the person `{person}` is disabled")))
    }

    /// Says which of the connectors that a schedule delivers to is not there.
    async fn missing_connector(&self, row: &ScheduleRow) -> Result<Option<String>, Error> {
        let plan = &row.plan;
        let targets: Vec<&ChatTarget> = [&plan.target, &plan.fail_target]
            .into_iter()
            .flatten()
            .collect();
        if targets.is_empty() {
            return Ok(None);
        }
        let known = self.store().connectors(&row.account.tenant).await?;
        let is_known = |target: &&&ChatTarget| {
            let mut names = known.iter().map(|connector| &connector.name);
            names.any(|name| name.eq_ignore_ascii_case(&target.connector))
        };
        let missing = targets.iter().find(|target| !is_known(target));
        Ok(missing.map(|target| format!("there is no connector `{}`", target.connector)))
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
