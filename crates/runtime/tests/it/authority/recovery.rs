//! A run that was interrupted goes on with at most what it began with.

use rooftree_protocol::{
    Command, Confinement, Effect, EventBody, Network, PermissionMode, RunStatus, SandboxMode,
};
use rooftree_providers::scripted::{ScriptEntry, call, say};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::{PermissionRule, Policy, SandboxConfig, Toolset};
use serde_json::json;

use super::{left_open, notices, tools};

/// A model that looks, is held there, and then does all it can.
fn script() -> [ScriptEntry; 3] {
    let all = ["Change", "Destroy", "Act", "Walls"].map(|tool| call(tool, json!({"say": tool})));
    [
        say("").calls([call("Held", json!({}))]),
        say("").calls(all),
        say("done"),
    ]
}

fn plan(held: std::sync::Arc<dyn rooftree_tools::Tool>, policy: Policy) -> TestRuntimeBuilder {
    let mut plan = TestRuntimeBuilder::new(script())
        .tools(Toolset::new(tools().iter().cloned().chain([held])));
    plan.rights.policy = policy;
    plan
}

fn held() -> std::sync::Arc<dyn rooftree_tools::Tool> {
    ProbeTool::gated("Held", Effect::ReadOnly).0
}

fn open() -> std::sync::Arc<dyn rooftree_tools::Tool> {
    ProbeTool::open("Held", Effect::ReadOnly)
}

fn mode(mode: PermissionMode) -> Policy {
    Policy {
        mode,
        ..Policy::default()
    }
}

/// A run that one process begins, and another one goes on with to its end.
async fn continued(
    began: TestRuntimeBuilder,
    continues: TestRuntimeBuilder,
) -> (TestRuntime, rooftree_protocol::SessionId) {
    let runtime = began.build();
    let session = runtime.post("go").await;
    runtime.wait_for_event(&session, "tool.started").await;
    let runtime = runtime.crash(continues).await;
    runtime.recover().await;
    runtime.wait_for_run(&session).await;
    runtime.verify().await;
    (runtime, session)
}

#[tokio::test]
async fn r2_d1_a_run_begun_in_plan_mode_goes_on_in_plan_mode_in_a_process_that_bypasses() {
    let began = Policy {
        deny: vec![PermissionRule::parse("Act").unwrap()],
        ..mode(PermissionMode::Plan)
    };
    let (runtime, session) = continued(
        plan(held(), began),
        plan(open(), mode(PermissionMode::Bypass)),
    )
    .await;
    let story = runtime.transcript(&session).await;
    for tool in ["Change", "Destroy"] {
        assert!(
            story.contains(&format!(
                "tool     {tool} denied: [denied] plan mode only looks"
            )),
            "{story}"
        );
    }
    assert!(
        story.contains("tool     Act denied: [denied] the deny rule `Act`"),
        "{story}"
    );
    let told = notices(&runtime, &session, "resumed").await;
    assert!(
        told[0].contains("goes on in mode `plan`") && told[0].contains("`bypass`"),
        "{told:?}"
    );
    runtime.post_to(&session, "again").await;
    runtime.wait_for_nth_run(&session, 2).await;
}

#[tokio::test]
async fn r2_d1_a_run_that_recorded_no_policy_goes_on_in_plan_mode() {
    let script = [
        say("")
            .matching("left open")
            .calls([call("Change", json!({}))]),
        say("done"),
    ];
    let mut plan = TestRuntimeBuilder::new(script).tools(tools());
    plan.rights.policy = mode(PermissionMode::Bypass);
    let runtime = plan.build();
    let session = left_open(&runtime, "lead", None, None).await;
    runtime.recover().await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(
        story.contains("tool     Change denied: [denied] plan mode only looks"),
        "{story}"
    );
}

#[tokio::test]
async fn r2_d1_a_deny_rule_of_the_run_holds_in_the_process_that_continues_it() {
    let began = Policy {
        deny: vec![PermissionRule::parse("Change").unwrap()],
        ..mode(PermissionMode::Bypass)
    };
    let (runtime, session) = continued(
        plan(held(), began),
        plan(open(), mode(PermissionMode::Bypass)),
    )
    .await;
    let story = runtime.transcript(&session).await;
    assert!(
        story.contains("tool     Change denied") && story.contains("tool     Act done"),
        "{story}"
    );
    assert!(
        notices(&runtime, &session, "resumed").await[0].contains("still denied: Change"),
        "{story}"
    );
}

#[tokio::test]
async fn r2_d1_the_sandbox_and_the_network_of_the_run_are_a_ceiling() {
    let walled = Confinement {
        mode: SandboxMode::Auto,
        network: Network::Off,
        ..Confinement::default()
    };
    let mut began = plan(held(), mode(PermissionMode::Bypass));
    began.rights.sandbox = SandboxConfig {
        confinement: walled,
        ..SandboxConfig::off()
    };
    let (runtime, session) = continued(began, plan(open(), mode(PermissionMode::Bypass))).await;
    let story = runtime.transcript(&session).await;
    let walls = story
        .lines()
        .find(|line| line.contains("tool     Walls"))
        .unwrap()
        .to_owned();
    assert!(
        walls.contains(r#""mode":"auto""#) && walls.contains(r#""network":"off""#),
        "{walls}"
    );
}

#[tokio::test]
async fn r2_d1_the_turns_and_the_money_of_the_run_are_a_ceiling() {
    let looks = || {
        let mut entries = vec![say("").calls([call("Held", json!({}))])];
        entries.extend((0..9).map(|n| say("").calls([call("Look", json!({"say": n}))])));
        entries
    };
    let mut began = plan(held(), mode(PermissionMode::Bypass)).max_turns(3);
    began.entries = looks();
    let mut wide = plan(open(), mode(PermissionMode::Bypass)).max_turns(50);
    wide.entries = looks();
    let (runtime, session) = continued(began, wide).await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!((end.status, end.turns), (RunStatus::MaxTurns, 3));
    let bounds = runtime
        .events(&session)
        .await
        .into_iter()
        .find_map(|event| match event.body {
            EventBody::RunStarted { bounds, .. } => bounds,
            _ => None,
        });
    assert_eq!(bounds.unwrap().max_turns, 3);
}

#[tokio::test]
async fn r2_d1_a_tool_that_the_definition_got_since_is_not_used_by_a_run_that_began_without_it() {
    use rooftree_protocol::{AgentDefinition, Scope};
    let lead = |names: &[&str]| AgentDefinition {
        tools: Scope::only(names.iter().copied()),
        ..AgentDefinition::new("lead")
    };
    let began = plan(held(), mode(PermissionMode::Bypass)).agent(lead(&["Held", "Change"]));
    let continues = plan(open(), mode(PermissionMode::Bypass))
        .agent(lead(&["Held", "Change", "Destroy", "Act", "Walls"]));
    let (runtime, session) = continued(began, continues).await;
    let story = runtime.transcript(&session).await;
    assert!(story.contains("tool     Change done"), "{story}");
    assert!(
        story.contains("tool     Destroy failed: tool_not_allowed"),
        "{story}"
    );
}

#[tokio::test]
async fn n_14_a_run_begun_in_auto_goes_on_in_auto_only_where_that_is_permitted_and_says_so_otherwise()
 {
    let (runtime, session) = continued(
        plan(held(), mode(PermissionMode::Auto)),
        plan(open(), mode(PermissionMode::Auto)),
    )
    .await;
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("tool     Destroy done")
    );
    assert!(notices(&runtime, &session, "resumed").await.is_empty());
    let (runtime, session) = continued(
        plan(held(), mode(PermissionMode::Auto)),
        plan(open(), mode(PermissionMode::Ask)),
    )
    .await;
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("tool     Destroy denied")
    );
    let told = notices(&runtime, &session, "resumed").await;
    assert!(
        told[0].contains("began in mode `auto` and goes on in mode `ask`"),
        "{told:?}"
    );
}

#[tokio::test]
async fn r2_d1_what_a_person_agreed_to_in_another_process_holds_as_far_as_this_one_permits() {
    let entries = || {
        [
            say("").calls([call("EnterPlanMode", json!({}))]),
            say("").calls([call("ExitPlanMode", json!({"plan": "p"}))]),
            say("").calls([call("Held", json!({}))]),
            say("").calls([call("Change", json!({"say": "x"}))]),
            say("done"),
        ]
    };
    let build = |held, most| {
        let mut plan = plan(held, mode(most));
        plan.entries = entries().into();
        plan.tools = rooftree_runtime::people_tools::with_tools(&plan.tools);
        plan.rights.approvals = rooftree_runtime::ApprovalSource::Client;
        plan
    };
    let runtime = build(held(), PermissionMode::Ask).build();
    let session = runtime.post("go").await;
    let asked = runtime.wait_for_event(&session, "question.requested").await;
    let EventBody::QuestionRequested { id, .. } = &asked.body else {
        panic!()
    };
    let answers = [(
        "plan".to_owned(),
        vec!["Yes, and change files without asking".to_owned()],
    )];
    let reply = rooftree_protocol::QuestionReply::Answered {
        answers: answers.into(),
    };
    runtime
        .command(Command::Reply {
            question: id.clone(),
            reply,
        })
        .await;
    runtime
        .wait_until(
            &session,
            "the held call",
            |event| matches!(&event.body, EventBody::ToolStarted { tool, .. } if tool == "Held"),
        )
        .await;
    let mut narrow = build(open(), PermissionMode::Plan);
    narrow.rights.approvals = rooftree_runtime::ApprovalSource::Nobody;
    let runtime = runtime.crash(narrow).await;
    runtime.recover().await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(
        story.contains("tool     Change denied: [denied] plan mode only looks"),
        "{story}"
    );
}
