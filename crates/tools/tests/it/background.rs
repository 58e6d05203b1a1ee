//! Bash in the background, BashOutput and TaskStop.

use std::time::Duration;

use rooftree_process::{ExitReason, is_alive};
use rooftree_protocol::{ErrorCode, SessionId};
use rooftree_tools::ProcessEvent;
use serde_json::json;

use crate::desk::{Desk, call};

async fn start(desk: &Desk, command: &str) -> String {
    let text = desk
        .done(
            "Bash",
            json!({"command": command, "run_in_background": true}),
        )
        .await;
    text.split_whitespace()
        .find(|word| word.starts_with("prc_"))
        .unwrap()
        .trim_end_matches('.')
        .to_owned()
}

/// Looks until the text is there; gives all that was seen.
async fn look_until(desk: &Desk, id: &str, wanted: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(wanted) {
        seen += &desk.done("BashOutput", json!({"task_id": id})).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    seen
}

#[tokio::test]
async fn each_look_shows_what_is_new() {
    let desk = Desk::new();
    let id = start(
        &desk,
        "echo first; until test -e go; do sleep 0.01; done; echo second; exit 4",
    )
    .await;
    look_until(&desk, &id, "first").await;
    let quiet = desk.done("exec_poll", json!({"bash_id": id})).await;
    assert_eq!(quiet, format!("[nothing new]\n[{id} is still running]"));
    desk.put("go", "");
    let rest = look_until(&desk, &id, "exit code 4").await;
    assert!(rest.contains("second") && !rest.contains("first"), "{rest}");
}

#[tokio::test]
async fn a_task_is_stopped_with_everything_it_started() {
    let desk = Desk::new();
    let mut events = desk.processes.events();
    let id = start(&desk, "setsid sleep 1000 & echo up; wait").await;
    let Some(ProcessEvent::Started {
        identity, command, ..
    }) = events.recv().await
    else {
        panic!("not started")
    };
    assert!(is_alive(identity) && command.starts_with("setsid"));
    look_until(&desk, &id, "up").await;
    assert_eq!(
        desk.done("kill_task", json!({"task_id": id})).await,
        format!("Task \"{id}\" was stopped.")
    );
    assert!(!is_alive(identity));
    assert!(matches!(
        events.recv().await,
        Some(ProcessEvent::Ended {
            ending: ExitReason::Cancelled,
            ..
        })
    ));
    assert!(
        desk.done("BashOutput", json!({"task_id": id}))
            .await
            .contains("was stopped")
    );
}

#[tokio::test]
async fn a_task_that_has_ended_is_not_stopped_again() {
    let desk = Desk::new();
    let id = start(&desk, "exit 5").await;
    look_until(&desk, &id, "exit code 5").await;
    let text = desk.done("TaskStop", json!({"task_id": id})).await;
    assert_eq!(
        text,
        format!("Task \"{id}\" is already completed: it ended with exit code 5.")
    );
}

#[tokio::test]
async fn a_task_of_another_session_is_not_there() {
    let desk = Desk::new();
    let id = start(&desk, "sleep 1000").await;
    let mut stranger = desk.context.clone();
    stranger.session = SessionId::from_entropy(2);
    for tool in ["BashOutput", "TaskStop"] {
        let output = call(&desk.tools, tool, json!({"task_id": id}), stranger.clone()).await;
        assert_eq!(output.failure, Some(ErrorCode::TaskNotFound));
        assert_eq!(output.text(), format!("Task \"{id}\" not found."));
    }
    assert!(
        desk.done("BashOutput", json!({"task_id": id}))
            .await
            .contains("is still running")
    );
}

#[tokio::test]
async fn all_tasks_of_a_session_end_together_and_no_more_than_the_limit_run() {
    let desk = Desk::new();
    let mut events = desk.processes.events();
    for _ in 0..16 {
        start(&desk, "sleep 1000").await;
    }
    let text = desk
        .failed(
            "Bash",
            json!({"command": "sleep 1000", "run_in_background": true}),
        )
        .await;
    assert!(
        text.contains("16 background processes are running"),
        "{text}"
    );
    desk.processes
        .stop_session_processes(&desk.context.session)
        .await;
    let mut started = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let ProcessEvent::Started { identity, .. } = event {
            started.push(identity);
        }
    }
    assert_eq!(started.len(), 16);
    assert!(started.iter().all(|identity| !is_alive(*identity)));
}

#[tokio::test]
async fn dropping_everything_ends_everything() {
    let desk = Desk::new();
    let mut events = desk.processes.events();
    start(&desk, "sleep 1000").await;
    let Some(ProcessEvent::Started { identity, .. }) = events.recv().await else {
        panic!("not started")
    };
    drop(desk);
    assert!(matches!(
        events.recv().await,
        Some(ProcessEvent::Ended {
            ending: ExitReason::Cancelled,
            ..
        })
    ));
    assert!(!is_alive(identity));
}
