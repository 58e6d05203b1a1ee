//! Secrets of every shape and in every encoding are taken out, and nothing around them.

use std::collections::BTreeSet;

use rooftree_process::looks_secret;
use rooftree_secrets::{SecretRedactor, shape_names};

use super::canaries;

/// What a secret may stand in.
fn project_context(text: &str) -> [String; 8] {
    [
        text.to_owned(),
        format!("before {text} after"),
        format!("first line\n{text}\nlast line"),
        serde_json::json!({ "field": text, "other": 1 }).to_string(),
        format!("value = '{text}', more"),
        format!("\u{1b}[31m{text}\u{1b}[0m"),
        format!("    12\t{text}\n    13\tnext"),
        format!("ключ {text} 鍵"),
    ]
}

#[test]
fn every_shape_is_taken_out_wherever_it_stands() {
    let secrets = SecretRedactor::default();
    for seed in 1..=20 {
        for canary in canaries(seed) {
            for text in project_context(&canary.text) {
                let clean = secrets
                    .clean(&text)
                    .unwrap_or_else(|| panic!("nothing found in {text}"));
                assert_eq!(canary.read_in(&clean), None, "{text}\nbecame\n{clean}");
                assert!(clean.contains("[redacted: "), "{clean}");
                if text.starts_with('{') {
                    serde_json::from_str::<serde_json::Value>(&clean).expect("it is still JSON");
                }
            }
            let clean = secrets.clean(&canary.text).unwrap_or_default();
            assert!(
                clean.contains(&format!("[redacted: {}]", canary.name)),
                "{} became {clean}",
                canary.name
            );
        }
    }
}

#[test]
fn there_are_more_than_forty_shapes_and_each_has_a_canary() {
    let known: BTreeSet<&str> = shape_names().collect();
    let canaries = canaries(1);
    let tried: BTreeSet<&str> = canaries.iter().map(|canary| canary.name.as_str()).collect();
    assert!(tried.len() >= 40, "{}", tried.len());
    let unknown: Vec<&&str> = tried.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn what_is_around_a_secret_stays() {
    let secrets = SecretRedactor::default();
    let key = &canaries(3)
        .into_iter()
        .find(|canary| canary.name == "github token")
        .unwrap()
        .text;
    let text = format!(r#"{{"user":"ada","token":"{key}","n":3}}"#);
    let clean = secrets.clean(&text).unwrap();
    assert_eq!(
        clean,
        r#"{"user":"ada","token":"[redacted: github token]","n":3}"#
    );
    assert_eq!(
        secrets.clean(&clean),
        None,
        "what is left behind is no secret"
    );
}

#[test]
fn a_known_value_is_found_in_every_encoding() {
    let value = "correct horse/battery+staple?\"é\"";
    let secrets =
        SecretRedactor::knowing([("value of SHOP_PASSWORD".to_owned(), value.to_owned())]);
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let written = [
        value.to_owned(),
        serde_json::json!({ "a": value }).to_string(),
        "a=correct%20horse%2Fbattery%2Bstaple%3F%22%C3%A9%22&b=1".to_owned(),
        "a=correct+horse%2Fbattery%2Bstaple%3F%22%C3%A9%22&b=1".to_owned(),
        format!("0x{hex}"),
        hex.to_uppercase(),
        "Y29ycmVjdCBob3JzZS9iYXR0ZXJ5K3N0YXBsZT8iw6ki".to_owned(),
        // `user:` and the value, as it is sent with a request.
        "dXNlcjpjb3JyZWN0IGhvcnNlL2JhdHRlcnkrc3RhcGxlPyLDqSI=".to_owned(),
    ];
    for text in written {
        let clean = secrets
            .clean(&text)
            .unwrap_or_else(|| panic!("not found in {text}"));
        assert!(
            clean.contains("[redacted: value of SHOP_PASSWORD]"),
            "{clean}"
        );
    }
}

#[test]
fn variables_are_secret_by_their_names_and_short_values_are_not_looked_for() {
    for name in [
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "aws_secret_access_key",
        "PGPASSWORD",
        "MY_SECRETS",
    ] {
        assert!(looks_secret(name), "{name}");
    }
    for name in [
        "PATH",
        "KEYBOARD",
        "TOKENIZERS_PARALLELISM",
        "SSH_AUTH_SOCK",
        "HOME",
    ] {
        assert!(!looks_secret(name), "{name}");
    }
    let variables = [
        ("A_TOKEN", "abc"),
        ("B_TOKEN", "/run/token"),
        ("C_TOKEN", "long enough"),
        ("D_PASSWORD", "postgres"),
    ];
    let found = SecretRedactor::in_variables(
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let secrets = SecretRedactor::knowing(found);
    assert_eq!(secrets.clean("abc in /run/token of postgres"), None);
    assert!(secrets.clean("it is long enough.").is_some());
}
