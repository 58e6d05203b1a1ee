//! Whoever watches a session sees everybody below it: live, later, and from another process.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rooftree_protocol::{AgentDefinition, Effect, Event, EventBody, SessionId};
use rooftree_providers::scripted::{ScriptEntry, ScriptedCall, call, say};
use rooftree_runtime::{EventFilter, TreeSubscription};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::json;

/// How long a story may take in real time before it is called stuck.
const PATIENCE: Duration = Duration::from_secs(20);

fn plan(entries: impl IntoIterator<Item = ScriptEntry>) -> TestRuntimeBuilder {
    let tools = Toolset::new([ProbeTool::open("Look", Effect::ReadOnly)]);
    let agent = AgentDefinition::new;
    TestRuntimeBuilder::new(entries)
        .with_delegation(tools)
        .agent(agent("helper"))
        .agent(agent("scout"))
}

fn task(agent: &str, prompt: &str) -> ScriptedCall {
    call("Task", json!({"subagent_type": agent, "prompt": prompt}))
}

/// A lead that asks two at once, each of which looks once.
fn two_at_once() -> Vec<ScriptEntry> {
    vec![
        say("")
            .agent("lead")
            .calls([task("helper", "dig"), task("scout", "run")]),
        say("both are back").agent("lead"),
        say("").agent("helper").calls([call("Look", json!({}))]),
        say("gold").agent("helper"),
        say("").agent("scout").calls([call("Look", json!({}))]),
        say("clear").agent("scout"),
    ]
}

/// Everything up to so many ends of runs.
async fn until_ended(tree: &mut TreeSubscription, runs: usize) -> Vec<Arc<Event>> {
    let mut seen = Vec::new();
    let mut ended = 0;
    let search = async {
        while ended < runs {
            let event = tree.next().await.unwrap();
            ended += usize::from(matches!(event.body, EventBody::RunCompleted(_)));
            seen.push(event);
        }
    };
    assert!(
        tokio::time::timeout(PATIENCE, search).await.is_ok(),
        "never saw {runs} runs end"
    );
    seen
}

/// The numbers of the durable events, by session.
fn numbers(events: &[Arc<Event>]) -> BTreeMap<SessionId, Vec<u64>> {
    let mut by_session: BTreeMap<SessionId, Vec<u64>> = BTreeMap::new();
    for event in events {
        by_session
            .entry(event.session.clone())
            .or_default()
            .extend(event.id);
    }
    by_session
}

/// Each journal that was seen is whole, in order, without a gap.
#[track_caller]
fn assert_whole(events: &[Arc<Event>], sessions: usize) {
    let numbers = numbers(events);
    assert_eq!(numbers.len(), sessions, "{numbers:?}");
    for (session, seen) in numbers {
        let last = seen.last().copied().unwrap_or_default();
        assert_eq!(seen, (1..=last).collect::<Vec<u64>>(), "{session}");
    }
}

fn whole_tree(runtime: &TestRuntime, session: &SessionId) -> TreeSubscription {
    runtime.handle.subscribe_tree(
        &rooftree_testkit::owner(),
        EventFilter {
            session: session.clone(),
            after: 0,
        },
    )
}

#[tokio::test]
async fn children_are_seen_live_in_order_and_without_a_gap() {
    let runtime = plan(two_at_once()).build();
    let session = runtime.post("go").await;
    let mut tree = whole_tree(&runtime, &session);
    let seen = until_ended(&mut tree, 3).await;
    assert_whole(&seen, 3);
    let agents: Vec<&str> = seen.iter().map(|event| event.agent.as_str()).collect();
    assert!(
        ["lead", "helper", "scout"]
            .iter()
            .all(|agent| agents.contains(agent)),
        "{agents:?}"
    );
}

#[tokio::test]
async fn what_is_over_is_told_again_the_same_way() {
    let runtime = plan(two_at_once()).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let seen = until_ended(&mut whole_tree(&runtime, &session), 3).await;
    assert_whole(&seen, 3);
    for (session, numbers) in numbers(&seen) {
        assert_eq!(
            numbers.len(),
            runtime.events(&session).await.len(),
            "all of {session}"
        );
    }
}

#[tokio::test]
async fn a_tree_that_grows_in_another_process_is_seen_too() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let mut at_work = plan(two_at_once());
    at_work.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([look]));
    let runtime = at_work.build();
    let onlooker = runtime.open_second(plan([]));
    let session = runtime.post("go").await;
    let mut tree = whole_tree(&onlooker, &session);
    // Both children are at work, and neither call has told anything yet.
    let search = async {
        let mut begun = 0;
        while begun < 3 {
            let event = tree.next().await.unwrap();
            begun += usize::from(matches!(event.body, EventBody::RunStarted { .. }));
        }
    };
    assert!(
        tokio::time::timeout(PATIENCE, search).await.is_ok(),
        "the children were not found"
    );
    keeper.open(2);
    until_ended(&mut tree, 3).await;
}

#[tokio::test]
async fn those_below_those_below_belong_to_the_tree() {
    let mut deep = plan([
        say("").agent("lead").calls([task("helper", "dig")]),
        say("done").agent("lead"),
        say("").agent("helper").calls([task("scout", "run ahead")]),
        say("gold").agent("helper"),
        say("clear").agent("scout"),
    ]);
    deep.limits.depth = Some(2);
    let runtime = deep.build();
    let session = runtime.post("go").await;
    let seen = until_ended(&mut whole_tree(&runtime, &session), 3).await;
    assert_whole(&seen, 3);
    assert!(seen.iter().any(|event| event.agent == "scout"));
}

/// Whatever is told of a run's result, all of the run was told before, and each piece before its reply.
#[track_caller]
fn assert_told_before_its_result(events: &[Arc<Event>]) {
    let mut ended = Vec::new();
    let mut pieces: BTreeMap<SessionId, String> = BTreeMap::new();
    for event in events {
        let said = pieces.entry(event.session.clone()).or_default();
        match &event.body {
            EventBody::RunCompleted(_) => ended.extend(event.run.clone()),
            EventBody::MessageDelta { text, .. } => said.push_str(text),
            EventBody::MessageCompleted(reply) => {
                assert!(
                    reply.text.starts_with(said.as_str()),
                    "{said:?} before {reply:?}"
                );
                said.clear();
            }
            EventBody::ToolCompleted(record) => {
                let note = record.task.as_ref().filter(|note| note.status.is_some());
                let is_told = note.is_none_or(|note| ended.contains(&note.task));
                assert!(is_told, "the result came first: {record:?}");
            }
            _ => {}
        }
    }
    assert!(
        pieces.values().all(String::is_empty),
        "late pieces: {pieces:?}"
    );
}

#[tokio::test]
async fn a_child_is_told_before_the_event_that_tells_its_result() {
    let entries = || {
        [
            say("").agent("lead").calls([task("helper", "dig")]),
            say("done").agent("lead"),
            say("").agent("helper").calls([task("scout", "run ahead")]),
            say("gold and more gold").agent("helper").chunk(2),
            say("the way is clear").agent("scout").chunk(2),
        ]
    };
    for _ in 0..10 {
        let mut deep = plan(entries());
        deep.limits.depth = Some(2);
        let house = deep.build();
        let session = house.post("go").await;
        let live = until_ended(&mut whole_tree(&house, &session), 3).await;
        assert_told_before_its_result(&live);
        let later = until_ended(&mut whole_tree(&house, &session), 3).await;
        assert_told_before_its_result(&later);
        assert_whole(&later, 3);
        let onlooker = house.open_second(plan([]));
        let elsewhere = until_ended(&mut whole_tree(&onlooker, &session), 3).await;
        assert_told_before_its_result(&elsewhere);
    }
}

#[tokio::test]
async fn a_watcher_who_looks_away_holds_nobody_up_and_misses_nothing_that_is_kept() {
    let runtime = plan(two_at_once()).build();
    let session = runtime.post("go").await;
    let mut tree = whole_tree(&runtime, &session);
    tree.next().await.unwrap();
    assert_eq!(runtime.wait_for_run(&session).await.text, "both are back");
    assert!(
        until_ended(&mut tree, 3)
            .await
            .iter()
            .any(|event| event.agent == "scout")
    );
}

#[tokio::test]
async fn whoever_comes_in_the_middle_sees_those_who_are_at_work() {
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let mut plan = plan([
        say("").agent("lead").calls([call(
            "Task",
            json!({"subagent_type": "helper", "prompt": "dig", "run_in_background": true}),
        )]),
        say("meanwhile").agent("lead"),
        say("heard").agent("lead").matching("child_result"),
        say("").agent("helper").calls([call("Look", json!({}))]),
        say("gold").agent("helper"),
    ]);
    plan.tools = rooftree_runtime::delegation::tools::with_tools(&Toolset::new([look]));
    let runtime = plan.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    while keeper.started() < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let head = runtime
        .store()
        .session(&session)
        .await
        .unwrap()
        .unwrap()
        .head;
    let mut tree = runtime.handle.subscribe_tree(
        &rooftree_testkit::owner(),
        EventFilter {
            session: session.clone(),
            after: head,
        },
    );
    // The subscription looks for those at work when it is first read. Once it delivers something, it has looked, and
    // the helper may end.
    let command = rooftree_protocol::Command::SetMode {
        session: session.clone(),
        mode: None,
    };
    runtime.command(command).await;
    let mut seen = vec![tree.next().await.unwrap()];
    keeper.open(1);
    seen.extend(until_ended(&mut tree, 2).await);
    let agents: Vec<&str> = seen.iter().map(|event| event.agent.as_str()).collect();
    assert!(
        agents.contains(&"helper") && agents.contains(&"lead"),
        "{agents:?}"
    );
}

#[tokio::test]
async fn who_was_on_the_bus_before_the_first_word_hears_every_piece_however_late_it_listens() {
    let runtime = plan([say("one two three").chunk(2), say("four")]).build();
    let session = runtime.post("go").await;
    let mut late = runtime.handle.subscribe(
        &rooftree_testkit::owner(),
        EventFilter {
            session: session.clone(),
            after: 0,
        },
    );
    runtime.wait_for_run(&session).await;
    // The journal knows of an end before the bus tells it; once a second run is over, the first one was told.
    runtime.post_to(&session, "on").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let (mut pieces, mut numbers) = (String::new(), Vec::new());
    loop {
        let event = late.next().await.unwrap();
        numbers.extend(event.id);
        match &event.body {
            EventBody::MessageDelta { text, .. } => pieces.push_str(text),
            EventBody::RunCompleted(_) => break,
            _ => {}
        }
    }
    assert_eq!(pieces, "one two three");
    assert_eq!(
        numbers,
        (1..=numbers.len() as u64).collect::<Vec<_>>(),
        "no gap and nothing twice"
    );
}

#[tokio::test]
async fn a_watcher_who_reads_on_in_the_journal_is_not_told_the_pieces_of_what_it_has_read() {
    let runtime = plan([say("one two three").chunk(2), say("four five").chunk(2)]).build();
    let session = runtime.post("go").await;
    // On the bus from the beginning, and only now reading: the journal is ahead of what waits there.
    let mut late = runtime.handle.subscribe(
        &rooftree_testkit::owner(),
        EventFilter {
            session: session.clone(),
            after: 0,
        },
    );
    runtime.wait_for_run(&session).await;
    runtime.post_to(&session, "on").await;
    runtime.wait_for_nth_run(&session, 2).await;
    runtime.post_silent(&session, "the end").await;
    let mut replies: Vec<String> = Vec::new();
    let mut pieces = String::new();
    let search = async {
        loop {
            match &late.next().await.unwrap().body {
                EventBody::MessageDelta { text, .. } => pieces.push_str(text),
                EventBody::MessageCompleted(reply) => {
                    assert!(
                        reply.text.starts_with(&pieces),
                        "{pieces:?} before {:?}",
                        reply.text
                    );
                    pieces.clear();
                    replies.push(reply.text.clone());
                }
                EventBody::InboxQueued {
                    lane: rooftree_protocol::Lane::Boundary,
                    ..
                } => return,
                _ => {}
            }
        }
    };
    assert!(
        tokio::time::timeout(PATIENCE, search).await.is_ok(),
        "the last word never came"
    );
    assert_eq!(
        (replies.as_slice(), pieces.as_str()),
        (["one two three".into(), "four five".into()].as_slice(), "")
    );
}

#[tokio::test]
async fn r2_d30_a_silent_tool_shows_that_it_is_at_work_more_and_more_rarely() {
    let (tool, gate) = ProbeTool::gated("Wait", Effect::ReadOnly);
    let script = [say("").calls([call("Wait", json!({}))]), say("done")];
    let runtime = TestRuntimeBuilder::new(script)
        .tools(Toolset::new([tool]))
        .build();
    let session = runtime.post("go").await;
    let mut events = runtime.handle.subscribe(
        &rooftree_testkit::owner(),
        EventFilter {
            session: session.clone(),
            after: 0,
        },
    );
    let mut seen = Vec::new();
    let mut told = async |wanted: &str| loop {
        let event = events.next().await.unwrap();
        if let EventBody::ToolProgress { elapsed_ms, .. } = event.body {
            assert_eq!(event.id, None, "it is not kept");
            seen.push(elapsed_ms / 1_000);
        }
        if event.body.name() == wanted {
            return;
        }
    };
    told("tool.started").await;
    while gate.started() == 0 {
        tokio::task::yield_now().await;
    }
    // Steps of one second, and each event is waited for before time goes on.
    for pause in [5, 10, 20, 40, 60, 60] {
        for _ in 0..pause {
            runtime.clock.advance(Duration::from_secs(1));
        }
        told("tool.progress").await;
    }
    gate.open(1);
    told("run.completed").await;
    assert_eq!(seen, [5, 15, 35, 75, 135, 195]);
    let story = runtime.transcript(&session).await;
    assert!(!story.contains("progress"), "{story}");
}
