//! Being stopped, being ended, and nobody listening any more.

use std::{fs, io::Read, path::PathBuf, process::Stdio};

use super::fixture::{Desk, finished};

const WAITS: &str = r#"
[[reply]]
text = "I wait."

[[reply.call]]
tool = "Bash"
input = { command = "exec 3>held; echo started; exec sleep 60" }

[[reply]]
times = 100
text = "and now: {{ user.text }}"
"#;

/// In a sandbox the program has another number, but it holds the same file open.
fn is_alive(desk: &Desk) -> bool {
    let held = desk.path().join("held").canonicalize().unwrap();
    let descriptors = |process: PathBuf| {
        fs::read_dir(process.join("fd"))
            .into_iter()
            .flatten()
            .flatten()
    };
    let mut processes = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    processes.any(|process| {
        descriptors(process)
            .any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == held))
    })
}

#[test]
fn ctrl_c_stops_the_run_and_says_how_to_go_on() {
    let desk = Desk::new(WAITS);
    let mut watched = desk.watch(&[
        "-v",
        "--include-deltas",
        "--permission-mode",
        "bypass",
        "Go",
    ]);
    let session = watched.until("tool.output")["session"]
        .as_str()
        .unwrap()
        .to_owned();
    watched.signal("INT");
    assert_eq!(
        watched.until("run.completed")["data"]["status"],
        "cancelled"
    );
    let done = watched.done();
    assert_eq!(done.code, 130, "{done:?}");
    assert!(
        done.err.contains("stopping…") && done.err.contains("■ stopped"),
        "{}",
        done.err
    );
    assert!(
        done.err.contains("continue with: rooftree run -s "),
        "{}",
        done.err
    );
    assert!(!is_alive(&desk), "what the run started is stopped with it");
    assert_eq!(
        desk.run(&["-s", &session, "again"]).well(),
        "and now: again\n"
    );
}

#[test]
fn sigterm_keeps_the_run_for_later() {
    let desk = Desk::new(WAITS);
    let mut watched = desk.watch(&["--include-deltas", "--permission-mode", "bypass", "Go"]);
    let session = watched.until("tool.output")["session"]
        .as_str()
        .unwrap()
        .to_owned();
    watched.signal("TERM");
    let result = watched.until("result");
    assert_eq!(
        (&result["status"], &result["exit_code"]),
        (&"interrupted".into(), &143.into())
    );
    assert_eq!(watched.done().code, 143);
    assert!(!is_alive(&desk));
    let done = desk.run(&["-s", &session]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "and now: Go\n"),
        "{}",
        done.err
    );
    desk.house.is_sound();
}

#[test]
fn a_reader_that_goes_away_ends_the_run_without_a_word() {
    let desk = Desk::new(WAITS);
    let mut watched = desk.watch(&["--permission-mode", "bypass", "--include-deltas", "Go"]);
    watched.until("tool.output");
    let mut child = watched.child;
    drop(watched.lines);
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(141), "{said}");
    assert!(!said.contains("panic") && !said.contains("error"), "{said}");
    assert!(!is_alive(&desk), "nobody waits for it any more");
}

#[test]
fn an_answer_nobody_reads_is_no_disaster() {
    let desk = Desk::with_echo();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = desk
        .command(&["hello"])
        .stdout(Stdio::from(writer))
        .spawn()
        .unwrap();
    let done = finished(child);
    assert_eq!(done.code, 141, "{done:?}");
    assert!(!done.err.contains("panic"), "{}", done.err);
}

#[test]
fn a_closed_standard_error_does_not_matter() {
    let desk = Desk::with_echo();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = desk
        .command(&["hello"])
        .stderr(Stdio::from(writer))
        .spawn()
        .unwrap();
    assert_eq!(finished(child).well(), "heard: hello\n");
}
