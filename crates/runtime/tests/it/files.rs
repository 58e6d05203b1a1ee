//! Files and the policy: what was judged is what is opened, and what is denied is not found.

use std::{fs, os::unix::fs::symlink, path::Component, sync::Arc};

use rooftree_protocol::{Answer, Command, EventBody, PermissionMode, PermissionScope, SessionId};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder, fuzz};
use rooftree_tools::{
    BackgroundProcesses, PermissionRule,
    resolved_path::{LastLink, ResolvedPath},
};
use serde_json::{Value, json};

fn plan(name: &str, input: Value) -> TestRuntimeBuilder {
    let tools = rooftree_tools::builtin(Arc::new(BackgroundProcesses::new(|| 1)));
    TestRuntimeBuilder::new([say("").calls([call(name, input)]), say("done")]).tools(tools)
}

async fn say_yes(runtime: &TestRuntime, session: &SessionId) {
    let asked = runtime
        .wait_for_event(session, "permission.requested")
        .await;
    let EventBody::PermissionRequested { id, .. } = &asked.body else {
        panic!()
    };
    let answer = Answer::allow(PermissionScope::Once);
    runtime
        .command(Command::Permit {
            session: session.clone(),
            permission: id.clone(),
            answer,
        })
        .await;
}

#[tokio::test]
async fn a_search_does_not_find_what_reading_is_denied_for() {
    let mut plan = plan("Grep", json!({"pattern": "password"}));
    plan.rights.policy.deny = vec![PermissionRule::parse("Read(.env)").unwrap()];
    let runtime = plan.build();
    fs::write(runtime.path().join(".env"), "password=hunter2\n").unwrap();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let made = runtime.wait_for_event(&session, "tool.completed").await;
    let EventBody::ToolCompleted(record) = &made.body else {
        panic!()
    };
    let text = rooftree_protocol::message::text_of(&record.content);
    assert_eq!(
        text,
        "No matches for `password`.\n[1 entry not shown: a rule denies it]"
    );
}

#[tokio::test]
async fn a_link_that_is_put_there_while_somebody_is_asked_leads_nowhere() {
    let runtime = plan(
        "Write",
        json!({"file_path": "dir/a.txt", "content": "harm"}),
    )
    .asking(PermissionMode::Ask)
    .build();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(runtime.path().join("dir")).unwrap();
    let session = runtime.post("go").await;
    runtime
        .wait_for_event(&session, "permission.requested")
        .await;
    fs::remove_dir(runtime.path().join("dir")).unwrap();
    symlink(outside.path(), runtime.path().join("dir")).unwrap();
    say_yes(&runtime, &session).await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(
        story.contains("Write failed: The way to dir/a.txt leads through a link"),
        "{story}"
    );
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn nobody_is_asked_about_an_edit_that_must_fail() {
    let edit = json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"});
    let runtime = plan("Edit", edit).asking(PermissionMode::Ask).build();
    fs::write(runtime.path().join("a.txt"), "one\n").unwrap();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(
        story.contains("Edit failed: a.txt has not been read in this session"),
        "{story}"
    );
    assert!(!story.contains("asks") && end.denials.is_empty(), "{story}");
}

#[tokio::test]
async fn a_yes_is_for_the_place_the_path_led_to() {
    let write = || {
        plan("Write", json!({"file_path": "link/a.txt", "content": "x"}))
            .asking(PermissionMode::Ask)
    };
    let runtime = write().build();
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    symlink(here.path(), runtime.path().join("link")).unwrap();
    let session = runtime.post("go").await;
    runtime
        .wait_for_event(&session, "permission.requested")
        .await;
    fs::remove_file(runtime.path().join("link")).unwrap();
    symlink(there.path(), runtime.path().join("link")).unwrap();
    let runtime = runtime.reopen(write()).await;
    runtime.recover().await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(
        story.contains("the call is not the one that was asked about"),
        "{story}"
    );
    assert_eq!(fs::read_dir(there.path()).unwrap().count(), 0);
}

#[test]
fn fuzz_the_following_of_links() {
    let directory = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(directory.path()).unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    for (name, target) in [
        ("up", ".."),
        ("a/gone", "../none/../x"),
        ("loop", "loop"),
        ("a/b/root", "/"),
    ] {
        symlink(target, root.join(name)).unwrap();
    }
    let seeds: [&[u8]; 6] = [
        b"a/b/../gone",
        b"/proc/self/root/x",
        b"loop/x",
        b"up/up/a/b/root/etc",
        b"",
        b"a//./b/",
    ];
    let words = [
        "../",
        "./",
        "//",
        "up/",
        "loop",
        "a/gone",
        "root/",
        "/proc/self/fd/0",
        "\0",
    ];
    fuzz::run(&seeds, &words, |input| {
        for last in [LastLink::Followed, LastLink::Kept] {
            let pinned = ResolvedPath::of_bytes(input, &root, last);
            let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
            assert!(
                pinned.real.is_absolute() && pinned.real.components().all(is_plain),
                "{pinned:?}"
            );
        }
    });
}
