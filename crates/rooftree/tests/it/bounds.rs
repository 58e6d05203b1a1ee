//! Every limit a program can set does what it says.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rooftree::{
    Agent, AgentLimits, ErrorCode, PermissionRequest, Query, RunOutcome, RunStatus, Runtime,
    testing::{FakeClock, ScriptEntry, ScriptedFailureKind, call, fail, say},
    tool,
};
use serde_json::json;

use crate::fixture::{Gate, background, helper, script, scripted, task};

/// A reply that looks at something; another one each time.
fn look(number: u32) -> ScriptEntry {
    say("Looking.").calls([call("Glob", json!({"pattern": format!("*.none{number}")}))])
}

async fn ended(query: Query) -> RunOutcome {
    query.stream().outcome().await.unwrap()
}

#[tokio::test]
async fn turns_and_money_end_a_run() {
    let looking = || scripted("Look", (0..5).map(look));
    let outcome = ended(looking().limits(AgentLimits::default().max_turns(2))).await;
    assert_eq!((outcome.status, outcome.turns), (RunStatus::MaxTurns, 2));

    let dear = || (0..5).map(|number| look(number).cost(0.25));
    let outcome =
        ended(scripted("Look", dear()).limits(AgentLimits::default().max_cost(0.3))).await;
    assert_eq!(outcome.status, RunStatus::Budget);
    assert!(outcome.turns < 5, "{outcome:?}");
}

#[tokio::test]
async fn time_ends_a_run() {
    let (gate, clock) = (Gate::shut(), Arc::new(FakeClock::seeded(1)));
    let query = scripted("Look", [look(0), say("Seen.")])
        .clock(clock.clone())
        .before_tool(gate.before("lead"));
    let ending = tokio::spawn(ended(
        query.limits(AgentLimits::default().timeout(Duration::from_secs(30))),
    ));
    gate.reached().await;
    clock.advance(Duration::from_secs(31));
    assert_eq!(ending.await.unwrap().status, RunStatus::TimedOut);
}

/// The lead asks the helper, who asks another one.
fn two_deep() -> Query {
    let entries = [
        say("")
            .calls([task("helper", "Have it done")])
            .agent("lead"),
        say("{{ results[0].text }}").agent("lead"),
        say("").calls([task("worker", "Do it")]).agent("helper"),
        say("{{ results[0].text }}").agent("helper"),
        say("Done below.").agent("worker"),
    ];
    scripted("Go", entries)
        .agent(helper())
        .agent(Agent::new("worker").describe("Works."))
}

#[tokio::test]
async fn delegation_goes_as_deep_as_is_said() {
    let depth = |depth| two_deep().limits(AgentLimits::default().max_depth(depth));
    assert!(depth(2).await.unwrap().text.contains("Done below."));
    for shallow in [0, 1] {
        let text = depth(shallow).await.unwrap().text;
        assert!(!text.contains("Done below."), "{shallow}: {text}");
    }
}

/// The lead starts two helpers in background, the first of which is still at work when the second begins.
async fn two_at_once(limits: AgentLimits) -> String {
    let entries = [
        say("")
            .calls([background("helper", "One"), background("helper", "Two")])
            .agent("lead"),
        say("{{ results[0].text }} | {{ results[1].text }}")
            .agent("lead")
            .turn(2),
        say("Told.").agent("lead"),
        look(0).agent("helper"),
        say("Helped.").agent("helper"),
    ];
    let gate = Gate::shut();
    let (opened, asked) = (gate.clone(), AtomicUsize::new(0));
    let query = scripted("Go", entries)
        .agent(helper())
        .limits(limits)
        .before_tool(gate.before("helper"));
    let events = query.after_tool(move |used| {
        if used.agent == "lead" && asked.fetch_add(1, Ordering::SeqCst) == 1 {
            opened.open();
        }
        async {}
    });
    let told = events
        .stream()
        .all()
        .await
        .unwrap()
        .into_iter()
        .filter_map(|event| match event.body {
            rooftree::EventBody::RunCompleted(end) if event.agent == "lead" => Some(end.text),
            _ => None,
        });
    told.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn only_so_many_are_at_work_at_the_same_time() {
    let told = two_at_once(AgentLimits::default()).await;
    assert!(!told.contains("at work already"), "{told}");
    let told = two_at_once(AgentLimits::default().max_children(1)).await;
    assert!(
        told.contains("1 agents of this session are at work already"),
        "{told}"
    );
    let told = two_at_once(AgentLimits::default().max_descendants(1)).await;
    assert!(
        told.contains("1 agents below the same root are at work already"),
        "{told}"
    );
}

#[tokio::test]
async fn those_delegated_to_have_turns_of_their_own() {
    let mut entries: Vec<ScriptEntry> = (0..5).map(|number| look(number).agent("helper")).collect();
    entries.push(say("").calls([task("helper", "Look")]).agent("lead"));
    entries.push(say("Done.").agent("lead"));
    let query = scripted("Go", entries)
        .agent(helper())
        .limits(AgentLimits::default().max_child_turns(2));
    let events = query.stream().all().await.unwrap();
    rooftree::testing::assert_events!(events, [
        RunCompleted(end) in "helper" if end.status == RunStatus::MaxTurns,
        RunCompleted(end) in "lead" if end.status == RunStatus::Completed,
    ]);
}

#[tokio::test]
async fn a_call_goes_on_without_whom_it_waits_for_too_long() {
    let entries = [
        say("").calls([task("helper", "Slowly")]).agent("lead"),
        say("{{ results[0].text }}").agent("lead").turn(2),
        say("Told.").agent("lead"),
        look(0).agent("helper"),
        say("At last.").agent("helper"),
    ];
    let (gate, clock) = (Gate::shut(), Arc::new(FakeClock::seeded(1)));
    let limits = AgentLimits::default().delegation_timeout(Duration::from_secs(5));
    let query = scripted("Go", entries)
        .agent(helper())
        .clock(clock.clone())
        .limits(limits);
    let opened = gate.clone();
    let query = query
        .before_tool(gate.before("helper"))
        .after_tool(move |used| {
            if used.agent == "lead" {
                opened.open();
            }
            async {}
        });
    let events = tokio::spawn(query.stream().all());
    gate.reached().await;
    clock.advance(Duration::from_secs(6));
    let events = events.await.unwrap().unwrap();
    rooftree::testing::assert_events!(events, [
        ToolCompleted(record) in "lead" if record.task.as_ref().is_some_and(|task| task.status.is_none()),
        RunCompleted(end) in "lead" if end.text.contains("[detached]"),
    ]);
}

/// How many are inside at the same time, at most.
static MOST: AtomicUsize = AtomicUsize::new(0);
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// Waits a little.
#[tool(read_only)]
async fn linger() -> Result<String, String> {
    MOST.fetch_max(INSIDE.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    Ok("lingered".into())
}

#[tokio::test]
async fn only_so_many_calls_run_at_the_same_time() {
    for (limits, most) in [
        (AgentLimits::default().max_concurrent_calls(1), 1),
        (AgentLimits::default(), 3),
    ] {
        MOST.store(0, Ordering::SeqCst);
        let calls = || (0..3).map(|_| call("linger", json!({})));
        let query = scripted("Linger", [say("").calls(calls()), say("Done.")]).tool(linger());
        query.limits(limits).await.unwrap();
        assert_eq!(MOST.load(Ordering::SeqCst), most);
    }
}

#[tokio::test]
async fn the_same_call_again_and_again_ends_a_run() {
    let query = scripted("Look", (0..5).map(|_| look(0)))
        .limits(AgentLimits::default().max_identical_calls(2));
    let outcome = ended(query).await;
    assert_eq!((outcome.status, outcome.turns), (RunStatus::Failed, 3));
    assert!(outcome.problem.unwrap().message.contains("same Glob call"));
}

#[tokio::test]
async fn a_long_result_is_cut() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("long.txt"), "word ".repeat(2_000)).unwrap();
    let read = call("Read", json!({"file_path": "long.txt"}));
    let entries = [say("").calls([read]), say("{{ results[0].text }}")];
    let query = scripted("Read it", entries).cwd(place.path());
    let text = query
        .limits(AgentLimits::default().max_result_chars(100))
        .await
        .unwrap()
        .text;
    assert!(text.len() < 1_000 && text.contains("word"), "{text}");
}

#[tokio::test]
async fn a_failed_request_is_made_again_so_many_times() {
    let failing = || {
        let overloaded = || fail(ScriptedFailureKind::Overloaded).retry_after(Duration::ZERO);
        scripted("Hi", [overloaded(), say("Hello.")])
    };
    let error = failing()
        .limits(AgentLimits::default().max_retries(0))
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
    assert!(error.is_retryable());
    assert_eq!(
        failing()
            .limits(AgentLimits::default().max_retries(1))
            .await
            .unwrap()
            .text,
        "Hello."
    );
}

#[tokio::test]
async fn an_inbox_takes_only_so_many() {
    let gate = Gate::shut();
    let model = script([look(0), say("Seen.").times(9)]);
    let builder = Runtime::builder()
        .provider("scripted", model)
        .before_tool(gate.before("lead"));
    let runtime = builder
        .limits(AgentLimits::default().max_inbox(2))
        .build()
        .await
        .unwrap();
    let session = runtime.session("lead").create().await.unwrap();
    session.send("1").await.unwrap();
    gate.reached().await;
    let mut refused = None;
    for number in 2..9 {
        if let Err(error) = session.send(number.to_string()).await {
            refused = Some(error);
            break;
        }
    }
    let refused = refused.expect("nobody was refused");
    assert_eq!(refused.code(), ErrorCode::InboxFull);
    assert!(refused.is_retryable());
    gate.open();
    runtime.stop().await;
}

#[tokio::test]
async fn a_question_waits_only_so_long() {
    let write = call("Write", json!({"file_path": "note.txt", "content": "hi"}));
    let model = script([say("").calls([write]), say("{{ results[0].text }}")]);
    let (place, clock) = (tempfile::tempdir().unwrap(), Arc::new(FakeClock::seeded(1)));
    let builder = Runtime::builder()
        .provider("scripted", model)
        .cwd(place.path())
        .clock(clock.clone());
    let limits = AgentLimits::default().permission_timeout(Duration::from_secs(5));
    let runtime = builder
        .ask_by_events()
        .limits(limits)
        .build()
        .await
        .unwrap();
    let mut run = runtime
        .session("lead")
        .create()
        .await
        .unwrap()
        .send("Write")
        .await
        .unwrap();
    while let Some(event) = run.next().await {
        let event = event.unwrap();
        if let Some(question) = PermissionRequest::from_event(&event) {
            assert_eq!(question.until.since(event.ts), Duration::from_secs(5));
            break;
        }
    }
    runtime.stop().await;
}

#[tokio::test]
async fn limits_nobody_can_work_with_are_told_at_once_and_later_ones_count() {
    let table = [
        AgentLimits::default().max_turns(0),
        AgentLimits::default().max_child_turns(0),
        AgentLimits::default().max_concurrent_calls(0),
        AgentLimits::default().max_inbox(0),
        AgentLimits::default().max_cost(f64::NAN),
        AgentLimits::default().max_cost(-1.0),
        AgentLimits::default().timeout(Duration::ZERO),
    ];
    for limits in table {
        let error = scripted("Hi", [say("Hello.")])
            .limits(limits.clone())
            .await
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfig, "{limits:?}");
        assert!(error.hint().is_some(), "{error:?}");
    }
    // What is said later holds, and what it leaves open stays.
    let query = scripted("Look", (0..5).map(look)).max_turns(1).max_depth(2);
    let outcome = ended(query.limits(AgentLimits::default().max_turns(3))).await;
    assert_eq!(outcome.turns, 3);
    let query = two_deep()
        .max_depth(2)
        .limits(AgentLimits::default().max_turns(9));
    assert!(query.await.unwrap().text.contains("Done below."));
}
