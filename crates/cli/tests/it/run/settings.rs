//! What `config.toml` can say, and what it cannot.

use std::fs;

use super::fixture::{Desk, finished};

const WRITES: &str = "[[reply]]\n[[reply.call]]\ntool = \"Write\"\ninput = { file_path = \"new.txt\", content = \"x\" }\n\
                      [[reply]]\ntext = \"{{ 'written' if results[0].ok else 'not written' }}\"";

#[test]
fn the_users_settings_name_a_model_and_permit() {
    let desk = Desk::new(WRITES);
    let script = desk.house.path().join("script.toml");
    let text = format!(
        "model = \"scripted/{}\"\n[permission]\nallow = [\"Write(new.txt)\"]",
        script.display()
    );
    fs::write(desk.house.path().join("config.toml"), text).unwrap();
    let done = finished(
        desk.command(&["Go"])
            .env_remove("ROOFTREE_MODEL")
            .spawn()
            .unwrap(),
    );
    assert_eq!(done.well(), "written\n");
}

#[test]
fn a_projects_settings_cannot_permit_what_the_user_did_not() {
    let desk = Desk::new(WRITES);
    desk.write(
        ".rooftree/config.toml",
        "[permission]\nmode = \"bypass\"\nallow = [\"Write\"]",
    );
    let done = desk.run(&["Go"]);
    assert_eq!((done.code, done.out.as_str()), (6, "not written\n"));
    assert!(
        done.err.contains("permission.mode in ") && done.err.contains("permission.allow in "),
        "{}",
        done.err
    );
}

#[test]
fn a_projects_settings_can_forbid() {
    let desk = Desk::new(WRITES);
    desk.write(".rooftree/config.toml", "[permission]\ndeny = [\"Write\"]");
    desk.write("below/x", "");
    let done = desk.run(&["-C", "below", "--permission-mode", "bypass", "Go"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "not written\n"),
        "{}",
        done.err
    );
}

#[test]
fn a_setting_nobody_knows_is_an_error_with_a_guess() {
    let desk = Desk::with_echo();
    fs::write(
        desk.house.path().join("config.toml"),
        "[permission]\nmod = \"auto\"",
    )
    .unwrap();
    let said = desk.run(&["Go"]).ended(3);
    assert!(said.contains("did you mean `permission.mode`?"), "{said}");
}

#[test]
fn a_rule_for_a_tool_that_does_not_exist_is_refused_before_anything_is_stored() {
    let desk = Desk::new(WRITES);
    let done = desk.run(&["--permission-mode", "bypass", "--deny", "Wriet(*)", "Go"]);
    assert_eq!(done.code, 2, "{}", done.err);
    assert!(
        done.err.contains("`Wriet(*)` names no tool that exists"),
        "{}",
        done.err
    );
    desk.write(".rooftree/config.toml", "[permission]\ndeny = [\"Wriet\"]");
    let done = desk.run(&["--permission-mode", "bypass", "Go"]);
    assert_eq!(done.code, 3, "{}", done.err);
}

#[test]
fn a_rule_under_another_name_of_a_tool_holds() {
    let desk = Desk::new(WRITES);
    let done = desk.run(&["--permission-mode", "bypass", "--deny", "write_file", "Go"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "not written\n"),
        "{}",
        done.err
    );
}

/// A lead that asks a worker, which asks an explorer.
const CHAIN: &str = r#"
[[reply]]
agent = "explore"
text = "SEEN"
[[reply]]
agent = "task"
turn = 1
[[reply.call]]
tool = "Task"
input = { subagent_type = "explore", prompt = "look" }
[[reply]]
agent = "task"
text = "{{ results[0].text }}"
[[reply]]
turn = 1
[[reply.call]]
tool = "Task"
input = { subagent_type = "task", prompt = "have it looked at", isolation = "none" }
[[reply]]
text = "{{ results[0].text }}"
"#;

#[test]
fn r1_d20_how_deep_delegation_goes_is_a_setting_that_a_project_can_only_lower() {
    let desk = Desk::new(CHAIN);
    let text = desk.run(&["Go"]).well();
    assert!(text.contains("not available inside a sub-agent"), "{text}");
    let desk = Desk::new(CHAIN);
    let text = desk.run(&["-c", "limits.depth=2", "Go"]).well();
    assert!(text.contains("SEEN"), "{text}");
    let desk = Desk::new(CHAIN);
    desk.write(".rooftree/config.toml", "[limits]\ndepth = 2\n");
    let text = desk.run(&["Go"]).well();
    assert!(!text.contains("SEEN"), "{text}");
    let desk = Desk::new(CHAIN);
    let text = desk.run(&["-c", "limits.children=0", "Go"]).well();
    assert!(text.contains("0 agents of this session"), "{text}");
}

#[test]
fn anything_can_be_set_on_the_command_line_and_goes_before_files() {
    let desk = Desk::new(WRITES);
    fs::write(
        desk.house.path().join("config.toml"),
        "[permission]\nmode = \"plan\"",
    )
    .unwrap();
    let done = desk.run(&[
        "-c",
        "permission.mode=ask",
        "-c",
        "permission.allow=['Write(new.txt)']",
        "Go",
    ]);
    assert_eq!(done.well(), "written\n");
    let desk = Desk::new(WRITES);
    let done = desk.run(&[
        "-c",
        "permission.mode=bypass",
        "--config",
        "permission.deny=['Write']",
        "Go",
    ]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "not written\n"),
        "{}",
        done.err
    );
    let other = desk.house.path().join("other.toml");
    fs::write(&other, "[[reply]]\ntext = \"the other\"").unwrap();
    let model = format!("model=scripted/{}", other.display());
    assert_eq!(
        desk.run(&["-c", &model, "Go"]).well(),
        "the other\n",
        "what is typed goes before variables"
    );
}

#[test]
fn a_key_nobody_knows_is_refused_with_the_nearest_one() {
    let desk = Desk::with_echo();
    for (typed, meant) in [
        ("permission.mod=ask", "did you mean `permission.mode`?"),
        ("max_turns=3", "did you mean `limits.max_turns`?"),
        ("limits", "write KEY=VALUE"),
    ] {
        let done = desk.run(&["-c", typed, "Go"]);
        assert_eq!(done.code, 2, "{typed}: {}", done.err);
        assert!(done.err.contains(meant), "{typed}: {}", done.err);
    }
}
