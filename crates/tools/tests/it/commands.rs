//! Bash in the foreground.

use std::time::Duration;

use rooftree_process::{ProcessIdentity, is_alive};
use rooftree_protocol::ErrorCode;
use serde_json::json;

use crate::desk::Desk;

#[tokio::test]
async fn a_command_gives_its_output_and_how_it_ended() {
    let desk = Desk::new();
    let table = [
        ("echo out; echo err >&2", "out\nerr", None),
        ("true", "[no output]", None),
        (
            "echo no; exit 3",
            "no\n[exit code 3]",
            Some(ErrorCode::ToolFailed),
        ),
        ("exit 1", "[exit code 1]", Some(ErrorCode::ToolFailed)),
        (
            "kill -9 $$",
            "[ended by signal 9]",
            Some(ErrorCode::ToolFailed),
        ),
        ("cat", "[no output]", None),
        (
            "shopt -q login_shell && echo login",
            "[exit code 1]",
            Some(ErrorCode::ToolFailed),
        ),
        ("-x", "[exit code 127]", Some(ErrorCode::ToolFailed)),
    ];
    for (command, text, failure) in table {
        let output = desk.call("run_command", json!({"command": command})).await;
        assert!(
            output.text().ends_with(text),
            "{command}: {}",
            output.text()
        );
        assert_eq!(output.failure, failure, "{command}");
    }
    assert_eq!(
        desk.done("Bash", json!({"command": "pwd -P"})).await,
        desk.context.cwd.display().to_string()
    );
}

#[tokio::test]
async fn time_is_up_in_seconds_and_in_the_milliseconds_of_other_dialects() {
    let desk = Desk::new();
    let table = [
        json!({"timeout_secs": 1}),
        json!({"timeout": 900}),
        json!({"timeoutMs": "1000"}),
    ];
    for mut input in table {
        input["command"] = json!("echo partial; sleep 1000");
        let output = desk.call("Bash", input.clone()).await;
        assert_eq!(output.failure, Some(ErrorCode::ToolCancelled), "{input}");
        assert!(
            output
                .text()
                .starts_with("partial\n[stopped after 1 seconds"),
            "{input}: {}",
            output.text()
        );
    }
}

#[tokio::test]
async fn a_cancel_ends_the_command_and_keeps_what_it_wrote() {
    let desk = Desk::new();
    let running = tokio::spawn({
        let (tools, context) = (desk.tools.clone(), desk.context.clone());
        let input = json!({"command": "echo begun; sleep 1000 & echo $! >pid; wait"});
        async move { crate::desk::call(&tools, "Bash", input, context).await }
    });
    let sleeper = loop {
        let number = std::fs::read_to_string(desk.path("pid")).unwrap_or_default();
        if let Ok(number) = number.trim().parse() {
            break ProcessIdentity::of(number).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    desk.context.cancel.cancel();
    let output = running.await.unwrap();
    assert_eq!(
        (output.text().as_str(), output.failure),
        ("begun\n[cancelled]", Some(ErrorCode::ToolCancelled))
    );
    assert!(!is_alive(sleeper));
}

#[tokio::test]
async fn whoever_watches_is_told_everything_in_order() {
    let desk = Desk::new();
    desk.done(
        "Bash",
        json!({"command": "echo one; printf 'zw\\303'; sleep 0.3; printf '\\266lf'; echo; echo three"}),
    )
    .await;
    assert_eq!(*desk.told.lock().unwrap(), "one\nzwölf\nthree\n");
}

#[tokio::test]
async fn a_flood_is_bounded() {
    let desk = Desk::new();
    let text = desk
        .failed("Bash", json!({"command": "yes", "timeout_secs": 1}))
        .await;
    assert!(text.len() < 9_000_000 && text.contains("bytes left out"));
}

#[tokio::test]
async fn a_working_directory_that_is_gone_is_named() {
    let mut desk = Desk::new();
    desk.context.cwd = desk.path("gone").into();
    assert!(
        desk.failed("Bash", json!({"command": "ls"}))
            .await
            .contains("gone")
    );
}

#[tokio::test]
async fn looking_at_a_repository_does_not_run_what_its_settings_name() {
    let desk = Desk::new();
    let hostile =
        "git init -q . && git config core.fsmonitor 'touch ran; echo' && git status --short; ls";
    let listed = desk.done("Bash", json!({"command": hostile})).await;
    assert!(!listed.contains("ran"), "{listed}");
}
