//! `rooftree connectors`: added with a secret that is shown once or read unseen, paired by code, listed, removed.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{run::fixture::finished, sessions::fixture::Done, sessions::fixture::House};

/// `rooftree connectors …` in a home.
fn connectors(house: &House, arguments: &[&str]) -> Done {
    house.rooftree(&[&["connectors"], arguments].concat())
}

fn json(house: &House, arguments: &[&str]) -> Value {
    connectors(house, &[arguments, &["-o", "json"]].concat()).json()
}

/// The same with a secret on standard input.
fn told(house: &House, arguments: &[&str], secret: &str) -> Done {
    let mut command: Command = house.command(&["connectors"]);
    let piped = command.args(arguments).stdin(Stdio::piped());
    let piped = piped.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(secret.as_bytes()).unwrap();
    drop(stdin);
    finished(child)
}

const WEBHOOK: [&str; 6] = ["add", "webhook", "--name", "builds", "--agent", "lead"];

#[test]
fn a_webhook_is_added_changed_shown_and_removed_with_its_secret() {
    let house = House::new();
    let none = connectors(&house, &["list"]);
    assert!(none.err.contains("rooftree connectors add"), "{none:?}");
    let added = connectors(&house, &[&WEBHOOK[..], &["--generate-secret"]].concat());
    assert!(added.err.contains("/hooks/builds"), "{added:?}");
    let out = added.well();
    let (first, secret) = out.trim_end().split_once('\n').unwrap();
    assert_eq!(first, "added builds");
    assert_eq!(secret.len(), 64, "{secret}");
    let kept = std::fs::read_to_string(house.path().join("credentials.toml")).unwrap();
    assert!(
        kept.contains(secret),
        "the secret is in the credential store"
    );
    let database = std::fs::read(house.database()).unwrap();
    let is_there = database.windows(64).any(|bytes| bytes == secret.as_bytes());
    assert!(!is_there, "the secret is not in the database");

    let setting = ["set", "builds", "--setting", "text=Build of {{repo}}"];
    connectors(&house, &setting).well();
    let listed = json(&house, &["list"]);
    assert_eq!(
        listed[0]["settings"]["text"], "Build of {{repo}}",
        "{listed}"
    );
    assert_eq!(listed[0]["outbox"]["connector"], "builds", "{listed}");
    assert!(
        !listed.to_string().contains(secret),
        "a list shows no secret"
    );
    let status = connectors(&house, &["status", "builds"]).well();
    assert!(status.contains("off; rooftree serve starts it"), "{status}");

    assert_eq!(
        connectors(&house, &["rm", "builds"]).well(),
        "removed builds\n"
    );
    let kept = std::fs::read_to_string(house.path().join("credentials.toml"));
    assert!(
        !kept.unwrap_or_default().contains(secret),
        "the secret went too"
    );
    let gone = connectors(&house, &["rm", "builds"]);
    assert!(
        gone.code != 0 && gone.err.contains("rooftree connectors list"),
        "{gone:?}"
    );
}

#[test]
fn a_pairing_code_is_shown_once_and_waits() {
    let house = House::new();
    told(&house, &WEBHOOK, "a secret that is long enough for it").well();
    let signed = connectors(&house, &["pair", "builds"]).ended(2);
    assert!(
        signed.contains("it is a webhook") && signed.contains("signs a request"),
        "{signed}"
    );
    let chat = ["add", "external", "--name", "chat", "--agent", "lead"];
    let chat = [&chat[..], &["--url", "http://127.0.0.1:9"]].concat();
    told(&house, &chat, "a-secret-that-is-long-enough").well();
    let code = connectors(&house, &["pair", "chat", "--approver"]).well();
    let code = code.trim();
    assert_eq!(code.len(), 8, "{code}");
    assert!(!code.contains(['0', 'O', '1', 'I']), "{code}");
    let status = json(&house, &["status", "chat"]);
    assert_eq!(
        status[0]["pending"].as_array().unwrap().len(),
        1,
        "{status}"
    );
    assert!(!status.to_string().contains(code), "the code is shown once");
    let wrong = connectors(&house, &["pair", "chat", "ABCDEFGH"]).ended(2);
    assert!(wrong.contains("rooftree connectors pair NAME"), "{wrong}");
    let test = connectors(&house, &["test", "chat"]).ended(2);
    assert!(test.contains("rooftree connectors pair chat"), "{test}");
}

#[test]
fn a_connector_that_cannot_be_is_refused_and_nothing_is_stored() {
    let house = House::new();
    let empty = told(&house, &WEBHOOK, "").ended(2);
    assert!(
        empty.contains("nothing was stored") && empty.contains("token.txt"),
        "{empty}"
    );
    let bot = ["add", "telegram", "--name", "home", "--agent", "lead"];
    // Nothing listens at the port that discards.
    let down = [&bot[..], &["--base-url", "http://127.0.0.1:9"]].concat();
    let down = told(&house, &down, "123456:token-of-the-bot").ended(2);
    assert!(
        down.contains("cannot connect") && down.contains("--unchecked"),
        "{down}"
    );
    let secret = ["--generate-secret"];
    for (more, words) in [
        (&["--setting", "debounce_ms=soon"][..], "docs/connectors.md"),
        (&["--permission-mode", "silly"], "accept-edits"),
        (
            &["--setting", "sesion_from={{repo}}"],
            "write `session_from`",
        ),
        (&["--setting", "chanel=builds"], "webhook has these: cwd"),
        (&["--group", "-1"], "telegram, discord, external"),
    ] {
        let refused = connectors(&house, &[&WEBHOOK[..], &secret, more].concat()).ended(2);
        assert!(refused.contains(words), "{more:?}: {refused}");
    }
    assert_eq!(json(&house, &["list"]), serde_json::json!([]));
    assert!(!house.path().join("credentials.toml").exists());
    connectors(&house, &[&WEBHOOK[..], &secret].concat()).well();
    let twice = connectors(&house, &[&WEBHOOK[..], &secret].concat()).ended(2);
    assert!(twice.contains("rooftree connectors set"), "{twice}");
    let missing = connectors(&house, &["pair", "nowhere"]);
    assert!(
        missing.code != 0 && missing.err.contains("nowhere"),
        "{missing:?}"
    );
}

#[test]
fn a_webhook_is_not_tested_as_if_somebody_could_be_paired_with_it() {
    let house = House::new();
    let add = ["add", "webhook", "--name", "builds", "--agent", "lead"];
    connectors(&house, &[&add[..], &["--generate-secret"]].concat()).well();
    let refused = connectors(&house, &["test", "builds"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.err.contains("`builds` is a webhook") && !refused.err.contains("connectors pair"),
        "{refused:?}"
    );
}
