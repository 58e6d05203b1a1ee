//! A reply that starts many agents: people are asked once about all of them, before any of them is started.

use rooftree_protocol::{
    AgentDefinition, Answer, Command, EventBody, InquiryResponse, Outcome, PermissionId,
    PermissionKind, PermissionMode, PermissionScope, Scope, SessionId, SpawnGroup,
};
use rooftree_providers::scripted::{ScriptEntry, say};
use rooftree_runtime::{ApprovalSource, Clock, inquiries};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};
use serde_json::json;

use super::{agent, plan, task, task_with};

/// A lead that asks so many helpers at once, as often as it is told to.
fn many(helpers: usize) -> TestRuntimeBuilder {
    let reply = move |count: usize| {
        let calls = (0..count).map(|number| task("helper", &format!("part {number}")));
        say("").agent("lead").calls(calls)
    };
    let lead = AgentDefinition {
        tools: Scope::only(["Look", "Change", "Task"]),
        ..agent("lead")
    };
    let helper = AgentDefinition {
        tools: Scope::only(["Look"]),
        ..agent("helper")
    };
    plan([
        reply(helpers),
        say("{{ results[0].text }}").agent("lead"),
        say("ok").agent("helper").usage(900, 100).cost(1.9),
    ])
    .agent(lead)
    .agent(helper)
    .asking(PermissionMode::Ask)
}

struct Asked {
    id: PermissionId,
    digest: String,
    title: String,
    detail: String,
    rule: String,
    scopes: Vec<PermissionScope>,
    kind: PermissionKind,
    spawn: Vec<SpawnGroup>,
}

async fn asked(runtime: &TestRuntime, session: &SessionId) -> Asked {
    let event = runtime
        .wait_for_event(session, "permission.requested")
        .await;
    let EventBody::PermissionRequested {
        id,
        digest,
        title,
        detail,
        rule,
        scopes,
        kind,
        spawn,
        ..
    } = event.body.clone()
    else {
        panic!()
    };
    Asked {
        id,
        digest,
        title,
        detail,
        rule,
        scopes,
        kind,
        spawn,
    }
}

async fn answer(runtime: &TestRuntime, session: &SessionId, asked: &Asked, answer: Answer) {
    let digest = Some(asked.digest.clone());
    let answer = Answer { digest, ..answer };
    let permit = Command::Permit {
        session: session.clone(),
        permission: asked.id.clone(),
        answer,
    };
    runtime.command(permit).await;
}

async fn questions(runtime: &TestRuntime, session: &SessionId) -> usize {
    let events = runtime.events(session).await;
    let is_asked = |body: &EventBody| matches!(body, EventBody::PermissionRequested { .. });
    events.iter().filter(|event| is_asked(&event.body)).count()
}

#[tokio::test]
async fn people_are_asked_once_about_all_agents_of_a_reply_before_any_is_started() {
    let runtime = many(12).build();
    let session = runtime.post_as("lead", "go").await;
    let asked = asked(&runtime, &session).await;
    assert_eq!(asked.kind, PermissionKind::Spawn);
    assert_eq!(asked.title, "12 agents: 12 × helper");
    assert_eq!(
        asked.scopes,
        [PermissionScope::Once, PermissionScope::Session]
    );
    assert_eq!(asked.rule, "Task(agents:12)");
    let [group] = asked.spawn.as_slice() else {
        panic!("{:?}", asked.spawn)
    };
    assert_eq!(group.calls.len(), 12);
    assert_eq!(group.tools, ["Look"]);
    assert_eq!(group.lost, ["Change", "Task"]);
    assert_eq!(group.forecast, None);
    assert!(asked.detail.contains("no past runs"), "{}", asked.detail);
    assert!(asked.detail.contains("task: part 11"), "{}", asked.detail);
    assert!(runtime.children(&session).await.is_empty());
    answer(
        &runtime,
        &session,
        &asked,
        Answer::allow(PermissionScope::Once),
    )
    .await;
    runtime.wait_for_run(&session).await;
    assert_eq!(runtime.children(&session).await.len(), 12);
    assert_eq!(questions(&runtime, &session).await, 1);
    runtime.verify().await;
}

#[tokio::test]
async fn a_no_gives_each_of_the_calls_a_result_that_says_so() {
    let runtime = many(9).build();
    let session = runtime.post_as("lead", "go").await;
    let asked = asked(&runtime, &session).await;
    let no = Answer::deny(Some("do it yourself".into()));
    answer(&runtime, &session, &asked, no).await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(end.denials.len(), 9);
    for denial in &end.denials {
        let words = "[rejected: do it yourself] None of the 9 agents of this reply was started.";
        assert_eq!(denial.reason, words);
    }
    assert!(runtime.children(&session).await.is_empty());
}

#[tokio::test]
async fn few_agents_and_a_mode_that_never_asks_need_no_answer() {
    for (count, mode) in [(8, PermissionMode::Ask), (12, PermissionMode::Bypass)] {
        let runtime = many(count).asking(mode).build();
        let session = runtime.post_as("lead", "go").await;
        runtime.wait_for_run(&session).await;
        assert_eq!(runtime.children(&session).await.len(), count);
        assert_eq!(questions(&runtime, &session).await, 0);
    }
}

#[tokio::test]
async fn where_no_person_can_be_asked_none_is_started_and_the_model_reads_why() {
    let mut plan = many(9);
    plan.rights.approvals = ApprovalSource::Nobody;
    let runtime = plan.build();
    let session = runtime.post_as("lead", "go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(end.denials.len(), 9);
    let reason = &end.denials[0].reason;
    assert!(
        reason.starts_with("[auto-rejected: no user can be asked] the reply starts 9 agents"),
        "{reason}"
    );
    assert!(runtime.children(&session).await.is_empty());
}

#[tokio::test]
async fn rules_about_task_do_not_widen_it_and_a_yes_for_the_session_holds_up_to_that_number() {
    let mut plan = many(9);
    plan.rights.policy.allow = vec!["Task".parse().unwrap(), "Task(helper)".parse().unwrap()];
    let runtime = plan.build();
    let session = runtime.post_as("lead", "go").await;
    let first = asked(&runtime, &session).await;
    answer(
        &runtime,
        &session,
        &first,
        Answer::allow(PermissionScope::Session),
    )
    .await;
    runtime.wait_for_run(&session).await;
    let (_, rules) = runtime.store().rules().await.unwrap();
    let rules: Vec<_> = rules.into_iter().map(|rule| rule.rule).collect();
    assert_eq!(rules, ["Task(agents:9)"]);
    runtime.post_to(&session, "again").await;
    runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(
        questions(&runtime, &session).await,
        1,
        "nine were allowed for the session"
    );
}

#[tokio::test]
async fn killed_while_it_waits_it_is_asked_once_and_each_agent_is_started_once() {
    let runtime = many(12).build();
    let session = runtime.post_as("lead", "go").await;
    let first = asked(&runtime, &session).await;
    let runtime = runtime.crash(many(12)).await;
    runtime.recover().await;
    let again = asked(&runtime, &session).await;
    assert_eq!((&again.id, &again.digest), (&first.id, &first.digest));
    answer(
        &runtime,
        &session,
        &again,
        Answer::allow(PermissionScope::Once),
    )
    .await;
    runtime.wait_for_run(&session).await;
    assert_eq!(questions(&runtime, &session).await, 1);
    let children = runtime.children(&session).await;
    assert_eq!(children.len(), 12, "exactly the calls that were listed");
    for child in &children {
        let ends = runtime.events(&child.id).await;
        let ends = ends
            .iter()
            .filter(|event| event.body.name() == "run.completed");
        assert_eq!(ends.count(), 1, "none was started twice");
    }
    runtime.verify().await;
}

#[tokio::test]
async fn an_answer_that_came_while_no_process_was_there_is_for_all_of_the_calls() {
    for (is_yes, started) in [(true, 12), (false, 0)] {
        let runtime = many(12).build();
        let session = runtime.post_as("lead", "go").await;
        let first = asked(&runtime, &session).await;
        let runtime = runtime.crash(many(12)).await;
        let given = if is_yes {
            Answer::allow(PermissionScope::Once)
        } else {
            Answer::deny(None)
        };
        let by = inquiries::by_person(
            InquiryResponse::Permission(given),
            &rooftree_testkit::owner(),
            runtime.clock.now(),
        );
        let store = runtime.store().clone();
        inquiries::answer(&*store, first.id.as_str(), by)
            .await
            .unwrap();
        runtime.recover().await;
        let end = runtime.wait_for_run(&session).await;
        assert_eq!(runtime.children(&session).await.len(), started);
        assert_eq!(end.denials.len(), 12 - started);
    }
}

#[tokio::test]
async fn an_agent_that_would_get_more_than_was_shown_is_not_started() {
    let runtime = many(9).build();
    let session = runtime.post_as("lead", "go").await;
    let first = asked(&runtime, &session).await;
    let wider = many(9).agent(AgentDefinition {
        tools: Scope::only(["Look", "Change"]),
        ..agent("helper")
    });
    let runtime = runtime.crash(wider).await;
    runtime.recover().await;
    answer(
        &runtime,
        &session,
        &first,
        Answer::allow(PermissionScope::Once),
    )
    .await;
    let end = runtime.wait_for_run(&session).await;
    assert!(runtime.children(&session).await.is_empty());
    assert!(
        end.denials
            .iter()
            .all(|denial| denial.reason.contains("not the one that was asked about"))
    );
}

#[tokio::test]
async fn the_forecast_is_the_mean_of_past_runs_and_its_cost_can_be_the_reason_to_ask() {
    let runtime = many(2).build();
    let session = runtime.post_as("lead", "go").await;
    runtime.wait_for_run(&session).await;
    assert_eq!(questions(&runtime, &session).await, 0, "two are few");
    let mut costly = many(2);
    costly.rights.spawn.cost_usd = Some(3.0);
    let runtime = runtime.reopen(costly).await;
    let session = runtime.post_as("lead", "go").await;
    let asked = asked(&runtime, &session).await;
    let forecast = asked.spawn[0].forecast.unwrap();
    assert_eq!((forecast.runs, forecast.tokens), (2, 1_000));
    let cost = forecast.cost_usd.unwrap();
    assert!((cost - 1.9).abs() < 1e-9, "{cost}");
    assert_eq!(asked.rule, "Task(cost:3.80)");
}

#[tokio::test]
async fn depth_is_asked_about_where_the_settings_say_so_and_a_child_in_background_asks_the_same_person()
 {
    let entries: Vec<ScriptEntry> = vec![
        say("")
            .agent("lead")
            .calls([task_with("scout", "x", json!({"run_in_background": true}))]),
        say("started").agent("lead"),
        say("heard").agent("lead"),
        say("").agent("scout").calls([task("helper", "y")]),
        say("{{ results[0].text }}").agent("scout"),
        say("deep").agent("helper"),
    ];
    let mut plan = plan(entries)
        .agent(agent("lead"))
        .asking(PermissionMode::Ask);
    plan.limits.depth = Some(2);
    plan.rights.spawn.depth = Some(1);
    let runtime = plan.build();
    let session = runtime.post_as("lead", "go").await;
    runtime.wait_for_run(&session).await;
    let scout = runtime.children(&session).await.remove(0);
    let asked = asked(&runtime, &scout.id).await;
    assert_eq!(asked.rule, "Task(depth:2)");
    let open = runtime.store().inquiries(Some(&session)).await.unwrap();
    assert_eq!(open[0].root, session, "the person of the root is asked");
    answer(
        &runtime,
        &scout.id,
        &asked,
        Answer::allow(PermissionScope::Once),
    )
    .await;
    runtime.wait_for_run(&scout.id).await;
    assert_eq!(runtime.children(&scout.id).await.len(), 1);
}

#[tokio::test]
async fn an_ask_rule_has_people_asked_in_every_mode_and_only_once_at_a_time() {
    let mut plan = many(3).asking(PermissionMode::Bypass);
    plan.rights.policy.ask = vec!["Task(agents:3)".parse().unwrap()];
    let runtime = plan.build();
    let session = runtime.post_as("lead", "go").await;
    let asked = asked(&runtime, &session).await;
    assert_eq!(asked.scopes, [PermissionScope::Once]);
    answer(
        &runtime,
        &session,
        &asked,
        Answer::allow(PermissionScope::Once),
    )
    .await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(end.denials.len(), 0);
    assert_eq!(runtime.children(&session).await.len(), 3);
    let events = runtime.events(&session).await;
    let done = events.iter().filter(|event| {
        matches!(&event.body, EventBody::ToolCompleted(record) if record.outcome == Outcome::Done)
    });
    assert_eq!(done.count(), 3);
}
