//! Messages that wait: withdrawn and replaced until their agent takes them, whichever process does what.

use rooftree_protocol::{
    Command, Effect, ErrorCode, EventBody, Lane, MessageId, Origin, Part, Principal, SessionId,
    Surface,
    command::{Address, CommandReply, Delivery},
};
use rooftree_providers::scripted::{call, say};
use rooftree_store::InboxChange;
use rooftree_testkit::{
    ProbeTool, TestRuntime, TestRuntimeBuilder, Toolset, owner, probe_tool::ProbeGate,
};
use serde_json::json;

/// A session whose run is held in a call, and the messages that wait behind it.
async fn busy(texts: &[(&str, Delivery)]) -> (TestRuntime, ProbeGate, SessionId, Vec<MessageId>) {
    let (held, gate) = ProbeTool::gated("Held", Effect::ReadOnly);
    let runtime = TestRuntimeBuilder::new([
        say("").calls([call("Held", json!({}))]),
        say("Done: {{ user.text }}"),
        say("Next: {{ user.text }}"),
        say("Last: {{ user.text }}"),
    ])
    .tools(Toolset::new([held]))
    .build();
    let session = runtime.post("go").await;
    runtime.wait_for_event(&session, "tool.started").await;
    let mut messages = Vec::new();
    for (text, delivery) in texts {
        messages.push(posted(&runtime, &session, text, *delivery).await);
    }
    (runtime, gate, session, messages)
}

async fn posted(
    runtime: &TestRuntime,
    session: &SessionId,
    text: &str,
    delivery: Delivery,
) -> MessageId {
    let reply = runtime
        .command(Command::Post {
            to: Address::Id {
                id: session.clone(),
            },
            parts: vec![Part::text(text)],
            origin: Origin::User,
            key: None,
            delivery,
            context: None,
        })
        .await;
    match reply {
        CommandReply::Accepted { message, .. } => message,
        other => panic!("not accepted: {other:?}"),
    }
}

fn withdraw(session: &SessionId, message: &MessageId) -> Command {
    Command::Withdraw {
        session: session.clone(),
        message: message.clone(),
    }
}

fn replace(session: &SessionId, message: &MessageId, text: &str) -> Command {
    Command::Replace {
        session: session.clone(),
        message: message.clone(),
        parts: vec![Part::text(text)],
    }
}

async fn replies(runtime: &TestRuntime, session: &SessionId) -> Vec<String> {
    let events = runtime.events(session).await;
    let ends = events.into_iter().filter_map(|event| match event.body {
        EventBody::RunCompleted(end) => Some(end.text),
        _ => None,
    });
    ends.collect()
}

#[tokio::test]
async fn a_withdrawn_message_is_dropped_in_its_place_and_names_who_did_it() {
    let texts = [("first", Delivery::Queue), ("second", Delivery::Queue)];
    let (runtime, gate, session, messages) = busy(&texts).await;
    let guest = Principal {
        on_behalf_of: Some("ann".into()),
        ..Principal::local_owner(Surface::Http)
    };
    let sent = runtime
        .handle
        .send(&guest, withdraw(&session, &messages[0]))
        .await;
    assert!(
        matches!(sent, Ok(CommandReply::Accepted { position: 2, .. })),
        "{sent:?}"
    );
    let again = runtime.command(withdraw(&session, &messages[0])).await;
    assert_eq!(again, CommandReply::Done, "a second time changes nothing");
    gate.open(1);
    runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(
        replies(&runtime, &session).await,
        ["Done: go", "Next: second"]
    );
    let events = runtime.events(&session).await;
    let dropped = events
        .iter()
        .find(|event| event.body.name() == "inbox.dropped")
        .unwrap();
    assert_eq!(dropped.who.as_deref(), Some(&guest));
    runtime.verify().await;
}

#[tokio::test]
async fn a_withdrawn_steer_is_not_read_by_the_run_that_goes_on() {
    let texts = [("left", Delivery::Steer), ("right", Delivery::Steer)];
    let (runtime, gate, session, messages) = busy(&texts).await;
    runtime.command(withdraw(&session, &messages[0])).await;
    gate.open(1);
    runtime.wait_for_run(&session).await;
    let request = format!("{:?}", runtime.model.requests().last().unwrap().messages);
    assert!(
        request.contains("right") && !request.contains("left"),
        "{request}"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_replaced_message_keeps_its_place_and_is_read_as_it_is_now() {
    let texts = [("first", Delivery::Queue), ("second", Delivery::Queue)];
    let (runtime, gate, session, messages) = busy(&texts).await;
    runtime
        .command(replace(&session, &messages[0], "better"))
        .await;
    gate.open(1);
    runtime.wait_for_nth_run(&session, 3).await;
    let said = replies(&runtime, &session).await;
    assert_eq!(said, ["Done: go", "Next: better", "Last: second"]);
    let audit = runtime
        .handle
        .queries(&owner())
        .audit(0, 100)
        .await
        .unwrap();
    assert!(
        audit
            .iter()
            .any(|row| row.entry.action == "message.replace")
    );
    let late = runtime
        .handle
        .send(&owner(), replace(&session, &messages[0], "late"))
        .await;
    let problem = late.unwrap_err().problem();
    assert_eq!(
        problem.code,
        ErrorCode::InteractionUnavailable,
        "{problem:?}"
    );
}

#[tokio::test]
async fn a_message_withdrawn_in_a_session_at_rest_is_dropped_at_once() {
    let runtime = TestRuntimeBuilder::new([say("One."), say("Two.")]).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let message = posted(&runtime, &session, "note", Delivery::Silent).await;
    runtime.command(withdraw(&session, &message)).await;
    runtime.wait_for_event(&session, "inbox.dropped").await;
    assert!(
        runtime
            .store()
            .waiting(&session, Lane::Boundary, 9)
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        replies(&runtime, &session).await,
        ["One."],
        "no run was started for it"
    );
}

/// The change is stored by another process after the agent has read the message and before it takes it: the agent's
/// commit is refused and the message is read again.
#[tokio::test]
async fn a_message_changed_behind_the_agents_back_is_never_taken_as_it_was() {
    for withdraws in [true, false] {
        let (runtime, gate, session, messages) = busy(&[("old", Delivery::Queue)]).await;
        let who = Box::new(owner());
        let change = if withdraws {
            InboxChange::Withdraw { who }
        } else {
            let parts = vec![Part::text("new")];
            InboxChange::Replace {
                parts,
                who,
                audit: None,
            }
        };
        // Past the handle: the agent is not told.
        runtime
            .store()
            .change_waiting(&session, &messages[0], change)
            .await
            .unwrap();
        gate.open(1);
        runtime.wait_for_run(&session).await;
        posted(&runtime, &session, "end", Delivery::Queue).await;
        let runs = if withdraws { 2 } else { 3 };
        runtime.wait_for_nth_run(&session, runs).await;
        let said = replies(&runtime, &session).await.join(", ");
        assert!(!said.contains("old"), "{said}");
        assert_eq!(said.contains("new"), !withdraws, "{said}");
        runtime.verify().await;
    }
}

#[tokio::test]
async fn a_withdrawal_outlives_the_process_that_took_it() {
    let (runtime, _gate, session, messages) = busy(&[("first", Delivery::Queue)]).await;
    runtime.command(withdraw(&session, &messages[0])).await;
    let (held, gate) = ProbeTool::gated("Held", Effect::ReadOnly);
    gate.open(9);
    let plan = TestRuntimeBuilder::new([
        say("").calls([call("Held", json!({}))]),
        say("Done."),
        say("Never."),
    ])
    .tools(Toolset::new([held]));
    let runtime = runtime.crash(plan).await;
    runtime.recover().await;
    runtime.wait_for_event(&session, "inbox.dropped").await;
    assert!(
        !replies(&runtime, &session)
            .await
            .contains(&"Never.".to_owned())
    );
    runtime.verify().await;
}

#[tokio::test]
async fn only_messages_of_people_can_be_changed() {
    let (runtime, gate, session, _) = busy(&[]).await;
    let reply = runtime
        .command(Command::Post {
            to: Address::Id {
                id: session.clone(),
            },
            parts: vec![Part::text("a result")],
            origin: Origin::System {
                about: "signal".into(),
            },
            key: None,
            delivery: Delivery::Queue,
            context: None,
        })
        .await;
    let CommandReply::Accepted { message, .. } = reply else {
        panic!("not accepted: {reply:?}");
    };
    let refused = runtime
        .handle
        .send(&owner(), withdraw(&session, &message))
        .await;
    assert_eq!(refused.unwrap_err().problem().code, ErrorCode::ToolDenied);
    let stranger = Principal {
        tenant: "other".into(),
        ..owner()
    };
    let unseen = runtime
        .handle
        .send(&stranger, withdraw(&session, &message))
        .await;
    assert_eq!(
        unseen.unwrap_err().problem().code,
        ErrorCode::SessionNotFound
    );
    gate.open(9);
}
