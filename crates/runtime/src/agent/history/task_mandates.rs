//! Keeps the mandates under which background tasks were started, so that a run which their result starts has no more
//! rights than the run that started them.

use rooftree_protocol::{
    Mandate, Message, Origin, RunId,
    event::{RunEnd, RunMode},
};

use super::{History, TaskMandate};

impl History {
    /// The mandate of a run that this message starts: that of the run which started the task it tells the end of. A
    /// task whose start was not recorded may have been started by any run, so the last mandate bounds it.
    pub(crate) fn woken_mandate(&self, message: &Message) -> Option<Box<Mandate>> {
        let Origin::Task { task, .. } = &message.origin else {
            return None;
        };
        let known = self.tasks.mandates.iter().find(|known| known.task == *task);
        let mandate = match known {
            Some(known) => known.mandate.as_ref(),
            None => self.tasks.last_mandate.as_ref(),
        };
        mandate.map(|mandate| Box::new(mandate.woken()))
    }

    /// The message that woke the session has arrived: the run works under the mandate that this message stands for.
    pub(super) fn take_woken_mandate(&mut self, message: &Message) {
        let mandate = self.woken_mandate(message);
        let budget_of = match &message.origin {
            Origin::Task { task, .. } => {
                let mut known = self.tasks.mandates.iter();
                known.find(|known| known.task == *task)
            }
            _ => None,
        };
        let budget_of = budget_of.map(|known| known.run.clone());
        if let Some(run) = &mut self.run
            && run.mode == RunMode::Woken
            && run.message == message.id
        {
            run.mandate = mandate;
            run.progress.budget_of = budget_of;
        }
    }

    /// Remembers a mandate that came with a message.
    pub(super) fn keep_last_mandate(&mut self) {
        if let Some(mandate) = self.run.as_ref().and_then(|run| run.mandate.clone()) {
            self.tasks.last_mandate = Some(mandate);
        }
    }

    /// Remembers under which mandate a task was started.
    pub(super) fn keep_mandate(&mut self, task: &RunId) {
        let Some(run) = &self.run else { return };
        self.tasks.mandates.push(TaskMandate {
            task: task.clone(),
            run: run
                .progress
                .budget_of
                .clone()
                .unwrap_or_else(|| run.id.clone()),
            mandate: run.mandate.clone(),
        });
    }

    /// The run has ended: later runs under the same mandate have only the budget that it left.
    pub(super) fn charge_mandates(&mut self, end: &RunEnd) {
        let Some(run) = &self.run else { return };
        let cost = end.usage.cost_usd + end.delegated.cost_usd;
        let charged = run.progress.budget_of.as_ref().unwrap_or(&run.id);
        let own = self.tasks.mandates.iter_mut();
        let own = own.filter(|known| known.run == *charged);
        let budgets = own.filter_map(|known| known.mandate.as_mut()?.max_cost_usd.as_mut());
        budgets.for_each(|budget| *budget = (*budget - cost).max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::{
        Event, EventBody, Lane, MessageId, Part, PermissionMode, RunStatus, SessionId, Timestamp,
        Usage, event::TaskNote,
    };
    use serde_json::json;

    use super::*;
    use crate::agent::testing::{event, folded, reply, result, started, user};

    fn mandate(budget: f64) -> Box<Mandate> {
        let mandate = json!({
            "parent": {"session": SessionId::from_entropy(9), "run": RunId::from_entropy(9), "call": "call_x"},
            "root": RunId::from_entropy(9), "mode": "background", "above": [], "tools": ["Read"],
            "permission_mode": PermissionMode::Plan, "max_cost_usd": budget,
        });
        serde_json::from_value(mandate).unwrap()
    }

    fn in_run(number: u128, event: Event) -> Event {
        let run = Some(RunId::from_entropy(number));
        Event { run, ..event }
    }

    /// The message that begins a run, from an agent with a budget, or from a person.
    fn asked(budget: Option<f64>) -> Event {
        let mut asked = user("work");
        if let EventBody::MessageUser { message, .. } = &mut asked.body {
            message.mandate = budget.map(mandate);
        }
        asked
    }

    /// The result of a call that started a task.
    fn starts(name: &str, task: u128) -> Event {
        let mut started = result(name);
        if let EventBody::ToolCompleted(record) = &mut started.body {
            record.task = Some(TaskNote {
                task: RunId::from_entropy(task),
                session: SessionId::from_entropy(task),
                agent: "scout".into(),
                status: None,
                verified: None,
                usage: None,
                share: None,
                outside: false,
                cached: false,
            });
        }
        started
    }

    fn end_of(task: u128) -> Message {
        let origin = Origin::Task {
            task: RunId::from_entropy(task),
            session: SessionId::from_entropy(task),
            agent: "scout".into(),
            status: RunStatus::Completed,
            verified: None,
            usage: Usage::none(),
            checks: false,
        };
        let id = MessageId::from_entropy(task);
        Message::new(id, vec![Part::text("found")], origin, Timestamp(0))
    }

    fn ended(cost: f64) -> Event {
        let mut end = RunEnd::new(RunStatus::Completed);
        end.usage.cost_usd = cost;
        event(EventBody::RunCompleted(end))
    }

    fn left(history: &History, task: u128) -> Option<f64> {
        let mandate = history.woken_mandate(&end_of(task));
        mandate.map(|mandate| mandate.max_cost_usd.unwrap())
    }

    /// A run, asked with a budget or by a person, that starts two tasks and costs 0.25.
    fn with_two_tasks(budget: Option<f64>) -> Vec<Event> {
        vec![
            started(),
            asked(budget),
            reply("", &["a", "b"]),
            starts("a", 11),
            starts("b", 12),
            ended(0.25),
        ]
    }

    #[test]
    fn runs_that_tasks_of_one_run_wake_share_its_budget() {
        let mut events = with_two_tasks(Some(1.0));
        assert_eq!(left(&folded(&events), 11), Some(0.75));
        assert_eq!(left(&folded(&events), 12), Some(0.75));
        let mut woken = started();
        if let EventBody::RunStarted { mode, message, .. } = &mut woken.body {
            (*mode, *message) = (RunMode::Woken, end_of(11).id);
        }
        let taken = event(EventBody::MessageUser {
            message: end_of(11),
            lane: Lane::Boundary,
            position: 1,
        });
        events.extend([woken, taken, ended(0.5)].map(|event| in_run(2, event)));
        assert_eq!(
            left(&folded(&events), 12),
            Some(0.25),
            "what both have left"
        );
    }

    #[test]
    fn a_task_whose_start_is_not_recorded_wakes_no_run_with_more_rights() {
        let history = folded(&with_two_tasks(Some(1.0)));
        let woken = history.woken_mandate(&end_of(99)).unwrap();
        assert_eq!(woken.permission_mode, PermissionMode::Plan);
        assert!(!woken.expects_answer());
    }

    #[test]
    fn tasks_of_a_person_s_run_wake_it_without_a_mandate() {
        let mut events = with_two_tasks(Some(1.0));
        let own = [
            started(),
            asked(None),
            reply("", &["c"]),
            starts("c", 13),
            ended(0.0),
        ];
        events.extend(own.map(|event| in_run(3, event)));
        assert_eq!(left(&folded(&events), 13), None);
        assert_eq!(left(&folded(&events), 11), Some(0.75));
    }
}
