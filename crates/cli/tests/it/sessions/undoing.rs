//! `rooftree sessions undo`: shows what it would do, does it when told to, and says why not.

use std::fs;

use serde_json::Value;

use crate::{
    run::fixture::{Desk, finished},
    sessions::fixture::Done,
};

const SCRIPT: &str = r#"
[[reply]]
[[reply.call]]
tool = "Write"
input = { file_path = "notes.txt", content = "by the agent\n", overwrite = true }

[[reply]]
[[reply.call]]
tool = "Write"
input = { file_path = "new.txt", content = "x" }

[[reply]]
text = "done"
"#;

fn undo(desk: &Desk, arguments: &[&str]) -> Done {
    let mut command = desk.house.command(&["sessions", "undo"]);
    command.args(arguments).current_dir(desk.path());
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    finished(command.spawn().unwrap())
}

#[test]
fn an_undo_is_shown_first_and_done_when_told_to() {
    let desk = Desk::new(SCRIPT);
    desk.write("notes.txt", "mine\n");
    let ran = finished(
        desk.command(&["--permission-mode", "bypass", "go"])
            .spawn()
            .unwrap(),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let content = || fs::read_to_string(desk.path().join("notes.txt")).unwrap();
    assert_eq!(content(), "by the agent\n");

    let dry = undo(&desk, &["--dry-run"]);
    assert!(
        dry.code == 0
            && dry.out.contains("notes.txt: would be restored")
            && dry.out.contains("new.txt: would be deleted"),
        "{dry:?}"
    );
    let unasked = undo(&desk, &[]);
    assert!(
        unasked.code == 2 && unasked.err.contains("--yes"),
        "{unasked:?}"
    );
    assert_eq!(content(), "by the agent\n");

    let done = undo(&desk, &["--yes", "-o", "json"]);
    let undone: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(undone["undo"]["files"][0]["step"], "delete", "{done:?}");
    assert_eq!(undone["undo"]["files"][1]["step"], "restore", "{done:?}");
    assert_eq!(content(), "mine\n");
    assert!(!desk.path().join("new.txt").exists());

    let again = undo(&desk, &["--yes"]);
    assert!(
        again.code != 0 && again.err.contains("nothing is left to undo"),
        "{again:?}"
    );
    let missing = undo(&desk, &["nosuch", "--yes"]);
    assert_eq!(missing.code, 8, "{missing:?}");
    let both = undo(&desk, &["--yes", "--dry-run"]);
    assert_eq!(both.code, 2, "{both:?}");
}
