//! Results and failures of schedules in chats: stored in the outbox, and told as the delivery of an occurrence.

use rooftree_protocol::{
    AgentDefinition, ChatTarget, Command, Limits, Origin, Part, Principal, ScheduleDraft, Surface,
    command::{Address, NewSession},
};
use rooftree_providers::scripted::{ScriptedFailureKind, call, fail, say};
use rooftree_store::{OutboxBody, OutboxFilter, OutboxRow};
use rooftree_testkit::TestRuntime;
use serde_json::json;

use super::fixture::{
    add, draft, history, pass, quiet, scheduled, states, wait, with_connector, without_connector,
};

async fn outbox(runtime: &TestRuntime) -> Vec<(String, String)> {
    let filter = OutboxFilter {
        tenant: "default".into(),
        limit: 50,
        ..OutboxFilter::default()
    };
    let text = |row: OutboxRow| match row.post.body {
        OutboxBody::Text { text } => (row.post.target.to_string(), text),
        other => panic!("{other:?}"),
    };
    let rows = runtime.store().outbox(filter).await.unwrap();
    rows.into_iter().map(text).collect()
}

#[tokio::test]
async fn the_result_of_a_schedule_goes_to_its_chat_and_delivery_is_a_state_of_its_own() {
    let runtime = scheduled([say("It rains."), say("NO_MESSAGE")]).build();
    with_connector(&runtime, "home").await;
    let added = add(
        &runtime,
        &ScheduleDraft {
            target: Some("home:7".into()),
            session: Some("reuse".into()),
            ..draft("every 10m")
        },
    )
    .await;
    for _ in 0..2 {
        pass(&runtime, 600);
        quiet(&runtime).await;
    }
    let told = vec![("home:7".to_owned(), "It rains.".to_owned())];
    assert_eq!(outbox(&runtime).await, told);
    let told: Vec<(String, String)> = history(&runtime, &added.id)
        .await
        .into_iter()
        .map(|one| (one.execution, one.delivery))
        .collect();
    let pair = |delivery: &str| ("completed".to_owned(), delivery.to_owned());
    assert_eq!(told, [pair("none"), pair("queued")]);
}

#[tokio::test]
async fn the_session_that_a_schedule_uses_again_answers_in_the_chat_that_the_schedule_has_now() {
    let task = json!({"subagent_type": "worker", "prompt": "dig", "run_in_background": true});
    let runtime = scheduled([
        say("First.").agent("lead"),
        say("Begun.").agent("lead").calls([call("Task", task)]),
        say("Dug.").agent("worker"),
        say("Told.").agent("lead").times(9),
    ])
    .with_delegation(Default::default())
    .agent(AgentDefinition {
        description: "Digs.".into(),
        ..AgentDefinition::new("worker")
    })
    .build();
    with_connector(&runtime, "home").await;
    let moved = ScheduleDraft {
        target: Some("home:8".into()),
        ..ScheduleDraft::default()
    };
    let added = add(
        &runtime,
        &ScheduleDraft {
            session: Some("reuse".into()),
            target: Some("home:7".into()),
            ..draft("every 10m")
        },
    )
    .await;
    pass(&runtime, 600);
    quiet(&runtime).await;
    let who = Principal::local_owner(Surface::Cli);
    let changed = runtime.handle.change_schedule(&who, &added.id, &moved);
    changed.await.unwrap();
    pass(&runtime, 600);
    quiet(&runtime).await;
    wait(|| async { outbox(&runtime).await.len() > 2 }).await;
    let told = outbox(&runtime).await;
    let chats: Vec<(&str, &str)> = told
        .iter()
        .map(|(chat, text)| (chat.as_str(), text.as_str()))
        .collect();
    assert_eq!(chats.last(), Some(&("home:7", "First.")), "{told:?}");
    let later = &chats[..chats.len() - 1];
    assert!(later.iter().all(|(chat, _)| *chat == "home:8"), "{told:?}");
}

#[tokio::test]
async fn a_schedule_whose_connector_is_gone_asks_no_model() {
    let runtime = scheduled([say("Never.")]).build();
    with_connector(&runtime, "home").await;
    let aimed = ScheduleDraft {
        target: Some("home:7".into()),
        ..draft("every 10m")
    };
    let added = add(&runtime, &aimed).await;
    without_connector(&runtime, "home").await;
    pass(&runtime, 600);
    quiet(&runtime).await;
    assert_eq!(
        states(&runtime, &added.id).await,
        ["failed blocked_config".to_owned()]
    );
}

/// A direct chat in which the owner has spoken, and a group in which he spoke later.
async fn speak(runtime: &TestRuntime) {
    for (chat, group) in [("7", false), ("-100", true)] {
        let chat = ChatTarget {
            group,
            ..format!("home:{chat}").parse().unwrap()
        };
        let origin = Origin::Connector {
            connector: "home".into(),
            channel: chat.chat.clone(),
            user: "7".into(),
            reply: Some(chat.clone()),
        };
        let post = Command::Post {
            to: Address::Connector {
                key: format!("home/{}", chat.chat),
                new: NewSession {
                    agent: "lead".into(),
                    cwd: runtime.path().to_owned(),
                    name: None,
                    model: None,
                },
                chat: Some(chat),
            },
            parts: vec![Part::text("hello")],
            origin,
            key: None,
            delivery: rooftree_protocol::Delivery::Queue,
            context: None,
        };
        let who = Principal::local_owner(Surface::Connector);
        runtime.handle.send(&who, post).await.unwrap();
        quiet(runtime).await;
    }
}

#[tokio::test]
async fn failures_without_a_chat_of_their_own_are_told_in_the_direct_chat_of_the_owner() {
    let refused = (0..9).map(|_| fail(ScriptedFailureKind::Refused).on("Look"));
    let script = refused.chain([say("hi").on("hello"), say("hi").on("hello")]);
    let runtime = scheduled(script)
        .agent(AgentDefinition {
            limits: Limits {
                retries: 0,
                ..Limits::default()
            },
            ..AgentDefinition::new("worker")
        })
        .build();
    with_connector(&runtime, "home").await;
    speak(&runtime).await;
    let draft = ScheduleDraft {
        agent: Some("worker".into()),
        ..draft("every 10m")
    };
    add(&runtime, &draft).await;
    for _ in 0..4 {
        pass(&runtime, 600);
        quiet(&runtime).await;
    }
    let told = outbox(&runtime).await;
    let alerts: Vec<&(String, String)> = told
        .iter()
        .filter(|(_, text)| text.contains("morning"))
        .collect();
    assert_eq!(alerts.len(), 1, "one incident is told once: {told:?}");
    assert_eq!(alerts[0].0, "home:7", "never a group");
}

#[tokio::test]
async fn failures_are_told_in_the_chat_for_failures_else_in_that_of_results() {
    for (target, fail_target, wanted) in [
        (Some("home:1"), None, "home:1"),
        (Some("home:1"), Some("home:2"), "home:2"),
        (None, Some("home:2"), "home:2"),
        // A removed connector cannot deliver, so the owner's direct chat gets the alert.
        (None, Some("gone:2"), "home:7"),
    ] {
        let runtime = scheduled([say("hi").on("hello").times(9)]).build();
        with_connector(&runtime, "home").await;
        with_connector(&runtime, "gone").await;
        speak(&runtime).await;
        let broken = ScheduleDraft {
            gate: Some("exit 7".into()),
            target: target.map(str::to_owned),
            fail_target: fail_target.map(str::to_owned),
            ..draft("every 10m")
        };
        let added = add(&runtime, &broken).await;
        without_connector(&runtime, "gone").await;
        for count in 1..=3 {
            super::fixture::pass_until(&runtime, 600, &added.id, count).await;
        }
        let told = outbox(&runtime).await;
        let alerts: Vec<&str> = told
            .iter()
            .filter(|(_, text)| text.contains("morning"))
            .map(|(chat, _)| chat.as_str())
            .collect();
        assert_eq!(alerts, [wanted], "{target:?} {fail_target:?}");
        runtime.close().await;
    }
}
