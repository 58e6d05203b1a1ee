//! Runs and tasks with how their work stands: whether a process is there that does it.

use rooftree_process::{ProcessIdentity, is_alive};
use rooftree_protocol::{EventBody, SessionId};
use rooftree_store::{Error, Owner, RunRow, TaskRow};
use rooftree_view::{RunDetail, RunItem, RunTreeView, RunWorkState};

use crate::Queries;

impl Queries {
    /// What the first and the last event tell of a run, and whether a process works on it.
    pub async fn run_item(&self, row: &RunRow) -> Result<Option<RunItem>, Error> {
        let mut tree = RunTreeView::default();
        tree.apply(&row.started);
        if let Some(ended) = &row.ended {
            tree.apply(ended);
        }
        let run = row.started.run.as_ref().and_then(|run| tree.run(run));
        let Some(run) = run.filter(|run| run.origin.mode.is_some()) else {
            return Ok(None);
        };
        let state = match row.ended {
            Some(_) => RunWorkState::Ended,
            None if self.is_worked_on(&run.session).await? => RunWorkState::Running,
            None => RunWorkState::Unfinished,
        };
        Ok(Some(RunItem::of(run, state)))
    }

    /// The same with all that its end tells.
    pub async fn run_detail(&self, row: RunRow) -> Result<Option<RunDetail>, Error> {
        let Some(item) = self.run_item(&row).await? else {
            return Ok(None);
        };
        let end = match row.ended.map(|event| event.body) {
            Some(EventBody::RunCompleted(end)) => Some(end),
            _ => None,
        };
        Ok(Some(RunDetail { item, end }))
    }

    /// Whether a living process works on a session.
    pub async fn is_worked_on(&self, session: &SessionId) -> Result<bool, Error> {
        let owner = self.owner(session).await?;
        Ok(owner.is_some_and(|owner| !owner.is_dead_for(&Owner::this_process())))
    }

    /// Whether no process works on a task that has not ended: it goes on when its session does, or not at all.
    pub async fn is_left(&self, task: &TaskRow) -> Result<bool, Error> {
        if let (None, Some((group, start))) = (&task.child, task.process_group) {
            return Ok(!is_alive(ProcessIdentity { group, start }));
        }
        let worker = task.child.as_ref().unwrap_or(&task.session);
        Ok(!self.is_worked_on(worker).await?)
    }
}
