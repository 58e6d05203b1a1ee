//! Answers, permission requests and questions that go to chats: stored with their cause, to the chat that asked.

use std::sync::Arc;

use rooftree_protocol::{
    Answer, ChatTarget, Command, Effect, EventBody, Lane, Origin, Part, PermissionMode,
    PermissionScope, Principal, SessionId, Surface, Timestamp,
    command::{Address, CommandReply, Delivery, NewSession},
};
use rooftree_providers::scripted::{ScriptedFailureKind, call, fail, say};
use rooftree_store::{OutboxBody, OutboxFilter, OutboxKind, OutboxPost, OutboxRow, OutboxState};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder, owner};
use rooftree_tools::{BackgroundProcesses, PermissionRule, Toolset, builtin};
use serde_json::json;

fn connector() -> Principal {
    Principal::local_owner(Surface::Connector)
}

fn target(chat: &str, reply_to: &str) -> ChatTarget {
    ChatTarget {
        reply_to: Some(reply_to.into()),
        ..format!("telegram:{chat}").parse().unwrap()
    }
}

fn said(chat: &str, message: &str) -> Origin {
    Origin::Connector {
        connector: "telegram".into(),
        channel: chat.into(),
        user: "7".into(),
        reply: Some(target(chat, message)),
    }
}

fn scheduled(to: Option<ChatTarget>) -> Origin {
    Origin::Schedule {
        schedule: "morning".into(),
        due: Some(Timestamp(1)),
        target: to,
        budget: None,
        context: Default::default(),
    }
}

async fn post(
    runtime: &TestRuntime,
    (to, delivery): (Address, Delivery),
    (origin, text): (Origin, &str),
) -> SessionId {
    let command = Command::Post {
        to,
        parts: vec![Part::text(text)],
        origin,
        key: None,
        delivery,
        context: None,
    };
    match runtime.handle.send(&connector(), command).await.unwrap() {
        CommandReply::Accepted { session, .. } => session,
        other => panic!("{other:?}"),
    }
}

fn chat(runtime: &TestRuntime, chat: &str) -> (Address, Delivery) {
    let to = Address::Connector {
        key: format!("telegram/{chat}/7"),
        new: NewSession {
            agent: "lead".into(),
            cwd: runtime.path().into(),
            name: None,
            model: None,
        },
        chat: Some(format!("telegram:{chat}").parse().unwrap()),
    };
    (to, Delivery::Queue)
}

/// All messages to chats, the oldest first.
async fn outbox(runtime: &TestRuntime) -> Vec<OutboxRow> {
    let filter = OutboxFilter {
        tenant: "default".into(),
        limit: 1_000,
        ..OutboxFilter::default()
    };
    let mut rows = runtime.store().outbox(filter).await.unwrap();
    rows.reverse();
    rows
}

fn text(row: &OutboxRow) -> &str {
    match &row.post.body {
        OutboxBody::Text { text }
        | OutboxBody::Inquiry { text, .. }
        | OutboxBody::Outcome { text, .. } => text,
        OutboxBody::File { name, .. } => name,
    }
}

#[tokio::test]
async fn the_answer_of_a_run_is_in_the_outbox_when_the_run_has_ended() {
    let runtime = TestRuntimeBuilder::new([say("Hello.")]).build();
    let session = post(&runtime, chat(&runtime, "1"), (said("1", "m1"), "Hi")).await;
    runtime.wait_for_run(&session).await;
    let rows = outbox(&runtime).await;
    let [row] = rows.as_slice() else {
        panic!("{rows:?}")
    };
    let run = row.post.run.clone().unwrap();
    assert_eq!(row.post.key, OutboxPost::final_key(&run));
    assert_eq!((text(row), row.state), ("Hello.", OutboxState::Planned));
    assert_eq!(row.post.target, target("1", "m1"));
    assert_eq!(row.post.session, Some(session));
    let state = runtime.store().outbox_of_run(&run).await.unwrap();
    assert_eq!(state, Some(OutboxState::Planned));
    runtime.verify().await;
}

#[tokio::test]
async fn what_a_person_asks_at_a_client_is_answered_there_and_not_in_the_chat() {
    let runtime = TestRuntimeBuilder::new([say("Hello.").matching(".*")]).build();
    let session = post(&runtime, chat(&runtime, "1"), (said("1", "m1"), "Hi")).await;
    runtime.wait_for_run(&session).await;
    runtime.post_to(&session, "and here?").await;
    runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(outbox(&runtime).await.len(), 1);
}

/// F13: the complete route of every answer is that of its message, however messages of several chats and threads follow
/// each other in one session.
#[tokio::test]
async fn route_isolation_matrix() {
    let chats = ["1", "1/7", "2", "-100/3"];
    let orders: [[usize; 6]; 4] = [
        [0, 1, 2, 3, 0, 1],
        [3, 2, 1, 0, 3, 2],
        [0, 0, 1, 1, 2, 3],
        [2, 0, 3, 0, 1, 0],
    ];
    for order in orders {
        let runtime = TestRuntimeBuilder::new([say("to {{ user.text }}").matching(".*")]).build();
        let first = post(&runtime, chat(&runtime, "1"), (said("1", "m"), "first")).await;
        let mut wanted = vec![target("1", "m")];
        for (at, place) in order.into_iter().enumerate() {
            let (place, message) = (chats[place], format!("m{at}"));
            let to = Address::Id { id: first.clone() };
            let text = format!("{place} {message}");
            let told = (said(place, &message), text.as_str());
            post(&runtime, (to, Delivery::Queue), told).await;
            wanted.push(target(place, &message));
        }
        runtime.wait_for_nth_run(&first, wanted.len()).await;
        let rows = outbox(&runtime).await;
        let routes: Vec<ChatTarget> = rows.iter().map(|row| row.post.target.clone()).collect();
        assert_eq!(routes, wanted, "{order:?}");
        for (row, target) in rows.iter().zip(&wanted).skip(1) {
            let message = target.reply_to.as_deref().unwrap_or_default();
            assert!(text(row).ends_with(message), "{:?}", text(row));
        }
    }
}

#[tokio::test]
async fn a_message_that_joins_a_run_does_not_change_where_its_answer_goes() {
    let (tool, gate) = ProbeTool::gated("Wait", Effect::ReadOnly);
    let runtime =
        TestRuntimeBuilder::new([say("").calls([call("Wait", json!({}))]), say("Both heard.")])
            .tools(Toolset::new([tool]))
            .build();
    let session = post(&runtime, chat(&runtime, "1"), (said("1", "m1"), "Hi")).await;
    runtime.wait_for_event(&session, "tool.started").await;
    let to = Address::Id {
        id: session.clone(),
    };
    post(&runtime, (to, Delivery::Steer), (said("2", "m2"), "me too")).await;
    gate.open(1);
    runtime.wait_for_run(&session).await;
    let rows = outbox(&runtime).await;
    let [row] = rows.as_slice() else {
        panic!("{rows:?}")
    };
    assert_eq!(row.post.target, target("1", "m1"));
}

#[tokio::test]
async fn a_schedule_answers_where_it_says_and_is_silent_if_there_is_nothing() {
    let answers = [
        "Rain.",
        "NO_MESSAGE",
        "HEARTBEAT_OK",
        "Fine. NO_MESSAGE",
        "Own.",
    ];
    let runtime = TestRuntimeBuilder::new(answers.map(say)).build();
    let session = {
        let to = chat(&runtime, "1");
        post(&runtime, to, (scheduled(Some(target("9", "x"))), "tick")).await
    };
    for n in 2..=5 {
        runtime.wait_for_nth_run(&session, n - 1).await;
        let to = Address::Id {
            id: session.clone(),
        };
        let to_other = (n < 5).then(|| target("9", "x"));
        post(
            &runtime,
            (to, Delivery::Queue),
            (scheduled(to_other), "tick"),
        )
        .await;
    }
    runtime.wait_for_nth_run(&session, 5).await;
    let rows = outbox(&runtime).await;
    let told: Vec<(&str, String)> = rows
        .iter()
        .map(|row| (text(row), row.post.target.to_string()))
        .collect();
    let wanted = [("Rain.", "9"), ("Fine. NO_MESSAGE", "9"), ("Own.", "1")];
    let wanted = wanted.map(|(text, chat)| (text, format!("telegram:{chat}")));
    assert_eq!(told, wanted);
}

#[tokio::test]
async fn a_failed_run_says_so_without_the_providers_words() {
    let broken = fail(ScriptedFailureKind::Refused);
    let runtime = TestRuntimeBuilder::new([broken]).build();
    let session = post(&runtime, chat(&runtime, "1"), (said("1", "m1"), "Hi")).await;
    runtime.wait_for_run(&session).await;
    let rows = outbox(&runtime).await;
    let told = text(&rows[0]);
    assert!(told.starts_with("I could not answer:"), "{told}");
    assert!(!told.contains("scripted"), "{told}");
}

#[tokio::test]
async fn a_permission_request_is_asked_in_the_chat_and_changed_to_its_outcome() {
    let tools = Toolset::new([ProbeTool::open("Change", Effect::LocalMutation)]);
    let change = say("").calls([call("Change", json!({"say": "x"}))]);
    let runtime = TestRuntimeBuilder::new([change, say("done")])
        .tools(tools)
        .asking(PermissionMode::Ask)
        .build();
    let session = post(&runtime, chat(&runtime, "1/4"), (said("1/4", "m1"), "go")).await;
    let asked = runtime
        .wait_for_event(&session, "permission.requested")
        .await;
    let EventBody::PermissionRequested { id, .. } = &asked.body else {
        panic!()
    };
    let key = OutboxPost::ask_key(id.as_str());
    let row = runtime.store().outbox_by_key(&key).await.unwrap().unwrap();
    assert_eq!(row.post.kind, OutboxKind::Permission);
    assert_eq!(row.post.target, "telegram:1/4".parse().unwrap());
    assert!(
        text(&row).contains("wants to use **Change**"),
        "{}",
        text(&row)
    );
    let store = runtime.store();
    let claim = store.claim_worker(
        "delivery:telegram",
        &rooftree_store::Owner::this_process(),
        Timestamp(0),
        Timestamp(1),
    );
    let rooftree_store::WorkerClaimOutcome::Granted(claim) = claim.await.unwrap() else {
        panic!("held")
    };
    let planned = store.plan_outbox(&claim, &row.post.id, vec!["ask".into()]);
    planned.await.unwrap();
    let begun = store.begin_part(&claim, &row.post.id, 0, "ask".into());
    assert!(begun.await.unwrap());
    let answer = Answer::allow(PermissionScope::Once);
    let permit = Command::Permit {
        session: session.clone(),
        permission: id.clone(),
        answer,
    };
    runtime.command(permit).await;
    runtime.wait_for_run(&session).await;
    let rows = outbox(&runtime).await;
    let kinds: Vec<OutboxKind> = rows.iter().map(|row| row.post.kind).collect();
    let permission = OutboxKind::Permission;
    assert_eq!(kinds, [permission, permission, OutboxKind::Final]);
    assert!(text(&rows[1]).contains("✅ Allowed"), "{}", text(&rows[1]));
    assert_eq!(rows[1].post.target, rows[0].post.target);
}

#[tokio::test]
async fn what_a_background_agent_asks_is_shown_in_the_chat_that_its_person_used_last() {
    let tools = Toolset::new([ProbeTool::open("Change", Effect::LocalMutation)]);
    let runtime = TestRuntimeBuilder::new([
        say("Hello.").matching("^Hi$"),
        say("")
            .calls([call("Change", json!({"say": "x"}))])
            .matching(".*"),
    ])
    .tools(tools)
    .asking(PermissionMode::Ask)
    .build();
    let front = post(&runtime, chat(&runtime, "1"), (said("1", "m1"), "Hi")).await;
    runtime.wait_for_run(&front).await;
    let to = Address::Create(NewSession {
        agent: "lead".into(),
        cwd: runtime.path().into(),
        name: None,
        model: None,
    });
    let back = post(&runtime, (to, Delivery::Queue), (scheduled(None), "tick")).await;
    runtime.wait_for_event(&back, "permission.requested").await;
    let rows = outbox(&runtime).await;
    let asked = rows.last().unwrap();
    assert_eq!(asked.post.kind, OutboxKind::Permission);
    assert_eq!(asked.post.target, "telegram:1".parse().unwrap());
    assert_eq!(asked.post.session, Some(back));
    // The session to which the person spoke last is told, too, and wakes no agent.
    let waiting = runtime.store().waiting(&front, Lane::Boundary, 9).await;
    let [told] = waiting.unwrap().try_into().expect("one notice");
    assert!(told.message.silent && told.message.text().contains("lead asks:"));
}

#[tokio::test]
async fn a_person_sees_and_changes_only_own_messages() {
    let runtime = TestRuntimeBuilder::new([say("Hello.")]).build();
    let session = post(&runtime, chat(&runtime, "1"), (said("1", "m1"), "Hi")).await;
    runtime.wait_for_run(&session).await;
    let id = outbox(&runtime).await[0].post.id.clone();
    let guest = Principal {
        person: "guest".into(),
        ..owner()
    };
    let query = || rooftree_runtime::OutboxQuery {
        limit: 9,
        ..Default::default()
    };
    let seen = runtime.handle.outbox(&guest, query()).await.unwrap();
    assert!(seen.rows.is_empty());
    let wish = rooftree_store::OutboxWish::Drop;
    let refused = runtime.handle.change_outbox(&guest, &id, wish).await;
    assert!(refused.is_err());
    assert_eq!(
        runtime
            .handle
            .outbox(&owner(), query())
            .await
            .unwrap()
            .rows
            .len(),
        1
    );
    let dropped = runtime
        .handle
        .change_outbox(&owner(), &id, wish)
        .await
        .unwrap();
    assert_eq!(dropped.state, OutboxState::Superseded);
    let again = runtime
        .handle
        .change_outbox(&owner(), &id, rooftree_store::OutboxWish::Retry)
        .await;
    assert!(again.is_err(), "what was dropped stays dropped");
    let audit = runtime.store().audit("default", 0, 9).await.unwrap();
    assert!(audit.iter().any(|row| row.entry.action == "outbox.drop"));
}

fn sending(file: &str) -> TestRuntimeBuilder {
    let send = say("").calls([call("send_file", json!({"path": file, "caption": "Here."}))]);
    let tools = builtin(Arc::new(BackgroundProcesses::new(|| 1)));
    TestRuntimeBuilder::new([send, say("done")]).tools(tools)
}

#[tokio::test]
async fn a_file_goes_to_the_chat_before_the_answer() {
    let runtime = sending("report.txt").build();
    std::fs::write(runtime.path().join("report.txt"), "all is well").unwrap();
    let session = post(&runtime, chat(&runtime, "1"), (said("1", "m1"), "go")).await;
    runtime.wait_for_run(&session).await;
    let rows = outbox(&runtime).await;
    let [file, answer] = rows.as_slice() else {
        panic!("{rows:?}")
    };
    let OutboxBody::File {
        blob,
        name,
        media_type,
        caption,
    } = &file.post.body
    else {
        panic!("{file:?}")
    };
    let told = (name.as_str(), media_type.as_str(), caption.as_str());
    assert_eq!(told, ("report.txt", "text/plain", "Here."));
    let bytes = runtime.store().blob(blob).await.unwrap().unwrap();
    assert_eq!(bytes, b"all is well");
    assert_eq!(file.post.target, target("1", "m1"));
    assert_eq!((text(answer), answer.ordinal), ("done", 2));
    let told = runtime.transcript(&session).await;
    assert!(told.contains("on its way to telegram:1"), "{told}");
}

#[tokio::test]
async fn without_a_chat_there_is_no_tool_that_sends_files() {
    let runtime = sending("report.txt").build();
    std::fs::write(runtime.path().join("report.txt"), "all is well").unwrap();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let request = runtime.model.requests()[0].clone();
    assert!(request.tools.iter().all(|spec| spec.name != "SendFile"));
    assert!(outbox(&runtime).await.is_empty());
}

#[tokio::test]
async fn a_file_that_the_rules_keep_from_being_read_is_not_sent() {
    let mut plan = sending(".env");
    plan.rights.policy.deny = vec![PermissionRule::parse("Read(.env)").unwrap()];
    let runtime = plan.build();
    std::fs::write(runtime.path().join(".env"), "KEY=1").unwrap();
    let session = post(&runtime, chat(&runtime, "1"), (said("1", "m1"), "go")).await;
    runtime.wait_for_run(&session).await;
    let rows = outbox(&runtime).await;
    let kinds: Vec<OutboxKind> = rows.iter().map(|row| row.post.kind).collect();
    assert_eq!(kinds, [OutboxKind::Final]);
}
