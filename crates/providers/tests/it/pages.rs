//! Every script that people are shown is one that can be read.

use std::path::{Path, PathBuf};

use rooftree_providers::scripted::{ScriptedModel, no_wait};

use crate::conversation::with;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_example_of_the_page_about_scripts_can_be_read() {
    let page = std::fs::read_to_string(root().join("docs/scripted-models.md")).unwrap();
    let examples: Vec<&str> = page
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(examples.len() >= 5, "the page shows scripts");
    for example in examples {
        if let Err(problem) =
            ScriptedModel::from_text("docs/scripted-models.md", example, no_wait())
        {
            panic!("{problem:?}\n{example}");
        }
    }
}

#[test]
fn every_example_script_can_be_read() {
    let mut count = 0;
    for file in std::fs::read_dir(root().join("examples/scripts")).unwrap() {
        ScriptedModel::from_file(file.unwrap().path(), no_wait()).unwrap();
        count += 1;
    }
    assert!(count > 0);
}

fn example(name: &str) -> ScriptedModel {
    ScriptedModel::from_file(root().join("examples/scripts").join(name), no_wait()).unwrap()
}

#[tokio::test]
async fn the_example_about_looking_around_reports_what_it_found() {
    let model = example("look-around.toml");
    let talk = with("lead")
        .user("What is here?")
        .go_on(&model)
        .await
        .results(&["src/lib.rs\nCargo.toml"]);
    let talk = talk.go_on(&model).await.results(&["//! A library.\n"]);
    let expected = "You asked: What is here?\nThere are 2 entries here. The first one begins with:\n//! A library.\n";
    assert_eq!(talk.hear(&model).await, expected);
}

#[tokio::test]
async fn the_example_of_small_talk_answers_again_and_again() {
    let model = example("small-talk.toml");
    let mut talk = with("lead");
    for _ in 0..3 {
        talk = talk.user("hi there");
        assert!(talk.hear(&model).await.starts_with("Hello!"));
        talk = talk
            .go_on(&model)
            .await
            .user("How many files?")
            .go_on(&model)
            .await
            .results(&["a\nb"]);
        assert_eq!(
            talk.hear(&model).await,
            "2 files, not counting those in subdirectories."
        );
        talk = talk.go_on(&model).await.user("And the weather?");
        assert!(
            talk.hear(&model)
                .await
                .ends_with("You said: And the weather?")
        );
        talk = talk.go_on(&model).await;
    }
}

#[tokio::test]
async fn the_example_of_a_bad_day_ends_well() {
    let model = example("bad-day.toml");
    let talk = with("lead").user("Are you there?");
    for attempt in 0..4 {
        assert!(
            talk.clone()
                .attempt(attempt)
                .ask(&model)
                .await
                .unwrap_err()
                .is_retryable()
        );
    }
    assert_eq!(
        talk.attempt(4).hear(&model).await,
        "I am here now, after 4 failed attempts."
    );
}
