//! Work that is checked when an agent says it is done.

mod agents;
mod confined;
mod endings;

use std::sync::Arc;

use rooftree_protocol::{AgentDefinition, EventBody, RunStatus, Verifier};
use rooftree_providers::scripted::{ScriptEntry, call, say};
use rooftree_runtime::ProjectContext;
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};
use rooftree_tools::BackgroundProcesses;
use serde_json::json;

fn start_runtime(
    entries: impl IntoIterator<Item = ScriptEntry>,
    verifier: Verifier,
) -> TestRuntime {
    let tools = rooftree_tools::builtin(Arc::new(BackgroundProcesses::new(|| 1)));
    let lead = AgentDefinition {
        verifiers: vec!["check".into()],
        ..AgentDefinition::new("lead")
    };
    let mut plan = TestRuntimeBuilder::new(entries).tools(tools).agent(lead);
    plan.project_context = ProjectContext {
        verifiers: [("check".to_owned(), verifier)].into(),
        ..ProjectContext::default()
    }
    .into();
    plan.build()
}

fn command(command: &str, pass_on_exit_0: bool) -> Verifier {
    Verifier::Command {
        command: command.into(),
        timeout_secs: 20,
        pass_on_exit_0,
    }
}

async fn attempts(
    runtime: &TestRuntime,
    session: &rooftree_protocol::SessionId,
) -> Vec<(u32, bool)> {
    let verdict = |event: &rooftree_protocol::Event| match &event.body {
        EventBody::RunVerified(verdict) => Some((verdict.attempt, verdict.passed)),
        _ => None,
    };
    runtime
        .events(session)
        .await
        .iter()
        .filter_map(verdict)
        .collect()
}

#[tokio::test]
async fn work_that_is_found_wanting_goes_back_with_the_reasons_until_it_is_good() {
    let runtime = start_runtime(
        [
            say("done"),
            say("").calls([call(
                "Write",
                json!({"file_path": "result.txt", "content": "42"}),
            )]),
            say("now it is done"),
        ],
        command("test -f result.txt || { echo no result; exit 3; }", true),
    );
    let session = runtime.post("write the result").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.verified, end.text.as_str()),
        (RunStatus::Completed, Some(true), "now it is done")
    );
    assert_eq!(attempts(&runtime, &session).await, [(1, false), (2, true)]);
    let told = format!("{:?}", runtime.model.requests()[1].messages.last().unwrap());
    assert!(
        told.contains("Verification failed") && told.contains("no result"),
        "{told}"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn the_number_of_attempts_is_bounded_and_the_status_is_honest() {
    let runtime = start_runtime([say("done").times(9)], command("false", true));
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.verified),
        (RunStatus::Completed, Some(false))
    );
    assert_eq!(
        attempts(&runtime, &session).await,
        [(1, false), (2, false), (3, false)]
    );
    assert_eq!(runtime.model.requests().len(), 3);
}

#[tokio::test]
async fn a_command_may_pass_by_failing_but_not_by_never_ending() {
    let runtime = start_runtime(
        [say("done").times(9)],
        command("grep -q TODO nothing.txt", false),
    );
    let session = runtime.post("go").await;
    assert_eq!(runtime.wait_for_run(&session).await.verified, Some(true));
    let endless = Verifier::Command {
        command: "sleep 60".into(),
        timeout_secs: 1,
        pass_on_exit_0: false,
    };
    let runtime = self::start_runtime([say("done").times(9)], endless);
    let session = runtime.post("go").await;
    assert_eq!(runtime.wait_for_run(&session).await.verified, Some(false));
}

#[tokio::test]
async fn a_judge_says_yes_or_no_and_anything_else_is_no() {
    for (said, good) in [
        (r#"{"passed": true, "reason": "shown"}"#, true),
        (r#"{"passed": false, "reason": "not shown"}"#, false),
        ("It surely passed.", false),
    ] {
        let script = [
            say("done").agent("lead").times(9),
            say(said).agent("judge").times(9),
        ];
        let runtime = start_runtime(
            script,
            Verifier::Judge {
                prompt: "Is it done?".into(),
            },
        );
        let session = runtime.post("go").await;
        assert_eq!(
            runtime.wait_for_run(&session).await.verified,
            Some(good),
            "{said}"
        );
    }
}
