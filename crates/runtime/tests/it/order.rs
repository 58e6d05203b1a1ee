//! Messages are handled strictly in order, one at a time, each once.

use std::sync::Arc;

use rooftree_protocol::{
    Command, EventBody, Lane, Origin, Part,
    command::{Address, CommandReply, Delivery},
};
use rooftree_providers::scripted::say;
use rooftree_testkit::TestRuntimeBuilder;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_messages_from_ten_posters_are_answered_in_order() {
    let runtime =
        Arc::new(TestRuntimeBuilder::new([say("got {{ user.text }}").matching(".*")]).build());
    let session = runtime.post("first").await;
    let mut posters = Vec::new();
    for poster in 0..10 {
        let (runtime, session) = (runtime.clone(), session.clone());
        posters.push(tokio::spawn(async move {
            for number in 0..10 {
                runtime
                    .post_to(&session, &format!("{poster}.{number}"))
                    .await;
            }
        }));
    }
    for poster in posters {
        poster.await.unwrap();
    }
    runtime.wait_for_nth_run(&session, 101).await;

    let mut places = Vec::new();
    let mut asked = Vec::new();
    let mut answered = Vec::new();
    for event in runtime.events(&session).await {
        match event.body {
            EventBody::MessageUser {
                message,
                lane: Lane::Mail,
                position,
            } => {
                places.push(position);
                asked.push(message.text());
                assert_eq!(
                    asked.len(),
                    answered.len() + 1,
                    "a message was taken before the last one was answered"
                );
            }
            EventBody::RunCompleted(end) => answered.push(end.text),
            _ => {}
        }
    }
    assert_eq!(places, (1..=101).collect::<Vec<u64>>());
    assert_eq!(
        answered,
        asked
            .iter()
            .map(|text| format!("got {text}"))
            .collect::<Vec<_>>()
    );
    for poster in 0..10 {
        let own: Vec<&String> = asked
            .iter()
            .filter(|text| text.starts_with(&format!("{poster}.")))
            .collect();
        assert!(own.is_sorted(), "poster {poster} was reordered: {own:?}");
    }
    runtime.verify().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_sessions_work_at_the_same_time() {
    use rooftree_protocol::Effect;
    use rooftree_testkit::ProbeTool;
    let (probe, keeper) = ProbeTool::gated("Wait", Effect::ReadOnly);
    let call = rooftree_providers::scripted::call("Wait", serde_json::json!({}));
    let plan = TestRuntimeBuilder::new([say("").calls([call]), say("done")])
        .tools(rooftree_tools::Toolset::new([probe]));
    let runtime = plan.build();
    let (one, two) = (runtime.post("a").await, runtime.post("b").await);
    runtime.wait_for_event(&one, "tool.started").await;
    runtime.wait_for_event(&two, "tool.started").await;
    keeper.open(2);
    runtime.wait_for_run(&one).await;
    runtime.wait_for_run(&two).await;
}

#[tokio::test]
async fn the_same_key_is_one_message() {
    let runtime = TestRuntimeBuilder::new([say("ok"), say("ok again")]).build();
    let session = runtime.post("first").await;
    runtime.wait_for_run(&session).await;
    let post = || Command::Post {
        to: Address::Id {
            id: session.clone(),
        },
        parts: vec![Part::text("pay the bill")],
        origin: Origin::User,
        key: Some("bill-7".into()),
        delivery: Delivery::Queue,
        context: None,
    };
    let first = runtime.command(post()).await;
    let second = runtime.command(post()).await;
    runtime.wait_for_nth_run(&session, 2).await;
    let third = runtime.command(post()).await;
    let message = |reply: &CommandReply| match reply {
        CommandReply::Accepted {
            message, repeated, ..
        } => (message.clone(), *repeated),
        other => panic!("{other:?}"),
    };
    assert!(!message(&first).1 && message(&second).1 && message(&third).1);
    assert_eq!(message(&first).0, message(&third).0);
    runtime.verify().await;
    assert_eq!(
        runtime
            .transcript(&session)
            .await
            .matches("pay the bill")
            .count(),
        1
    );
}
