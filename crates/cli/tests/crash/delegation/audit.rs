//! What must hold of delegations whatever was killed: every result arrives once, nobody is asked twice.

use std::collections::HashMap;

use rooftree_protocol::{Event, EventBody, Outcome, RunStatus};
use rooftree_store::TaskStatus;

use super::fixture::{House, arrivals, asked};
use crate::{
    audit::{Findings, calls, verified},
    notebook::Notebook,
};

/// Checks a house in which nothing is left to do.
pub fn audit(house: &House, notebook: &Notebook) -> Findings {
    let lead = house.events(&house.scene.session);
    let mut findings = Findings::default();
    calls(&lead, &mut findings);
    runs(&lead, &mut findings);
    results(house, &lead, &mut findings);
    for child in house.children() {
        let events = house.events(&child.id);
        calls(&events, &mut findings);
        runs(&events, &mut findings);
        effects(&events, &house.scene.effects(), &mut findings);
    }
    for what in notebook.asked_again(&house.scene) {
        findings.add("stored model replies asked again", what);
    }
    verified(&house.report(), &mut findings);
    findings
}

/// One session and one run per call; one arrival per run.
fn results(house: &House, lead: &[Event], findings: &mut Findings) {
    let (asked, children) = (asked(lead), house.children());
    for one in &asked {
        let task = one.task();
        match arrivals(lead, &task) {
            0 => findings.add(
                "results that never arrived",
                format!("{task}, {:?}", one.mode),
            ),
            1 => {}
            times => {
                findings.add(
                    "results that arrived twice",
                    format!("{task}, {:?}, {times} times", one.mode),
                );
            }
        }
        let for_it = children.iter().filter(|child| {
            child
                .parent
                .as_ref()
                .is_some_and(|parent| parent.call == one.call.id)
        });
        let begun = |event: &&Event| event.body.name() == "run.started";
        let runs = house.events(&one.child()).iter().filter(begun).count();
        let sessions = for_it.count();
        if (sessions, runs) != (1, 1) {
            let what = format!("{task} has {sessions} sessions and {runs} runs");
            findings.add("delegations begun twice", what);
        }
    }
    if children.len() != asked.len() {
        let what = format!("{} calls have {} children", asked.len(), children.len());
        findings.add("delegations begun twice", what);
    }
    for task in house
        .tasks()
        .into_iter()
        .filter(|task| task.status != TaskStatus::Completed)
    {
        findings.add(
            "runs that did not complete",
            format!("{} is listed as {:?}", task.id, task.status),
        );
    }
}

/// Every message taken was worked on to the end.
fn runs(events: &[Event], findings: &mut Findings) {
    let (mut begun, mut ended) = (0, 0);
    for event in events {
        match &event.body {
            EventBody::RunStarted { .. } => begun += 1,
            EventBody::RunCompleted(end) => {
                ended += 1;
                if end.status != RunStatus::Completed {
                    let what = format!("{}: {:?}: {:?}", event.session, end.status, end.error);
                    findings.add("runs that did not complete", what);
                }
            }
            _ => {}
        }
    }
    if begun != ended {
        findings.add(
            "runs that did not complete",
            format!("{begun} runs began and {ended} ended"),
        );
    }
}

/// A child's line is there once where its call is done, and never twice.
fn effects(events: &[Event], lines: &[String], findings: &mut Findings) {
    let mut times: HashMap<&str, u32> = HashMap::new();
    for line in lines {
        *times
            .entry(line.split(' ').next().unwrap_or_default())
            .or_default() += 1;
    }
    let mut hole = String::new();
    for event in events {
        match &event.body {
            EventBody::MessageUser { message, .. } => hole = message.text().replace("dig ", ""),
            EventBody::ToolCompleted(record) => {
                let count = times.get(hole.as_str()).copied().unwrap_or_default();
                if count > 1 {
                    findings.add(
                        "side-effect tools run twice",
                        format!("{hole} was dug {count} times"),
                    );
                }
                if record.outcome == Outcome::Done && count == 0 {
                    findings.add("calls done without their effect", hole.clone());
                }
            }
            _ => {}
        }
    }
}
