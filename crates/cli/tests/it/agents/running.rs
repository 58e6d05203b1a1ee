//! Runs with agents from files, settings and `--agents`.

use crate::run::fixture::Desk;

const SCRIPT: &str = "[[reply]]\nagent = \"reviewer\"\ntimes = 1000\ntext = \"reviewed: {{ user.text }}\"\n\
                      [[reply]]\ntimes = 1000\ntext = \"lead: {{ user.text }}\"\n";

#[test]
fn a_definition_is_applied_to_the_main_session() {
    let desk = Desk::new(SCRIPT);
    desk.write(
        ".rooftree/agents/reviewer.md",
        "---\ndescription: x\ninitial_prompt: Look around.\n---\nYou review.",
    );
    assert_eq!(
        desk.run(&["-a", "reviewer", "hi"]).code,
        8,
        "nobody trusts the folder yet"
    );
    assert_eq!(
        desk.run(&["-a", "REVIEWER", "--trust", "hi"]).well(),
        "reviewed: hi\n"
    );
    assert_eq!(
        desk.run(&["-a", "reviewer", "--trust"]).well(),
        "reviewed: Look around.\n"
    );
    assert_eq!(desk.run(&["--trust", "hi"]).well(), "lead: hi\n");
    assert_eq!(
        desk.run(&["--trust"]).code,
        2,
        "the lead begins with nothing"
    );
}

#[test]
fn agents_come_from_the_command_line_and_from_settings() {
    let desk = Desk::new(SCRIPT);
    let typed = r#"{"reviewer": {"description": "x", "prompt": "You review.", "tools": ["Read"]}}"#;
    assert_eq!(
        desk.run(&["--agents", typed, "-a", "reviewer", "hi"])
            .well(),
        "reviewed: hi\n"
    );
    desk.write(
        "team.toml",
        "[[agents]]\nagentId = 'reviewer'\nsystemPrompt = 'You review.'\n",
    );
    assert_eq!(
        desk.run(&["--agents", "team.toml", "-a", "reviewer", "hi"])
            .well(),
        "reviewed: hi\n"
    );
    let done = desk.run(&[
        "--agents",
        r#"[{"name": "a", "prompt": "x", "tolls": []}]"#,
        "hi",
    ]);
    assert_eq!(done.code, 3);
    assert!(done.err.contains("did you mean `tools`?"), "{}", done.err);
    assert_eq!(desk.run(&["--agents", "nowhere.toml", "hi"]).code, 2);
    std::fs::write(
        desk.house.path().join("config.toml"),
        "[[agents]]\nname = 'reviewer'\nprompt = 'You review.'\n",
    )
    .unwrap();
    assert_eq!(desk.run(&["-a", "reviewer", "hi"]).well(), "reviewed: hi\n");
}

#[test]
fn agents_of_a_projects_settings_need_trust() {
    let desk = Desk::new(SCRIPT);
    desk.write(
        ".rooftree/config.toml",
        "[[agents]]\nname = 'reviewer'\nprompt = 'You review.'\n",
    );
    let done = desk.run(&["-a", "reviewer", "hi"]);
    assert_eq!(done.code, 8, "{done:?}");
    assert_eq!(
        desk.run(&["-a", "reviewer", "--trust", "hi"]).well(),
        "reviewed: hi\n"
    );
}

#[test]
fn the_model_of_a_definition_goes_before_the_default() {
    let desk = Desk::new(SCRIPT);
    let other = desk.house.path().join("other.toml");
    std::fs::write(&other, "[[reply]]\ntext = \"from the other model\"\n").unwrap();
    let text = format!(
        "---\ndescription: x\nmodel: scripted/{}\n---\nYou review.",
        other.display()
    );
    std::fs::create_dir_all(desk.house.path().join("agents")).unwrap();
    std::fs::write(desk.house.path().join("agents/reviewer.md"), text).unwrap();
    assert_eq!(
        desk.run(&["-a", "reviewer", "hi"]).well(),
        "from the other model\n"
    );
}

#[test]
fn an_agent_that_is_tried_out_only_looks() {
    let desk = Desk::new(
        "[[reply]]\n[[reply.call]]\ntool = \"Write\"\ninput = { file_path = \"new.txt\", content = \"x\" }\n\
                          [[reply]]\ntext = \"{{ 'written' if results[0].ok else 'not written' }}\"",
    );
    let mut command = desk.house.command(&["agents", "test", "task", "Go"]);
    command.env(
        "ROOFTREE_MODEL",
        format!(
            "scripted/{}",
            desk.house.path().join("script.toml").display()
        ),
    );
    let output = command.current_dir(desk.path()).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "not written\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!desk.path().join("new.txt").exists());
}

#[test]
fn the_work_of_an_agent_is_checked_by_the_verifiers_its_file_names() {
    let desk = Desk::new(SCRIPT);
    desk.write(
        ".rooftree/agents/reviewer.md",
        "---\ndescription: x\nverifiers: [there]\n---\nYou review.",
    );
    desk.write(
        ".rooftree/verifiers.json",
        r#"{"there": {"command": "test -e proof"}}"#,
    );
    let verified = |arguments: &[&str]| {
        let mut run = desk.watch(arguments);
        let end = run.until("run.completed");
        run.done();
        end["data"]["verified"].clone()
    };
    let asked = ["-a", "reviewer", "--trust", "hi"];
    assert_eq!(verified(&asked), false);
    desk.write("proof", "");
    assert_eq!(verified(&asked), true);
}
