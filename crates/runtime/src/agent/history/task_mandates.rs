//! Keeps the mandates under which background tasks were started, so that a run which their result starts has no more
//! rights than the run that started them.

use rooftree_protocol::{
    Mandate, Message, Origin, RunId,
    event::{RunEnd, RunMode},
};

use super::{History, TaskMandate};

impl History {
    /// The mandate of a run that this message starts: that of the run which started the task it tells the end of.
    pub(crate) fn woken_mandate(&self, message: &Message) -> Option<Box<Mandate>> {
        let Origin::Task { task, .. } = &message.origin else {
            return None;
        };
        let known = self.tasks.mandates.iter().find(|known| known.task == *task);
        known.map(|known| Box::new(known.mandate.woken()))
    }

    /// The message that woke the session has arrived: the run works under the mandate that this message stands for.
    pub(super) fn take_woken_mandate(&mut self, message: &Message) {
        let mandate = self.woken_mandate(message);
        if let Some(run) = &mut self.run
            && run.mode == RunMode::Woken
            && run.message == message.id
        {
            run.mandate = mandate;
        }
    }

    /// Remembers under which mandate a task was started.
    pub(super) fn keep_mandate(&mut self, task: &RunId) {
        let Some(run) = &self.run else { return };
        if let Some(mandate) = run.mandate.clone() {
            self.tasks.mandates.push(TaskMandate {
                task: task.clone(),
                run: run.id.clone(),
                mandate,
            });
        }
    }

    /// The run has ended: a later run under its mandate has only the budget that it left.
    pub(super) fn charge_mandates(&mut self, end: &RunEnd) {
        let Some(run) = &self.run else { return };
        let cost = end.usage.cost_usd + end.delegated.cost_usd;
        let own = self.tasks.mandates.iter_mut();
        for known in own.filter(|known| known.run == run.id) {
            if let Some(budget) = &mut known.mandate.max_cost_usd {
                *budget = (*budget - cost).max(0.0);
            }
        }
    }
}
