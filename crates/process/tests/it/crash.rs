//! What happens to programs when the process or thread that started them is gone.

use std::{env, path::PathBuf, process::Command, time::Duration};

use rooftree_process::{ProcessIdentity, is_alive, kill_group, kill_leftovers};
use tempfile::tempdir;

use crate::shell::{PLENTY, start, written};

/// Where the owner is to start its program; set only in the process that plays the owner.
const OWNER: &str = "ROOFTREE_TEST_OWNER";

#[tokio::test]
async fn after_a_crash_the_leader_is_gone_and_the_rest_can_be_found() {
    if let Some(directory) = env::var_os(OWNER) {
        let script = "sleep 1000 & echo $! >member.pid; wait";
        let process = start(script, &PathBuf::from(directory)).await;
        process
            .finish(PLENTY, &tokio_util::sync::CancellationToken::new(), |_| {})
            .await;
        return;
    }
    let directory = tempdir().unwrap();
    let mut owner = Command::new(env::current_exe().unwrap());
    owner.args([
        "--exact",
        "crash::after_a_crash_the_leader_is_gone_and_the_rest_can_be_found",
    ]);
    let mut owner = owner.env(OWNER, directory.path()).spawn().unwrap();
    let member = written(directory.path(), 1).await[0];
    let leader = ProcessIdentity::of(group_of(member.group)).unwrap();
    owner.kill().unwrap();
    owner.wait().unwrap();
    until(|| !is_alive(leader)).await;
    assert!(
        is_alive(member),
        "the member did not outlive its leader, so this test shows nothing"
    );
    assert!(kill_group(leader.group, leader.start));
    assert!(!is_alive(member));
    assert!(
        !kill_group(leader.group, leader.start),
        "there is nothing left to kill"
    );
}

#[tokio::test]
async fn after_a_crash_everything_that_was_left_is_swept_and_nothing_else() {
    if let Some(directory) = env::var_os(OWNER) {
        let script = "setsid sleep 1000 & echo $! >member.pid; wait";
        let process = start(script, &PathBuf::from(directory)).await;
        process
            .finish(PLENTY, &tokio_util::sync::CancellationToken::new(), |_| {})
            .await;
        return;
    }
    let (directory, own) = (tempdir().unwrap(), tempdir().unwrap());
    let mut owner = Command::new(env::current_exe().unwrap());
    owner.args([
        "--exact",
        "crash::after_a_crash_everything_that_was_left_is_swept_and_nothing_else",
    ]);
    let mut owner = owner.env(OWNER, directory.path()).spawn().unwrap();
    let orphan = written(directory.path(), 1).await[0];
    let living = start("sleep 1000", own.path()).await;
    kill_leftovers();
    assert!(is_alive(orphan), "its owner was alive");
    owner.kill().unwrap();
    owner.wait().unwrap();
    kill_leftovers();
    until(|| !is_alive(orphan)).await;
    assert!(
        is_alive(living.identity()),
        "what has a living owner is left alone"
    );
}

#[test]
fn a_program_outlives_the_thread_that_asked_for_it() {
    let directory = tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let handle = runtime.handle().clone();
    let cwd = directory.path().to_owned();
    let asking = std::thread::spawn(move || handle.block_on(start("sleep 1000", &cwd)));
    let process = asking.join().unwrap();
    // If it were going to die with the thread, the kernel would have done it by the time
    // another program has been started and has ended.
    Command::new("sleep").arg("0.1").status().unwrap();
    assert!(is_alive(process.identity()));
}

fn group_of(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .nth(2)
        .unwrap()
        .parse()
        .unwrap()
}

async fn until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait)
        .await
        .unwrap();
}
