//! Checks that do not come to their end: stopped, failed, or out of money.

use std::{path::Path, sync::Arc, time::Duration};

use rooftree_protocol::{
    AgentDefinition, Command, Effect, Event, EventBody, RunStatus, Scope, SessionId, Verifier,
    event::RunMode,
};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use serde_json::json;

use super::agents::{asked, known, named, plan, told, verdicts, with_look};

/// An agent that checks with nothing but Look.
fn looking(name: &str) -> AgentDefinition {
    AgentDefinition {
        tools: Scope::only(["Look".to_owned()]),
        ..named(name)
    }
}

async fn stop(runtime: &TestRuntime, session: &SessionId) {
    runtime
        .command(Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
}

/// How the runs of a session began.
async fn modes(runtime: &TestRuntime, session: &SessionId) -> Vec<RunMode> {
    let mode = |event: Event| match event.body {
        EventBody::RunStarted { mode, .. } => Some(mode),
        _ => None,
    };
    runtime
        .events(session)
        .await
        .into_iter()
        .filter_map(mode)
        .collect()
}

#[tokio::test]
async fn whoever_stops_a_run_while_it_is_checked_stops_the_check_and_is_not_woken_by_it() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let script = [
        say("done").agent("lead").times(9),
        say("VERDICT: PASS").agent("checker").times(9),
        say("").agent("second").calls([call("Look", json!({}))]),
        say("VERDICT: PASS").agent("second"),
    ];
    let plan =
        with_look(plan(script, &["agent:checker", "agent:second"]), look).agent(looking("second"));
    let runtime = plan.build();
    let session = runtime.post("go").await;
    // The first has answered, and the second is at work.
    while keeper.started() < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stop(&runtime, &session).await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!((end.status, end.verified), (RunStatus::Cancelled, None));
    let children = runtime.children(&session).await;
    let second = children
        .iter()
        .find(|child| child.agent == "second")
        .unwrap();
    assert_eq!(
        runtime.wait_for_run(&second.id).await.status,
        RunStatus::Cancelled
    );
    assert!(verdicts(&runtime, &session).await.is_empty());

    keeper.open(1);
    runtime.post_to(&session, "again").await;
    let end = runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(
        (end.status, end.verified),
        (RunStatus::Completed, Some(true))
    );
    assert_eq!(
        modes(&runtime, &session).await,
        [RunMode::Main, RunMode::Main],
        "nothing woke it meanwhile"
    );
    assert_eq!(
        (
            asked(&runtime, "lead").len(),
            told(&runtime, &session).await
        ),
        (2, 0)
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_command_and_a_function_that_check_are_stopped_too() {
    let mut endless = plan([say("done").agent("lead")], &["endless"]);
    let command = "touch started; sleep 600".to_owned();
    known(
        &mut endless,
        [(
            "endless",
            Verifier::Command {
                command,
                timeout_secs: 600,
                pass_on_exit_0: true,
            },
        )],
    );
    let runtime = endless.build();
    let session = runtime.post("go").await;
    let has_started = |place: &Path| place.join("started").exists();
    while !has_started(runtime.path()) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stop(&runtime, &session).await;
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Cancelled
    );

    let started = Arc::new(tokio::sync::Notify::new());
    let reached = started.clone();
    let lead = AgentDefinition {
        verifiers: vec!["never".into()],
        ..AgentDefinition::new("lead")
    };
    let mut plan = TestRuntimeBuilder::new([say("done")]).agent(lead);
    plan.checkers.insert(
        "never".into(),
        Arc::new(move |_| {
            reached.notify_one();
            Box::pin(std::future::pending())
        }),
    );
    let runtime = plan.build();
    let session = runtime.post("go").await;
    started.notified().await;
    stop(&runtime, &session).await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!((end.status, end.verified), (RunStatus::Cancelled, None));
}

#[tokio::test]
async fn whoever_did_not_come_to_its_end_has_not_said_yes_whatever_it_said() {
    let look = || {
        say("VERDICT: PASS")
            .agent("checker")
            .calls([call("Look", json!({}))])
    };
    let script = [say("done").agent("lead").times(9), look().times(9)];
    let look = ProbeTool::open("Look", Effect::ReadOnly);
    let mut plan = with_look(plan(script, &["short"]), look).agent(looking("checker"));
    let short = Verifier::Agent {
        agent: "checker".into(),
        prompt: None,
        timeout_secs: 60,
        max_turns: Some(1),
    };
    known(&mut plan, [("short", short)]);
    let runtime = plan.build();
    let session = runtime.post("go").await;
    assert_eq!(runtime.wait_for_run(&session).await.verified, Some(false));
    let report = verdicts(&runtime, &session)
        .await
        .remove(0)
        .reports
        .remove(0);
    assert_eq!(
        report.task.unwrap().status,
        Some(RunStatus::MaxTurns),
        "{}",
        report.said
    );
}

#[tokio::test]
async fn whoever_checks_later_may_spend_what_those_before_have_left() {
    let script = [
        say("done").agent("lead"),
        say("VERDICT: PASS").agent("checker").cost(0.25),
        say("VERDICT: PASS").agent("second").cost(0.25),
    ];
    let mut plan = plan(script, &["agent:checker", "agent:second"]).agent(named("second"));
    plan.limits.max_cost_usd = Some(1.0);
    let runtime = plan.build();
    let session = runtime.post("go").await;
    assert_eq!(runtime.wait_for_run(&session).await.verified, Some(true));
    for child in runtime.children(&session).await {
        let asked = runtime.wait_for_event(&child.id, "message.user").await;
        let EventBody::MessageUser { message, .. } = &asked.body else {
            unreachable!()
        };
        let most = message.mandate.as_ref().unwrap().max_cost_usd.unwrap();
        let left = if child.agent == "second" { 0.75 } else { 1.0 };
        assert!((most - left).abs() < 1e-9, "{}: {most}", child.agent);
    }
}
