//! `rooftree demo`: what it says is true of the directory it is run in.

use std::{fs, path::Path};

use crate::sessions::fixture::{Done, House};

fn demo(house: &House, directory: &Path) -> Done {
    house.rooftree(&["demo", "-C", directory.to_str().unwrap()])
}

/// A word nobody can know beforehand.
fn word() -> String {
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().file_name().unwrap().to_str().unwrap();
    format!("w{}", name.trim_start_matches(".tmp").to_lowercase())
}

#[test]
fn it_names_what_was_planted() {
    let (house, place) = (House::new(), tempfile::tempdir().unwrap());
    let (file, folder, title) = (word(), word(), word());
    fs::create_dir(place.path().join(&folder)).unwrap();
    fs::write(
        place.path().join("README.md"),
        format!("\n# {title}\nmore\n"),
    )
    .unwrap();
    fs::write(
        place.path().join(format!("{folder}/{file}.rs")),
        "// TODO: one\n// TODO: two\n",
    )
    .unwrap();
    let done = demo(&house, place.path());
    for fact in [
        "2 files here",
        &file,
        &folder,
        &title,
        "2 lines with TODO or FIXME in 1 file",
    ] {
        assert!(done.out.contains(fact), "{fact}: {done:?}");
    }
    assert!(
        done.err.contains("The model is not: it reads") && done.err.contains("scripted model"),
        "{}",
        done.err
    );
    assert_eq!(done.code, 0);
    let mut left: Vec<String> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    let mut expected = vec!["README.md".to_owned(), folder];
    expected.sort();
    assert_eq!(left, expected, "nothing is added to the directory");
}

#[test]
fn it_leaves_a_session_that_can_be_read_and_gone_on_with() {
    let (house, place) = (House::new(), tempfile::tempdir().unwrap());
    fs::write(place.path().join("a.txt"), "hello\n").unwrap();
    demo(&house, place.path()).well();
    let id = house
        .rooftree(&["sessions", "list", "-o", "ids"])
        .well()
        .trim()
        .to_owned();
    assert!(
        house
            .rooftree(&["sessions", "show", &id])
            .well()
            .contains("1 file here")
    );
    assert!(
        house
            .rooftree(&["run", "-s", &id, "Look around"])
            .well()
            .contains("a.txt begins with: hello")
    );
    assert!(
        house
            .rooftree(&["run", "-s", &id, "What else?"])
            .well()
            .contains("I am a script")
    );
    house.is_sound();
}

#[test]
fn it_works_where_there_is_little_to_see() {
    let house = House::new();
    let empty = tempfile::tempdir().unwrap();
    assert!(
        demo(&house, empty.path())
            .well()
            .contains("This directory is empty")
    );
    fs::create_dir(empty.path().join("inner")).unwrap();
    assert!(demo(&house, empty.path()).well().contains("only: inner/"));
    fs::write(empty.path().join("data.bin"), b"\x00\x01\x02").unwrap();
    assert!(
        demo(&house, empty.path())
            .well()
            .contains("1 file here, and no text in it: data.bin")
    );
}

#[test]
fn names_that_look_like_commands_are_only_names() {
    let (house, place) = (House::new(), tempfile::tempdir().unwrap());
    for name in ["{{ 7*7 }}.txt", "$(touch x)", "a b'c\".md", "-rf"] {
        fs::write(place.path().join(name), "text\n").unwrap();
    }
    let said = demo(&house, place.path()).well();
    assert!(said.contains("4 files here"), "{said}");
}

#[test]
fn it_looks_only_at_the_top_of_a_directory_with_very_much_in_it() {
    let (house, place) = (House::new(), tempfile::tempdir().unwrap());
    let deep = place.path().join("deep");
    fs::create_dir(&deep).unwrap();
    for number in 0..20_001 {
        fs::File::create(deep.join(number.to_string())).unwrap();
    }
    fs::write(place.path().join("top.txt"), "x").unwrap();
    let said = demo(&house, place.path()).well();
    assert!(
        said.contains("1 directories and 1 files")
            && said.contains("deep")
            && said.contains("top.txt"),
        "{said}"
    );
}

#[test]
fn it_asks_three_agents_on_three_providers_and_the_trace_shows_them() {
    let (house, place) = (House::new(), tempfile::tempdir().unwrap());
    fs::write(place.path().join("a.txt"), "hello\n").unwrap();
    let done = demo(&house, place.path());
    for said in [
        "mapper demo-anthropic/tour",
        "reader demo-openai/tour",
        "surveyor demo-google/tour",
        "(background)",
        "reader: ↻ the provider asks to slow down",
        "✓ 3 agents · ",
        "so do the three that stand in for Anthropic",
    ] {
        assert!(done.err.contains(said), "{said}: {}", done.err);
    }
    let run = house.rooftree(&["runs", "list", "-o", "ids"]).well();
    let trace = house.rooftree(&["runs", "trace", run.trim()]).well();
    assert_eq!(
        trace.lines().filter(|line| line.contains('█')).count(),
        4,
        "{trace}"
    );
    for note in [
        "background",
        "asked again once",
        "░ waiting for the provider",
    ] {
        assert!(trace.contains(note), "{note}: {trace}");
    }
    house.is_sound();
}
