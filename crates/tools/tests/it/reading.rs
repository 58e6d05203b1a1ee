//! Read, with everything a path can lead to.

use std::{fs, os::unix::net::UnixListener, process::Command};

use serde_json::json;

use crate::desk::Desk;

#[tokio::test]
async fn lines_come_numbered_and_in_ranges() {
    let desk = Desk::new();
    desk.put("a.txt", "one\ntwo\r\nthree\nfour");
    let table = [
        (
            json!({"file_path": "a.txt"}),
            "     1→one\n     2→two\n     3→three\n     4→four",
        ),
        (
            json!({"path": "a.txt", "offset": 2, "limit": 1}),
            "     2→two\n[lines 2–2 of 4; offset 3 shows what follows]",
        ),
        (
            json!({"filePath": "a.txt", "start_line": 3, "end_line": 4}),
            "     3→three\n     4→four",
        ),
        (
            json!({"file_path": "a.txt", "start_line": "4", "num_lines": 9}),
            "     4→four",
        ),
        (
            json!({"file_path": desk.path("a.txt"), "offset": 0, "limit": 1}),
            "     1→one\n[lines 1–1 of 4; offset 2 shows what follows]",
        ),
    ];
    for (input, expected) in table {
        assert_eq!(
            desk.done("read_file", input.clone()).await,
            expected,
            "{input}"
        );
    }
}

#[tokio::test]
async fn a_long_file_is_shown_in_part_and_long_lines_are_cut() {
    let desk = Desk::new();
    desk.put("long", "x\n".repeat(3000));
    assert!(
        desk.done("Read", json!({"file_path": "long"}))
            .await
            .ends_with("[lines 1–2000 of 3000; offset 2001 shows what follows]")
    );
    desk.put("wide", format!("{}\nend\n", "ä".repeat(20_000)));
    let text = desk.done("Read", json!({"file_path": "wide"})).await;
    assert!(
        text.contains("… [cut: this line has 40001 bytes]\n     2→end"),
        "{}",
        text.replace('ä', "")
    );
    assert_eq!(text.matches('ä').count(), 2000);
}

#[tokio::test]
async fn what_is_not_readable_text_is_said_to_be_that() {
    let desk = Desk::new();
    desk.put("main.rs", "fn main() {}");
    desk.put("binary", b"ab\0cd");
    desk.put("archive.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\0");
    fs::create_dir(desk.path("folder")).unwrap();
    Command::new("mkfifo")
        .arg(desk.path("fifo"))
        .status()
        .unwrap();
    let _socket = UnixListener::bind(desk.path("socket")).unwrap();
    let table = [
        ("mian.rs", "does not exist. Did you mean main.rs?"),
        ("nothing/like/this", "does not exist."),
        ("folder", "is a directory, not a file. List shows"),
        (
            "binary",
            "is a binary file (application/octet-stream, 5 bytes)",
        ),
        ("archive.gz", "is a binary file (application/gzip"),
        ("fifo", "is a FIFO"),
        ("socket", "is a socket"),
        ("/dev/zero", "is a device"),
        ("main.rs/x", "leads through a file"),
        ("blob:blb_none", "There is no blob blb_none."),
    ];
    for (path, words) in table {
        let text = desk.failed("Read", json!({"file_path": path})).await;
        assert!(text.contains(words), "{path}: {text}");
    }
    let text = desk
        .failed("Read", json!({"file_path": "main.rs", "offset": 9}))
        .await;
    assert_eq!(text, "main.rs has 1 lines; there is no line 9.");
}

#[tokio::test]
async fn an_empty_file_and_broken_characters_are_no_failure() {
    let desk = Desk::new();
    desk.put("empty", "");
    desk.put("latin1", b"caf\xe9\n");
    assert_eq!(
        desk.done("Read", json!({"file_path": "empty"})).await,
        "[empty is empty]"
    );
    let text = desk.done("Read", json!({"file_path": "latin1"})).await;
    assert!(
        text.starts_with("     1→caf\u{fffd}\n[not valid UTF-8"),
        "{text}"
    );
    let edit = json!({"file_path": "latin1", "old_string": "caf", "new_string": "tea"});
    assert!(
        desk.failed("Edit", edit)
            .await
            .contains("not valid UTF-8 text, so it cannot be edited")
    );
}

#[tokio::test]
async fn a_file_without_permission_is_said_to_be_that() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    desk.put("locked", "x");
    fs::set_permissions(desk.path("locked"), fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read everything; for everyone else this is a failure.
    if fs::read(desk.path("locked")).is_err() {
        let text = desk.failed("Read", json!({"file_path": "locked"})).await;
        assert_eq!(text, "There is no permission to read locked.");
    }
}

#[tokio::test]
async fn pictures_are_shown_as_pictures() {
    let desk = Desk::new();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01";
    desk.put("a.png", png);
    let output = desk.call("Read", json!({"file_path": "a.png"})).await;
    assert_eq!(output.text(), "[a.png: image/png, 24 bytes]");
    assert_eq!(
        (
            output.media[0].media_type.as_str(),
            output.media[0].bytes.as_slice()
        ),
        ("image/png", &png[..])
    );
    desk.put("large.png", [&png[..], &vec![1; 6_000_000]].concat());
    assert!(
        desk.failed("Read", json!({"file_path": "large.png"}))
            .await
            .contains("at most 5 MB")
    );
}

#[tokio::test]
async fn of_a_huge_file_only_ranges_are_read() {
    let desk = Desk::new();
    desk.put("huge", "0123456789\n".repeat(1_200_000));
    let text = desk.failed("Read", json!({"file_path": "huge"})).await;
    assert!(
        text.contains("13.2 MB, too much to read whole. Give offset and limit"),
        "{text}"
    );
    let text = desk
        .done("Read", json!({"file_path": "huge", "offset": 1_199_999}))
        .await;
    assert_eq!(text, "1199999→0123456789\n1200000→0123456789");
    let text = desk
        .done("Read", json!({"file_path": "huge", "limit": 1}))
        .await;
    assert_eq!(
        text,
        "     1→0123456789\n[lines 1–1; offset 2 shows what follows]"
    );
    assert!(
        desk.failed("Read", json!({"file_path": "huge", "offset": 9_999_999}))
            .await
            .contains("has 1200000 lines")
    );
}

#[tokio::test]
async fn a_blob_is_paged_with_its_long_lines_folded() {
    let desk = Desk::new();
    let text = desk
        .done("Read", json!({"file_path": "blob:blb_long", "offset": 4}))
        .await;
    assert_eq!(text, format!("     4→{}\n     5→last", "x".repeat(1000)));
}

#[tokio::test]
async fn a_link_and_its_target_are_the_same_file() {
    let desk = Desk::new();
    desk.put("target", "old\n");
    std::os::unix::fs::symlink("target", desk.path("link")).unwrap();
    desk.done("Read", json!({"file_path": "link"})).await;
    desk.done(
        "Edit",
        json!({"file_path": "target", "old_string": "old", "new_string": "new"}),
    )
    .await;
    assert_eq!(desk.content("link"), "new\n");
}
