//! How programs end, and what is known of them then.

use std::{path::Path, time::Duration};

use rooftree_process::{Error, ExitReason, ProcessBounds, ProcessInput, spawn};
use tokio_util::sync::CancellationToken;

use crate::shell::{PLENTY, finish, shell};

#[tokio::test]
async fn output_and_errors_are_one_stream_in_the_order_written() {
    let finished = finish("echo one; echo two >&2; echo three", PLENTY).await;
    assert_eq!(finished.ending, ExitReason::Exited(0));
    assert_eq!(finished.output.text(), "one\ntwo\nthree\n");
}

#[tokio::test]
async fn the_code_or_the_signal_is_told() {
    let table = [
        ("exit 0", ExitReason::Exited(0)),
        ("exit 7", ExitReason::Exited(7)),
        ("kill -9 $$", ExitReason::Signalled(9)),
    ];
    for (script, ending) in table {
        assert_eq!(finish(script, PLENTY).await.ending, ending, "{script}");
    }
}

#[tokio::test]
async fn standard_input_is_empty_unless_bytes_are_given() {
    assert_eq!(finish("cat; echo end", PLENTY).await.output.text(), "end\n");
    let mut cat = shell("cat", Path::new("/"));
    cat.input = ProcessInput::Bytes(b"-- given --".to_vec());
    let finished = spawn(cat)
        .await
        .unwrap()
        .finish(PLENTY, &CancellationToken::new(), |_| {})
        .await;
    assert_eq!(finished.output.text(), "-- given --");
}

#[tokio::test]
async fn a_flood_is_bounded_and_counted() {
    let bounds = ProcessBounds {
        time: Some(Duration::from_millis(300)),
        output: 1000,
    };
    let mut seen = 0u64;
    let process = spawn(shell("echo first; yes", Path::new("/")))
        .await
        .unwrap();
    let finished = process
        .finish(bounds, &CancellationToken::new(), |bytes| {
            seen += bytes.len() as u64
        })
        .await;
    assert_eq!(finished.ending, ExitReason::TimedOut);
    assert!(finished.output.text().starts_with("first\ny\n"));
    assert!(finished.output.text().len() < 1100);
    assert_eq!(finished.output.total(), seen);
}

#[tokio::test]
async fn a_program_or_directory_that_is_missing_is_an_error_that_names_it() {
    let mut missing = shell("", Path::new("/"));
    missing.program = "no-such-program".into();
    for (spawned, word) in [
        (missing, "no-such-program"),
        (shell("", Path::new("/no/such/place")), "/no/such/place"),
    ] {
        let error = spawn(spawned).await.unwrap_err();
        assert!(
            matches!(error, Error::Start { .. }) && error.to_string().contains(word),
            "{error}"
        );
    }
}

#[tokio::test]
async fn secrets_do_not_reach_the_program() {
    const SECRET: &str = "ROOFTREE_TEST_API_KEY";
    // A test cannot change its own environment safely, so it runs itself once more in another one.
    if std::env::var_os(SECRET).is_none() {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again
            .args(["--exact", "ending::secrets_do_not_reach_the_program"])
            .env(SECRET, "leaked");
        assert!(again.status().unwrap().success());
        return;
    }
    let mut env = shell("env", Path::new("/"));
    env.environment = env.environment.with("VISIBLE", "yes");
    let finished = spawn(env)
        .await
        .unwrap()
        .finish(PLENTY, &CancellationToken::new(), |_| {})
        .await;
    let text = finished.output.text();
    assert!(
        text.contains("VISIBLE=yes") && text.contains("PATH="),
        "{text}"
    );
    assert!(!text.contains("leaked"), "{text}");
}

#[tokio::test]
async fn a_program_has_no_signal_blocked_and_ends_at_a_broken_pipe() {
    let script = "grep SigBlk /proc/self/status; yes | head -n 1; echo ${PIPESTATUS[0]}";
    let finished = finish(script, PLENTY).await;
    // 141 is how a shell says: ended by the signal for a broken pipe.
    assert_eq!(
        finished.output.text(),
        "SigBlk:\t0000000000000000\ny\n141\n"
    );
}
