//! Money: what replies cost is kept with them, and a run ends before it costs too much.

use std::sync::Arc;

use futures::{StreamExt, stream};
use rooftree_protocol::{
    Effect, EventBody, RunStatus, Usage,
    event::{ReplyPart, StopReason},
};
use rooftree_providers::{
    ModelReply, ModelRequest, Provider, ReplyChunk, ReplyStream,
    catalog::ModelPrice,
    scripted::{call, say},
};
use rooftree_testkit::{ProbeTool, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::json;

/// Dollars per million tokens.
fn price(input: f64, output: f64) -> Option<ModelPrice> {
    Some(ModelPrice {
        input,
        output,
        cache_read: None,
        cache_write: None,
        long: None,
        search: None,
    })
}

/// Answers everything, and leaves it to others to say what that costs.
struct Unpriced;

impl Provider for Unpriced {
    fn stream(&self, _: ModelRequest) -> ReplyStream {
        let usage = Usage {
            input: 1_000,
            output: 100,
            ..Usage::default()
        };
        let parts = vec![ReplyPart::Text {
            text: "done".into(),
        }];
        let reply = ModelReply {
            parts,
            stop: StopReason::End,
            usage,
            request: None,
            dropped: Vec::new(),
        };
        stream::iter([Ok(ReplyChunk::Reply(reply))]).boxed()
    }
}

#[tokio::test]
async fn a_reply_is_kept_with_what_it_cost() {
    let mut plan = TestRuntimeBuilder::new([]);
    plan.provider = Some(Box::new(|_| Arc::new(Unpriced)));
    plan.price = price(2.0, 10.0);
    let runtime = plan.build();
    let session = runtime.post("hi").await;
    let end = runtime.wait_for_run(&session).await;
    assert!(
        (end.usage.cost_usd - 0.003).abs() < 1e-9 && end.usage.cost_complete,
        "{:?}",
        end.usage
    );
    let events = runtime.events(&session).await;
    let kept = events.iter().find_map(|event| match &event.body {
        EventBody::MessageCompleted(reply) => Some(reply.usage),
        _ => None,
    });
    assert_eq!(kept, Some(end.usage));
}

#[tokio::test]
async fn a_price_nobody_knows_leaves_tokens_only() {
    let mut plan = TestRuntimeBuilder::new([]);
    plan.provider = Some(Box::new(|_| Arc::new(Unpriced)));
    let runtime = plan.build();
    let session = runtime.post("hi").await;
    let usage = runtime.wait_for_run(&session).await.usage;
    assert_eq!(
        (usage.total(), usage.cost_usd, usage.cost_complete),
        (1_100, 0.0, false)
    );
}

#[tokio::test]
async fn a_question_that_would_cost_too_much_is_not_asked() {
    let mut plan = TestRuntimeBuilder::new([say("never")]);
    (plan.price, plan.limits.max_cost_usd) = (price(1_000.0, 0.0), Some(0.01));
    let runtime = plan.build();
    let session = runtime.post(&"long ".repeat(100)).await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!((end.status, end.turns), (RunStatus::Budget, 0));
    assert!(runtime.model.requests().is_empty());
    let story = runtime.transcript(&session).await;
    assert!(
        story.ends_with("notice   budget\nended    budget, 0 turns"),
        "{story}"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_run_ends_when_its_money_is_spent_and_the_next_one_has_its_own() {
    let look = Toolset::new([ProbeTool::open("Look", Effect::ReadOnly)]);
    let mut plan = TestRuntimeBuilder::new([
        say("").calls([call("Look", json!({"n": 1}))]).cost(0.3),
        say("").calls([call("Look", json!({"n": 2}))]).cost(0.3),
        say("another day").cost(0.3),
    ])
    .tools(look);
    plan.limits.max_cost_usd = Some(0.5);
    let runtime = plan.build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!((end.status, end.turns), (RunStatus::Budget, 2));
    runtime.post_to(&session, "go on").await;
    assert_eq!(
        runtime.wait_for_nth_run(&session, 2).await.status,
        RunStatus::Completed
    );
    runtime.verify().await;
}
