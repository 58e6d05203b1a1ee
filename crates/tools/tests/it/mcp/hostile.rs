//! Servers that do everything wrong: nobody hangs, nothing grows, and what went wrong is said.

use std::{fs, time::Duration};

use rooftree_protocol::{ErrorCode, McpServer};
use rooftree_testkit::process_marks::wait_until_dead;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::stand::{Stand, server};
use crate::desk::call;

#[tokio::test]
async fn a_message_of_ten_megabytes_is_refused_and_the_next_call_finds_a_new_server() {
    let stand = Stand::new(&[("s", server(&[]))]);
    let tools = stand.tools().await;
    assert_eq!(
        stand
            .call(&tools, "echo", json!({"text": "a"}))
            .await
            .failure,
        None
    );
    let huge = stand
        .call(&tools, "huge", json!({"bytes": 10 * 1024 * 1024}))
        .await;
    assert_eq!(huge.failure, Some(ErrorCode::ToolInterrupted));
    assert!(
        huge.text().contains("a message of more than 8 MB"),
        "{}",
        huge.text()
    );
    let after = stand
        .call(&tools, "echo", json!({"text": "still here"}))
        .await;
    assert_eq!(after.text(), "still here");
    let large = stand
        .call(&tools, "huge", json!({"bytes": 1024 * 1024}))
        .await;
    assert_eq!(
        large.text().len(),
        1024 * 1024,
        "what is only long is whole here, and cut by the caller"
    );
    stand.servers.close().await;
}

#[tokio::test]
async fn answers_to_other_questions_garbage_and_complaints_change_nothing() {
    let stand = Stand::new(&[("s", server(&[]))]);
    let tools = stand.tools().await;
    for (tool, answer) in [
        ("wrong_id", "for you"),
        ("garbage", "after garbage"),
        ("noise", "after noise"),
    ] {
        assert_eq!(stand.call(&tools, tool, json!({})).await.text(), answer);
    }
    stand.servers.close().await;
}

#[tokio::test]
async fn of_ten_thousand_tools_the_first_are_offered_and_that_is_said() {
    for options in [
        &["--tools", "10000"][..],
        &["--tools", "10000", "--page", "100"],
        &["--page", "4", "--endless"],
    ] {
        let stand = Stand::new(&[("s", server(options))]);
        let offered = stand.offer().await;
        assert!(
            offered.tools.len() <= 512,
            "{options:?}: {}",
            offered.tools.len()
        );
        let told = offered
            .notices
            .iter()
            .any(|notice| notice.message.contains("too many tools to choose from"));
        assert!(told, "{options:?}: {:?}", offered.notices.first());
        stand.servers.close().await;
    }
}

#[tokio::test]
async fn tools_that_would_share_a_name_are_all_refused() {
    let stand = Stand::new(&[("s", server(&["--twins"]))]);
    let offered = stand.offer().await;
    let names: Vec<&str> = offered
        .tools
        .iter()
        .map(|tool| tool.spec().name.as_str())
        .collect();
    assert!(
        !names
            .iter()
            .any(|name| name.eq_ignore_ascii_case("mcp__s__twin")),
        "{names:?}"
    );
    assert!(names.contains(&"mcp__s__echo"));
    assert!(
        offered.notices[0].message.contains("none of them is used"),
        "{:?}",
        offered.notices
    );
    stand.servers.close().await;
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_and_told_to_stop() {
    let home = tempfile::tempdir().unwrap();
    let record = home.path().join("heard");
    let limited = McpServer {
        timeout_secs: Some(1),
        ..server(&["--record", &record.display().to_string()])
    };
    let stand = Stand::new(&[("s", limited)]);
    let tools = stand.tools().await;
    let given_up = stand.call(&tools, "never", json!({})).await;
    assert_eq!(given_up.failure, Some(ErrorCode::ToolFailed));
    assert!(
        given_up.text().contains("did not answer within 1 s"),
        "{}",
        given_up.text()
    );
    heard(&record, "notifications/cancelled", 1).await;
    let mut context = stand.context();
    context.cancel = CancellationToken::new();
    let cancel = context.cancel.clone();
    let calling = tokio::spawn({
        let tools = tools.clone();
        async move { call(&tools, "mcp__s__never", json!({}), context).await }
    });
    heard(&record, "tools/call", 2).await;
    cancel.cancel();
    assert_eq!(
        calling.await.unwrap().failure,
        Some(ErrorCode::ToolCancelled)
    );
    heard(&record, "notifications/cancelled", 2).await;
    assert_eq!(
        stand
            .call(&tools, "echo", json!({"text": "fine"}))
            .await
            .text(),
        "fine"
    );
    stand.servers.close().await;
}

/// Waits until the server has heard something so many times.
async fn heard(record: &std::path::Path, method: &str, times: usize) {
    let count = || {
        fs::read_to_string(record)
            .unwrap_or_default()
            .lines()
            .filter(|line| *line == method)
            .count()
    };
    while count() < times {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_call_is_told_without_secrets_and_the_server_comes_back() {
    let mut given = server(&[]);
    given
        .env
        .insert("SERVER_API_KEY".into(), "sk-very-secret".into());
    let stand = Stand::new(&[("s", given)]);
    let tools = stand.tools().await;
    let first = stand.call(&tools, "pid", json!({})).await.text();
    let crashed = stand.call(&tools, "crash", json!({})).await;
    assert_eq!(crashed.failure, Some(ErrorCode::ToolInterrupted));
    let words = crashed.text();
    assert!(
        words.contains("exit code 3") && words.contains("I give up, my key is [SERVER_API_KEY]"),
        "{words}"
    );
    let second = stand.call(&tools, "pid", json!({})).await;
    assert!(
        second.failure.is_none() && second.text() != first,
        "{}",
        second.text()
    );
    stand.servers.close().await;
}

#[tokio::test]
async fn a_server_that_cannot_get_ready_is_a_notice_and_is_left_alone_for_a_while() {
    let missing = McpServer {
        command: Some("no-such-program-anywhere".into()),
        ..McpServer::default()
    };
    for (bad, words) in [
        (
            server(&["--exit", "9"]),
            "exit code 9, and had said: no such thing as a license",
        ),
        (
            missing,
            "cannot be reached: start `no-such-program-anywhere`",
        ),
        (
            server(&["--wrong-hello"]),
            "answered a question that was not asked",
        ),
        (
            McpServer {
                url: Some("ftp://a.test".into()),
                ..McpServer::default()
            },
            "does not begin with http",
        ),
    ] {
        let stand = Stand::new(&[("s", bad)]);
        let notice = stand.notice().await;
        assert!(notice.message.contains(words), "{}", notice.message);
        assert_eq!(notice.hint.as_deref(), Some("rooftree mcp test s"));
        let again = stand.notice().await;
        assert!(
            again.message.contains("it is tried again in"),
            "{}",
            again.message
        );
        stand.servers.close().await;
    }
}

#[tokio::test]
async fn a_server_that_never_says_hello_is_given_up_and_ended() {
    let home = tempfile::tempdir().unwrap();
    let mute = server(&[
        "--mute",
        "--stubborn",
        "--marks",
        &home.path().display().to_string(),
    ]);
    let stand = Stand::with(&[("s", mute)], |setup| {
        setup.startup = Duration::from_secs(2)
    });
    let notice = stand.notice().await;
    assert!(
        notice.message.contains("did not get ready within 2 s"),
        "{}",
        notice.message
    );
    stand.servers.close().await;
    wait_until_dead(home.path()).await;
}
