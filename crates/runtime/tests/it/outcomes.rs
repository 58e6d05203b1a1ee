//! How runs end is told truthfully: answers that were cut, work that was not verified, runs that were stopped.

use std::sync::Arc;

use rooftree_protocol::{
    AgentDefinition, Effect, EventBody, RunStatus, SessionId, Verifier, event::StopReason,
};
use rooftree_providers::scripted::{
    ScriptEntry, ScriptedCall, ScriptedFailureKind, call, fail, say,
};
use rooftree_runtime::{
    ProjectContext,
    hooks::{ConfiguredHook, HookPoint, HookProgram},
};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::{BackgroundProcesses, Toolset};
use serde_json::{Value, json};

fn cut(text: &str) -> ScriptEntry {
    say(text).stop(StopReason::MaxOutput)
}

fn helper() -> AgentDefinition {
    AgentDefinition {
        description: "Helps.".into(),
        ..AgentDefinition::new("helper")
    }
}

fn ask(prompt: &str, more: Value) -> ScriptedCall {
    let mut input = json!({"subagent_type": "helper", "prompt": prompt});
    input
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    call("Task", input)
}

fn delegating(entries: impl IntoIterator<Item = ScriptEntry>) -> TestRuntimeBuilder {
    TestRuntimeBuilder::new(entries)
        .with_delegation(Toolset::new([ProbeTool::open("Look", Effect::ReadOnly)]))
        .agent(helper())
}

#[tokio::test]
async fn r1_d2_all_pieces_of_a_continued_reply_are_the_answer() {
    let runtime = TestRuntimeBuilder::new([cut("PART-1 "), cut("PART-2 "), say("end.")]).build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.text.as_str()),
        (RunStatus::Completed, "PART-1 PART-2 end.")
    );
    runtime.verify().await;
}

#[tokio::test]
async fn r2_d0_the_parent_reads_all_pieces_of_a_continued_reply() {
    let runtime = delegating([
        say("").agent("lead").calls([ask("report", json!({}))]),
        say("{{ results[0].text }}").agent("lead"),
        cut("PART-1 ").agent("helper"),
        cut("PART-2 ").agent("helper"),
        say("PART-3 end.").agent("helper"),
    ])
    .build();
    let session = runtime.post("go").await;
    let said = runtime.wait_for_run(&session).await.text;
    assert!(said.starts_with("PART-1 PART-2 PART-3 end.\n"), "{said}");
}

#[tokio::test]
async fn r2_d0_pieces_before_a_failure_are_kept() {
    let runtime =
        TestRuntimeBuilder::new([cut("PART-1 "), fail(ScriptedFailureKind::Refused)]).build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.text.as_str()),
        (RunStatus::Failed, "PART-1 ")
    );
}

#[tokio::test]
async fn r2_d0_an_answer_that_stays_cut_is_truncated_and_never_completed() {
    let runtime = TestRuntimeBuilder::new((0..9).map(|_| cut("again "))).build();
    let session = runtime.post("count").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.turns),
        (RunStatus::Truncated, 4),
        "one reply and three continuations"
    );
    assert_eq!(end.text, "again again again again ");

    let runtime = TestRuntimeBuilder::new([cut("half an"), say("never asked")])
        .max_turns(1)
        .build();
    let session = runtime.post("count").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.text.as_str()),
        (RunStatus::Truncated, "half an"),
        "no turn is left"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn r2_d0_a_parent_is_told_first_that_the_answer_was_cut() {
    let runtime = delegating([
        say("").agent("lead").calls([ask("report", json!({}))]),
        say("{{ results[0].ok }} {{ results[0].text }}").agent("lead"),
        cut("half ").agent("helper").times(9),
    ])
    .build();
    let session = runtime.post("go").await;
    let said = runtime.wait_for_run(&session).await.text;
    assert!(
        said.starts_with(
            "False [ERROR: sub-agent 'helper' was cut off at the model's output limit"
        ),
        "{said}"
    );
    assert!(said.contains("\nhalf half half half"), "{said}");
}

/// A helper whose work is checked by this command, and a lead that asks it.
fn checked(command: &str, more: Value) -> TestRuntime {
    let tools = rooftree_tools::builtin(Arc::new(BackgroundProcesses::new(|| 1)));
    let helper = AgentDefinition {
        verifiers: vec!["tests".into()],
        ..helper()
    };
    let verifier = Verifier::Command {
        command: command.into(),
        timeout_secs: 20,
        pass_on_exit_0: true,
    };
    let entries = [
        say("").agent("lead").calls([ask("fix", more)]),
        say("{{ results[0].ok }} {{ results[0].text }}").agent("lead"),
        say("woken").agent("lead").times(9),
        say("All fixed.").agent("helper").times(9),
    ];
    let mut plan = TestRuntimeBuilder::new(entries)
        .with_delegation(tools)
        .agent(helper);
    plan.project_context = ProjectContext {
        verifiers: [("tests".to_owned(), verifier)].into(),
        ..ProjectContext::default()
    }
    .into();
    plan.build()
}

#[tokio::test]
async fn r1_d1_a_parent_is_told_first_that_the_work_was_not_verified() {
    let runtime = checked("echo ok.txt is missing; exit 1", json!({}));
    let session = runtime.post("go").await;
    let said = runtime.wait_for_run(&session).await.text;
    let first =
        "False [ERROR: sub-agent 'helper' says it is done, but its work was not verified (tests: ";
    assert!(
        said.starts_with(first) && said.contains("ok.txt is missing"),
        "{said}"
    );
    assert!(said.contains("All fixed."), "{said}");
    let child = runtime.children(&session).await.remove(0);
    let end = runtime.wait_for_run(&child.id).await;
    assert_eq!(
        (end.status, end.verified, end.failed_checks.len()),
        (RunStatus::Completed, Some(false), 1)
    );
}

#[tokio::test]
async fn r1_d1_verified_work_is_told_as_it_is() {
    let runtime = checked("true", json!({}));
    let session = runtime.post("go").await;
    let said = runtime.wait_for_run(&session).await.text;
    assert!(said.starts_with("True All fixed.\n"), "{said}");
}

#[tokio::test]
async fn r1_d1_a_background_notice_says_first_that_the_work_was_not_verified() {
    let runtime = checked("exit 1", json!({"run_in_background": true}));
    let session = runtime.post("go").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let last = runtime
        .model
        .requests()
        .into_iter()
        .rfind(|request| &*request.agent == "lead")
        .unwrap();
    let read = format!("{:?}", last.messages);
    assert!(read.contains("(helper) completed, not verified]"), "{read}");
    assert!(read.contains("verified=\\\"false\\\""), "{read}");
    assert!(
        read.contains("Summary: [ERROR: sub-agent 'helper' says it is done, but"),
        "{read}"
    );
}

/// Hooks that keep what they are told about delegated runs, a line each.
fn keeping(log: &std::path::Path) -> Vec<ConfiguredHook> {
    [HookPoint::SubagentStart, HookPoint::SubagentStop]
        .map(|point| {
            let mut hook = ConfiguredHook::program(
                point,
                HookProgram::shell(&format!("cat >> '{}'", log.display())),
            );
            hook.level = rooftree_protocol::DefinitionLevel::User;
            hook
        })
        .to_vec()
}

/// The points and statuses that were kept.
fn told(log: &std::path::Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let line = |line: &str| {
        let told: Value = serde_json::from_str(line).unwrap();
        let word = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
        (word("hook_event_name"), word("status"))
    };
    text.lines().map(line).collect()
}

#[tokio::test]
async fn r1_d10_every_start_of_a_sub_agent_has_one_stop_however_it_ends() {
    let looks = || say("").calls([call("Look", json!({}))]).agent("helper");
    let cases: [(&str, Vec<ScriptEntry>, Value); 4] = [
        ("completed", vec![say("done").agent("helper")], json!({})),
        (
            "failed",
            vec![fail(ScriptedFailureKind::Refused).agent("helper")],
            json!({}),
        ),
        (
            "max_turns",
            vec![looks(), looks(), looks()],
            json!({"max_turns": 1}),
        ),
        (
            "truncated",
            vec![cut("half ").agent("helper").times(9)],
            json!({}),
        ),
    ];
    for (status, theirs, more) in cases {
        let place = tempfile::tempdir().unwrap();
        let log = place.path().join("log");
        let lead = [
            say("").agent("lead").calls([ask("go", more)]),
            say("over").agent("lead").times(9),
        ];
        let mut plan = delegating(lead.into_iter().chain(theirs));
        plan.hooks.hooks = keeping(&log);
        let runtime = plan.build();
        let session = runtime.post("go").await;
        runtime.wait_for_run(&session).await;
        runtime.close().await;
        let expected = [("SubagentStart", ""), ("SubagentStop", status)]
            .map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(told(&log), expected, "{status}");
    }
}

#[tokio::test]
async fn r1_d10_a_cancelled_sub_agent_stops_for_its_hooks_too() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let (look, _keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let entries = [
        say("").agent("lead").calls([ask("go", json!({}))]),
        say("").agent("helper").calls([call("Look", json!({}))]),
    ];
    let mut plan = TestRuntimeBuilder::new(entries)
        .with_delegation(Toolset::new([look]))
        .agent(helper());
    plan.hooks.hooks = keeping(&log);
    let runtime = plan.build();
    let session = runtime.post("go").await;
    let child = child_of(&runtime, &session).await;
    runtime.wait_for_event(&child, "tool.started").await;
    runtime
        .command(rooftree_protocol::Command::Cancel {
            session: session.clone(),
            run: None,
        })
        .await;
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Cancelled
    );
    assert_eq!(
        runtime.wait_for_run(&child).await.status,
        RunStatus::Cancelled
    );
    runtime.close().await;
    let names: Vec<(String, String)> = told(&log);
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(
        names[1],
        ("SubagentStop".to_owned(), "cancelled".to_owned())
    );
}

#[tokio::test]
async fn r1_d10_after_a_crash_neither_start_nor_stop_is_told_twice() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let plan = || {
        let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
        let entries = [
            say("").agent("lead").calls([ask("go", json!({}))]),
            say("over").agent("lead"),
            say("").agent("helper").calls([call("Look", json!({}))]),
            say("done").agent("helper"),
        ];
        let mut plan = TestRuntimeBuilder::new(entries)
            .with_delegation(Toolset::new([look]))
            .agent(helper());
        plan.hooks.hooks = keeping(&log);
        (plan, keeper)
    };
    let (first, _keeper) = plan();
    let runtime = first.build();
    let session = runtime.post("go").await;
    let child = child_of(&runtime, &session).await;
    runtime.wait_for_event(&child, "tool.started").await;
    let (second, keeper) = plan();
    keeper.open(9);
    let runtime = runtime.crash(second).await;
    runtime.recover().await;
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Completed
    );
    runtime.close().await;
    let names: Vec<String> = told(&log).into_iter().map(|(point, _)| point).collect();
    assert_eq!(names, ["SubagentStart", "SubagentStop"]);
}

/// The session of the agent that was asked, once the call has begun.
async fn child_of(runtime: &TestRuntime, session: &SessionId) -> SessionId {
    let begun = |event: &rooftree_protocol::Event| matches!(&event.body, EventBody::ToolStarted { tool, .. } if tool == "Task");
    runtime.wait_until(session, "the call", begun).await;
    loop {
        if let Some(child) = runtime.children(session).await.into_iter().next() {
            return child.id;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn r1_small_a_result_counts_one_turn_in_words_and_no_call_that_was_not_made() {
    let runtime = delegating([
        say("").agent("lead").calls([ask("go", json!({}))]),
        say("{{ results[0].text }}").agent("lead"),
        say("done").agent("helper"),
    ])
    .build();
    let session = runtime.post("go").await;
    let said = runtime.wait_for_run(&session).await.text;
    assert!(said.contains("1 turn, 0 calls, "), "{said}");

    let looks = |n: u32| say("").calls([call("Look", json!({"n": n}))]);
    let tools = Toolset::new([ProbeTool::open("Look", Effect::ReadOnly)]);
    let runtime = TestRuntimeBuilder::new((0..9).map(looks))
        .tools(tools)
        .max_turns(2)
        .build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.turns, end.calls),
        (RunStatus::MaxTurns, 2, 2)
    );
}
