//! Text that comes in pieces: no secret gets through in halves, and all else gets through.

use rooftree_secrets::{SecretRedactor, StreamRedactor};

use super::canaries;

fn told(secrets: &SecretRedactor, pieces: &[&str]) -> String {
    let mut held = StreamRedactor::default();
    let mut told: String = pieces
        .iter()
        .map(|piece| held.push(secrets, piece))
        .collect();
    told += &held.finish(secrets);
    told
}

#[test]
fn a_secret_cut_in_two_anywhere_is_taken_out() {
    let secrets = SecretRedactor::default();
    for canary in canaries(5) {
        let text = format!("it is\n{} and then\nmore", canary.text);
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for at in places {
            let (first, second) = text.split_at(at);
            let told = told(&secrets, &[first, second]);
            assert_eq!(
                canary.read_in(&told),
                None,
                "{first:?} {second:?} became {told:?}"
            );
        }
    }
}

#[test]
fn a_secret_that_comes_letter_by_letter_is_taken_out() {
    let secrets = SecretRedactor::default();
    for canary in canaries(6) {
        let text = format!("it is\n{} and then\nmore", canary.text);
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        let told = told(&secrets, &letters);
        assert_eq!(canary.read_in(&told), None, "{text:?} became {told:?}");
        assert!(
            told.starts_with("it is\n") && told.ends_with("more"),
            "{told:?}"
        );
    }
}

#[test]
fn a_known_value_with_spaces_is_taken_out_too() {
    let value = "correct horse battery staple";
    let secrets = SecretRedactor::knowing([("passphrase".to_owned(), value.to_owned())]);
    let text = format!("she said: {value}, twice");
    for at in 0..text.len() {
        let (first, second) = text.split_at(at);
        assert_eq!(
            told(&secrets, &[first, second]),
            "she said: [redacted: passphrase], twice"
        );
    }
}

#[test]
fn plain_words_are_told_at_once() {
    let secrets = SecretRedactor::default();
    let mut held = StreamRedactor::default();
    for piece in ["Hello", " world", ", how are", " you?", " Fine."] {
        assert_eq!(held.push(&secrets, piece), piece);
    }
}

#[test]
fn what_is_no_secret_gets_through_whole_however_it_is_cut() {
    let secrets = SecretRedactor::default();
    let text = include_str!("../corpora/benign_secrets.txt");
    for size in [1, 3, 7, 64] {
        let letters: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = letters
            .chunks(size)
            .map(|chunk| chunk.iter().collect())
            .collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(told(&secrets, &pieces), text);
    }
}
