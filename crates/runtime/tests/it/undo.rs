//! Undo of file changes: what the tools of the last run changed is taken back, and nothing else.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    sync::Arc,
};

use rooftree_protocol::{
    Command, EventBody, SessionId,
    command::CommandReply,
    file_undo::{FileUndo, PriorContent, UndoStep},
};
use rooftree_providers::scripted::{ScriptEntry, call, say};
use rooftree_runtime::Handle;
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder, owner};
use rooftree_tools::{BackgroundProcesses, PermissionRule};
use serde_json::{Value, json};

/// A runtime in which each message makes these calls, one after the other.
fn scripted(turns: &[&[(&str, Value)]]) -> TestRuntime {
    let mut entries: Vec<ScriptEntry> = Vec::new();
    for calls in turns {
        for (name, input) in *calls {
            entries.push(say("").calls([call(*name, input.clone())]));
        }
        entries.push(say("done"));
    }
    builder(entries).build()
}

fn builder(entries: Vec<ScriptEntry>) -> TestRuntimeBuilder {
    let tools = rooftree_tools::builtin(Arc::new(BackgroundProcesses::new(|| 1)));
    TestRuntimeBuilder::new(entries).tools(tools)
}

async fn undo(runtime: &TestRuntime, session: &SessionId) -> FileUndo {
    let command = Command::Undo {
        session: session.clone(),
        run: None,
    };
    match runtime.command(command).await {
        CommandReply::Undone(undone) => *undone,
        other => panic!("{other:?}"),
    }
}

/// Undoes without agents, as the command line does.
async fn undo_alone(runtime: &TestRuntime, session: &SessionId) -> Result<FileUndo, String> {
    let clock = Arc::new(rooftree_runtime::SystemClock);
    let handle = Handle::without_agents(runtime.store().clone(), clock);
    let command = Command::Undo {
        session: session.clone(),
        run: None,
    };
    match handle.send(&owner(), command).await {
        Ok(CommandReply::Undone(undone)) => Ok(*undone),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(error.problem().message),
    }
}

/// `name: step` of each file.
fn steps(undo: &FileUndo) -> Vec<String> {
    let step = |step: &UndoStep| match step {
        UndoStep::Restore => "restore".to_owned(),
        UndoStep::Delete => "delete".to_owned(),
        UndoStep::Unchanged => "unchanged".to_owned(),
        UndoStep::Skip { because } => format!("skip, {because}"),
    };
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    undo.files
        .iter()
        .map(|file| format!("{}: {}", name(&file.path), step(&file.step)))
        .collect()
}

#[tokio::test]
async fn the_changes_of_every_file_tool_are_taken_back() {
    let block = "<<<<<<< SEARCH\nthree\n=======\n3\n>>>>>>> REPLACE";
    let runtime = scripted(&[&[
        ("Read", json!({"file_path": "edited"})),
        (
            "Edit",
            json!({"file_path": "edited", "old_string": "one", "new_string": "1"}),
        ),
        (
            "Edit",
            json!({"file_path": "edited", "old_string": "two", "new_string": "2"}),
        ),
        ("ApplyDiff", json!({"file_path": "edited", "diff": block})),
        (
            "Write",
            json!({"file_path": "written", "content": "new", "overwrite": true}),
        ),
        (
            "Write",
            json!({"file_path": "sub/created", "content": "new"}),
        ),
        ("Delete", json!({"file_path": "deleted"})),
        ("Delete", json!({"file_path": "tree", "recursive": true})),
    ]]);
    let at = |name: &str| runtime.path().join(name);
    fs::write(at("edited"), "one\ntwo\nthree\n").unwrap();
    fs::write(at("written"), b"\xff\x00 bytes").unwrap();
    fs::write(at("deleted"), "gone").unwrap();
    fs::set_permissions(at("deleted"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::create_dir_all(at("tree/deep")).unwrap();
    fs::write(at("tree/deep/leaf"), "leaf").unwrap();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    assert_eq!(fs::read_to_string(at("edited")).unwrap(), "1\n2\n3\n");
    assert!(!at("deleted").exists() && !at("tree").exists() && at("sub/created").exists());

    let preview = runtime
        .handle
        .queries(&owner())
        .undo_preview(&session)
        .await
        .unwrap()
        .unwrap();
    let undone = undo(&runtime, &session).await;
    assert_eq!(undone, preview);
    assert_eq!(
        steps(&undone),
        [
            "deleted: restore",
            "edited: restore",
            "created: delete",
            "leaf: restore",
            "written: restore"
        ]
    );
    assert_eq!(
        fs::read_to_string(at("edited")).unwrap(),
        "one\ntwo\nthree\n"
    );
    assert_eq!(fs::read(at("written")).unwrap(), b"\xff\x00 bytes");
    assert_eq!(fs::read_to_string(at("deleted")).unwrap(), "gone");
    let mode = fs::metadata(at("deleted")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o750);
    assert_eq!(fs::read_to_string(at("tree/deep/leaf")).unwrap(), "leaf");
    assert!(!at("sub/created").exists());
    runtime.verify().await;
}

#[tokio::test]
async fn a_file_changed_by_hand_is_kept_and_named() {
    let runtime = scripted(&[&[
        (
            "Write",
            json!({"file_path": "a", "content": "by the agent"}),
        ),
        (
            "Write",
            json!({"file_path": "b", "content": "by the agent"}),
        ),
        (
            "Write",
            json!({"file_path": "c", "content": "by the agent"}),
        ),
    ]]);
    let at = |name: &str| runtime.path().join(name);
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    fs::write(at("a"), "by hand").unwrap();
    fs::remove_file(at("c")).unwrap();
    let undone = undo_alone(&runtime, &session).await.unwrap();
    assert_eq!(
        steps(&undone),
        ["a: skip, it was changed since", "b: delete", "c: unchanged"]
    );
    assert_eq!(fs::read_to_string(at("a")).unwrap(), "by hand");
    assert!(!at("b").exists());
}

#[tokio::test]
async fn undoing_again_goes_one_run_further_back_until_nothing_is_left() {
    let write = |content: &str| {
        (
            "Write",
            json!({"file_path": "a", "content": content, "overwrite": true}),
        )
    };
    let runtime = scripted(&[&[write("first")], &[write("second")], &[]]);
    let file = runtime.path().join("a");
    let session = runtime.post("one").await;
    runtime.wait_for_run(&session).await;
    runtime.post_to(&session, "two").await;
    runtime.wait_for_nth_run(&session, 2).await;
    // A run that changes no file is passed over.
    runtime.post_to(&session, "three").await;
    runtime.wait_for_nth_run(&session, 3).await;
    assert_eq!(undo(&runtime, &session).await.title, "two");
    assert_eq!(fs::read_to_string(&file).unwrap(), "first");
    assert_eq!(undo_alone(&runtime, &session).await.unwrap().title, "one");
    assert!(!file.exists());
    let error = undo_alone(&runtime, &session).await.unwrap_err();
    assert!(error.contains("nothing is left to undo"), "{error}");
}

#[tokio::test]
async fn the_undo_is_in_the_journal_with_its_sender_and_the_agent_reads_it() {
    let runtime = scripted(&[&[("Write", json!({"file_path": "a", "content": "x"}))], &[]]);
    let session = runtime.post("one").await;
    runtime.wait_for_run(&session).await;
    undo(&runtime, &session).await;
    let event = runtime.wait_for_event(&session, "files.undone").await;
    assert_eq!(event.who.as_deref(), Some(&owner()));
    runtime.post_to(&session, "two").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let last = runtime.model.requests().pop().unwrap();
    let said = format!("{:?}", last.messages);
    assert!(said.contains("taken back") && said.contains("/a"), "{said}");
    runtime.verify().await;
}

#[tokio::test]
async fn links_put_there_since_and_files_outside_are_left_alone() {
    let elsewhere = tempfile::tempdir().unwrap();
    let outside = elsewhere.path().join("outside");
    fs::write(&outside, "before").unwrap();
    let written = outside.display().to_string();
    let runtime = scripted(&[&[
        ("Write", json!({"file_path": "dir/a", "content": "x"})),
        ("Write", json!({"file_path": "b", "content": "x"})),
        (
            "Write",
            json!({"file_path": written, "content": "x", "overwrite": true}),
        ),
    ]]);
    let at = |name: &str| runtime.path().join(name);
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    assert_eq!(fs::read_to_string(&outside).unwrap(), "x");
    // The directory and the file become links to a place with files of the same content.
    fs::write(elsewhere.path().join("a"), "x").unwrap();
    fs::remove_dir_all(at("dir")).unwrap();
    symlink(elsewhere.path(), at("dir")).unwrap();
    fs::remove_file(at("b")).unwrap();
    symlink(elsewhere.path().join("a"), at("b")).unwrap();
    let undone = undo_alone(&runtime, &session).await.unwrap();
    assert!(
        undone
            .files
            .iter()
            .all(|file| matches!(file.step, UndoStep::Skip { .. })),
        "{:?}",
        steps(&undone)
    );
    assert_eq!(fs::read_to_string(elsewhere.path().join("a")).unwrap(), "x");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "x");
    assert!(at("b").is_symlink());
}

#[tokio::test]
async fn what_is_too_large_denied_or_secret_is_not_stored_and_is_named() {
    let secret = ["sk-ant-api03-", "Qm7Zt2Lw9Xv4Rb6Nc1Kd8Hf3Jg5Ps0Ty"].concat();
    let overwrite = |name: &str| {
        (
            "Write",
            json!({"file_path": name, "content": "x", "overwrite": true}),
        )
    };
    let mut entries = Vec::new();
    for (name, input) in [overwrite("large"), overwrite("denied"), overwrite("secret")] {
        entries.push(say("").calls([call(name, input)]));
    }
    entries.push(say("done"));
    let mut plan = builder(entries);
    plan.rights.policy.deny = vec![PermissionRule::parse("Read(denied)").unwrap()];
    let runtime = plan.build();
    let at = |name: &str| runtime.path().join(name);
    fs::write(at("large"), vec![b'a'; 5 * 1024 * 1024]).unwrap();
    fs::write(at("denied"), "private").unwrap();
    fs::write(at("secret"), format!("key = \"{secret}\"\n")).unwrap();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    for event in runtime.events(&session).await {
        if let EventBody::ToolStarted { before, .. } = &event.body {
            let is_kept = |was: &PriorContent| matches!(was, PriorContent::Stored { .. });
            assert!(before.iter().all(|file| !is_kept(&file.was)), "{before:?}");
        }
    }
    let undone = undo_alone(&runtime, &session).await.unwrap();
    let told = steps(&undone).join("\n");
    assert!(
        told.contains("large: skip, its earlier content was not kept: it is larger than")
            && told.contains("secret: skip, its earlier content was not kept: it holds a secret"),
        "{told}"
    );
}

#[tokio::test]
async fn a_call_that_was_cut_off_can_be_undone_whether_it_wrote_or_not() {
    for has_written in [true, false] {
        let write = json!({"file_path": "a", "content": "after", "overwrite": true});
        let script = || vec![say("").calls([call("Write", write.clone())]), say("done")];
        let runtime = builder(script()).build();
        let file = runtime.path().join("a");
        fs::write(&file, "before").unwrap();
        let session = runtime.post("go").await;
        runtime.wait_for_run(&session).await;
        // What a process leaves that dies after the intent: no result, the file replaced or not.
        let journal = runtime.events(&session).await;
        let started = journal
            .iter()
            .find(|event| event.body.name() == "tool.started")
            .unwrap();
        let EventBody::ToolStarted { before, .. } = &started.body else {
            panic!()
        };
        assert!(
            matches!(before[0].was, PriorContent::Stored { .. }),
            "{before:?}"
        );
        if !has_written {
            fs::write(&file, "before").unwrap();
        }
        let undone = undo_alone(&runtime, &session).await.unwrap();
        let step = if has_written {
            "a: restore"
        } else {
            "a: unchanged"
        };
        assert_eq!(steps(&undone), [step]);
        assert_eq!(fs::read_to_string(&file).unwrap(), "before");
    }
}

#[tokio::test]
async fn a_session_at_work_and_a_stale_preview_are_refused() {
    let write = |name: &str| ("Write", json!({"file_path": name, "content": "x"}));
    let runtime = scripted(&[&[write("a")], &[write("b")]]);
    let session = runtime.post("one").await;
    runtime.wait_for_run(&session).await;
    let queries = runtime.handle.queries(&owner());
    let stale = queries.undo_preview(&session).await.unwrap().unwrap().run;
    runtime.post_to(&session, "two").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let command = Command::Undo {
        session: session.clone(),
        run: Some(stale),
    };
    let error = runtime.handle.send(&owner(), command).await.unwrap_err();
    assert!(
        error.problem().message.contains("not the last one"),
        "{error}"
    );
    assert!(runtime.path().join("a").exists() && runtime.path().join("b").exists());
}

#[tokio::test]
async fn an_undo_takes_back_what_a_sub_agent_changed_in_the_same_directory() {
    let task = |agent: &str| {
        let input = json!({"subagent_type": agent, "prompt": "write it"});
        call("Task", input)
    };
    let write = |agent: &str, file: &str, content: &str| {
        let input = json!({"file_path": file, "content": content, "overwrite": true});
        say("").agent(agent).calls([call("Write", input)])
    };
    let entries = [
        say("").agent("lead").calls([call(
            "Write",
            json!({"file_path": "both", "content": "lead", "overwrite": true}),
        )]),
        say("").agent("lead").calls([task("child")]),
        say("done").agent("lead"),
        write("child", "created", "new"),
        write("child", "both", "child"),
        say("written").agent("child"),
    ];
    let tools = rooftree_tools::builtin(Arc::new(BackgroundProcesses::new(|| 1)));
    let runtime = TestRuntimeBuilder::new(entries)
        .with_delegation(tools)
        .agent(rooftree_protocol::AgentDefinition {
            isolation: rooftree_protocol::Isolation::None,
            description: "The child.".into(),
            ..rooftree_protocol::AgentDefinition::new("child")
        })
        .build();
    let at = |name: &str| runtime.path().join(name);
    fs::write(at("both"), "before").unwrap();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    assert_eq!(fs::read_to_string(at("both")).unwrap(), "child");
    assert_eq!(fs::read_to_string(at("created")).unwrap(), "new");
    let undone = undo(&runtime, &session).await;
    assert_eq!(steps(&undone), ["both: restore", "created: delete"]);
    assert_eq!(fs::read_to_string(at("both")).unwrap(), "before");
    assert!(!at("created").exists());
    assert!(undone.remarks.is_empty(), "{undone:?}");
}
