//! Nothing is left behind, however a program ends and wherever its children went.

use std::{process::Command, time::Duration};

use rooftree_process::{ExitReason, ProcessBounds, ProcessIdentity, is_alive, kill_group};
use tempfile::tempdir;
use tokio_util::sync::CancellationToken;

use crate::shell::{PLENTY, living, start, written};

const SHORT: ProcessBounds = ProcessBounds {
    time: Some(Duration::from_millis(500)),
    output: 1 << 16,
};

/// Scripts, and how many processes each writes the number of.
const FAMILIES: [(&str, &str, usize); 6] = [
    (
        "in the group",
        "sleep 1000 & echo $! >a.pid; sleep 1000 & echo $! >b.pid; wait",
        2,
    ),
    (
        "deaf to SIGTERM",
        "bash -c 'trap \"\" TERM; echo $$ >a.pid; sleep 1000; sleep 1000' ; true",
        1,
    ),
    (
        "in a session of its own",
        "setsid bash -c 'echo $$ >a.pid; sleep 1000' & wait; sleep 1000",
        1,
    ),
    (
        "double-forked",
        "(setsid bash -c 'echo $$ >a.pid; exec sleep 1000' &) ; sleep 1000",
        1,
    ),
    (
        "stopped",
        "sleep 1000 & echo $! >a.pid; kill -STOP $!; sleep 1000",
        1,
    ),
    (
        "without a mark",
        "env -i setsid bash -c 'echo $$ >a.pid; sleep 1000' & wait",
        1,
    ),
];

#[tokio::test]
async fn a_cancel_ends_every_descendant() {
    for (who, script, count) in FAMILIES {
        let directory = tempdir().unwrap();
        let process = start(script, directory.path()).await;
        let cancel = CancellationToken::new();
        let running = tokio::spawn({
            let cancel = cancel.clone();
            async move { process.finish(PLENTY, &cancel, |_| {}).await }
        });
        let family = written(directory.path(), count).await;
        assert_eq!(living(&family).len(), count, "{who}");
        cancel.cancel();
        assert_eq!(
            running.await.unwrap().ending,
            ExitReason::Cancelled,
            "{who}"
        );
        assert_eq!(living(&family), [], "{who}");
    }
}

#[tokio::test]
async fn a_time_limit_ends_every_descendant() {
    let directory = tempdir().unwrap();
    let script = "sleep 1000 & echo $! >a.pid; echo partial; sleep 1000 & echo $! >b.pid; wait";
    let process = start(script, directory.path()).await;
    let never = CancellationToken::new();
    let (finished, family) = tokio::join!(
        process.finish(SHORT, &never, |_| {}),
        written(directory.path(), 2)
    );
    assert_eq!(finished.ending, ExitReason::TimedOut);
    assert_eq!(finished.output.text(), "partial\n");
    assert_eq!(living(&family), []);
}

#[tokio::test]
async fn what_a_program_left_running_ends_with_it() {
    let directory = tempdir().unwrap();
    let process = start("sleep 1000 & echo $! >a.pid; echo done", directory.path()).await;
    let finished = process
        .finish(PLENTY, &CancellationToken::new(), |_| {})
        .await;
    assert_eq!(
        (finished.ending, finished.output.text().as_str()),
        (ExitReason::Exited(0), "done\n")
    );
    assert_eq!(living(&written_now(directory.path())), []);
}

#[tokio::test]
async fn dropping_it_kills_it() {
    for (who, script, count) in FAMILIES {
        let directory = tempdir().unwrap();
        let process = start(script, directory.path()).await;
        let family = written(directory.path(), count).await;
        drop(process);
        until_gone(&family, who).await;
    }
}

#[tokio::test]
async fn a_group_left_by_a_crash_is_killed_only_if_it_is_the_same_one() {
    let directory = tempdir().unwrap();
    let process = start("echo $$ >a.pid; sleep 1000; true", directory.path()).await;
    let family = written(directory.path(), 1).await;
    let leader = process.identity();
    assert!(
        !kill_group(leader.group, leader.start + 1),
        "another start is another process"
    );
    assert!(is_alive(leader));
    assert!(kill_group(leader.group, leader.start));
    until_gone(&family, "the leader").await;
    for never in [0, 1, -1] {
        assert!(!kill_group(never, 0));
    }
}

#[tokio::test]
async fn orphans_of_a_dead_owner_are_killed_and_strangers_are_not() {
    use std::os::unix::process::CommandExt;
    let directory = tempdir().unwrap();
    // The leader ends at once and leaves a member; the mark decides whose it was.
    for (mark, is_ours) in [("1999999999.5.1", true), ("none", false)] {
        let mut leader = Command::new("bash");
        leader
            .args(["-c", "sleep 1000 & echo $! >a.pid"])
            .current_dir(directory.path());
        let mut leader = leader
            .env("ROOFTREE_SPAWN", mark)
            .process_group(0)
            .spawn()
            .unwrap();
        let identity = ProcessIdentity::of(i32::try_from(leader.id()).unwrap()).unwrap();
        leader.wait().unwrap();
        let family = written(directory.path(), 1).await;
        assert_eq!(
            kill_group(identity.group, identity.start),
            is_ours,
            "{mark}"
        );
        assert_eq!(living(&family).is_empty(), is_ours, "{mark}");
        for left in living(&family) {
            Command::new("kill")
                .args(["-9", &left.group.to_string()])
                .status()
                .unwrap();
        }
        std::fs::remove_file(directory.path().join("a.pid")).unwrap();
    }
}

fn written_now(directory: &std::path::Path) -> Vec<ProcessIdentity> {
    let number = std::fs::read_to_string(directory.join("a.pid")).unwrap();
    ProcessIdentity::of(number.trim().parse().unwrap())
        .into_iter()
        .collect()
}

async fn until_gone(family: &[ProcessIdentity], who: &str) {
    let gone = async {
        while !living(family).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .unwrap_or_else(|_| panic!("{who}: still there"));
}
