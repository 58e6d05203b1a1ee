//! Contexts that grow: made smaller in time, or when the provider refuses them; the request is never lost.

use rooftree_protocol::{
    AgentDefinition, Command, Effect, EventBody, RunStatus, event::StopReason,
};
use rooftree_providers::{
    ModelMessage,
    scripted::{ScriptedFailureKind, call, fail, say},
};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::json;

fn compactions(events: &[rooftree_protocol::Event]) -> Vec<&rooftree_protocol::event::Compaction> {
    events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::ContextCompacted(compaction) => Some(compaction),
            _ => None,
        })
        .collect()
}

/// What the model read last, as one text.
fn last_read(runtime: &TestRuntime) -> String {
    let requests = runtime.model.requests();
    let asked = requests
        .iter()
        .rfind(|request| request.agent.as_ref() != "compaction")
        .unwrap();
    format!("{:?}", asked.messages)
}

#[tokio::test]
async fn a_context_is_summarised_before_it_fills_the_window_and_the_request_stays() {
    let summary = say("Facts: the colour is teal.")
        .agent("compaction")
        .matching(".*");
    let long = say("{{ user.text }} noted").agent("lead").matching(".*");
    let mut plan = TestRuntimeBuilder::new([summary, long]);
    plan.window = Some(2_000);
    let runtime = plan.build();
    let session = runtime
        .post(&format!("the colour is teal {}", "x".repeat(1_500)))
        .await;
    runtime.wait_for_run(&session).await;
    for number in 2..9 {
        runtime
            .post_to(&session, &format!("message {number} {}", "y".repeat(1_500)))
            .await;
        runtime.wait_for_nth_run(&session, number).await;
    }
    let events = runtime.events(&session).await;
    let done = compactions(&events);
    assert!(
        !done.is_empty(),
        "nothing was summarised:\n{}",
        runtime.transcript(&session).await
    );
    for compaction in done {
        assert!(
            compaction.after * 5 <= compaction.before * 4,
            "{compaction:?} did not help"
        );
    }
    let read = last_read(&runtime);
    assert!(read.contains("Facts: the colour is teal."), "{read}");
    assert!(
        read.contains("message 8"),
        "the last request is gone: {read}"
    );
    // What was summarised is still in the journal.
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("user     the colour is teal")
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_long_run_of_tool_calls_keeps_pairs_and_the_request_verbatim() {
    let tools = Toolset::new([ProbeTool::open("Look", Effect::ReadOnly)]);
    let steps = (0..12).map(|n| {
        say("")
            .calls([call("Look", json!({"say": "z".repeat(800), "n": n}))])
            .agent("lead")
    });
    let summary = say("Done: looked.").agent("compaction").matching(".*");
    let mut plan =
        TestRuntimeBuilder::new(steps.chain([say("finished").agent("lead"), summary])).tools(tools);
    plan.window = Some(3_000);
    let runtime = plan.build();
    let session = runtime.post("count the oddly named files").await;
    let end = runtime.wait_for_run(&session).await;
    assert!(!compactions(&runtime.events(&session).await).is_empty());
    assert!(last_read(&runtime).contains("count the oddly named files"));
    for request in runtime.model.requests() {
        for pair in request.messages.windows(2) {
            let calls = matches!(pair[0].as_ref(), ModelMessage::Assistant { .. });
            let results = matches!(pair[1].as_ref(), ModelMessage::Results(_));
            assert_eq!(calls, results, "a call lost its result");
        }
    }
    assert_ne!(
        end.status,
        RunStatus::Completed,
        "the script counts turns, which a summary hides"
    );
}

#[tokio::test]
async fn r2_d20_a_refused_request_is_given_up_after_at_most_one_reset() {
    let runtime = TestRuntimeBuilder::new([
        say("noted").agent("lead").matching("something before"),
        fail(ScriptedFailureKind::TooLong)
            .agent("lead")
            .matching("a request"),
        fail(ScriptedFailureKind::TooLong)
            .agent("compaction")
            .matching(".*"),
    ])
    .build();
    let session = runtime.post("something before").await;
    runtime.wait_for_run(&session).await;
    runtime.post_to(&session, "a request").await;
    let end = runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(end.status, RunStatus::Failed);
    assert_eq!(
        end.error.unwrap().code,
        rooftree_protocol::ErrorCode::ContextTooLong
    );
    assert!(
        last_read(&runtime).contains("a request"),
        "the request was lost"
    );
    let story = runtime.transcript(&session).await;
    assert!(
        story.matches("notice   context_reset").count() <= 1,
        "{story}"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn r2_d20_a_request_that_is_too_long_by_itself_resets_nothing() {
    let runtime =
        TestRuntimeBuilder::new((0..8).map(|_| fail(ScriptedFailureKind::TooLong).agent("lead")))
            .build();
    let session = runtime.post("a request").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        end.error.unwrap().code,
        rooftree_protocol::ErrorCode::ContextTooLong
    );
    assert!(
        !runtime.transcript(&session).await.contains("context_reset"),
        "nothing was there to leave out"
    );
    assert_eq!(
        runtime.model.requests().len(),
        1,
        "the same request is not sent again"
    );
}

#[tokio::test]
async fn a_model_that_cannot_summarise_is_replaced_by_an_extract() {
    let long = say("noted").agent("lead").matching(".*");
    let broken = fail(ScriptedFailureKind::Refused).agent("compaction");
    let mut plan = TestRuntimeBuilder::new([long, broken, say("never").agent("compaction")]);
    plan.window = Some(1_000);
    let runtime = plan.build();
    let session = runtime
        .post(&format!("remember the acorn {}", "x".repeat(2_000)))
        .await;
    runtime.wait_for_run(&session).await;
    runtime
        .post_to(&session, &format!("go on {}", "y".repeat(1_500)))
        .await;
    runtime.wait_for_nth_run(&session, 2).await;
    runtime.post_to(&session, "what was it?").await;
    assert_eq!(
        runtime.wait_for_nth_run(&session, 3).await.status,
        RunStatus::Completed
    );
    assert!(last_read(&runtime).contains("remember the acorn"));
}

#[tokio::test]
async fn a_reply_that_hit_the_output_limit_is_continued_and_not_for_ever() {
    let cut = |text: &str| say(text).stop(StopReason::MaxOutput);
    let runtime = TestRuntimeBuilder::new([cut("one "), cut("two "), say("three")]).build();
    let session = runtime.post("count").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!((end.status, end.turns), (RunStatus::Completed, 3));
    assert!(last_read(&runtime).contains("Your response was cut off. Please continue."));

    let runtime = TestRuntimeBuilder::new((0..9).map(|_| cut("again "))).build();
    let session = runtime.post("count").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.status, end.turns),
        (RunStatus::Truncated, 4),
        "one reply and three continuations"
    );
}

/// Below what the long texts of [`talked`] take even if the reported usage corrects the estimate as far down as it
/// can, which depends on whether the agent stayed in memory between two messages.
const EMERGENCY_LIMIT: u64 = 500;

/// A session of a lead with this emergency limit, whose answers and summaries are long.
async fn talked(definition: Option<u64>, setting: Option<u64>) -> (TestRuntime, String) {
    // Not even the summary is below the limit.
    let summary = say("s".repeat(13_000)).agent("compaction").matching(".*");
    let long = say("z".repeat(20_000)).agent("lead").matching(".*");
    let mut plan = TestRuntimeBuilder::new([summary, long]);
    plan.window = Some(1_000_000);
    plan.limits.emergency_context = setting;
    if let Some(tokens) = definition {
        let mut lead = AgentDefinition::new("lead");
        lead.prompt = "You lead.".into();
        lead.limits.emergency_context = tokens;
        plan = plan.agent(lead);
    }
    let runtime = plan.build();
    let session = runtime.post("the colour is teal").await;
    runtime.wait_for_run(&session).await;
    for number in 2..5 {
        runtime
            .post_to(&session, &format!("message {number}"))
            .await;
        runtime.wait_for_nth_run(&session, number).await;
    }
    let story = runtime.transcript(&session).await;
    let is_short = |line: &&str| line.len() < 500;
    let story: Vec<&str> = story.lines().filter(is_short).collect();
    runtime.verify().await;
    (runtime, story.join("\n"))
}

#[tokio::test]
async fn r2_d9_the_emergency_limit_of_a_definition_acts_below_the_models_window() {
    let (runtime, story) = talked(Some(EMERGENCY_LIMIT), None).await;
    assert!(story.contains("notice   context_reset"), "{story}");
    let read = last_read(&runtime);
    assert!(read.contains("message 4"), "the request is kept: {read}");
    assert!(!read.contains("message 2"), "{read}");
    let (_, story) = talked(None, None).await;
    assert!(
        !story.contains("context_reset"),
        "the default is far away: {story}"
    );
}

#[tokio::test]
async fn dc10_the_emergency_limit_is_a_setting_and_a_definition_may_say_otherwise() {
    let (_, story) = talked(None, Some(EMERGENCY_LIMIT)).await;
    assert!(story.contains("notice   context_reset"), "{story}");
    let (_, story) = talked(Some(500_000), Some(EMERGENCY_LIMIT)).await;
    assert!(!story.contains("context_reset"), "{story}");
    let (_, story) = talked(Some(0), Some(EMERGENCY_LIMIT)).await;
    assert!(
        !story.contains("context_reset"),
        "zero is no limit: {story}"
    );
}

#[tokio::test]
async fn r2_d20_a_reset_by_the_emergency_limit_is_told_once_per_request() {
    let (_, story) = talked(Some(EMERGENCY_LIMIT), None).await;
    assert_eq!(
        story.matches("notice   context_reset").count(),
        3,
        "{story}"
    );
    for request in story.split("user     message").skip(1) {
        let resets = request.matches("notice   context_reset").count();
        assert!(resets <= 1, "{story}");
    }
}

fn compact(session: &rooftree_protocol::SessionId, focus: Option<&str>) -> Command {
    Command::Compact {
        session: session.clone(),
        focus: focus.map(str::to_owned),
    }
}

fn sender_of(
    events: &[rooftree_protocol::Event],
    name: &str,
) -> Option<rooftree_protocol::Principal> {
    let event = events.iter().rfind(|event| event.body.name() == name)?;
    event.who.as_deref().cloned()
}

#[tokio::test]
async fn a_person_compacts_an_idle_session_and_the_journal_says_who_and_what_it_cost() {
    let summary = say("Facts: the colour is teal.")
        .agent("compaction")
        .matching(".*");
    let answer = say("{{ user.text }} noted").agent("lead").matching(".*");
    let runtime = TestRuntimeBuilder::new([summary, answer]).build();
    let session = runtime.post("the colour is teal").await;
    runtime.wait_for_run(&session).await;
    for number in 2..8 {
        runtime
            .post_to(&session, &format!("message {number}"))
            .await;
        runtime.wait_for_nth_run(&session, number).await;
    }
    let reply = runtime.command(compact(&session, Some("colours"))).await;
    assert_eq!(reply, rooftree_protocol::command::CommandReply::Done);
    runtime.wait_for_event(&session, "context.compacted").await;
    let events = runtime.events(&session).await;
    let done = compactions(&events);
    assert_eq!(done.len(), 1);
    assert!(done[0].usage.total() > 0, "{:?}", done[0]);
    assert_eq!(
        sender_of(&events, "context.compacted"),
        Some(rooftree_testkit::owner())
    );
    let asked = runtime.model.requests();
    let asked = asked
        .iter()
        .find(|request| request.agent.as_ref() == "compaction")
        .unwrap();
    assert!(format!("{:?}", asked.messages).contains("keep above all: colours"));
    runtime.post_to(&session, "which colour?").await;
    runtime.wait_for_nth_run(&session, 8).await;
    let read = last_read(&runtime);
    assert!(read.contains("Facts: the colour is teal."), "{read}");
    assert!(!read.contains("message 2"), "{read}");
    assert!(
        !read.contains("being worked on"),
        "no request was open: {read}"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_request_to_compact_joins_a_run_under_way_at_its_next_turn() {
    let summary = say("Facts: probed.").agent("compaction").matching(".*");
    let probes = say("").agent("lead").calls([call("Wait", json!({}))]);
    let (probe, gate) = ProbeTool::gated("Wait", Effect::ReadOnly);
    let entries = [
        say("one").agent("lead"),
        probes,
        say("two").agent("lead"),
        summary,
    ];
    let runtime = TestRuntimeBuilder::new(entries)
        .tools(Toolset::new([probe]))
        .build();
    let session = runtime.post("first").await;
    runtime.wait_for_run(&session).await;
    runtime.post_to(&session, "second").await;
    runtime.wait_for_event(&session, "tool.started").await;
    runtime.command(compact(&session, None)).await;
    gate.open(1);
    let end = runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(end.status, RunStatus::Completed, "the run is not stopped");
    let events = runtime.events(&session).await;
    let compacted = events
        .iter()
        .find(|event| matches!(event.body, EventBody::ContextCompacted(_)))
        .unwrap();
    assert!(compacted.run.is_some(), "it belongs to the run");
    assert!(compacted.who.is_some());
    runtime.verify().await;
}

#[tokio::test]
async fn a_request_to_compact_that_cannot_be_done_says_why() {
    let runtime = TestRuntimeBuilder::new([say("hi")]).build();
    let session = runtime.post("hello").await;
    runtime.wait_for_run(&session).await;
    // The answer and the request are more than nothing; a session that was cleared has nothing.
    runtime
        .command(Command::Clear {
            session: session.clone(),
            unless_busy: false,
        })
        .await;
    runtime.wait_for_event(&session, "session.cleared").await;
    runtime.command(compact(&session, None)).await;
    let told = runtime
        .wait_until(&session, "a notice", |event| {
            matches!(&event.body, EventBody::Notice { code, .. } if code == "not_compacted")
        })
        .await;
    let EventBody::Notice { message, .. } = &told.body else {
        panic!("{told:?}");
    };
    assert!(message.contains("nothing to summarise"), "{message}");
    assert!(compactions(&runtime.events(&session).await).is_empty());
    let long = "x".repeat(5_000);
    let refused = runtime
        .handle
        .send(&rooftree_testkit::owner(), compact(&session, Some(&long)))
        .await;
    assert!(refused.unwrap_err().problem().message.contains("too long"));
}
