//! What a deny rule covers is not found either, by whichever tool finds things.

use std::fs;

use serde_json::json;

use crate::desk::Desk;

fn desk() -> Desk {
    let mut desk = Desk::new();
    desk.put("src/main.rs", "fn password_check() {}\n");
    desk.put(".env", "password = hunter2\n");
    desk.put("secrets/a.pem", "password hunter2\n");
    desk.put("secrets/deep/b.pem", "password hunter2\n");
    desk.put("notes/secret.md", "the password is hunter2\n");
    desk.deny("Read(.env)");
    desk.deny("Read(secrets/**)");
    desk.deny("Read(**/secret.md)");
    desk
}

#[tokio::test]
async fn searches_leave_out_what_a_rule_denies_and_say_how_much() {
    let desk = desk();
    assert_eq!(
        desk.done("Grep", json!({"pattern": "password"})).await,
        "src/main.rs:1:fn password_check() {}\n[3 entries not shown: a rule denies them]"
    );
    assert_eq!(
        desk.done("Grep", json!({"pattern": "hunter2"})).await,
        "No matches for `hunter2`.\n[3 entries not shown: a rule denies them]"
    );
    assert_eq!(
        desk.done("Glob", json!({"pattern": "**"})).await,
        "src/main.rs\n[3 entries not shown: a rule denies them]"
    );
    assert_eq!(
        desk.done("Glob", json!({"pattern": "**/*.pem"})).await,
        "No files match `**/*.pem`.\n[3 entries not shown: a rule denies them]"
    );
    assert_eq!(
        desk.done("List", json!({})).await,
        "notes/\nsrc/\n[2 entries not shown: a rule denies them]"
    );
    assert_eq!(
        desk.done("List", json!({"path": "notes", "all": true}))
            .await,
        "[1 entry not shown: a rule denies it]"
    );
    let text = desk
        .done("SemanticSearch", json!({"query": "password"}))
        .await;
    assert!(
        text.contains("src/main.rs") && text.ends_with("[4 entries not shown: a rule denies them]"),
        "{text}"
    );
    assert!(
        !text.contains("hunter2") && !text.contains("secret"),
        "{text}"
    );
    let text = desk
        .done("SemanticSearch", json!({"query": "hunter2"}))
        .await;
    assert!(
        !text.contains("hunter2\n") && !text.contains(".env"),
        "{text}"
    );
}

#[tokio::test]
async fn what_is_denied_cannot_be_named_either() {
    let desk = desk();
    std::os::unix::fs::symlink("secrets", desk.path("open")).unwrap();
    std::os::unix::fs::symlink("../.env", desk.path("src/settings")).unwrap();
    let calls = [
        ("Read", json!({"file_path": ".env"})),
        ("Read", json!({"file_path": "src/settings"})),
        ("Grep", json!({"pattern": "p", "path": ".env"})),
        ("Grep", json!({"pattern": "p", "path": "src/settings"})),
        ("Grep", json!({"pattern": "p", "path": "secrets"})),
        ("Grep", json!({"pattern": "p", "path": "open/deep"})),
        ("List", json!({"path": "secrets/deep"})),
        ("Glob", json!({"pattern": "open/*"})),
        ("SemanticSearch", json!({"query": "p", "path": "secrets"})),
        (
            "Write",
            json!({"file_path": ".env", "content": "x", "append": true}),
        ),
    ];
    for (name, input) in calls {
        let text = desk.failed(name, input.clone()).await;
        assert!(text.contains("denie"), "{name} {input}: {text}");
        assert!(!text.contains("hunter2"), "{name} {input}: {text}");
    }
    let text = desk.failed("Read", json!({"file_path": ".enw"})).await;
    assert_eq!(
        text, ".enw does not exist.",
        "a name that is denied is not proposed"
    );
}

#[tokio::test]
async fn what_must_not_be_read_can_be_replaced_without_showing_what_it_was() {
    let desk = desk();
    let output = desk
        .call(
            "Write",
            json!({"file_path": ".env", "content": "new\n", "overwrite": true}),
        )
        .await;
    assert_eq!(output.failure, None, "{}", output.text());
    assert!(!output.diff.unwrap().contains("hunter2"));
    assert_eq!(desk.content(".env"), "new\n");
}

#[tokio::test]
async fn a_directory_that_holds_what_a_rule_keeps_is_not_deleted_with_it() {
    let mut desk = Desk::new();
    desk.put("build/out.o", "x");
    desk.put("build/keep/licence", "x");
    desk.deny("Delete(build/keep/licence)");
    let text = desk
        .failed("Delete", json!({"file_path": "build", "recursive": true}))
        .await;
    assert_eq!(
        text,
        "build holds something that a rule keeps; nothing was deleted."
    );
    assert!(desk.path("build/out.o").exists() && desk.path("build/keep/licence").exists());
    desk.done("Delete", json!({"file_path": "build/out.o"}))
        .await;
}

#[tokio::test]
async fn a_working_directory_behind_a_link_keeps_its_rules_and_its_short_names() {
    let mut desk = desk();
    let behind = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&*desk.context.cwd, behind.path().join("link")).unwrap();
    desk.context.cwd = behind.path().join("link").into();
    assert_eq!(
        desk.done("Grep", json!({"pattern": "password"})).await,
        "src/main.rs:1:fn password_check() {}\n[3 entries not shown: a rule denies them]"
    );
    desk.failed("Read", json!({"file_path": ".env"})).await;
    desk.failed(
        "Delete",
        json!({"file_path": &*desk.context.cwd, "recursive": true}),
    )
    .await;
}

#[tokio::test]
async fn names_that_break_lines_are_shown_in_one() {
    let desk = Desk::new();
    desk.put("a\nsrc/\u{1b}[2Jb", "needle\n");
    std::os::unix::fs::symlink("x\ny", desk.path("link")).unwrap();
    assert_eq!(desk.done("List", json!({})).await, "a\\nsrc/\nlink → x\\ny");
    assert_eq!(
        desk.done("Glob", json!({"pattern": "**/*b"})).await,
        "a\\nsrc/\\u{1b}[2Jb"
    );
    assert_eq!(
        desk.done("Grep", json!({"pattern": "needle"})).await,
        "a\\nsrc/\\u{1b}[2Jb:1:needle"
    );
    assert!(
        desk.done("SemanticSearch", json!({"query": "needle"}))
            .await
            .starts_with("a\\nsrc/\\u{1b}[2Jb:1-1")
    );
}

#[tokio::test]
async fn what_belongs_to_a_running_program_is_not_read() {
    let desk = Desk::new();
    std::os::unix::fs::symlink("/proc/self", desk.path("me")).unwrap();
    for path in [
        "/proc/self/environ",
        "/proc/thread-self/environ",
        "me/environ",
        "/proc/1/cmdline",
    ] {
        let text = desk.failed("Read", json!({"file_path": path})).await;
        assert!(
            text.contains("belongs to a running program") || text.contains("does not exist"),
            "{text}"
        );
    }
    desk.failed(
        "Grep",
        json!({"pattern": "PATH", "path": "/proc/self/environ"}),
    )
    .await;
    desk.failed("Grep", json!({"pattern": "PATH", "path": "/proc"}))
        .await;
    desk.failed("Glob", json!({"pattern": "**", "path": "me"}))
        .await;
}

#[tokio::test]
async fn a_working_directory_that_is_gone_is_named() {
    let desk = Desk::new();
    fs::remove_dir(&desk.context.cwd).unwrap();
    for (name, input) in [
        ("Read", json!({"file_path": "a"})),
        ("List", json!({})),
        ("Grep", json!({"pattern": "a"})),
        ("Delete", json!({"file_path": "a"})),
    ] {
        let text = desk.failed(name, input).await;
        assert!(
            text.contains("working directory") && text.contains("is gone"),
            "{name}: {text}"
        );
    }
}

#[tokio::test]
async fn what_must_fail_is_known_before_anybody_is_asked() {
    let desk = Desk::new();
    desk.put("a.txt", "one\n");
    let calls = [
        (
            "Edit",
            json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"}),
            "has not been read",
        ),
        (
            "Write",
            json!({"file_path": "a.txt", "content": "x"}),
            "has not been read",
        ),
        (
            "NotebookEdit",
            json!({"file_path": "a.txt", "cell_id": "1", "new_source": "x"}),
            "not a notebook",
        ),
    ];
    for (name, input, words) in calls {
        let Ok((tool, input, context)) = desk.prepared(name, input) else {
            panic!("{name} is refused")
        };
        let foreseen = tool.preflight(&input, &context).unwrap_err();
        assert!(foreseen.contains(words), "{name}: {foreseen}");
        assert_eq!(
            tool.run(input, context).await.text(),
            foreseen,
            "it says what happens"
        );
    }
}
