//! What must hold whatever was killed: compares the posters' lists, the journal and the effects.

use std::collections::{BTreeMap, HashMap};

use rooftree_protocol::{CallId, Event, EventBody, Message, MessageId, Outcome, RunStatus};
use rooftree_store::verify::VerifyReport;

use crate::{
    fixture::{Scene, Sight},
    notebook::Notebook,
    poster::Accepted,
};

/// Violations, by what was promised.
#[derive(Debug, Default)]
pub struct Findings(BTreeMap<&'static str, Vec<String>>);

const PROMISES: [&str; 11] = [
    "accepted messages lost",
    "messages handled twice",
    "stored model replies asked again",
    "side-effect tools run twice",
    "calls done without their effect",
    "tool calls without exactly one result",
    "runs that did not complete",
    "results that never arrived",
    "results that arrived twice",
    "delegations begun twice",
    "violations found by verify",
];

impl Findings {
    pub fn add(&mut self, promise: &'static str, what: impl Into<String>) {
        self.0.entry(promise).or_default().push(what.into());
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn count(&self, promise: &str) -> usize {
        self.0.get(promise).map_or(0, Vec::len)
    }

    /// Adds what was found elsewhere.
    pub fn merge(&mut self, other: Self) {
        for (promise, found) in other.0 {
            self.0.entry(promise).or_default().extend(found);
        }
    }

    /// One line per promise.
    pub fn table(&self) -> String {
        PROMISES
            .iter()
            .map(|promise| format!("  {promise:<40}{:>5}\n", self.count(promise)))
            .collect()
    }

    pub fn assert_none(&self) {
        assert!(self.is_empty(), "{:#?}", self.0);
    }
}

/// Checks a session whose work is done.
pub fn audit(scene: &Scene, accepted: &[Accepted], notebook: &Notebook) -> Findings {
    let sight = scene.look();
    let mut findings = Findings::default();
    messages(&sight, accepted, &mut findings);
    calls(&sight.events, &mut findings);
    effects(&sight, &scene.effects(), &mut findings);
    for what in notebook.asked_again(scene) {
        findings.add("stored model replies asked again", what);
    }
    verified(&sight.report, &mut findings);
    findings
}

/// What `verify` says; holds at any moment.
pub fn verified(report: &VerifyReport, findings: &mut Findings) {
    for violation in &report.violations {
        findings.add("violations found by verify", format!("{violation:?}"));
    }
}

/// Accepted is taken, once, and answered, once.
fn messages(sight: &Sight, accepted: &[Accepted], findings: &mut Findings) {
    let mut taken: HashMap<MessageId, u32> = HashMap::new();
    let mut tasks: HashMap<u64, u32> = HashMap::new();
    let (mut begun, mut ended): (HashMap<MessageId, u32>, u32) = (HashMap::new(), 0);
    for event in &sight.events {
        match &event.body {
            EventBody::MessageUser { message, .. } => {
                *taken.entry(message.id.clone()).or_default() += 1;
                *tasks.entry(task_of(message)).or_default() += 1;
            }
            EventBody::RunStarted { message, .. } => {
                *begun.entry(message.clone()).or_default() += 1
            }
            EventBody::RunCompleted(end) => {
                ended += 1;
                if end.status != RunStatus::Completed {
                    findings.add(
                        "runs that did not complete",
                        format!("{:?}: {:?}", end.status, end.error),
                    );
                }
            }
            _ => {}
        }
    }
    for one in accepted {
        let id = MessageId::parse(&one.message).unwrap();
        if !taken.contains_key(&id) {
            findings.add("accepted messages lost", format!("{one:?}"));
        }
    }
    for item in &sight.waiting {
        findings.add(
            "accepted messages lost",
            format!("{} still waits", item.message.id),
        );
    }
    for (task, times) in tasks.iter().filter(|(_, times)| **times != 1) {
        findings.add(
            "messages handled twice",
            format!("task {task} was taken {times} times"),
        );
    }
    for (message, times) in begun.iter().filter(|(_, times)| **times != 1) {
        findings.add(
            "messages handled twice",
            format!("{message} began {times} runs"),
        );
    }
    if ended as usize != taken.len() {
        let counts = format!("{} messages were taken and {ended} runs ended", taken.len());
        findings.add("runs that did not complete", counts);
    }
}

/// Each call of each reply has exactly one result, and each result a call.
pub fn calls(events: &[Event], findings: &mut Findings) {
    let mut results: HashMap<CallId, i32> = HashMap::new();
    for event in events {
        match &event.body {
            EventBody::MessageCompleted(reply) => {
                reply
                    .calls()
                    .for_each(|call| *results.entry(call.id.clone()).or_default() += 0);
            }
            EventBody::ToolCompleted(record) => {
                *results.entry(record.call.clone()).or_default() += 1
            }
            _ => {}
        }
    }
    for (call, count) in results.iter().filter(|(_, count)| **count != 1) {
        findings.add(
            "tool calls without exactly one result",
            format!("{call} has {count}"),
        );
    }
}

/// No effect twice; once where the result says it was done.
fn effects(sight: &Sight, effects: &[String], findings: &mut Findings) {
    let mut times: HashMap<u64, u32> = HashMap::new();
    for line in effects {
        let task = line
            .split(' ')
            .next()
            .and_then(|task| task.parse().ok())
            .unwrap_or_default();
        *times.entry(task).or_default() += 1;
    }
    for (task, count) in times.iter().filter(|(_, count)| **count > 1) {
        findings.add(
            "side-effect tools run twice",
            format!("the effect of task {task} is there {count} times"),
        );
    }
    let mut task = 0;
    for event in &sight.events {
        match &event.body {
            EventBody::MessageUser { message, .. } => task = task_of(message),
            EventBody::ToolCompleted(record)
                if record.tool == "Bash"
                    && record.outcome == Outcome::Done
                    && !times.contains_key(&task) =>
            {
                findings.add("calls done without their effect", format!("task {task}"));
            }
            _ => {}
        }
    }
}

/// The tasks in the order they were taken.
pub fn tasks_taken(sight: &Sight) -> Vec<u64> {
    let task = |event: &Event| match &event.body {
        EventBody::MessageUser { message, .. } => Some(task_of(message)),
        _ => None,
    };
    sight.events.iter().filter_map(task).collect()
}

fn task_of(message: &Message) -> u64 {
    let text = message.text();
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}
