//! The outbox reaches chats: once, in order, in parts, with retries, labels, status lines and dead letters.

use std::{sync::Arc, time::Duration};

use rooftree_connectors::{
    Button, FailureClass, Format, Health, OutboundPart, PartBody, SendError,
};
use rooftree_protocol::{
    Account, Answer, ChatTarget, Command, Effect, EventBody, Origin, Part, PermissionMode,
    PermissionScope, Principal, SessionId, Surface,
    command::{Address, CommandReply, Delivery, NewSession},
};
use rooftree_runtime::{BoardFilter, Clock};
use rooftree_server::connectors::{
    ButtonChoice, ButtonPress, ConnectorRegistry, RegisteredConnector, UnknownDeliveryPolicy,
    delivery_service,
};
use rooftree_store::{OutboxBody, OutboxKind, OutboxPost, OutboxRow, OutboxState};
use rooftree_testkit::{
    ProbeTool, TestRuntime, TestRuntimeBuilder, Toolset, owner,
    scripted::{call, say},
};
use rooftree_view::board::{BoardReasonKind, BoardState};
use serde_json::json;

use crate::chat_emulator::{ChatEmulator, Reaction};

fn registry(
    emulator: &Arc<ChatEmulator>,
    unknown: UnknownDeliveryPolicy,
) -> Arc<ConnectorRegistry> {
    let registry = ConnectorRegistry::default();
    let connector = emulator.clone();
    registry.insert("chat", RegisteredConnector { connector, unknown });
    Arc::new(registry)
}

fn delivering(mut plan: TestRuntimeBuilder, emulator: &Arc<ChatEmulator>) -> TestRuntime {
    let registry = registry(emulator, UnknownDeliveryPolicy::Resend);
    plan.services.push(delivery_service(registry));
    plan.build()
}

fn quiet(emulator: &Arc<ChatEmulator>) -> TestRuntime {
    delivering(TestRuntimeBuilder::new([]), emulator)
}

fn notice(runtime: &TestRuntime, chat: &str, text: &str) -> OutboxPost {
    OutboxPost {
        id: format!("out_{text}"),
        key: text.into(),
        account: Account::default(),
        session: None,
        run: None,
        kind: OutboxKind::Notice,
        target: format!("chat:{chat}").parse().unwrap(),
        body: OutboxBody::Text { text: text.into() },
        at: runtime.clock.now(),
    }
}

async fn post(runtime: &TestRuntime, post: OutboxPost) {
    let access = runtime.handle.connector_access();
    access.post(post, None).await.unwrap();
}

async fn row(runtime: &TestRuntime, key: &str) -> OutboxRow {
    runtime.store().outbox_by_key(key).await.unwrap().unwrap()
}

/// Waits for a message to get into a state, while time passes.
async fn wait_for(runtime: &TestRuntime, key: &str, state: OutboxState) -> OutboxRow {
    for _ in 0..2_000 {
        let found = row(runtime, key).await;
        if found.state == state {
            return found;
        }
        pass(runtime).await;
    }
    panic!("{key} is {:?}, not {state:?}", row(runtime, key).await)
}

/// A fraction of a second passes.
async fn pass(runtime: &TestRuntime) {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    runtime.store().settled().await.unwrap();
    runtime.clock.advance(Duration::from_millis(250));
}

async fn ask(runtime: &TestRuntime, text: &str) -> SessionId {
    let target: ChatTarget = "chat:1".parse().unwrap();
    let to = Address::Connector {
        key: "chat/1/7".into(),
        new: NewSession {
            agent: "lead".into(),
            cwd: runtime.path().into(),
            name: None,
            model: None,
        },
        chat: Some(target.clone()),
    };
    let origin = Origin::Connector {
        connector: "chat".into(),
        channel: "1".into(),
        user: "7".into(),
        reply: Some(ChatTarget {
            reply_to: Some("m1".into()),
            ..target
        }),
    };
    let command = Command::Post {
        to,
        parts: vec![Part::text(text)],
        origin,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    };
    let who = Principal::local_owner(Surface::Connector);
    match runtime.handle.send(&who, command).await.unwrap() {
        CommandReply::Accepted { session, .. } => session,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_answer_of_a_run_is_sent_once_as_a_reply() {
    let emulator = ChatEmulator::new(100);
    let runtime = delivering(TestRuntimeBuilder::new([say("Hello.")]), &emulator);
    let session = ask(&runtime, "Hi").await;
    let end = runtime.wait_for_event(&session, "run.completed").await;
    let key = OutboxPost::final_key(end.run.as_ref().unwrap());
    let sent = wait_for(&runtime, &key, OutboxState::Sent).await;
    assert_eq!(sent.parts[0].platform_id.as_deref(), Some("0"));
    let seen = emulator.seen();
    let [message] = seen.as_slice() else {
        panic!("{seen:?}")
    };
    assert_eq!(message.text, "Hello.");
    assert_eq!(message.place.reply_to.as_deref(), Some("m1"));
    runtime.close().await;
    assert_eq!(emulator.seen().len(), 1);
}

#[tokio::test]
async fn a_long_text_is_split_once_and_goes_on_where_it_stopped() {
    let emulator = ChatEmulator::new(10);
    let runtime = quiet(&emulator);
    let text = "0123456789abcdefghijKLMNOPQRST";
    emulator.fail("abcdefghij", FailureClass::Transient);
    post(&runtime, notice(&runtime, "1", text)).await;
    let sent = wait_for(&runtime, text, OutboxState::Sent).await;
    assert_eq!(emulator.texts().concat(), text);
    assert_eq!(
        emulator.attempts().len(),
        4,
        "only one part was tried twice"
    );
    let ids: Vec<_> = sent
        .parts
        .iter()
        .map(|part| part.platform_id.clone())
        .collect();
    assert_eq!(ids, ["0", "1", "2"].map(|id| Some(id.to_owned())));
}

#[tokio::test]
async fn parts_that_were_planned_are_not_split_anew_by_another_worker() {
    let emulator = ChatEmulator::new(10);
    let runtime = quiet(&emulator);
    emulator.set_health(Health::Degraded {
        reason: "down".into(),
    });
    for _ in 0..50 {
        emulator.fail("abcdefghij", FailureClass::Transient);
    }
    let text = "0123456789abcdefghij";
    post(&runtime, notice(&runtime, "1", text)).await;
    wait_for(&runtime, text, OutboxState::Failed).await;
    let other = ChatEmulator::new(3);
    let mut plan = TestRuntimeBuilder::new([]);
    let connectors = registry(&other, UnknownDeliveryPolicy::Resend);
    plan.services.push(delivery_service(connectors));
    let runtime = runtime.reopen(plan).await;
    wait_for(&runtime, text, OutboxState::Sent).await;
    assert_eq!(emulator.texts(), ["0123456789"]);
    assert_eq!(other.texts(), ["abcdefghij"]);
}

#[tokio::test]
async fn failures_of_a_chat_keep_its_order_and_do_not_hold_up_others() {
    let emulator = ChatEmulator::new(100);
    let runtime = quiet(&emulator);
    for _ in 0..3 {
        emulator.fail("a1", FailureClass::Transient);
    }
    emulator.fail("a3", FailureClass::Transient);
    for (chat, text) in [
        ("1", "a1"),
        ("1", "a2"),
        ("1/5", "b1"),
        ("1", "a3"),
        ("1/5", "b2"),
    ] {
        post(&runtime, notice(&runtime, chat, text)).await;
    }
    wait_for(&runtime, "b2", OutboxState::Sent).await;
    assert_ne!(row(&runtime, "a3").await.state, OutboxState::Sent);
    wait_for(&runtime, "a3", OutboxState::Sent).await;
    let texts = emulator.texts();
    let of = |letter: char| {
        let own = texts.iter().filter(|text| text.starts_with(letter));
        own.cloned().collect::<Vec<_>>()
    };
    assert_eq!(of('a'), ["a1", "a2", "a3"]);
    assert_eq!(of('b'), ["b1", "b2"]);
}

#[tokio::test]
async fn flood_control_is_obeyed_and_is_no_attempt() {
    let emulator = ChatEmulator::new(100);
    let runtime = quiet(&emulator);
    for _ in 0..8 {
        let mut error = SendError::new(FailureClass::RateLimit, "too many requests");
        error.retry_after = Some(Duration::from_secs(40));
        emulator.react("a", Reaction::Fail(error));
    }
    let begun = runtime.clock.now();
    post(&runtime, notice(&runtime, "1", "a")).await;
    let sent = wait_for(&runtime, "a", OutboxState::Sent).await;
    assert_eq!(emulator.attempts().len(), 9);
    let lasted = sent.closed_at.unwrap().since(begun);
    assert!(lasted >= Duration::from_secs(8 * 40), "{lasted:?}");
}

#[tokio::test]
async fn a_poison_message_goes_dead_on_the_board_and_lets_the_next_one_through() {
    let emulator = ChatEmulator::new(100);
    let runtime = delivering(
        TestRuntimeBuilder::new([say("poison"), say("fine")]),
        &emulator,
    );
    for _ in 0..50 {
        emulator.fail("poison", FailureClass::Transient);
    }
    let session = ask(&runtime, "one").await;
    let ended = runtime.wait_for_event(&session, "run.completed").await;
    let key = OutboxPost::final_key(ended.run.as_ref().unwrap());
    let dead = wait_for(&runtime, &key, OutboxState::Dead).await;
    assert_eq!((dead.attempts, emulator.attempts().len()), (5, 5));
    ask(&runtime, "two").await;
    runtime.wait_for_nth_run(&session, 2).await;
    while emulator.texts() != ["fine"] {
        pass(&runtime).await;
    }
    let queries = runtime.handle.queries(&owner());
    let board = queries.board(BoardFilter::default()).await.unwrap();
    let shown = &board.rows[0];
    assert_eq!(shown.state, BoardState::NeedsYou);
    assert_eq!(shown.why[0].kind, BoardReasonKind::FailedDelivery);
    assert_eq!(shown.why[0].id, dead.post.id);
    assert_eq!(emulator.attempts().len(), 6, "nobody tries it again");
}

#[tokio::test]
async fn what_a_platform_does_not_want_is_given_up_at_once() {
    for class in [
        FailureClass::Auth,
        FailureClass::Permission,
        FailureClass::NotFound,
    ] {
        let emulator = ChatEmulator::new(100);
        let runtime = quiet(&emulator);
        emulator.fail("a", class);
        post(&runtime, notice(&runtime, "1", "a")).await;
        wait_for(&runtime, "a", OutboxState::Dead).await;
        assert_eq!(emulator.attempts().len(), 1, "{class:?}");
    }
}

#[tokio::test]
async fn formatting_that_is_refused_is_sent_once_more_as_plain_text() {
    let emulator = ChatEmulator::new(100);
    let runtime = quiet(&emulator);
    let formatted = OutboundPart {
        body: PartBody::Text {
            text: "bold".into(),
            format: Format(vec![json!({"type": "bold"})]),
        },
        buttons: vec![vec![Button {
            label: "Yes".into(),
            data: "y".into(),
        }]],
        silent: false,
    };
    emulator.set_health(Health::Degraded {
        reason: "down".into(),
    });
    emulator.fail("bold", FailureClass::InvalidPayload);
    let store = runtime.store();
    let access = runtime.handle.connector_access();
    // The worker of the runtime has the claim; the parts are put there before it comes to the message.
    let claim = loop {
        let now = runtime.clock.now();
        let job = "delivery:chat";
        let later = now.after(Duration::from_secs(3_600));
        let asked = store.claim_worker(job, &access.owner, later, later);
        if let rooftree_store::WorkerClaimOutcome::Granted(claim) = asked.await.unwrap() {
            break claim;
        }
    };
    post(&runtime, notice(&runtime, "1", "bold")).await;
    let parts = vec![serde_json::to_string(&formatted).unwrap()];
    store.plan_outbox(&claim, "out_bold", parts).await.unwrap();
    store.release_worker(claim).await.unwrap();
    wait_for(&runtime, "bold", OutboxState::Sent).await;
    assert_eq!(emulator.attempts(), ["bold", "bold"]);
    assert_eq!(emulator.seen()[0].buttons, ["y"]);
}

#[tokio::test]
async fn a_message_that_may_have_arrived_is_sent_again_with_a_label() {
    let emulator = ChatEmulator::new(100);
    let runtime = quiet(&emulator);
    emulator.react("a", Reaction::Lose);
    post(&runtime, notice(&runtime, "1", "a")).await;
    post(&runtime, notice(&runtime, "1", "b")).await;
    wait_for(&runtime, "b", OutboxState::Sent).await;
    let wanted = ["a", "a\n(may be a duplicate)", "b"];
    assert_eq!(emulator.texts(), wanted);
}

#[tokio::test]
async fn a_connector_that_asks_leaves_it_to_a_person() {
    let emulator = ChatEmulator::new(100);
    let mut plan = TestRuntimeBuilder::new([]);
    let connectors = registry(&emulator, UnknownDeliveryPolicy::Ask);
    plan.services.push(delivery_service(connectors));
    let runtime = plan.build();
    emulator.react("a", Reaction::Lose);
    post(&runtime, notice(&runtime, "1", "a")).await;
    let left = wait_for(&runtime, "a", OutboxState::Unknown).await;
    assert_eq!(emulator.texts(), ["a"]);
    let wish = rooftree_store::OutboxWish::Retry;
    let who = owner();
    let retried = runtime.handle.change_outbox(&who, &left.post.id, wish);
    retried.await.unwrap();
    wait_for(&runtime, "a", OutboxState::Sent).await;
    assert_eq!(emulator.texts(), ["a", "a\n(may be a duplicate)"]);
}

#[tokio::test]
async fn a_long_run_has_one_status_line_that_the_answer_supersedes() {
    let emulator = ChatEmulator::new(100);
    let (tool, gate) = ProbeTool::gated("Wait", Effect::ReadOnly);
    let script = [say("").calls([call("Wait", json!({}))]), say("The answer.")];
    let plan = TestRuntimeBuilder::new(script).tools(Toolset::new([tool]));
    let runtime = delivering(plan, &emulator);
    let session = ask(&runtime, "Hi").await;
    runtime.wait_for_event(&session, "tool.started").await;
    let begun = runtime.clock.now();
    while emulator.seen().is_empty() {
        pass(&runtime).await;
    }
    let waited = runtime.clock.now().since(begun);
    assert!(waited >= Duration::from_secs(10), "{waited:?}");
    let first = emulator.seen()[0].clone();
    assert!(
        first.silent && first.text.starts_with("Working… "),
        "{first:?}"
    );
    while emulator.seen()[0].edits < 2 {
        pass(&runtime).await;
    }
    assert!(emulator.state.lock().unwrap().typed >= 2);
    gate.open(1);
    runtime.wait_for_run(&session).await;
    while emulator.seen().len() < 2 {
        pass(&runtime).await;
    }
    let seen = emulator.seen();
    assert!(seen[0].text.starts_with("Worked "), "{}", seen[0].text);
    assert_eq!(
        (seen[1].text.as_str(), seen[1].silent),
        ("The answer.", false)
    );
    for _ in 0..100 {
        pass(&runtime).await;
    }
    assert_eq!(emulator.seen(), seen, "nothing is said after the answer");
}

#[tokio::test]
async fn a_permission_request_has_buttons_and_is_edited_to_its_outcome() {
    let emulator = ChatEmulator::new(1_000);
    let tools = Toolset::new([ProbeTool::open("Change", Effect::LocalMutation)]);
    let change = say("").calls([call("Change", json!({"say": "x"}))]);
    let plan = TestRuntimeBuilder::new([change, say("done")]).tools(tools);
    let runtime = delivering(plan.asking(PermissionMode::Ask), &emulator);
    let session = ask(&runtime, "go").await;
    let asked = runtime
        .wait_for_event(&session, "permission.requested")
        .await;
    let EventBody::PermissionRequested { id, .. } = &asked.body else {
        panic!()
    };
    wait_for(
        &runtime,
        &OutboxPost::ask_key(id.as_str()),
        OutboxState::Sent,
    )
    .await;
    let shown = emulator.seen()[0].clone();
    let presses: Vec<ButtonPress> = shown
        .buttons
        .iter()
        .map(|data| data.parse().unwrap())
        .collect();
    let choices: Vec<ButtonChoice> = presses.iter().map(|press| press.choice).collect();
    let wanted = [
        ButtonChoice::Allow,
        ButtonChoice::Deny,
        ButtonChoice::AllowSession,
    ];
    assert_eq!(choices, wanted);
    let found = runtime.store().inquiry(&presses[0].inquiry).await.unwrap();
    assert_eq!(found.unwrap().id, id.to_string());
    runtime
        .command(Command::Permit {
            session: session.clone(),
            permission: id.clone(),
            answer: Answer::allow(PermissionScope::Once),
        })
        .await;
    runtime.wait_for_run(&session).await;
    while emulator.texts().last().is_none_or(|text| text != "done") {
        pass(&runtime).await;
    }
    let seen = emulator.seen();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen[0].text.contains("✅ Allowed by"), "{}", seen[0].text);
    assert!(seen[0].buttons.is_empty());
}

#[tokio::test]
async fn a_file_is_loaded_when_it_is_sent_and_one_that_is_too_large_is_given_up() {
    let emulator = ChatEmulator::new(100);
    let runtime = quiet(&emulator);
    for (name, size) in [("small", 900), ("large", 1_100)] {
        let bytes = vec![7; size];
        let blob = runtime.store().put_blob(bytes).await.unwrap();
        let file = OutboxPost {
            kind: OutboxKind::File,
            body: OutboxBody::File {
                blob,
                name: name.into(),
                media_type: "application/pdf".into(),
                caption: "Here.".into(),
            },
            ..notice(&runtime, "1", name)
        };
        post(&runtime, file).await;
    }
    wait_for(&runtime, "small", OutboxState::Sent).await;
    let dead = wait_for(&runtime, "large", OutboxState::Dead).await;
    assert!(dead.error.unwrap().contains("1100 bytes"));
    let seen = emulator.seen();
    assert_eq!(
        (seen.len(), seen[0].file.as_deref()),
        (1, Some(&[7_u8; 900][..]))
    );
}

#[tokio::test]
async fn two_processes_deliver_each_message_once() {
    let emulator = ChatEmulator::new(100);
    let runtime = quiet(&emulator);
    let mut plan = TestRuntimeBuilder::new([]);
    let connectors = registry(&emulator, UnknownDeliveryPolicy::Resend);
    plan.services.push(delivery_service(connectors));
    let second = runtime.open_second(plan);
    for n in 0..40 {
        let by = if n % 2 == 0 { &runtime } else { &second };
        post(by, notice(by, &format!("{}", n % 3), &format!("m{n:02}"))).await;
    }
    for n in 0..40 {
        wait_for(&runtime, &format!("m{n:02}"), OutboxState::Sent).await;
    }
    let mut texts = emulator.texts();
    texts.sort();
    let wanted: Vec<String> = (0..40).map(|n| format!("m{n:02}")).collect();
    assert_eq!(texts, wanted);
    second.close().await;
}
