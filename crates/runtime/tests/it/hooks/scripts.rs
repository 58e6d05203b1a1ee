//! The files that hooks run, and an agent that would like to have them do something else.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use rooftree_protocol::{AgentDefinition, DefinitionLevel, Effect};
use rooftree_providers::scripted::{call, say};
use rooftree_runtime::hooks::{ConfiguredHook, HookConfinement, HookFailureMode, HookPoint};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::json;

use super::{asked, asked_about, told, with};

/// What the scripts do at first, and what they are to do later.
const GOOD: &str = "#!/bin/sh\necho \"$0\" >> good\n";
const EVIL: &str = "#!/bin/sh\ntouch evil\n";

/// A way to change what a hook runs, in the directory of the session.
type Attack = fn(&Path);

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

const ATTACKS: [(&str, Attack); 6] = [
    ("rewritten", |at| write(&at.join("scripts/check.sh"), EVIL)),
    ("replaced by a link", |at| {
        write(&at.join("evil.sh"), EVIL);
        fs::remove_file(at.join("scripts/check.sh")).unwrap();
        symlink(at.join("evil.sh"), at.join("scripts/check.sh")).unwrap();
    }),
    ("in a directory that is another one", |at| {
        write(&at.join("others/check.sh"), EVIL);
        fs::rename(at.join("scripts"), at.join("old")).unwrap();
        fs::rename(at.join("others"), at.join("scripts")).unwrap();
    }),
    ("behind a directory that is a link", |at| {
        write(&at.join("others/check.sh"), EVIL);
        fs::rename(at.join("scripts"), at.join("old")).unwrap();
        symlink("others", at.join("scripts")).unwrap();
    }),
    ("replaced by a directory", |at| {
        fs::remove_file(at.join("scripts/check.sh")).unwrap();
        write(&at.join("scripts/check.sh/__main__.py"), EVIL);
    }),
    ("replaced by a pipe", |at| {
        fs::remove_file(at.join("scripts/check.sh")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at.join("scripts/check.sh"))
            .status();
        assert!(made.unwrap().success());
    }),
];

/// While the first call of the agent is under way the script is attacked; then it calls `Do` and ends.
async fn attacked(hooks: Vec<ConfiguredHook>, attack: Option<Attack>) -> (TestRuntime, String) {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let entries = [
        say("").calls([call("Look", json!({}))]),
        say("").calls([call("Do", json!({"say": "effect"}))]),
        say("done"),
    ];
    let tools = Toolset::new([look, ProbeTool::open("Do", Effect::LocalMutation)]);
    let runtime = with(entries, hooks).tools(tools).build();
    write(&runtime.path().join("scripts/check.sh"), GOOD);
    let session = runtime.post("go").await;
    runtime.wait_for_event(&session, "tool.started").await;
    if let Some(attack) = attack {
        attack(runtime.path());
    }
    keeper.open(1);
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await + &told(&runtime, &session).await;
    (runtime, story)
}

fn guards() -> Vec<ConfiguredHook> {
    let lines = [
        "./scripts/check.sh",
        "\"$CLAUDE_PROJECT_DIR\"/scripts/check.sh",
        "sh scripts/check.sh",
        "cd scripts && exec ./check.sh",
        "sh -c 'sh scripts/check.sh; true'",
        "f=scripts; sh \"$f/check.sh\"",
        "for f in scripts/*; do sh \"$f\"; done",
    ];
    lines
        .map(|line| asked_about(HookPoint::PreToolUse, "Do", line))
        .to_vec()
}

#[tokio::test]
async fn as_long_as_nobody_changes_it_a_script_is_run() {
    for hook in guards() {
        let name = hook.name().to_owned();
        let (runtime, story) = attacked(
            vec![hook, asked(HookPoint::Stop, "sh scripts/check.sh")],
            None,
        )
        .await;
        assert!(story.contains("tool     Do done"), "{name}: {story}");
        let good = fs::read_to_string(runtime.path().join("good"));
        let inner = fs::read_to_string(runtime.path().join("scripts/good"));
        let runs = [good, inner]
            .into_iter()
            .flatten()
            .map(|text| text.lines().count())
            .sum::<usize>();
        assert_eq!(runs, 2, "{name}: {story}");
    }
}

#[tokio::test]
async fn a_guard_whose_script_was_changed_refuses_and_is_not_run() {
    for (how, attack) in ATTACKS {
        for mut hook in guards() {
            // Whoever says that a failure lets it pass did not mean this one.
            hook.on_failure = HookFailureMode::Open;
            let name = hook.name().to_owned();
            let (runtime, story) = attacked(vec![hook], Some(attack)).await;
            assert!(
                !runtime.path().join("evil").exists(),
                "{how}: `{name}` ran it: {story}"
            );
            assert!(
                story.contains("tool     Do denied"),
                "{how}: {name}: {story}"
            );
            assert!(
                story.contains("is not what it was") && story.contains("rooftree trust"),
                "{story}"
            );
        }
    }
}

#[tokio::test]
async fn where_nothing_waits_to_pass_it_is_left_out_and_people_are_told() {
    for (how, attack) in ATTACKS {
        let (runtime, story) = attacked(
            vec![asked(HookPoint::Stop, "sh scripts/check.sh")],
            Some(attack),
        )
        .await;
        assert!(
            !runtime.path().join("evil").exists(),
            "{how}: it ran: {story}"
        );
        assert!(
            story.contains("is not what it was") && story.contains("ended    completed"),
            "{how}: {story}"
        );
    }
}

#[tokio::test]
async fn a_script_that_was_not_there_is_not_run_when_an_agent_has_written_it() {
    let plant: Attack = |at| write(&at.join("scripts/more.sh"), EVIL);
    let hook = asked(
        HookPoint::Stop,
        "[ ! -e scripts/more.sh ] || sh scripts/more.sh",
    );
    let (runtime, story) = attacked(vec![hook], Some(plant)).await;
    assert!(
        !runtime.path().join("evil").exists() && story.contains("is not what it was"),
        "{story}"
    );
}

#[tokio::test]
async fn what_a_guard_looks_at_must_not_change_either() {
    let empty: Attack = |at| fs::write(at.join("scripts/check.sh"), "").unwrap();
    let guard = asked_about(
        HookPoint::PreToolUse,
        "Do",
        "! grep -q good scripts/check.sh || exit 2",
    );
    let (_, story) = attacked(vec![guard], Some(empty)).await;
    assert!(
        story.contains("Do denied") && story.contains("is not what it was"),
        "{story}"
    );
    // Elsewhere it is text like any other.
    let (_, story) = attacked(
        vec![asked(HookPoint::PostToolUse, "cat scripts/check.sh")],
        Some(empty),
    )
    .await;
    assert!(
        story.contains("Do done") && !story.contains("notice"),
        "{story}"
    );
}

#[tokio::test]
async fn an_agent_is_not_given_a_script_that_was_changed_before_it_was_asked() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let own = json!({"PreToolUse": [{"hooks": [{"command": "sh scripts/check.sh"}]}]});
    let helper = AgentDefinition {
        description: "helps".into(),
        hooks: Some(own),
        ..AgentDefinition::new("helper")
    };
    let ask = call(
        "Task",
        json!({"agent": "helper", "description": "help", "prompt": "Help."}),
    );
    let entries = [
        say("").calls([call("Look", json!({}))]).agent("lead"),
        say("").calls([ask]).agent("lead"),
        say("{{ results[0].text }}").agent("lead"),
        say("")
            .calls([call("Do", json!({"say": "effect"}))])
            .agent("helper"),
        say("{{ results[0].text }}").agent("helper"),
    ];
    let project = tempfile::tempdir().unwrap();
    write(&project.path().join("scripts/check.sh"), GOOD);
    let tools = Toolset::new([look, ProbeTool::open("Do", Effect::LocalMutation)]);
    let mut plan = TestRuntimeBuilder::new(entries)
        .with_delegation(tools)
        .agent(helper);
    plan.hooks.project = Some(project.path().into());
    let runtime = plan.build();
    // The session works in a copy of the project.
    write(&runtime.path().join("scripts/check.sh"), GOOD);
    let session = runtime.post("go").await;
    runtime.wait_for_event(&session, "tool.started").await;
    write(&runtime.path().join("scripts/check.sh"), EVIL);
    keeper.open(1);
    let end = runtime.wait_for_run(&session).await;
    assert!(end.text.contains("is not what it was"), "{}", end.text);
    assert!(!runtime.path().join("evil").exists());
}

#[tokio::test]
async fn a_tool_changes_what_a_hook_runs_only_if_somebody_says_so() {
    let project = tempfile::tempdir().unwrap();
    let script = project.path().join("scripts/check.sh");
    write(&script, GOOD);
    let change = |path: &Path| call("Write", json!({"file_path": path, "content": EVIL}));
    let other = project.path().join("scripts/other.sh");
    let run = call(
        "Bash",
        json!({"command": format!("sh '{}'", script.display())}),
    );
    let entries = [
        say("").calls([change(&script), change(&other)]),
        say("").calls([run]),
        say("done"),
    ];
    let mut plan = with(entries, vec![asked(HookPoint::Stop, "sh scripts/check.sh")]);
    plan.hooks.project = Some(project.path().into());
    plan.tools = rooftree_tools::builtin(std::sync::Arc::new(
        rooftree_tools::BackgroundProcesses::new(|| 1),
    ));
    let runtime = plan.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert_eq!(fs::read_to_string(&script).unwrap(), GOOD, "{story}");
    assert!(
        story.contains("Write denied") && other.exists(),
        "no user can be asked: {story}"
    );
    assert!(
        story.contains("Bash done"),
        "running it is not changing it: {story}"
    );
}

#[tokio::test]
async fn where_nothing_can_confine_a_projects_hook_it_is_refused_or_said() {
    const AGAIN: &str = "ROOFTREE_TEST_NO_SANDBOX_FOR_HOOKS";
    // A test cannot change its own PATH, so it runs itself once more with one where there is no bubblewrap.
    if std::env::var_os(AGAIN).is_none() {
        let place = tempfile::tempdir().unwrap();
        for program in ["bash", "sh", "touch"] {
            let path = std::env::var_os("PATH").unwrap();
            let mut files = std::env::split_paths(&path).map(|place| place.join(program));
            symlink(
                files.find(|path| path.is_file()).unwrap(),
                place.path().join(program),
            )
            .unwrap();
        }
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let name =
            "hooks::scripts::where_nothing_can_confine_a_projects_hook_it_is_refused_or_said";
        let status = again
            .args(["--exact", name])
            .env(AGAIN, "1")
            .env("PATH", place.path())
            .status();
        assert!(status.unwrap().success());
        return;
    }
    use rooftree_protocol::SandboxMode::{Auto, Off, Required};
    let table = [
        (
            Required,
            DefinitionLevel::Project,
            HookConfinement::Project,
            "Do denied",
            "has to be confined",
        ),
        (
            Required,
            DefinitionLevel::User,
            HookConfinement::Project,
            "Do done",
            "",
        ),
        (
            Required,
            DefinitionLevel::User,
            HookConfinement::All,
            "Do denied",
            "has to be confined",
        ),
        (
            Required,
            DefinitionLevel::Project,
            HookConfinement::None,
            "Do done",
            "",
        ),
        (
            Auto,
            DefinitionLevel::Project,
            HookConfinement::Project,
            "Do done",
            "hooks are not confined here",
        ),
        (
            Off,
            DefinitionLevel::Project,
            HookConfinement::Project,
            "Do done",
            "",
        ),
    ];
    for (mode, level, confined, wanted, words) in table {
        let mut hook = asked_about(HookPoint::PreToolUse, "Do", "touch ran");
        hook.level = level;
        let mut plan = super::doing(vec![hook]);
        plan.hooks.confined = confined;
        plan.rights.sandbox.confinement.mode = mode;
        let (runtime, session, story) = super::story_of(plan).await;
        let story = story + &told(&runtime, &session).await;
        assert!(
            story.contains(wanted) && story.contains(words),
            "{mode:?} {level:?} {confined:?}: {story}"
        );
        assert_eq!(
            runtime.path().join("ran").exists(),
            wanted == "Do done",
            "{mode:?} {level:?}: {story}"
        );
        assert_eq!(
            story.matches("not confined here").count(),
            usize::from(mode == Auto),
            "{story}"
        );
    }
}
