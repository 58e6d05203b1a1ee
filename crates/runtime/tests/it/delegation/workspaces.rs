//! Children that write at the same time: each in a copy of its own, brought together afterwards.

use std::{path::PathBuf, process::Command, sync::Arc};

use rooftree_protocol::{AgentDefinition, Isolation, PermissionMode};
use rooftree_providers::scripted::{ScriptEntry, ScriptedCall, call, say};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};
use rooftree_tools::{BackgroundProcesses, PermissionRule};
use serde_json::json;

use super::{agent, task, task_with};

fn start_runtime(entries: impl IntoIterator<Item = ScriptEntry>) -> TestRuntime {
    house_with(entries, |_| {})
}

fn house_with(
    entries: impl IntoIterator<Item = ScriptEntry>,
    change: impl FnOnce(&mut TestRuntimeBuilder),
) -> TestRuntime {
    let tools = rooftree_tools::builtin(Arc::new(BackgroundProcesses::new(|| 1)));
    let tools = rooftree_runtime::people_tools::with_tools(&tools);
    let mut plan = TestRuntimeBuilder::new(entries)
        .with_delegation(tools)
        .agent(agent("red"))
        .agent(agent("blue"))
        .agent(AgentDefinition {
            isolation: Isolation::None,
            ..agent("bold")
        });
    change(&mut plan);
    let runtime = plan.build();
    std::fs::create_dir_all(work(&runtime)).unwrap();
    runtime
}

fn work(runtime: &TestRuntime) -> PathBuf {
    runtime.path().join("work")
}

fn git(runtime: &TestRuntime, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    let output = Command::new("git")
        .current_dir(work(runtime))
        .args(identity)
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

async fn post(runtime: &TestRuntime, text: &str) -> rooftree_protocol::SessionId {
    let cwd = work(runtime);
    let new = rooftree_protocol::command::NewSession {
        agent: "lead".into(),
        cwd,
        name: None,
        model: None,
    };
    let post = rooftree_protocol::Command::Post {
        to: rooftree_protocol::Address::Create(new),
        parts: vec![rooftree_protocol::Part::text(text)],
        origin: rooftree_protocol::Origin::User,
        key: None,
        delivery: rooftree_protocol::Delivery::Queue,
        context: None,
    };
    match runtime.command(post).await {
        rooftree_protocol::command::CommandReply::Accepted { session, .. } => session,
        other => panic!("{other:?}"),
    }
}

fn paints(name: &str, file: &str) -> [ScriptEntry; 3] {
    [
        say("")
            .agent(name)
            .calls([call("Read", json!({"file_path": file}))]),
        say("").agent(name).calls([call(
            "Edit",
            json!({"file_path": file, "old_string": "plain", "new_string": name}),
        )]),
        say("painted").agent(name),
    ]
}

/// Applies the tasks of the first results, one after the other.
fn apply_all() -> [ScriptEntry; 3] {
    let id = |at: usize| format!("{{{{ results[{at}].text | find('run_[a-z0-9]+') }}}}");
    [
        say("").agent("lead").calls([
            call("ApplyWorkspace", json!({"task_id": id(0)})),
            call("ApplyWorkspace", json!({"task_id": id(1)})),
        ]),
        say("{% for r in results %}{{ r.text | first_line }}\n{% endfor %}").agent("lead"),
        say("unused").agent("lead"),
    ]
}

#[tokio::test]
async fn two_that_write_at_once_do_not_trample_each_other_and_both_changes_come_back() {
    let script = [say("")
        .agent("lead")
        .calls([task("red", "paint"), task("blue", "paint")])];
    let script = script
        .into_iter()
        .chain(apply_all())
        .chain(paints("red", "a.txt"))
        .chain(paints("blue", "b.txt"));
    let runtime = start_runtime(script);
    git(&runtime, &["init", "-q"]);
    std::fs::write(work(&runtime).join("a.txt"), "old\n").unwrap();
    git(&runtime, &["add", "."]);
    git(&runtime, &["commit", "-qm", "first"]);
    // Not committed, and not even known to git: the children see it all the same.
    std::fs::write(work(&runtime).join("a.txt"), "plain\n").unwrap();
    std::fs::write(work(&runtime).join("b.txt"), "plain\n").unwrap();
    let session = post(&runtime, "paint both").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        end.text.matches("Applied the changes of run_").count(),
        2,
        "{}",
        runtime.transcript(&session).await
    );
    assert_eq!(
        std::fs::read_to_string(work(&runtime).join("a.txt")).unwrap(),
        "red\n"
    );
    assert_eq!(
        std::fs::read_to_string(work(&runtime).join("b.txt")).unwrap(),
        "blue\n"
    );
    for child in runtime.children(&session).await {
        assert_ne!(
            child.cwd,
            work(&runtime),
            "each worked in a copy of its own"
        );
    }
}

#[tokio::test]
async fn two_that_change_the_same_line_are_reported_as_a_conflict_and_nothing_is_lost() {
    let script = [say("")
        .agent("lead")
        .calls([task("red", "paint"), task("blue", "paint")])];
    let script = script
        .into_iter()
        .chain(apply_all())
        .chain(paints("red", "a.txt"))
        .chain(paints("blue", "a.txt"));
    let runtime = start_runtime(script);
    git(&runtime, &["init", "-q"]);
    std::fs::write(work(&runtime).join("a.txt"), "plain\n").unwrap();
    git(&runtime, &["add", "."]);
    git(&runtime, &["commit", "-qm", "first"]);
    let session = post(&runtime, "paint it").await;
    let end = runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(end.text.contains("Applied the changes of"), "{story}");
    assert!(end.text.contains("CONFLICT: the changes of"), "{story}");
    assert!(end.text.contains("a.txt"), "{story}");
    assert_eq!(
        std::fs::read_to_string(work(&runtime).join("a.txt")).unwrap(),
        "red\n"
    );
    let branches = git(&runtime, &["branch", "--list", "rooftree/*"]);
    assert!(
        branches.contains("rooftree/blue-"),
        "the work that was not applied is kept: {branches}"
    );
}

#[tokio::test]
async fn one_alone_works_in_place_and_one_that_changed_nothing_leaves_no_copy() {
    let script = [
        say("").agent("lead").calls([task("red", "paint")]),
        say("")
            .agent("lead")
            .calls([task("blue", "look"), task("blue", "look again")]),
        say("{{ results[0].text }}").agent("lead"),
        say("looked").agent("blue"),
    ];
    let runtime = start_runtime(script.into_iter().chain(paints("red", "a.txt")));
    std::fs::write(work(&runtime).join("a.txt"), "plain\n").unwrap();
    let session = post(&runtime, "go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        std::fs::read_to_string(work(&runtime).join("a.txt")).unwrap(),
        "red\n"
    );
    assert!(!end.text.contains("workspace"), "{}", end.text);
    let left = std::fs::read_dir(runtime.path().join("workspaces")).unwrap();
    let left: Vec<String> = left
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("blue"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn without_room_for_a_copy_nobody_is_sent_and_the_reason_is_said() {
    let script = [
        say("")
            .agent("lead")
            .calls([task("red", "x"), task_with("bold", "y", json!({}))]),
        say("{% for r in results %}{{ r.text | first_line }}\n{% endfor %}").agent("lead"),
        say("done in place").agent("bold"),
    ];
    let runtime = start_runtime(script);
    for number in 0..1_001 {
        std::fs::write(work(&runtime).join(format!("{number}.txt")), "x").unwrap();
    }
    let session = post(&runtime, "go").await;
    let text = runtime.wait_for_run(&session).await.text;
    let wanted = "[ERROR: sub-agent 'red' could not provision an isolated workspace and was not dispatched, ";
    assert!(text.starts_with(wanted), "{text}");
    assert!(text.contains("done in place"), "{text}");
}

#[tokio::test]
async fn a_fork_with_a_copy_of_its_own_keeps_the_prefix_and_hears_where_it_works() {
    let fork = |prompt: &str| {
        call(
            "InvokeAgent",
            json!({"agent_name": "fork", "prompt": prompt}),
        )
    };
    let script = [
        say("")
            .agent("lead")
            .calls([fork("go on alone"), fork("go on too")]),
        say("both back").agent("lead"),
        say("alone").agent("lead").matching("^go on"),
    ];
    let runtime = start_runtime(script);
    git(&runtime, &["init", "-q"]);
    std::fs::write(work(&runtime).join("a.txt"), "plain\n").unwrap();
    let session = post(&runtime, "split up").await;
    assert_eq!(runtime.wait_for_run(&session).await.text, "both back");
    let requests = runtime.model.requests();
    let parent = requests
        .iter()
        .find(|request| request.session == session)
        .unwrap();
    let forks: Vec<_> = requests
        .iter()
        .filter(|request| request.session != session)
        .collect();
    assert_eq!(forks.len(), 2);
    for fork in forks {
        assert_eq!((&fork.system, &fork.tools), (&parent.system, &parent.tools));
        let told = format!("{:?}", fork.messages.last().unwrap());
        assert!(
            told.contains("a copy of your own") && told.contains("workspaces"),
            "{told}"
        );
    }
    runtime.verify().await;
}

/// A child that leaves a file in a directory, by a command whose words do not say which.
fn hides(directory: &str) -> [ScriptEntry; 2] {
    let (start, rest) = directory.split_at(3);
    let place = format!("\"${{d}}{rest}\"");
    let command = format!("d={start}; mkdir -p {place} && echo x >{place}/key && echo x >beside");
    [
        say("")
            .agent("red")
            .calls([call("Bash", json!({"command": command}))]),
        say("done").agent("red"),
    ]
}

/// Applies what the one task left, after other calls.
async fn applied(
    directory: &str,
    before: Vec<ScriptedCall>,
    change: impl FnOnce(&mut TestRuntimeBuilder),
) -> (TestRuntime, String) {
    let id = "{{ results[0].text | find('run_[a-z0-9]+') }}";
    let task = task_with("red", "hide", json!({"isolation": "worktree"}));
    let apply = call("ApplyWorkspace", json!({"task_id": id}));
    let script = [
        say("").agent("lead").calls([task]),
        say("")
            .agent("lead")
            .calls(before.into_iter().chain([apply])),
        say("{{ results | map(attribute='text') | join(' ') }}").agent("lead"),
    ];
    let runtime = house_with(script.into_iter().chain(hides(directory)), change);
    git(&runtime, &["init", "-q"]);
    git(&runtime, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let session = post(&runtime, "go").await;
    let text = runtime.wait_for_run(&session).await.text;
    (runtime, text)
}

#[tokio::test]
async fn what_the_one_who_applies_may_not_write_is_not_applied_and_neither_is_the_rest() {
    let rule = || PermissionRule::parse("Write(secret/**)").unwrap();
    for (directory, is_denied) in [("secret", true), ("public", false)] {
        let (runtime, text) = applied(directory, vec![], |plan| {
            plan.rights.policy.deny.push(rule())
        })
        .await;
        let is_there = |name: &str| work(&runtime).join(name).exists();
        let key = format!("{directory}/key");
        assert_eq!(
            (is_there(&key), is_there("beside")),
            (!is_denied, !is_denied),
            "{directory}: {text}"
        );
        let refused = "Nothing was applied: you may not write secret/key";
        let words = if is_denied {
            refused
        } else {
            "Applied the changes of"
        };
        assert!(text.contains(words), "{directory}: {text}");
    }
    let (runtime, text) = applied("secret", vec![], |_| {}).await;
    assert!(
        work(&runtime).join("secret/key").exists(),
        "without the rule nothing keeps it: {text}"
    );
}

#[tokio::test]
async fn what_programs_obey_is_applied_only_by_whoever_may_write_it() {
    for (mode, is_applied) in [
        (PermissionMode::Auto, false),
        (PermissionMode::Bypass, true),
    ] {
        let (runtime, text) =
            applied(".vscode", vec![], |plan| plan.rights.policy.mode = mode).await;
        assert_eq!(
            work(&runtime).join(".vscode/key").exists(),
            is_applied,
            "{mode:?}: {text}"
        );
        assert_eq!(
            text.contains("you may not write .vscode/key"),
            !is_applied,
            "{mode:?}: {text}"
        );
    }
}

#[tokio::test]
async fn in_plan_mode_nothing_is_applied() {
    let (runtime, text) = applied("public", vec![call("EnterPlanMode", json!({}))], |_| {}).await;
    assert!(text.contains("plan mode only looks"), "{text}");
    assert!(!work(&runtime).join("public/key").exists() && !work(&runtime).join("beside").exists());
}

/// Two who may write get copies, write nothing, and are asked again.
fn idle_then(read_by_red: ScriptedCall) -> [ScriptEntry; 5] {
    [
        say("idle").agent("red"),
        say("").agent("red").calls([read_by_red]),
        say("{{ results[0].text }}").agent("red"),
        say("idle").agent("blue"),
        say("idle").agent("blue"),
    ]
}

#[tokio::test]
async fn r2_d2_a_session_whose_copy_had_no_changes_goes_on_in_the_original_directory() {
    let resume = "{{ results[0].text | find('ses_[a-z0-9]+') }}";
    let script = [
        say("")
            .agent("lead")
            .calls([task("red", "look"), task("blue", "look")]),
        say("")
            .agent("lead")
            .calls([task_with("red", "and a.txt?", json!({"resume": resume}))]),
        say("{{ results[0].text }}").agent("lead"),
    ];
    let read = call("Read", json!({"file_path": "a.txt"}));
    let runtime = start_runtime(script.into_iter().chain(idle_then(read)));
    std::fs::write(work(&runtime).join("a.txt"), "needle\n").unwrap();
    let session = post(&runtime, "look").await;
    let said = runtime.wait_for_run(&session).await.text;
    assert!(said.contains("needle"), "{said}");
    let child = runtime
        .children(&session)
        .await
        .into_iter()
        .find(|child| child.agent == "red")
        .unwrap();
    assert!(!child.cwd.exists(), "the copy is gone");
    let story = runtime.transcript(&child.id).await;
    assert!(
        story.contains("notice   directory"),
        "people are told: {story}"
    );
}

#[tokio::test]
async fn r2_d2_a_person_can_go_on_with_a_session_whose_copy_is_gone() {
    let script = [
        say("")
            .agent("lead")
            .calls([task("red", "look"), task("blue", "look")]),
        say("done").agent("lead"),
    ];
    let run = call("Bash", json!({"command": "cat a.txt && touch here.txt"}));
    let runtime = start_runtime(script.into_iter().chain(idle_then(run)));
    std::fs::write(work(&runtime).join("a.txt"), "needle\n").unwrap();
    let session = post(&runtime, "look").await;
    runtime.wait_for_run(&session).await;
    let child = runtime
        .children(&session)
        .await
        .into_iter()
        .find(|child| child.agent == "red")
        .unwrap();
    runtime.post_to(&child.id, "and a.txt?").await;
    let end = runtime.wait_for_nth_run(&child.id, 2).await;
    assert!(end.text.contains("needle"), "{}", end.text);
    assert!(
        work(&runtime).join("here.txt").exists(),
        "it works where its copy was made from"
    );
}

#[tokio::test]
async fn r2_d2_a_session_that_is_asked_again_beside_others_gets_a_new_copy() {
    let resume = |at: usize| format!("{{{{ results[{at}].text | find('ses_[a-z0-9]+') }}}}");
    let script = [
        say("")
            .agent("lead")
            .calls([task("red", "look"), task("blue", "look")]),
        say("").agent("lead").calls([
            task_with("red", "write", json!({"resume": resume(0)})),
            task_with("blue", "look", json!({"resume": resume(1)})),
        ]),
        say("{{ results[0].text }}").agent("lead"),
    ];
    let write = call("Write", json!({"file_path": "new.txt", "content": "new"}));
    let runtime = start_runtime(script.into_iter().chain(idle_then(write)));
    let session = post(&runtime, "look").await;
    let said = runtime.wait_for_run(&session).await.text;
    assert!(
        said.contains("[workspace: its changes are not in your working directory yet"),
        "{said}"
    );
    assert!(!work(&runtime).join("new.txt").exists());
}

async fn undone(
    runtime: &TestRuntime,
    session: &rooftree_protocol::SessionId,
) -> rooftree_protocol::file_undo::FileUndo {
    let command = rooftree_protocol::Command::Undo {
        session: session.clone(),
        run: None,
    };
    match runtime.command(command).await {
        rooftree_protocol::command::CommandReply::Undone(undone) => *undone,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_undo_takes_back_what_was_merged_from_working_copies() {
    let script = [say("")
        .agent("lead")
        .calls([task("red", "paint"), task("blue", "paint")])];
    let script = script
        .into_iter()
        .chain(apply_all())
        .chain(paints("red", "a.txt"))
        .chain(paints("blue", "b.txt"));
    let runtime = start_runtime(script);
    git(&runtime, &["init", "-q"]);
    std::fs::write(work(&runtime).join("a.txt"), "plain\n").unwrap();
    git(&runtime, &["add", "."]);
    git(&runtime, &["commit", "-qm", "first"]);
    std::fs::write(work(&runtime).join("b.txt"), "plain\n").unwrap();
    let session = post(&runtime, "paint both").await;
    runtime.wait_for_run(&session).await;
    let read = |name: &str| std::fs::read_to_string(work(&runtime).join(name)).unwrap();
    assert_eq!(
        (read("a.txt"), read("b.txt")),
        ("red\n".into(), "blue\n".into())
    );
    // Changed by hand since: it is kept, and named.
    std::fs::write(work(&runtime).join("b.txt"), "mine\n").unwrap();
    let undo = undone(&runtime, &session).await;
    assert_eq!(
        (read("a.txt"), read("b.txt")),
        ("plain\n".into(), "mine\n".into())
    );
    assert_eq!(undo.files.len(), 2, "{undo:?}");
    assert!(undo.remarks.is_empty(), "both copies were merged: {undo:?}");
    runtime.verify().await;
}

#[tokio::test]
async fn an_undo_names_work_in_a_copy_that_was_never_merged() {
    let script = [
        say("")
            .agent("lead")
            .calls([task("red", "paint"), task("blue", "paint")]),
        say("done").agent("lead"),
    ];
    let script = script
        .into_iter()
        .chain(paints("red", "a.txt"))
        .chain(paints("blue", "b.txt"));
    let runtime = start_runtime(script);
    git(&runtime, &["init", "-q"]);
    for name in ["a.txt", "b.txt"] {
        std::fs::write(work(&runtime).join(name), "plain\n").unwrap();
    }
    git(&runtime, &["add", "."]);
    git(&runtime, &["commit", "-qm", "first"]);
    let session = post(&runtime, "paint both").await;
    runtime.wait_for_run(&session).await;
    let undo = undone(&runtime, &session).await;
    assert!(undo.files.is_empty(), "{undo:?}");
    assert!(
        undo.remarks
            .concat()
            .contains("agent red worked in another directory")
    );
}
