//! The scripts that a project's hooks run, and agents that change them: what was trusted is what runs.

use std::{fs, path::Path};

use serde_json::json;

use super::here;
use crate::{run::fixture::Desk, sessions::fixture::Done};

const GOOD: &str = "#!/bin/sh\ntouch good\n";
const EVIL: &str = "#!/bin/sh\ntouch evil\n";
/// Nothing stands between the agent and the files but that a hook's script must be what it was.
const FREE: [&str; 5] = ["--permission-mode", "bypass", "--sandbox", "off", "Go"];

fn hooks(events: &[&str], command: &str) -> String {
    let group = json!([{"hooks": [{"type": "command", "command": command}]}]);
    let all: serde_json::Map<_, _> = events
        .iter()
        .map(|event| ((*event).into(), group.clone()))
        .collect();
    json!({ "hooks": all }).to_string()
}

/// A project whose hook runs a script; the model makes one call and ends.
fn project(events: &[&str], call: &str) -> Desk {
    let desk = Desk::new(&format!(
        "[[reply]]\n[[reply.call]]\n{call}\n[[reply]]\ntext = \"{{{{ results[0].text }}}}\"\n"
    ));
    let command = "sh \"$CLAUDE_PROJECT_DIR/scripts/check.sh\"";
    desk.write(".claude/settings.json", hooks(events, command));
    desk.write("scripts/check.sh", GOOD);
    desk.write("evil.sh", EVIL);
    desk
}

fn bash(command: &str) -> String {
    format!("tool = \"Bash\"\ninput = {{ command = \"{command}\" }}")
}

fn exists(desk: &Desk, name: &str) -> bool {
    desk.path().join(name).exists()
}

fn trusted(desk: &Desk) -> Done {
    let said = here(desk, &["trust"]);
    assert_eq!(said.code, 0, "{said:?}");
    said
}

#[test]
fn the_script_of_a_hook_is_a_part_of_what_is_trusted() {
    let desk = project(&["Stop"], &bash("true"));
    let said = trusted(&desk);
    assert!(
        said.err.contains("from now on used: scripts/check.sh"),
        "{said:?}"
    );
    assert!(!said.err.contains("evil.sh"), "no hook names it: {said:?}");
    let done = desk.run(&FREE);
    assert!(done.code == 0 && exists(&desk, "good"), "{done:?}");

    desk.write("scripts/check.sh", EVIL);
    let done = desk.run(&FREE);
    assert!(!exists(&desk, "evil"), "{done:?}");
    assert!(
        done.err
            .contains("has changed since you trusted it (scripts/check.sh)"),
        "{done:?}"
    );
    let shown = here(&desk, &["trust", "--show"]).well();
    assert!(shown.contains("changed      scripts/check.sh"), "{shown}");
    trusted(&desk);
    let done = desk.run(&FREE);
    assert!(exists(&desk, "evil"), "a person has looked at it: {done:?}");
}

#[test]
fn what_an_agents_own_hooks_run_is_a_part_of_it_too() {
    let desk = Desk::with_echo();
    let agent = "---\nname: reviewer\ndescription: Reviews\nhooks:\n  Stop:\n    - hooks:\n        - command: sh tools/stop.sh\n---\nYou review.\n";
    desk.write(".rooftree/agents/reviewer.md", agent);
    desk.write("tools/stop.sh", GOOD);
    let said = trusted(&desk);
    assert!(
        said.err.contains("from now on used: tools/stop.sh"),
        "{said:?}"
    );
    let done = desk.run(&["-a", "reviewer", "hi"]);
    assert!(done.code == 0 && exists(&desk, "good"), "{done:?}");
    desk.write("tools/stop.sh", EVIL);
    let done = desk.run(&["-a", "reviewer", "hi"]);
    assert!(done.code == 8 && !exists(&desk, "evil"), "{done:?}");
}

#[test]
fn an_agent_cannot_have_its_own_code_run_by_changing_a_hooks_script() {
    let attacks = [
        ("rewritten", "cp evil.sh scripts/check.sh"),
        ("replaced", "mv evil.sh scripts/check.sh"),
        (
            "a link",
            "rm scripts/check.sh && ln -s ../evil.sh scripts/check.sh",
        ),
        (
            "another directory",
            "mkdir new && cp evil.sh new/check.sh && mv scripts old && mv new scripts",
        ),
        (
            "a directory behind a link",
            "mkdir new && cp evil.sh new/check.sh && mv scripts old && ln -s new scripts",
        ),
    ];
    for (how, attack) in attacks {
        let desk = project(
            &["PreToolUse", "PostToolUse", "Stop"],
            &bash("sh attack.sh"),
        );
        // By default the hook would be confined, and the damage small. Here it is not.
        fs::write(
            desk.house.path().join("config.toml"),
            "[hooks]\nconfined = \"none\"\n",
        )
        .unwrap();
        desk.write("attack.sh", attack);
        trusted(&desk);
        let done = desk.run(&FREE);
        assert!(
            exists(&desk, "good"),
            "{how}: it was asked before the call: {done:?}"
        );
        let now = fs::read_to_string(desk.path().join("scripts/check.sh")).unwrap();
        assert_eq!(now, EVIL, "{how}: the attack itself works: {done:?}");
        assert!(!exists(&desk, "evil"), "{how}: it was run: {done:?}");
        assert!(
            done.err.contains("is not what it was"),
            "{how}: people are told: {done:?}"
        );
        // The next time too.
        desk.run(&FREE);
        assert!(!exists(&desk, "evil"), "{how}: it was run later");
    }
}

#[test]
fn an_agent_that_may_edit_files_is_asked_about_before_it_edits_a_hooks_script() {
    let edit = "tool = \"Edit\"\ninput = { file_path = \"scripts/check.sh\", old_string = \"good\", new_string = \"evil\" }";
    let desk = project(&["PostToolUse", "Stop"], edit);
    trusted(&desk);
    let done = desk.run(&["--permission-mode", "accept-edits", "Go"]);
    assert!(done.code == 6 && !exists(&desk, "evil"), "{done:?}");
    assert_eq!(
        fs::read_to_string(desk.path().join("scripts/check.sh")).unwrap(),
        GOOD
    );
    let can = here(
        &desk,
        &[
            "can",
            "lead",
            "Edit",
            "scripts/check.sh",
            "--permission-mode",
            "accept-edits",
        ],
    );
    assert_eq!(
        can.code, 6,
        "whoever asks before it happens hears the same: {can:?}"
    );
    let can = here(
        &desk,
        &[
            "can",
            "lead",
            "Edit",
            "evil.sh",
            "--permission-mode",
            "accept-edits",
        ],
    );
    assert_eq!(can.code, 0, "{can:?}");
}

#[test]
fn a_confined_command_cannot_change_a_hooks_script_at_all() {
    let desk = project(&["Stop"], &bash("sh attack.sh"));
    desk.write(
        "attack.sh",
        "cp evil.sh scripts/check.sh; mv scripts old; touch tried",
    );
    trusted(&desk);
    let done = desk.run(&["--permission-mode", "bypass", "--sandbox", "required", "Go"]);
    assert!(
        exists(&desk, "tried") && exists(&desk, "good") && !exists(&desk, "evil"),
        "{done:?}"
    );
    assert_eq!(
        fs::read_to_string(desk.path().join("scripts/check.sh")).unwrap(),
        GOOD,
        "{done:?}"
    );
}

#[test]
fn a_users_hook_that_runs_a_file_of_the_project_is_held_to_the_same() {
    let desk = project(&[], &bash("sh attack.sh"));
    desk.write("attack.sh", "cp evil.sh scripts/check.sh");
    let command = "sh \"$CLAUDE_PROJECT_DIR/scripts/check.sh\"";
    fs::write(
        desk.house.path().join("hooks.json"),
        hooks(&["Stop"], command),
    )
    .unwrap();
    let done = desk.run(&FREE);
    assert!(
        !exists(&desk, "evil") && done.err.contains("is not what it was"),
        "{done:?}"
    );
}

/// A command that leaves a mark in the directory it runs in and one outside of it.
fn marks(outside: &Path) -> String {
    format!("touch inside; touch '{}'", outside.display())
}

#[test]
fn a_projects_hooks_are_confined_unless_the_person_says_otherwise() {
    let table = [
        ("", "", (false, true)),
        ("[hooks]\nconfined = \"project\"\n", "", (false, true)),
        ("[hooks]\nconfined = \"all\"\n", "", (false, false)),
        ("[hooks]\nconfined = \"none\"\n", "", (true, true)),
        ("", "[hooks]\nconfined = \"none\"\n", (false, true)),
        ("", "[hooks]\nconfined = \"all\"\n", (false, false)),
    ];
    for (own, projects, wanted) in table {
        let (desk, elsewhere) = (Desk::with_echo(), tempfile::tempdir().unwrap());
        let (theirs, mine) = (
            elsewhere.path().join("theirs"),
            elsewhere.path().join("mine"),
        );
        desk.write(
            ".rooftree/hooks.json",
            hooks(&["SessionStart"], &marks(&theirs)),
        );
        if !projects.is_empty() {
            desk.write(".rooftree/config.toml", projects);
        }
        fs::write(
            desk.house.path().join("hooks.json"),
            hooks(&["SessionStart"], &marks(&mine)),
        )
        .unwrap();
        fs::write(desk.house.path().join("config.toml"), own).unwrap();
        let done = desk.run(&["--trust", "--sandbox", "required", "hi"]);
        assert!(
            done.code == 0 && exists(&desk, "inside"),
            "{own}{projects}: {done:?}"
        );
        assert_eq!(
            (theirs.exists(), mine.exists()),
            wanted,
            "{own}{projects}: {done:?}"
        );
        assert_eq!(
            done.err.contains("is ignored"),
            projects.contains("none"),
            "{done:?}"
        );
    }
    let desk = Desk::with_echo();
    fs::write(
        desk.house.path().join("config.toml"),
        "[hooks]\nconfined = \"some\"\n",
    )
    .unwrap();
    let done = desk.run(&["hi"]);
    assert!(
        done.code == 3 && done.err.contains("`hooks.confined` cannot be \"some\""),
        "{done:?}"
    );
}
