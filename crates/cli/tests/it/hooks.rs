//! `rooftree hooks`, and runs with hooks from settings, from the project and from other programs' files.

use std::path::Path;

use serde_json::{Value, json};

use crate::run::fixture::Desk;

/// A model that writes a file and says what came of it.
const WRITING: &str = "[[reply]]\n[[reply.call]]\ntool = \"Write\"\ninput = { file_path = \"note.txt\", content = \"hi\" }\n\
    [[reply]]\ntext = \"{{ results[0].text }}\"\n";
const EDITS: [&str; 3] = ["--permission-mode", "accept-edits", "write it"];

/// A file with one hook in it.
fn file(event: &str, command: &str) -> String {
    json!({"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}}).to_string()
}

fn in_home(desk: &Desk, name: &str, text: &str) {
    std::fs::write(desk.house.path().join(name), text).unwrap();
}

/// A command of `rooftree` in the desk's directory.
fn rooftree(desk: &Desk, arguments: &[&str]) -> (i32, String, String) {
    let output = desk
        .house
        .command(arguments)
        .current_dir(desk.path())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn touch(canary: &Path) -> String {
    format!("touch '{}'", canary.display())
}

#[test]
fn the_users_hooks_are_asked_from_both_of_their_files() {
    for (name, text) in [
        (
            "hooks.json",
            file("PreToolUse", "echo 'no notes' >&2; exit 2"),
        ),
        (
            "config.toml",
            "[[hooks.PreToolUse]]\nmatcher = 'Write'\n\
             [[hooks.PreToolUse.hooks]]\ncommand = \"echo 'no notes' >&2; exit 2\"\n"
                .to_owned(),
        ),
    ] {
        let desk = Desk::new(WRITING);
        in_home(&desk, name, &text);
        let done = desk.run(&EDITS);
        assert!(done.out.contains("[denied] no notes"), "{name}: {done:?}");
        assert!(!desk.path().join("note.txt").exists());
    }
}

#[test]
fn a_projects_hooks_do_not_run_before_the_folder_is_trusted() {
    for name in [
        ".rooftree/hooks.json",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".rooftree/config.toml",
    ] {
        let desk = Desk::new(WRITING);
        let canary = desk.path().join("canary");
        let text = match name {
            ".rooftree/config.toml" => {
                let command = touch(&canary);
                format!(
                    "[[hooks.SessionStart]]\n[[hooks.SessionStart.hooks]]\ncommand = \"{command}\"\n"
                )
            }
            _ => file("SessionStart", &touch(&canary)),
        };
        desk.write(name, text);
        let done = desk.run(&EDITS);
        assert_eq!(done.code, 0, "{done:?}");
        assert!(!canary.exists(), "{name} ran untrusted");
        assert!(
            done.err.contains(name) && done.err.contains("not trusted"),
            "{name}: {}",
            done.err
        );
        let done = desk.run(&["--trust", "--permission-mode", "accept-edits", "again"]);
        assert!(canary.exists(), "{name} did not run: {done:?}");
    }
}

#[test]
fn trusting_a_folder_names_the_hooks_that_come_with_it() {
    let desk = Desk::new(WRITING);
    desk.write(".claude/settings.json", file("Stop", "true"));
    desk.write(".claude/settings.local.json", "{\"model\": \"x\"}");
    let (code, _, err) = rooftree(&desk, &["trust"]);
    assert!(code == 0 && err.contains(".claude/settings.json"), "{err}");
    assert!(!err.contains("settings.local"), "it has no hooks: {err}");
}

#[test]
fn a_projects_hook_can_refuse_and_cannot_allow() {
    let allow = r#"echo '{"hookSpecificOutput": {"permissionDecision": "allow"}}'"#;
    let desk = Desk::new(WRITING);
    desk.write(".rooftree/hooks.json", file("PreToolUse", allow));
    let done = desk.run(&["--trust", "write it"]);
    assert!(
        done.code == 6 && !desk.path().join("note.txt").exists(),
        "{done:?}"
    );
    desk.write(".rooftree/hooks.json", file("PreToolUse", "exit 2"));
    let done = desk.run(&["--trust", "--permission-mode", "accept-edits", "write it"]);
    assert!(!desk.path().join("note.txt").exists(), "{done:?}");
    let desk = Desk::new(WRITING);
    in_home(&desk, "hooks.json", &file("PreToolUse", allow));
    let done = desk.run(&["write it"]);
    assert!(
        done.code == 0 && desk.path().join("note.txt").exists(),
        "the user's may: {done:?}"
    );
}

#[test]
fn what_cannot_be_honoured_is_an_error_in_our_files_and_a_remark_in_others() {
    let prompt = json!({"hooks": {"Stop": [{"hooks": [{"type": "prompt", "prompt": "done?"}]}]}})
        .to_string();
    let table = [
        (file("FileChanged", "true"), "never asked here"),
        (file("PreToolUsed", "true"), "there is no event"),
        (prompt, "type `prompt` are not supported"),
        ("{\"hook\": {}}".to_owned(), "unknown key `hook`"),
        ("{".to_owned(), "not JSON"),
    ];
    for (text, why) in &table {
        let desk = Desk::with_echo();
        in_home(&desk, "hooks.json", text);
        let done = desk.run(&["hi"]);
        assert!(done.code == 3 && done.err.contains(why), "{why}: {done:?}");
        let desk = Desk::with_echo();
        desk.write(".claude/settings.json", text);
        let done = desk.run(&["--trust", "hi"]);
        assert_eq!(
            (done.code, done.out.as_str()),
            (0, "heard: hi\n"),
            "{done:?}"
        );
        let is_told = done.err.contains(why) || text.contains("\"hook\"");
        assert!(is_told, "{why}: {}", done.err);
    }
}

#[test]
fn a_projects_claude_files_can_turn_their_hooks_off_and_no_others() {
    let desk = Desk::new(WRITING);
    let (theirs, ours) = (desk.path().join("theirs"), desk.path().join("ours"));
    desk.write(
        ".claude/settings.json",
        file("SessionStart", &touch(&theirs)),
    );
    desk.write(".claude/settings.local.json", "{\"disableAllHooks\": true}");
    in_home(&desk, "hooks.json", &file("SessionStart", &touch(&ours)));
    let done = desk.run(&["--trust", "--permission-mode", "accept-edits", "hi"]);
    assert!(ours.exists() && !theirs.exists(), "{done:?}");
    assert!(
        done.err.contains("turns the hooks of .claude off"),
        "{}",
        done.err
    );
}

#[test]
fn a_refused_prompt_ends_the_run_with_the_reason() {
    let desk = Desk::with_echo();
    in_home(
        &desk,
        "hooks.json",
        &file("UserPromptSubmit", "echo 'not today' >&2; exit 2"),
    );
    let done = desk.run(&["hi"]);
    assert!(done.code != 0 && done.err.contains("not today"), "{done:?}");
    assert!(!done.out.contains("heard"), "{done:?}");
}

#[test]
fn the_session_ends_for_hooks_when_the_program_does_and_the_project_is_known() {
    let desk = Desk::with_echo();
    let log = desk.house.path().join("log");
    let tell = format!("(cat; echo \"$CLAUDE_PROJECT_DIR\") >> '{}'", log.display());
    in_home(&desk, "hooks.json", &file("SessionEnd", &tell));
    std::fs::create_dir(desk.path().join(".git")).unwrap();
    std::fs::create_dir(desk.path().join("inner")).unwrap();
    let done = desk.command(&["-C", "inner", "hi"]).output().unwrap();
    assert!(done.status.success());
    let text = std::fs::read_to_string(&log).unwrap();
    let mut lines = text.lines();
    let told: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(
        (&told["hook_event_name"], &told["reason"]),
        (&json!("SessionEnd"), &json!("other"))
    );
    let root = desk.path().canonicalize().unwrap();
    assert_eq!(lines.next(), Some(root.display().to_string().as_str()));
}

#[test]
fn hooks_are_listed_in_the_order_they_are_asked() {
    let desk = Desk::with_echo();
    in_home(&desk, "hooks.json", &file("PreToolUse", "./mine"));
    desk.write(".rooftree/hooks.json", file("Stop", "./theirs"));
    let (_, out, err) = rooftree(&desk, &["hooks", "list", "--json"]);
    let rows: Vec<Value> = serde_json::from_str(&out).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (&rows[0]["event"], &rows[0]["fail"]),
        (&json!("PreToolUse"), &json!("closed"))
    );
    assert_eq!(
        (&rows[0]["command"], &rows[0]["timeout_secs"]),
        (&json!("./mine"), &json!(60.0))
    );
    assert!(
        err.contains("not trusted") && err.contains(".rooftree/hooks.json"),
        "{err}"
    );
    let (_, out, _) = rooftree(&desk, &["hooks", "list", "--trust"]);
    assert!(
        out.starts_with("EVENT") && out.find("./mine") < out.find("./theirs"),
        "{out}"
    );
}

#[test]
fn a_hook_can_be_tried_out_without_a_model() {
    let desk = Desk::with_echo();
    let guard = r#"grep -q 'rm -rf' && { echo 'too dangerous' >&2; exit 2; }; exit 0"#;
    in_home(&desk, "hooks.json", &file("PreToolUse", guard));
    let input = r#"{"command": "rm -rf /"}"#;
    let (code, out, _) = rooftree(
        &desk,
        &["hooks", "test", "PreToolUse", "--input", input, "--json"],
    );
    let said: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &said["verdict"], &said["reason"]),
        (0, &json!("deny"), &json!("too dangerous"))
    );
    let (_, out, _) = rooftree(&desk, &["hooks", "test", "PreToolUse"]);
    assert!(
        out.contains("\"tool_name\": \"Bash\"") && out.contains("\"verdict\": \"nothing\""),
        "{out}"
    );
    let (code, _, err) = rooftree(&desk, &["hooks", "test", "FileChanged"]);
    assert!(code == 2 && err.contains("files are not watched"), "{err}");
    let (code, _, err) = rooftree(&desk, &["hooks", "test", "PreToolUse", "--input", "{"]);
    assert!(code == 2 && err.contains("not JSON"), "{err}");
    in_home(&desk, "hooks.json", &file("Stop", "/no/such/program"));
    let (code, out, _) = rooftree(&desk, &["hooks", "test", "Stop"]);
    assert!(code == 1 && out.contains("could not be started"), "{out}");
}
