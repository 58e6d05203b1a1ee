//! `rooftree tasks`: from another terminal, while the run goes on in its own process.

use crate::run::{
    delegating::BACKGROUND,
    desk::{Desk, Watched},
};

/// A run whose agent in background is at work on something that lasts.
fn at_work() -> (Desk, Watched, String) {
    let desk = Desk::new(BACKGROUND);
    let mut watched = desk.watch(&["--permission-mode", "auto", "go"]);
    while watched.until("tool.started")["data"]["tool"] != "Bash" {}
    let task = desk.house.rooftree(&["tasks", "list", "--running", "-o", "ids"]).well().trim().to_owned();
    assert!(task.starts_with("run_"), "{task}");
    (desk, watched, task)
}

#[test]
fn a_task_is_listed_told_something_waited_for_and_followed() {
    let (desk, watched, task) = at_work();
    let tasks = |arguments: &[&str]| desk.house.rooftree(&[&["tasks"], arguments].concat());
    let table = tasks(&["list"]).well();
    assert!(table.contains("agent") && table.contains("◌ running") && table.contains("Dig"), "{table}");
    let end = &task[task.len() - 6..];
    assert_eq!(tasks(&["wait", end, "--timeout", "50ms"]).code, 7, "it is still at work");
    tasks(&["send", end, "hurry", "up"]).well();
    desk.write("open", "");
    assert_eq!(tasks(&["wait", end]).code, 0);
    let text = tasks(&["tail", end]).well();
    assert!(text.contains("⏺ Bash") && text.contains("I dug up gold, hurry up."), "{text}");
    assert_eq!(watched.done().code, 0);
    assert!(tasks(&["send", end, "too late"]).ended(8).contains("has ended already"));
    desk.house.is_sound();
}

#[test]
fn a_task_is_stopped_from_another_process_and_its_number_says_so() {
    let (desk, watched, task) = at_work();
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
    let (desk, watched, task) = at_work();
    desk.house.rooftree(&["runs", "cancel", &task]).well();
    let done = watched.done();
    assert!(done.out.contains("\"cancelled\""), "{}", done.err);
    assert_eq!(desk.house.rooftree(&["tasks", "list", "--running", "-o", "ids"]).well(), "");
}
