//! Gate commands and commands without a model.

use rooftree_protocol::ScheduleDraft;
use rooftree_providers::scripted::say;
use rooftree_testkit::TestRuntime;

use super::fixture::{add, draft, history, pass_until, scheduled, states};

fn gated(line: &str) -> ScheduleDraft {
    ScheduleDraft {
        gate: Some(line.into()),
        ..draft("every 10m")
    }
}

/// What the model was asked last.
fn asked(runtime: &TestRuntime) -> String {
    format!("{:?}", runtime.model.requests().last().unwrap().messages)
}

#[tokio::test]
async fn the_exit_code_of_a_gate_decides_whether_a_model_is_asked() {
    for (line, wanted, is_asked) in [
        ("exit 0", "completed", true),
        ("exit 1", "skipped gate", false),
        ("exit 2", "failed gate_error", false),
        ("kill -9 $$", "failed gate_error", false),
        ("no-such-program-here", "failed gate_error", false),
    ] {
        let runtime = scheduled([say("Done.")]).build();
        let added = add(&runtime, &gated(line)).await;
        pass_until(&runtime, 600, &added.id, 1).await;
        assert_eq!(states(&runtime, &added.id).await, [wanted], "{line}");
        assert_eq!(!runtime.model.requests().is_empty(), is_asked, "{line}");
        runtime.close().await;
    }
}

#[tokio::test]
async fn a_gate_says_what_the_agent_reads_and_keeps_its_state_if_the_run_completes() {
    let runtime = scheduled([say("One."), say("Two.")]).build();
    let line = r#"printf '{"message": "seen %s", "state": "%s+"}' "$(cat)" "$ROOFTREE_GATE_STATE""#;
    let added = add(&runtime, &gated(line)).await;
    pass_until(&runtime, 600, &added.id, 1).await;
    assert!(asked(&runtime).contains("[Gate output]\\nseen "));
    pass_until(&runtime, 600, &added.id, 2).await;
    assert!(asked(&runtime).contains("[Gate output]\\nseen +"));
    let row = runtime.store().schedule(&added.id).await.unwrap().unwrap();
    assert_eq!(row.gate_state.as_deref(), Some("++"));
    runtime.close().await;
}

#[tokio::test]
async fn the_state_of_a_gate_is_not_kept_if_the_run_fails() {
    let runtime = scheduled([]).build();
    let added = add(&runtime, &gated(r#"echo '{"state": "new"}'"#)).await;
    pass_until(&runtime, 600, &added.id, 1).await;
    assert_eq!(
        states(&runtime, &added.id).await,
        ["failed script_exhausted"]
    );
    let row = runtime.store().schedule(&added.id).await.unwrap().unwrap();
    assert_eq!(row.gate_state, None);
    runtime.close().await;
}

#[tokio::test]
async fn a_command_is_run_without_a_model_and_its_output_is_the_result() {
    for (line, wanted, answer) in [
        ("echo three files", "completed", Some("three files")),
        ("echo half; exit 3", "failed command", Some("half")),
    ] {
        let runtime = scheduled([]).build();
        let command = ScheduleDraft {
            prompt: None,
            command: Some(line.into()),
            ..draft("every 10m")
        };
        let added = add(&runtime, &command).await;
        pass_until(&runtime, 600, &added.id, 1).await;
        assert_eq!(states(&runtime, &added.id).await, [wanted]);
        let found = history(&runtime, &added.id).await;
        assert_eq!(found[0].answer.as_deref(), answer);
        runtime.close().await;
    }
}
