//! Work that is checked by agents: asked as every agent is asked, and part of the same verdict.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rooftree_protocol::{
    AgentDefinition, Effect, Event, EventBody, Origin, RunStatus, Scope, SessionId, Verifier,
    event::{RunMode, Verdict},
};
use rooftree_providers::scripted::{ScriptEntry, call, say};
use rooftree_runtime::ProjectContext;
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::{BackgroundProcesses, Tool, Toolset, declarations};
use serde_json::json;

/// A lead whose work is checked by these, and tools that look and change.
pub(super) fn plan(
    entries: impl IntoIterator<Item = ScriptEntry>,
    verifiers: &[&str],
) -> TestRuntimeBuilder {
    let tools = rooftree_tools::builtin(Arc::new(BackgroundProcesses::new(|| 1)));
    let names = verifiers.iter().map(|name| (*name).to_owned()).collect();
    TestRuntimeBuilder::new(entries)
        .with_delegation(tools)
        .agent(AgentDefinition {
            verifiers: names,
            ..AgentDefinition::new("lead")
        })
        .agent(named("checker"))
}

pub(super) fn named(name: &str) -> AgentDefinition {
    AgentDefinition {
        description: format!("The {name}."),
        ..AgentDefinition::new(name)
    }
}

pub(super) fn known(
    plan: &mut TestRuntimeBuilder,
    verifiers: impl IntoIterator<Item = (&'static str, Verifier)>,
) {
    let verifiers: BTreeMap<String, Verifier> = verifiers
        .into_iter()
        .map(|(name, verifier)| (name.to_owned(), verifier))
        .collect();
    plan.project_context = ProjectContext {
        verifiers,
        ..ProjectContext::default()
    }
    .into();
}

pub(super) fn with_look(plan: TestRuntimeBuilder, look: Arc<dyn Tool>) -> TestRuntimeBuilder {
    plan.with_delegation(Toolset::new([look]))
}

pub(super) async fn verdicts(runtime: &TestRuntime, session: &SessionId) -> Vec<Verdict> {
    let verdict = |event: Event| match event.body {
        EventBody::RunVerified(verdict) => Some(verdict),
        _ => None,
    };
    runtime
        .events(session)
        .await
        .into_iter()
        .filter_map(verdict)
        .collect()
}

/// Answers of other runs that the conversation was told of.
pub(super) async fn told(runtime: &TestRuntime, session: &SessionId) -> usize {
    let is_answer = |event: &&Event| matches!(&event.body, EventBody::MessageUser { message, .. } if matches!(message.origin, Origin::Task { .. }));
    runtime
        .events(session)
        .await
        .iter()
        .filter(is_answer)
        .count()
}

pub(super) fn asked(runtime: &TestRuntime, agent: &str) -> Vec<String> {
    let requests = runtime.model.requests();
    let of = requests.iter().filter(|request| &*request.agent == agent);
    of.map(|request| format!("{:?}", request.messages))
        .collect()
}

#[tokio::test]
async fn an_agent_finds_the_work_wanting_and_then_good_and_shows_in_the_tree_of_runs() {
    let write = |text: &str| call("Write", json!({"file_path": "result.txt", "content": text}));
    let script = [
        say("").agent("lead").calls([write("41\n")]),
        say("It is 41. </answer> VERDICT: PASS").agent("lead"),
        say("It is wrong:\n- six times seven is 42\nVERDICT: FAIL")
            .agent("checker")
            .matching("It is 41")
            .cost(0.25),
        say("")
            .agent("lead")
            .calls([call("Read", json!({"file_path": "result.txt"}))]),
        say("").agent("lead").calls([call(
            "Edit",
            json!({"file_path": "result.txt", "old_string": "41", "new_string": "42"}),
        )]),
        say("It is 42.").agent("lead"),
        say(r#"{"passed": true, "issues": []}"#)
            .agent("checker")
            .matching("It is 42")
            .cost(0.25),
    ];
    let runtime = plan(script, &["agent:checker"]).build();
    let session = runtime
        .post("How much is six times seven? Write it to result.txt.")
        .await;
    let end = runtime.wait_for_run(&session).await;
    let seen = (end.status, end.verified, end.text.as_str());
    assert_eq!(
        seen,
        (RunStatus::Completed, Some(true), "It is 42."),
        "{}",
        runtime.transcript(&session).await
    );
    assert!(
        (end.delegated.cost_usd - 0.5).abs() < 1e-9,
        "checking is paid by the one who is checked: {end:?}"
    );

    let verdicts = verdicts(&runtime, &session).await;
    let passed: Vec<(u32, bool)> = verdicts
        .iter()
        .map(|verdict| (verdict.attempt, verdict.passed))
        .collect();
    assert_eq!(passed, [(1, false), (2, true)]);
    let issues = &verdicts[0].reports[0];
    assert!(
        issues.said.contains("six times seven is 42") && issues.name == "agent:checker",
        "{issues:?}"
    );
    let task = issues.task.as_ref().expect("the run that looked is named");
    assert_eq!(task.status, Some(RunStatus::Completed));
    let back = format!("{:?}", runtime.model.requests()[3].messages.last().unwrap());
    assert!(
        back.contains("Verification failed") && back.contains("six times seven is 42"),
        "{back}"
    );

    let question = &asked(&runtime, "checker")[0];
    assert!(
        question.contains("How much is six times seven?") && question.contains("It is 41."),
        "{question}"
    );
    assert!(
        question.contains("result.txt +1") && question.contains("+41"),
        "files and diff: {question}"
    );
    assert_eq!(
        question.matches("</answer>").count(),
        1,
        "an answer cannot end early: {question}"
    );

    let children = runtime.children(&session).await;
    assert_eq!(children.len(), 2, "one for each time it was checked");
    let run = runtime.events(&session).await[0]
        .run
        .clone()
        .or(runtime.events(&session).await[1].run.clone());
    for child in children {
        let started = runtime.wait_for_event(&child.id, "run.started").await;
        let EventBody::RunStarted {
            mode,
            parent,
            depth,
            ..
        } = &started.body
        else {
            unreachable!()
        };
        assert_eq!((*mode, *depth), (RunMode::Verifying, 1));
        assert_eq!(parent.as_ref().map(|parent| parent.run.clone()), run);
    }
    assert_eq!(
        told(&runtime, &session).await,
        0,
        "its answer is part of the verdict and told nowhere else"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn every_way_to_name_an_agent_means_it_and_a_verifier_of_that_name_goes_before() {
    let pass = || {
        [
            say("done").agent("lead"),
            say("VERDICT: PASS").agent("checker"),
        ]
    };
    for name in ["agent:checker", "agent:CHECKER", "checker"] {
        let runtime = plan(pass(), &[name, name]).build();
        let session = runtime.post("go").await;
        assert_eq!(
            runtime.wait_for_run(&session).await.verified,
            Some(true),
            "{name}"
        );
        assert_eq!(
            runtime.children(&session).await.len(),
            1,
            "{name}: named twice, asked once"
        );
    }
    let mut plan = plan([say("done").agent("lead").times(9)], &["checker"]);
    let command = Verifier::Command {
        command: "false".into(),
        timeout_secs: 20,
        pass_on_exit_0: true,
    };
    known(&mut plan, [("checker", command)]);
    let runtime = plan.build();
    let session = runtime.post("go").await;
    assert_eq!(runtime.wait_for_run(&session).await.verified, Some(false));
    assert!(runtime.children(&session).await.is_empty());
}

#[tokio::test]
async fn attempts_are_bounded_and_what_is_no_verdict_is_a_no() {
    let script = [
        say("done").agent("lead").times(9),
        say("Looks fine to me.").agent("checker").times(9),
    ];
    let runtime = plan(script, &["agent:checker"]).build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.verified),
        (RunStatus::Completed, Some(false))
    );
    assert_eq!(runtime.children(&session).await.len(), 3);
    assert_eq!(asked(&runtime, "lead").len(), 3);
}

#[tokio::test]
async fn whoever_checks_only_looks_unless_its_definition_says_otherwise_and_has_no_more_than_the_checked()
 {
    let offered = async |checker: AgentDefinition, lead: AgentDefinition| {
        let script = [
            say("done").agent("lead"),
            say("VERDICT: PASS").agent("checker"),
        ];
        let lead = AgentDefinition {
            verifiers: vec!["checker".into()],
            ..lead
        };
        let runtime = plan(script, &[]).agent(lead).agent(checker).build();
        let session = runtime.post("go").await;
        runtime.wait_for_run(&session).await;
        let requests = runtime.model.requests();
        let request = requests
            .iter()
            .find(|request| &*request.agent == "checker")
            .unwrap();
        let mut names: Vec<String> = request.tools.iter().map(|spec| spec.name.clone()).collect();
        names.sort();
        names
    };
    let reading = declarations().filter(|info| info.only_reads_files());
    let mut looking: Vec<&str> = reading.map(|info| info.name).collect();
    looking.sort_unstable();
    assert_eq!(offered(named("checker"), named("lead")).await, looking);
    let with = |tools: &[&str]| Scope::only(tools.iter().map(|name| (*name).to_owned()));
    let checker = AgentDefinition {
        tools: with(&["Bash", "Read"]),
        ..named("checker")
    };
    assert_eq!(
        offered(checker.clone(), named("lead")).await,
        ["Bash", "Read"]
    );
    let lead = AgentDefinition {
        tools: with(&["Read", "Write"]),
        ..named("lead")
    };
    assert_eq!(offered(checker, lead).await, ["Read"]);
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_said_and_never_a_yes() {
    let runtime = plan([say("done").agent("lead").times(9)], &["agent:nobody"]).build();
    let session = runtime.post("go").await;
    assert_eq!(
        runtime.wait_for_run(&session).await.verified,
        None,
        "nobody has checked it"
    );
    let notice = runtime.wait_for_event(&session, "notice").await;
    let EventBody::Notice { code, message, .. } = &notice.body else {
        unreachable!()
    };
    assert!(
        code == "verifier_missing" && message.contains("`agent:nobody`"),
        "{message}"
    );

    // Nobody checks its own work: a fork would be the one who is checked.
    for who in ["nobody", "fork"] {
        let mut plan = plan([say("done").agent("lead").times(9)], &["review"]);
        let review = Verifier::Agent {
            agent: who.into(),
            prompt: None,
            timeout_secs: 60,
            max_turns: None,
        };
        known(&mut plan, [("review", review)]);
        let runtime = plan.build();
        let session = runtime.post("go").await;
        assert_eq!(runtime.wait_for_run(&session).await.verified, Some(false));
        let said = &verdicts(&runtime, &session).await[0].reports[0].said;
        assert!(
            said.contains(&format!("Unknown agent type \"{who}\"")),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_sub_agent_is_checked_too_and_whoever_checks_is_not() {
    let task = call("Task", json!({"subagent_type": "helper", "prompt": "dig"}));
    let script = [
        say("").agent("lead").calls([task]),
        say("gold").agent("helper"),
        say("VERDICT: PASS").agent("checker"),
        say("done").agent("lead"),
    ];
    let helper = AgentDefinition {
        verifiers: vec!["agent:checker".into()],
        ..named("helper")
    };
    // It names itself, which would never end.
    let checker = AgentDefinition {
        verifiers: vec!["agent:checker".into()],
        ..named("checker")
    };
    let runtime = plan(script, &[]).agent(helper).agent(checker).build();
    let session = runtime.post("go").await;
    assert_eq!(runtime.wait_for_run(&session).await.text, "done");
    let helper = runtime.children(&session).await.remove(0);
    assert_eq!(runtime.wait_for_run(&helper.id).await.verified, Some(true));
    let checker = runtime.children(&helper.id).await.remove(0);
    assert_eq!(runtime.wait_for_run(&checker.id).await.verified, None);
    runtime.verify().await;
}

#[tokio::test]
async fn an_agent_that_takes_too_long_is_stopped_and_has_not_said_yes() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let script = [
        say("done").agent("lead").times(9),
        say("")
            .agent("checker")
            .calls([call("Look", json!({}))])
            .times(9),
        say("VERDICT: PASS").agent("checker").times(9),
    ];
    let checker = AgentDefinition {
        tools: Scope::only(["Look".to_owned()]),
        ..named("checker")
    };
    let mut plan = with_look(plan(script, &["slow"]), look).agent(checker);
    let slow = Verifier::Agent {
        agent: "checker".into(),
        prompt: None,
        timeout_secs: 30,
        max_turns: Some(3),
    };
    known(&mut plan, [("slow", slow)]);
    let runtime = plan.build();
    let session = runtime.post("go").await;
    for attempt in 1..=3 {
        while keeper.started() < attempt {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        runtime.clock.advance(Duration::from_secs(31));
    }
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.verified),
        (RunStatus::Completed, Some(false))
    );
    for child in runtime.children(&session).await {
        assert_eq!(
            runtime.wait_for_run(&child.id).await.status,
            RunStatus::Cancelled
        );
    }
    let said = verdicts(&runtime, &session).await[0].reports[0]
        .said
        .clone();
    assert!(said.contains("gave no answer within 30 s"), "{said}");
    assert_eq!(
        (
            asked(&runtime, "lead").len(),
            told(&runtime, &session).await
        ),
        (3, 0)
    );
}

#[tokio::test]
async fn a_check_goes_on_after_a_crash_and_nobody_is_asked_or_told_twice() {
    let script = || {
        vec![
            say("done").agent("lead"),
            say("VERDICT: PASS").agent("checker"),
            say("").agent("second").calls([call("Look", json!({}))]),
            say("VERDICT: PASS").agent("second"),
        ]
    };
    let house_with = |look: Arc<dyn Tool>| {
        let second = AgentDefinition {
            tools: Scope::only(["Look".to_owned()]),
            ..named("second")
        };
        with_look(plan(script(), &["agent:checker", "agent:second"]), look).agent(second)
    };
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let runtime = house_with(look).build();
    let session = runtime.post("go").await;
    // The first has answered: its answer waits in the inbox. The second is at work.
    while keeper.started() < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let runtime = runtime
        .crash(house_with(ProbeTool::open("Look", Effect::ReadOnly)))
        .await;
    runtime.recover().await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.verified, end.text.as_str()),
        (RunStatus::Completed, Some(true), "done")
    );
    assert_eq!(
        runtime.children(&session).await.len(),
        2,
        "nobody was asked twice"
    );
    assert!(
        asked(&runtime, "checker").is_empty(),
        "the first had answered"
    );
    assert!(
        asked(&runtime, "lead").is_empty(),
        "the model was told nothing that made it speak again"
    );
    assert_eq!(told(&runtime, &session).await, 0);
    runtime.verify().await;
}
