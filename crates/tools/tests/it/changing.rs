//! Write, Edit, ApplyDiff and Delete.

use std::{fs, os::unix::fs::PermissionsExt};

use rooftree_protocol::tool_call::FileAction;
use serde_json::{Value, json};

use crate::desk::Desk;

fn edit(old: &str, new: &str) -> Value {
    json!({"file_path": "a.txt", "old_string": old, "new_string": new})
}

async fn desk_with(content: &str) -> Desk {
    let desk = Desk::new();
    desk.put("a.txt", content);
    desk.done("Read", json!({"file_path": "a.txt"})).await;
    desk
}

#[tokio::test]
async fn a_new_file_is_written_with_the_directories_above_it() {
    let desk = Desk::new();
    let output = desk
        .call(
            "write_file",
            json!({"path": "new/deep/a.txt", "content": "one\ntwo\n"}),
        )
        .await;
    assert_eq!(
        output.text(),
        "Wrote 2 lines to new/deep/a.txt (+2 −0 lines)"
    );
    assert_eq!(desk.content("new/deep/a.txt"), "one\ntwo\n");
    assert!(
        output
            .diff
            .unwrap()
            .contains("--- /dev/null\n+++ b/new/deep/a.txt\n@@ -0,0 +1,2 @@\n+one\n")
    );
    let note = &output.files[0];
    assert_eq!(
        (note.action, note.added, note.path.clone()),
        (FileAction::Changed, 2, desk.path("new/deep/a.txt"))
    );
    // What it has written it knows: no need to read it first.
    desk.done(
        "Edit",
        json!({"file_path": "new/deep/a.txt", "old_string": "one", "new_string": "1"}),
    )
    .await;
    assert_eq!(
        fs::read_dir(desk.path("new/deep")).unwrap().count(),
        1,
        "a temporary file was left"
    );
}

#[tokio::test]
async fn an_existing_file_is_overwritten_only_if_it_is_known() {
    let desk = Desk::new();
    desk.put("a.txt", "old");
    let write = json!({"file_path": "a.txt", "content": "new"});
    let text = desk.failed("Write", write.clone()).await;
    assert!(
        text.contains("has not been read in this session") && text.contains("overwrite: true"),
        "{text}"
    );
    desk.done("Read", json!({"file_path": "a.txt"})).await;
    desk.put("a.txt", "changed by someone");
    assert!(
        desk.failed("Write", write.clone())
            .await
            .contains("has changed since it was read")
    );
    assert_eq!(desk.content("a.txt"), "changed by someone");
    desk.done("Read", json!({"file_path": "a.txt"})).await;
    desk.done("Write", write).await;
    assert_eq!(desk.content("a.txt"), "new");
    desk.put("b.txt", "old");
    desk.done(
        "Write",
        json!({"file_path": "b.txt", "content": "new", "overwrite": "true"}),
    )
    .await;
    desk.done(
        "Write",
        json!({"file_path": "b.txt", "content": "er", "append": true}),
    )
    .await;
    assert_eq!(desk.content("b.txt"), "newer");
}

#[tokio::test]
async fn writing_keeps_the_mode_and_goes_through_links() {
    let desk = Desk::new();
    desk.put("script", "a");
    fs::set_permissions(desk.path("script"), fs::Permissions::from_mode(0o750)).unwrap();
    std::os::unix::fs::symlink("script", desk.path("link")).unwrap();
    std::os::unix::fs::symlink("later", desk.path("dangling")).unwrap();
    desk.done(
        "Write",
        json!({"file_path": "link", "content": "b", "overwrite": true}),
    )
    .await;
    desk.done("Write", json!({"file_path": "dangling", "content": "c"}))
        .await;
    assert!(
        fs::symlink_metadata(desk.path("link"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(
        (
            desk.content("script").as_str(),
            desk.content("later").as_str()
        ),
        ("b", "c")
    );
    assert_eq!(
        fs::metadata(desk.path("script"))
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o750
    );
}

#[tokio::test]
async fn writing_where_no_file_can_be_is_refused() {
    let desk = Desk::new();
    desk.put("file", "x");
    fs::create_dir(desk.path("folder")).unwrap();
    fs::File::create(desk.path("huge"))
        .unwrap()
        .set_len(20_000_000)
        .unwrap();
    assert!(
        desk.failed(
            "Write",
            json!({"file_path": "huge", "content": "x", "append": true})
        )
        .await
        .contains("too large")
    );
    for (path, words) in [
        ("folder", "is a directory"),
        ("file/below", "leads through a file"),
        ("/dev/null", "device"),
    ] {
        let text = desk
            .failed(
                "Write",
                json!({"file_path": path, "content": "x", "overwrite": true}),
            )
            .await;
        assert!(text.contains(words), "{path}: {text}");
    }
}

#[tokio::test]
async fn every_dialect_of_an_edit_is_understood() {
    let table = [
        json!({"file_path": "a.txt", "old_string": "b", "new_string": "X"}),
        json!({"path": "a.txt", "old_str": "b", "new_str": "X"}),
        json!({"filePath": "a.txt", "oldText": "b", "newText": "X"}),
        json!({"file_path": "a.txt", "search": "b", "replace": "X", "replaceAll": true}),
        json!({"file_path": "a.txt", "edits": [{"old_string": "b", "new_string": "X"}]}),
        json!({"file_path": "a.txt", "edits": {"oldText": "b", "newText": "X"}}),
    ];
    for input in table {
        let desk = desk_with("a\nb\nc\n").await;
        assert_eq!(
            desk.done("edit_file", input.clone()).await,
            "Replaced 1 place in a.txt (+1 −1 lines)",
            "{input}"
        );
        assert_eq!(desk.content("a.txt"), "a\nX\nc\n");
    }
}

#[tokio::test]
async fn an_edit_that_is_not_clear_changes_nothing() {
    let table = [
        (edit("a", "x"), "occurs 2 times (lines 1, 3)"),
        (edit("z", "x"), "was not found"),
        (edit("b", "b"), "are the same"),
        (edit("", "b"), "is empty"),
        (
            json!({"file_path": "a.txt", "edits": [{"old_string": "b", "new_string": "x"}, {"old_string": "z", "new_string": "y"}]}),
            "edit 2 of 2: the text to replace was not found. Nothing was changed.",
        ),
        (
            json!({"file_path": "a.txt", "edits": []}),
            "nothing to replace",
        ),
    ];
    for (input, words) in table {
        let desk = desk_with("a\nb\na\n").await;
        let text = desk.failed("Edit", input).await;
        assert!(text.contains(words), "{text}");
        assert_eq!(desk.content("a.txt"), "a\nb\na\n");
    }
}

#[tokio::test]
async fn a_file_must_be_read_and_unchanged_to_be_edited() {
    let desk = Desk::new();
    desk.put("a.txt", "b");
    assert!(
        desk.failed("Edit", edit("b", "x"))
            .await
            .contains("has not been read")
    );
    desk.done("Read", json!({"file_path": "a.txt"})).await;
    desk.put("a.txt", "b!");
    assert!(
        desk.failed("Edit", edit("b", "x"))
            .await
            .contains("has changed since")
    );
    assert!(
        desk.failed(
            "Edit",
            json!({"file_path": "none", "old_string": "a", "new_string": "b"})
        )
        .await
        .contains("does not exist")
    );
}

#[tokio::test]
async fn line_ends_and_byte_order_marks_stay() {
    let desk = desk_with("\u{feff}one\r\ntwo\r\nthree\r\n").await;
    desk.done("Edit", edit("one\ntwo", "1\n2\n2b")).await;
    assert_eq!(desk.content("a.txt"), "\u{feff}1\r\n2\r\n2b\r\nthree\r\n");
    let mixed = desk_with("one\r\ntwo\nthree").await;
    mixed.done("Edit", edit("two", "2")).await;
    assert_eq!(mixed.content("a.txt"), "one\r\n2\nthree");
}

#[tokio::test]
async fn edits_made_at_the_same_time_do_not_lose_each_other() {
    let content: String = (0..16).map(|n| format!("<{n}>\n")).collect();
    let desk = desk_with(&content).await;
    let edits = (0..16).map(|n| desk.call("Edit", edit(&format!("<{n}>"), &format!("[{n}]"))));
    for output in futures::future::join_all(edits).await {
        assert_eq!(output.failure, None, "{}", output.text());
    }
    assert_eq!(
        desk.content("a.txt"),
        content.replace('<', "[").replace('>', "]")
    );
}

#[tokio::test]
async fn blocks_are_applied_to_whole_lines_or_not_at_all() {
    let desk = desk_with("max = 10\nx = 1\ny = 2\n").await;
    let diff = |search: &str, replace: &str| {
        format!("<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n")
    };
    let apply = |diff: String| json!({"file_path": "a.txt", "diff": diff});
    desk.done(
        "apply_diff",
        apply(diff("x = 1\n", "x = 3\n") + &diff("y = 2\n", "")),
    )
    .await;
    assert_eq!(desk.content("a.txt"), "max = 10\nx = 3\n");
    let text = desk
        .failed(
            "ApplyDiff",
            apply(diff("x = 3\n", "x = 4\n") + &diff("gone\n", "x\n")),
        )
        .await;
    assert!(text.contains("edit 2 of 2"), "{text}");
    assert!(
        desk.failed("ApplyDiff", apply("no block".to_owned()))
            .await
            .contains("no `<<<<<<< SEARCH` block")
    );
    assert_eq!(desk.content("a.txt"), "max = 10\nx = 3\n");
}

#[tokio::test]
async fn a_preview_shows_the_diff_and_changes_nothing() {
    let desk = desk_with("a\nb\n").await;
    let Ok((tool, input, context)) = desk.prepared("Edit", edit("b", "x")) else {
        panic!("refused")
    };
    assert!(tool.preview(&input, &context).contains("-b\n+x\n"));
    assert_eq!(tool.preflight(&input, &context), Ok(()));
    assert_eq!(desk.content("a.txt"), "a\nb\n");
}

#[tokio::test]
async fn only_what_is_clearly_meant_is_deleted() {
    let desk = Desk::new();
    desk.put("full/a.txt", "x");
    desk.put("b.txt", "x");
    fs::create_dir(desk.path("empty")).unwrap();
    std::os::unix::fs::symlink("full", desk.path("link")).unwrap();
    assert!(
        desk.failed("Delete", json!({"file_path": "full"}))
            .await
            .contains("not empty. Give recursive: true")
    );
    assert!(
        desk.failed("Delete", json!({"file_path": "."}))
            .await
            .contains("working directory")
    );
    assert!(
        desk.failed("Delete", json!({"file_path": ".."}))
            .await
            .contains("working directory")
    );
    assert!(
        desk.failed("rm", json!({"path": "c.txt"}))
            .await
            .contains("does not exist. Did you mean b.txt?")
    );
    desk.done("Delete", json!({"file_path": "empty"})).await;
    desk.done("Delete", json!({"file_path": "link", "recursive": true}))
        .await;
    assert_eq!(desk.content("full/a.txt"), "x");
    let output = desk
        .call(
            "delete_file",
            json!({"file_path": "full", "recursive": true}),
        )
        .await;
    assert_eq!(
        (output.files[0].action, output.files[0].hash.clone()),
        (FileAction::Deleted, None)
    );
    assert!(!desk.path("full").exists());
}
