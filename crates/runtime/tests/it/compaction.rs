//! Contexts that grow: made smaller in time, or when the provider refuses them; the request is never lost.

use rooftree_protocol::{AgentDefinition, Effect, EventBody, RunStatus, event::StopReason};
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
    let (runtime, story) = talked(Some(3_000), None).await;
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
    let (_, story) = talked(None, Some(3_000)).await;
    assert!(story.contains("notice   context_reset"), "{story}");
    let (_, story) = talked(Some(500_000), Some(3_000)).await;
    assert!(!story.contains("context_reset"), "{story}");
    let (_, story) = talked(Some(0), Some(3_000)).await;
    assert!(
        !story.contains("context_reset"),
        "zero is no limit: {story}"
    );
}

#[tokio::test]
async fn r2_d20_a_reset_by_the_emergency_limit_is_told_once_per_request() {
    let (_, story) = talked(Some(3_000), None).await;
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
