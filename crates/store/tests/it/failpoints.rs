//! Killed at a commit, stalled at a name, and without a guarantee.

use std::{
    env,
    io::BufRead,
    os::unix::process::ExitStatusExt,
    process::{Command, Stdio},
};

use rooftree_protocol::Lane;
use rooftree_store::{ClaimOutcome, KeyReuse, Owner, SqliteStore, failpoint, prelude::*};
use tempfile::TempDir;

use crate::scene::{self, MINUTE, NOW, assert_sound, conversation, open, post, session_id};

const DATABASE: &str = "ROOFTREE_TEST_FAILING_DATABASE";

fn child(test: &str, database: &std::path::Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args([&format!("failpoints::{test}"), "--exact", "--nocapture"])
        .env(DATABASE, database);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[tokio::test]
async fn as_a_child_post_until_killed() {
    let Ok(database) = env::var(DATABASE) else {
        return;
    };
    let store = SqliteStore::open(database).unwrap();
    let id = open(&store, 1).await;
    for number in 1..=20 {
        let posted = store
            .post(post(&id, &format!("key-{number}"), "hello"))
            .await
            .unwrap();
        println!("accepted {}", posted.position);
    }
}

#[tokio::test]
async fn killed_before_a_commit_loses_it_and_after_it_does_not() {
    for (point, stored) in [("commit.before", 3), ("commit.after", 4)] {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("rooftree.db");
        let order = format!("{point}:5");
        let output = child("as_a_child_post_until_killed", &path)
            .env("ROOFTREE_FAILPOINT", order)
            .output()
            .unwrap();
        assert_eq!(
            output.status.signal(),
            Some(9),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let accepted = String::from_utf8_lossy(&output.stdout)
            .matches("accepted")
            .count();
        assert_eq!(accepted, 3, "nobody was told of the fourth");
        let store = SqliteStore::open(&path).unwrap();
        assert_eq!(
            store
                .waiting(&session_id(1), Lane::Mail, 100)
                .await
                .unwrap()
                .len(),
            stored,
            "{point}"
        );
        assert_sound(&store).await;
    }
}

#[test]
fn as_a_child_reach_a_name() {
    if env::var(DATABASE).is_ok() {
        failpoint::reach("elsewhere");
        failpoint::reach("here");
        failpoint::reach("here");
    }
}

#[test]
fn a_stalled_process_says_so_and_can_be_killed_there() {
    let mut child = child("as_a_child_reach_a_name", "none".as_ref())
        .env("ROOFTREE_STALL", "here:2")
        .spawn()
        .unwrap();
    let said = std::io::BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok);
    assert!(said.into_iter().any(|line| line == "stalled here"));
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[tokio::test]
async fn as_a_child_break_the_fence() {
    let Ok(database) = env::var(DATABASE) else {
        return;
    };
    let store = SqliteStore::open(database).unwrap();
    let id = open(&store, 1).await;
    let old = scene::claim(&store, &id).await;
    let ClaimOutcome::Granted(new) = store
        .claim(&id, &Owner::this_process(), NOW, MINUTE)
        .await
        .unwrap()
    else {
        panic!("nobody is kept away without a fence")
    };
    conversation(&store, &new.claim, 1, 0).await;
    conversation(&store, &old, 1, 0).await;
}

#[tokio::test]
async fn as_a_child_use_a_key_twice() {
    let Ok(database) = env::var(DATABASE) else {
        return;
    };
    let store = SqliteStore::open(database).unwrap();
    let id = open(&store, 1).await;
    for _ in 0..2 {
        assert_eq!(
            store
                .post(post(&id, "key", "hello"))
                .await
                .unwrap()
                .repeated,
            KeyReuse::No
        );
    }
}

#[tokio::test]
async fn a_guarantee_that_is_switched_off_is_missed() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("fence.db");
    let output = child("as_a_child_break_the_fence", &path)
        .env("ROOFTREE_WITHOUT", "fence")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report = SqliteStore::open(&path).unwrap().verify().await.unwrap();
    assert!(
        report
            .violations
            .iter()
            .any(|found| found.invariant == "I2"),
        "{:?}",
        report.violations
    );
    let path = directory.path().join("dedup.db");
    let output = child("as_a_child_use_a_key_twice", &path)
        .env("ROOFTREE_WITHOUT", "dedup")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
