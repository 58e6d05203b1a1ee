//! Programs that are listened to: output as it comes, errors apart, nothing left behind.

use std::{path::Path, time::Duration};

use rooftree_process::{ExitReason, StreamedProcess, is_alive, spawn_streamed};

use crate::shell::shell;

async fn all(program: &mut StreamedProcess) -> String {
    let mut bytes = Vec::new();
    while let Some(piece) = program.read().await {
        bytes.extend(piece);
    }
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn output_and_errors_are_apart() {
    let script = "echo one; echo two >&2; echo three; exit 3";
    let mut program = spawn_streamed(shell(script, Path::new("/"))).await.unwrap();
    assert_eq!(all(&mut program).await, "one\nthree\n");
    let finished = program.finish(Duration::from_secs(10)).await;
    assert_eq!(
        (finished.ending, finished.output.text().as_str()),
        (ExitReason::Exited(3), "two\n")
    );
}

#[tokio::test]
async fn a_descendant_that_keeps_the_output_open_does_not_keep_us() {
    let mut program = spawn_streamed(shell("sleep 600 & echo done", Path::new("/")))
        .await
        .unwrap();
    assert_eq!(all(&mut program).await, "done\n");
    assert_eq!(
        program.finish(Duration::from_secs(10)).await.ending,
        ExitReason::Exited(0)
    );
}

#[tokio::test]
async fn a_flood_of_errors_does_not_stop_the_output() {
    let script = "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo end";
    let mut program = spawn_streamed(shell(script, Path::new("/"))).await.unwrap();
    assert_eq!(all(&mut program).await, "end\n");
    assert_eq!(
        program.finish(Duration::from_secs(10)).await.output.total(),
        1_000_000
    );
}

#[tokio::test]
async fn one_that_does_not_end_and_ignores_the_polite_signal_is_killed() {
    let script = "trap '' TERM; echo ready; while :; do sleep 1; done";
    let mut program = spawn_streamed(shell(script, Path::new("/"))).await.unwrap();
    assert_eq!(program.read().await.unwrap(), b"ready\n");
    let identity = program.identity();
    assert_eq!(
        program.finish(Duration::ZERO).await.ending,
        ExitReason::TimedOut
    );
    assert!(!is_alive(identity));
}
