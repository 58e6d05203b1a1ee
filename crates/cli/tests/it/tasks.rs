//! `rooftree tasks`: from another terminal, while the run goes on in its own process.

use crate::run::{
    delegating::BACKGROUND,
    desk::{Desk, Watched},
};

/// A lead whose agent in background goes on until it is told to come to an end.
const PATIENT: &str = r#"
[[reply]]
on = "^go"
[[reply.call]]
tool = "Task"
input = { subagent_type = "lead", description = "Dig", prompt = "dig here", run_in_background = true, isolation = "none", max_turns = 200 }
[[reply]]
on = "^go"
text = "It digs."

[[reply]]
on = "Background sub-agent"
text = "It is back."

[[reply]]
match = "enough"
text = "I stop, as you say: {{ user.text }}"
[[reply]]
on = "^dig"
times = 200
[[reply.call]]
tool = "Bash"
input = { command = "sleep 0.1; echo {{ turn }}" }
"#;

/// A run whose agent in background is at work on something that lasts.
fn at_work(script: &str) -> (Desk, Watched, String) {
    let desk = Desk::new(script);
    let mut watched = desk.watch(&["--permission-mode", "auto", "go"]);
    while watched.until("tool.started")["data"]["tool"] != "Bash" {}
    let task = desk.house.rooftree(&["tasks", "list", "--running", "-o", "ids"]).well().trim().to_owned();
    assert!(task.starts_with("run_"), "{task}");
    (desk, watched, task)
}

#[test]
fn a_task_is_listed_waited_for_and_followed() {
    let (desk, watched, task) = at_work(BACKGROUND);
    let tasks = |arguments: &[&str]| desk.house.rooftree(&[&["tasks"], arguments].concat());
    let table = tasks(&["list"]).well();
    assert!(table.contains("agent") && table.contains("◌ running") && table.contains("Dig"), "{table}");
    let end = &task[task.len() - 6..];
    assert_eq!(tasks(&["wait", end, "--timeout", "50ms"]).code, 7, "it is still at work");
    desk.write("open", "");
    assert_eq!(tasks(&["wait", end]).code, 0);
    let text = tasks(&["tail", end]).well();
    assert!(text.contains("⏺ Bash") && text.contains("I dug up gold."), "{text}");
    assert_eq!(watched.done().code, 0);
    assert!(tasks(&["send", end, "too late"]).ended(8).contains("has ended already"));
    desk.house.is_sound();
}

#[test]
fn a_task_is_stopped_from_another_process_and_its_number_says_so() {
    let (desk, watched, task) = at_work(BACKGROUND);
    let tasks = |arguments: &[&str]| desk.house.rooftree(&[&["tasks"], arguments].concat());
    tasks(&["stop", &task]).well();
    assert_eq!(tasks(&["wait", &task]).code, 130);
    assert!(watched.done().out.contains("\"cancelled\""));
    assert!(tasks(&["list"]).well().contains("■ cancelled"));
    assert!(tasks(&["stop", &task]).err.contains("has ended already"));
    assert!(tasks(&["wait", "nobody"]).ended(8).contains("no task"));
}

#[test]
fn a_run_is_stopped_from_another_process_with_all_that_it_started() {
    let (desk, watched, task) = at_work(BACKGROUND);
    desk.house.rooftree(&["runs", "cancel", &task]).well();
    let done = watched.done();
    assert!(done.out.contains("\"cancelled\""), "{}", done.err);
    assert_eq!(desk.house.rooftree(&["tasks", "list", "--running", "-o", "ids"]).well(), "");
}

#[test]
fn an_agent_at_work_reads_what_it_is_told_before_its_next_turn() {
    let (desk, watched, task) = at_work(PATIENT);
    desk.house.rooftree(&["tasks", "send", &task, "that", "is", "enough"]).well();
    assert_eq!(desk.house.rooftree(&["tasks", "wait", &task]).code, 0);
    let text = desk.house.rooftree(&["tasks", "tail", &task]).well();
    assert!(text.contains("I stop, as you say: that is enough"), "{text}");
    assert_eq!(watched.done().code, 0);
    desk.house.is_sound();
}
