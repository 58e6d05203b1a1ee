//! Files that go along with a message.

use serde_json::Value;

use super::fixture::Desk;

/// The parts of the message as it was kept.
fn parts(desk: &Desk, arguments: &[&str]) -> Vec<Value> {
    let mut typed = vec!["-o", "stream-json"];
    typed.extend(arguments);
    let lines = desk.run(&typed).lines();
    let said = lines
        .iter()
        .find(|line| line["type"] == "message.user")
        .unwrap();
    said["data"]["message"]["parts"].as_array().unwrap().clone()
}

#[test]
fn short_text_is_put_into_the_message_with_its_name() {
    let desk = Desk::with_echo();
    desk.write("notes/list.txt", "milk\n");
    let parts = parts(&desk, &["What is on it?", "@notes/list.txt"]);
    assert_eq!(parts[0]["text"], "What is on it?");
    assert_eq!(
        parts[1]["text"],
        "<file name=\"notes/list.txt\">\nmilk\n</file>"
    );
}

#[test]
fn pictures_and_long_or_binary_files_are_kept_beside_it() {
    let desk = Desk::with_echo();
    desk.write("p.png", b"\x89PNG\r\n\x1a\n\x00");
    desk.write("long.txt", "x".repeat(70_000));
    desk.write("data.bin", b"\x00\x01\xff");
    let parts = parts(&desk, &["Look", "@p.png", "@long.txt", "@data.bin"]);
    let kinds: Vec<(&str, &str)> = parts
        .iter()
        .skip(1)
        .map(|part| {
            (
                part["type"].as_str().unwrap(),
                part["media_type"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [
            ("image", "image/png"),
            ("file", "text/plain"),
            ("file", "application/octet-stream")
        ]
    );
    assert_eq!(
        (&parts[2]["name"], &parts[2]["bytes"]),
        (&"long.txt".into(), &70_000.into())
    );
}

#[test]
fn a_file_that_cannot_be_attached_is_said_before_anything_is_stored() {
    let desk = Desk::with_echo();
    desk.write("folder/x", "");
    for (path, words) in [
        ("@missing.txt", "No such file"),
        ("@folder", "it is a directory"),
        ("@/dev/zero", "not a regular"),
    ] {
        let said = desk.run(&["Look", path]).ended(2);
        assert!(
            said.contains("cannot attach") && said.contains(words),
            "{said}"
        );
    }
    assert!(!desk.house.database().exists());
}

#[test]
fn a_phrase_that_begins_with_an_at_sign_is_a_phrase() {
    assert_eq!(
        Desk::with_echo().run(&["@alice says hello"]).well(),
        "heard: @alice says hello\n"
    );
}
