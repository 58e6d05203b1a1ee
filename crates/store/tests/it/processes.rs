//! Twenty processes on one file.

use std::{
    collections::HashSet,
    env,
    process::{Command, Stdio},
};

use rooftree_protocol::{Lane, SessionId};
use rooftree_store::{ClaimOutcome, Owner, SqliteStore, prelude::*};
use tempfile::TempDir;

use crate::scene::{MINUTE, NOW, assert_sound, open, post, session_id};

const DATABASE: &str = "ROOFTREE_TEST_DATABASE";
const NAME: &str = "ROOFTREE_TEST_NAME";

/// This very program, told to run one test as a child of another.
fn child(test: &str, database: &std::path::Path, name: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture"])
        .env(DATABASE, database)
        .env(NAME, name);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a parent told this process, if it has one.
fn told() -> Option<(String, String)> {
    Some((env::var(DATABASE).ok()?, env::var(NAME).ok()?))
}

#[tokio::test]
async fn as_a_child_post_and_say_what_was_accepted() {
    let Some((database, name)) = told() else {
        return;
    };
    let store = SqliteStore::open(database).unwrap();
    let id: SessionId = session_id(1);
    for number in 0..25 {
        let key = format!("{name}-{number}");
        let posted = store.post(post(&id, &key, "hello")).await.unwrap();
        println!("accepted {key} {}", posted.position);
    }
    // And some that are not waited for one by one.
    let rest: Vec<_> = (25..50).map(|number| format!("{name}-{number}")).collect();
    let answers: Vec<_> = rest
        .iter()
        .map(|key| store.post(post(&id, key, "hello")))
        .collect();
    for (key, answer) in rest.iter().zip(answers) {
        println!("accepted {key} {}", answer.await.unwrap().position);
    }
}

#[tokio::test]
async fn twenty_processes_post_at_once_and_nothing_is_lost_or_locked() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    open(&SqliteStore::open(&path).unwrap(), 1).await;
    let children: Vec<_> = (0..20)
        .map(|number| {
            let test = "processes::as_a_child_post_and_say_what_was_accepted";
            child(test, &path, &format!("poster-{number}"))
                .spawn()
                .unwrap()
        })
        .collect();
    let mut accepted = HashSet::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let (said, complained) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(output.status.success(), "{said}{complained}");
        assert!(
            !complained.contains("locked") && !complained.contains("busy"),
            "{complained}"
        );
        accepted.extend(said.lines().filter_map(|line| {
            let (key, place) = line.strip_prefix("accepted ")?.rsplit_once(' ')?;
            Some((key.to_owned(), place.parse::<u64>().ok()?))
        }));
    }
    assert_eq!(accepted.len(), 1_000);
    let store = SqliteStore::open(&path).unwrap();
    let items = store
        .waiting(&session_id(1), Lane::Mail, 10_000)
        .await
        .unwrap();
    assert!(
        items.iter().map(|item| item.position).eq(1..=1_000),
        "places without a gap"
    );
    assert!(
        items
            .into_iter()
            .all(|item| accepted.contains(&(item.key, item.position)))
    );
    assert_sound(&store).await;
}

#[tokio::test]
async fn as_a_child_open_a_session_in_a_database_that_may_not_exist_yet() {
    let Some((database, name)) = told() else {
        return;
    };
    let number = name.parse().unwrap();
    open(&SqliteStore::open(database).unwrap(), number).await;
}

#[tokio::test]
async fn ten_processes_may_make_the_same_new_database() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("new/rooftree.db");
    let test = "processes::as_a_child_open_a_session_in_a_database_that_may_not_exist_yet";
    let children: Vec<_> = (1..=10)
        .map(|number: u32| child(test, &path, &number.to_string()).spawn().unwrap())
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.sessions(Default::default()).await.unwrap().len(), 10);
}

#[tokio::test]
async fn as_a_child_claim_and_die_without_a_word() {
    let Some((database, _)) = told() else { return };
    let store = SqliteStore::open(database).unwrap();
    let outcome = store
        .claim(&session_id(1), &Owner::this_process(), NOW, MINUTE)
        .await
        .unwrap();
    assert!(matches!(outcome, ClaimOutcome::Granted(_)));
    println!("claimed");
    std::process::abort();
}

#[tokio::test]
async fn the_claim_of_a_process_that_died_is_free_at_once() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rooftree.db");
    let store = SqliteStore::open(&path).unwrap();
    let id = open(&store, 1).await;
    let output = child(
        "processes::as_a_child_claim_and_die_without_a_word",
        &path,
        "dying",
    )
    .output()
    .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("claimed"));
    assert!(!output.status.success());
    let dead = store.owner(&id).await.unwrap().unwrap();
    assert!(dead.is_dead_for(&Owner::this_process()));
    let outcome = store
        .claim(&id, &Owner::this_process(), NOW, MINUTE)
        .await
        .unwrap();
    assert!(matches!(outcome, ClaimOutcome::Granted(_)), "{outcome:?}");
}
