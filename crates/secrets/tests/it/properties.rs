//! What holds for any text and any bytes.

use proptest::prelude::*;
use rooftree_secrets::{SecretRedactor, StreamRedactor};
use rooftree_testkit::fuzz;

/// Text made of what secrets are made of, so that a draw meets the code that looks closely.
fn suspicious() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ -~]{0,12}",
        "\\PC{0,6}",
        "[A-Za-z0-9_-]{20,50}",
        Just("ghp_".to_owned()),
        Just("sk-ant-".to_owned()),
        Just("password=".to_owned()),
        Just("Bearer ".to_owned()),
        Just("://u:".to_owned()),
        Just("@".to_owned()),
        Just("-----BEGIN RSA PRIVATE KEY-----\n".to_owned()),
        Just("-----END RSA PRIVATE KEY-----".to_owned()),
        Just("eyJ".to_owned()),
        Just(":AA".to_owned()),
        Just("8Q~".to_owned()),
        Just("\n".to_owned()),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn cleaning_twice_is_cleaning_once(text in suspicious()) {
        let secrets = SecretRedactor::default();
        if let Some(clean) = secrets.clean(&text) {
            prop_assert_eq!(secrets.clean(&clean), None, "{}", clean);
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let secrets = SecretRedactor::knowing([("a key".to_owned(), "0123456789".to_owned())]);
        secrets.clean_bytes(&bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        StreamRedactor::default().push(&secrets, &text);
    }

    #[test]
    fn text_without_secrets_comes_through_in_pieces_as_it_is(text in suspicious(), size in 1usize..20) {
        let secrets = SecretRedactor::default();
        prop_assume!(secrets.clean(&text).is_none());
        let letters: Vec<char> = text.chars().collect();
        let mut held = StreamRedactor::default();
        let mut told: String =
            letters.chunks(size).map(|chunk| held.push(&secrets, &chunk.iter().collect::<String>())).collect();
        told += &held.finish(&secrets);
        prop_assert!(told == text || told.contains("[redacted: "), "{told:?}");
    }
}

#[test]
fn fuzz_the_removal_of_secrets() {
    let words = [
        "ghp_",
        "sk-ant-",
        "password=",
        "Bearer ",
        "://u:",
        "@",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END ",
        "eyJ",
        ":AA",
        "8Q~",
        "-us1",
    ];
    let corpus = include_str!("../corpora/benign_secrets.txt");
    let told: Vec<String> = super::canaries(21)
        .into_iter()
        .map(|canary| canary.text)
        .collect();
    let seeds: Vec<&[u8]> = told
        .iter()
        .map(String::as_bytes)
        .chain([corpus.as_bytes()])
        .collect();
    let secrets = SecretRedactor::knowing([("a key".to_owned(), "Zq3vT8yLp0wXn5Bc".to_owned())]);
    fuzz::run(&seeds, &words, |input| {
        secrets.clean_bytes(input);
        let text = String::from_utf8_lossy(input);
        let mut held = StreamRedactor::default();
        text.split_inclusive(' ')
            .for_each(|piece| drop(held.push(&secrets, piece)));
        held.finish(&secrets);
    });
}

#[test]
fn what_looks_like_a_secret_once_its_neighbour_is_gone_goes_too() {
    let edge = |word: &str| format!("-----{word} RSA PRIVATE KEY-----");
    let text = format!(
        "{}\npassword={}{}",
        edge("BEGIN"),
        edge("END"),
        "password=".repeat(3)
    );
    let clean = SecretRedactor::default().clean(&text).unwrap();
    assert_eq!(SecretRedactor::default().clean(&clean), None, "{clean}");
}
