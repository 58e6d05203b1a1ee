//! `rooftree tasks`: from another terminal, while the run goes on in its own process.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Stdio},
};

use crate::run::{
    delegating::BACKGROUND,
    fixture::{Desk, Watched, finished},
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
    let task = desk
        .house
        .rooftree(&["tasks", "list", "--running", "-o", "ids"])
        .well()
        .trim()
        .to_owned();
    assert!(task.starts_with("run_"), "{task}");
    (desk, watched, task)
}

#[test]
fn a_task_is_listed_waited_for_and_followed() {
    let (desk, watched, task) = at_work(BACKGROUND);
    let tasks = |arguments: &[&str]| desk.house.rooftree(&[&["tasks"], arguments].concat());
    let table = tasks(&["list"]).well();
    assert!(
        table.contains("agent") && table.contains("◌ running") && table.contains("Dig"),
        "{table}"
    );
    let end = &task[task.len() - 6..];
    assert_eq!(
        tasks(&["wait", end, "--timeout", "50ms"]).code,
        7,
        "it is still at work"
    );
    desk.write("open", "");
    assert_eq!(tasks(&["wait", end]).code, 0);
    let text = tasks(&["tail", end]).well();
    assert!(
        text.contains("⏺ Bash") && text.contains("I dug up gold."),
        "{text}"
    );
    assert_eq!(watched.done().code, 0);
    assert!(
        tasks(&["send", end, "too late"])
            .ended(8)
            .contains("has ended already")
    );
    desk.house.is_sound();
}

#[test]
fn r2_d11_the_session_of_a_task_names_it_in_every_command() {
    let (desk, watched, task) = at_work(BACKGROUND);
    let rooftree = |arguments: &[&str]| desk.house.rooftree(arguments);
    let session = task.replacen("run_", "ses_", 1);
    assert_eq!(
        rooftree(&["tasks", "wait", &session, "--timeout", "50ms"]).code,
        7,
        "it is still at work"
    );
    rooftree(&["sessions", "rename", &session, "the digger"]).well();
    let shown = rooftree(&["runs", "show", &session]).well();
    assert!(shown.contains(&task), "{shown}");
    let shown = rooftree(&["sessions", "show", &task]).well();
    assert!(shown.contains("dig"), "{shown}");
    rooftree(&["tasks", "stop", "the digger"]).well();
    assert_eq!(rooftree(&["tasks", "wait", &session]).code, 130);
    assert!(watched.done().out.contains("\"cancelled\""));
    assert!(
        rooftree(&["tasks", "tail", "nobody"])
            .ended(8)
            .contains("no task")
    );
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
    assert_eq!(
        desk.house
            .rooftree(&["tasks", "list", "--running", "-o", "ids"])
            .well(),
        ""
    );
}

#[test]
fn n_43_cancelling_a_run_that_has_ended_stops_the_agents_it_left_at_work() {
    let desk = Desk::new(BACKGROUND);
    let mut watched = desk.watch(&["--permission-mode", "auto", "go"]);
    // The lead's run may end before or after its agent begins to work.
    let (mut ended, mut is_at_work) = (None, false);
    while ended.is_none() || !is_at_work {
        let event = watched.until_any(&["tool.started", "run.completed"]);
        if event["type"] == "run.completed" {
            ended = Some(event["run"].as_str().unwrap().to_owned());
        } else {
            is_at_work |= event["data"]["tool"] == "Bash";
        }
    }
    let said = desk.house.rooftree(&["runs", "cancel", &ended.unwrap()]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(
        said.err
            .contains("told to stop what it left at work: 1 run"),
        "{}",
        said.err
    );
    assert!(watched.done().out.contains("\"cancelled\""));
    let running = ["tasks", "list", "--running", "-o", "ids"];
    assert_eq!(desk.house.rooftree(&running).well(), "");
}

#[test]
fn an_agent_at_work_reads_what_it_is_told_before_its_next_turn() {
    let (desk, watched, task) = at_work(PATIENT);
    desk.house
        .rooftree(&["tasks", "send", &task, "that", "is", "enough"])
        .well();
    assert_eq!(desk.house.rooftree(&["tasks", "wait", &task]).code, 0);
    let text = desk.house.rooftree(&["tasks", "tail", &task]).well();
    assert!(
        text.contains("I stop, as you say: that is enough"),
        "{text}"
    );
    assert_eq!(watched.done().code, 0);
    desk.house.is_sound();
}

/// A lead that leaves a program in background, which writes and then waits, and itself waits too.
const LEAVES_A_PROGRAM: &str = r#"
[[reply]]
on = "^go"
[[reply.call]]
tool = "Bash"
input = { command = "echo begins; a=ghp; echo key ${a}_0123456789abcdefghijABCDEFGHIJ012345 is; until [ -e open ]; do sleep 0.05; done; printf 'goes \\033[31mon\\n'", run_in_background = true }
[[reply.call]]
tool = "Bash"
input = { command = "until [ -e done ]; do sleep 0.05; done" }
[[reply]]
on = "^go"
text = "Done."
"#;

/// A run whose program in background has written something, and somebody who follows it.
fn followed() -> (Desk, Watched, String, Follower) {
    let desk = Desk::new(LEAVES_A_PROGRAM);
    let mut watched = desk.watch(&["--permission-mode", "auto", "go"]);
    for _ in 0..2 {
        watched.until("tool.started");
    }
    // It is listed a moment after it was started.
    let listed = || {
        desk.house
            .rooftree(&["tasks", "list", "--running", "-o", "ids"])
            .well()
    };
    let task = std::iter::repeat_with(listed)
        .take(200)
        .find(|ids| !ids.is_empty())
        .unwrap();
    let task = task.trim().to_owned();
    assert!(task.starts_with("prc_"), "{task}");
    let mut follower = Follower::new(&desk, &task);
    assert_eq!(follower.line(), "begins");
    assert_eq!(follower.line(), "key [redacted: github token] is");
    (desk, watched, task, follower)
}

/// `rooftree tasks tail` in another terminal.
struct Follower {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Follower {
    fn new(desk: &Desk, task: &str) -> Self {
        let mut command = desk.house.command(&["tasks", "tail", task]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

#[test]
fn a_program_in_background_is_followed_while_it_writes_and_read_after_its_end() {
    let (desk, watched, task, mut follower) = followed();
    let table = desk.house.rooftree(&["tasks", "list"]).well();
    assert!(
        table.contains("◌ running") && table.contains("] is"),
        "its last line is listed: {table}"
    );
    desk.write("open", "");
    assert_eq!(follower.line(), "goes on");
    let end = finished(follower.child);
    assert!(
        end.code == 0 && end.err.contains("exit code 0"),
        "{}",
        end.err
    );
    desk.write("done", "");
    assert_eq!(watched.done().code, 0);
    let whole = desk.house.rooftree(&["tasks", "tail", &task]).well();
    assert_eq!(whole, "begins\nkey [redacted: github token] is\ngoes on\n");
    let json = desk.house.rooftree(&["tasks", "list", "-o", "json"]).well();
    assert!(
        json.contains(r#""last_line""#) && json.contains("goes"),
        "{json}"
    );
    desk.house.is_sound();
}

#[test]
fn what_a_program_wrote_is_read_after_its_owner_was_killed() {
    let (desk, watched, task, follower) = followed();
    watched.signal("KILL");
    watched.done();
    let end = finished(follower.child);
    assert!(
        end.code == 0
            && end
                .err
                .contains("is gone with the process that had started it"),
        "{}",
        end.err
    );
    let kept = desk.house.rooftree(&["tasks", "tail", &task]).well();
    assert_eq!(kept, "begins\nkey [redacted: github token] is\n");
    assert!(
        desk.house
            .rooftree(&["tasks", "list"])
            .well()
            .contains("outcome unknown")
    );
}

#[test]
fn what_ends_with_its_run_is_written_down_with_all_it_wrote() {
    let (desk, watched, task, follower) = followed();
    desk.write("done", "");
    assert_eq!(
        watched.done().code,
        0,
        "the program in background ends with the run"
    );
    assert_eq!(finished(follower.child).code, 0);
    let table = desk.house.rooftree(&["tasks", "list"]).well();
    assert!(
        table.contains("■ cancelled") && !table.contains("unfinished"),
        "{table}"
    );
    assert!(
        desk.house
            .rooftree(&["tasks", "tail", &task])
            .well()
            .starts_with("begins\n")
    );
}

#[test]
fn whoever_tells_a_task_something_that_nobody_can_read_is_told_so() {
    let (desk, watched, task) = at_work(PATIENT);
    watched.signal("KILL");
    watched.done();
    let said = desk
        .house
        .rooftree(&["tasks", "send", &task, "that", "is", "enough"])
        .ended(8);
    assert!(
        said.contains("no process is at work on") && said.contains("is kept"),
        "{said}"
    );
    assert!(said.contains("rooftree run -s"), "{said}");
}

/// A run that starts a program in background and then thinks for a long time.
const LEFT: &str = r#"
[[reply]]
[[reply.call]]
tool = "Bash"
input = { command = "sleep 600", run_in_background = true }
[[reply]]
delay = "600s"
text = "It sleeps."
"#;

#[test]
fn s_b3_a_program_whose_process_was_killed_is_settled_by_whoever_lists_waits_or_stops() {
    for arguments in [&["list"][..], &["wait", "ID"], &["stop", "ID"]] {
        let desk = Desk::new(LEFT);
        let mut watched = desk.watch(&["--permission-mode", "bypass", "go"]);
        watched.until("tool.completed");
        let list = |format| {
            desk.house
                .rooftree(&["tasks", "list", "--running", "-o", format])
                .well()
        };
        let task = list("ids").trim().to_owned();
        assert!(task.starts_with("prc_"), "it runs: {task}");
        watched.child.kill().unwrap();
        watched.child.wait().unwrap();
        let arguments = arguments
            .iter()
            .map(|word| if *word == "ID" { task.as_str() } else { word });
        let done = desk
            .house
            .rooftree(&["tasks"].into_iter().chain(arguments).collect::<Vec<_>>());
        let said = format!("{}{}", done.out, done.err);
        assert!(said.contains("outcome unknown"), "{said}");
        assert_eq!(list("ids").trim(), "", "nothing runs any more");
        desk.house.is_sound();
    }
}
