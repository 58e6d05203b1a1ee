//! What a program does with a runtime, in the same process and over HTTP, by the same code.

use rooftree_client::{PostQueue, RuntimeClient};
use rooftree_protocol::{
    Address, Command, Delivery, ErrorCode, EventBody, Origin, Part, RunStatus,
    command::{CommandReply, NewSession},
};
use rooftree_testkit::scripted::{call, say};
use rooftree_view::StreamFrame;
use serde_json::json;

use crate::{
    cut_proxy::{CutProxy, Fault},
    served_story::{Served, allow_all, entries, is_end, plan, whole_tree},
};

pub fn post(served: &Served, text: &str) -> Command {
    Command::Post {
        to: Address::Create(NewSession {
            agent: "lead".into(),
            cwd: served.runtime.path().into(),
            name: None,
            model: None,
        }),
        parts: vec![Part::text(text)],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    }
}

async fn watch_answer_and_cancel(served: &Served, client: &dyn RuntimeClient) {
    let reply = client.send(post(served, "go")).await.unwrap();
    let CommandReply::Accepted { session, .. } = reply else {
        panic!("{reply:?}")
    };
    let received = allow_all(client, client.watch(whole_tree(&session))).await;
    assert_eq!(received.durable().len(), 2, "the session and its child");
    assert!(client.open_questions().await.unwrap().is_empty());
    assert_eq!(client.session(&session).await.unwrap().unwrap().id, session);
    assert!(
        !client
            .sessions(Default::default())
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(client.events(&session, 2, 3).await.unwrap().len(), 3);
    // A run that waits for a person is stopped from outside.
    let CommandReply::Accepted { session, .. } = client.send(post(served, "again")).await.unwrap()
    else {
        panic!("it is accepted")
    };
    let mut watch = client.watch(whole_tree(&session));
    let end = loop {
        let frame = watch.next_frame().await.unwrap().unwrap();
        if let StreamFrame::Event(event) = &frame {
            if let EventBody::PermissionRequested { .. } = &event.body {
                let open = client.open_questions().await.unwrap();
                assert_eq!(open.len(), 1);
                let session = session.clone();
                let cancel = Command::Cancel { session, run: None };
                client.send(cancel).await.unwrap();
            }
            if is_end(&frame)
                && let EventBody::RunCompleted(end) = &event.body
            {
                break end.status;
            }
        }
    };
    assert_eq!(end, RunStatus::Cancelled);
}

fn twice() -> Vec<rooftree_testkit::scripted::ScriptEntry> {
    let mut all = entries();
    all.push(
        say("Again.")
            .agent("lead")
            .calls([call("Change", json!({"say": "y"}))]),
    );
    all.push(say("Never said.").agent("lead"));
    all
}

#[tokio::test]
async fn a_program_watches_answers_and_cancels_in_the_same_process() {
    let served = Served::start(plan(twice())).await;
    watch_answer_and_cancel(&served, &served.embedded()).await;
}

#[tokio::test]
async fn a_program_watches_answers_and_cancels_over_http() {
    let served = Served::start(plan(twice())).await;
    watch_answer_and_cancel(&served, &served.remote(served.address)).await;
}

#[tokio::test]
async fn closing_a_watch_cancels_nothing() {
    let served = Served::start(plan(vec![say("Hello.").agent("lead")])).await;
    let client = served.remote(served.address);
    let CommandReply::Accepted { session, .. } = client.send(post(&served, "hi")).await.unwrap()
    else {
        panic!("it is accepted")
    };
    let mut watch = client.watch(whole_tree(&session));
    watch.next_frame().await.unwrap().unwrap();
    drop(watch);
    let end = served.runtime.wait_for_run(&session).await;
    assert_eq!(end.status, RunStatus::Completed);
}

#[tokio::test]
async fn a_wrong_token_is_not_tried_again() {
    let served = Served::start(plan(Vec::new())).await;
    let session = rooftree_protocol::SessionId::from_entropy(1);
    let mut wrong = served;
    wrong.token = "rt_wrong".into();
    let client = wrong.remote(wrong.address);
    let problem = client.watch(whole_tree(&session)).next_frame().await;
    let problem = problem.unwrap().unwrap_err();
    assert_eq!(problem.code, ErrorCode::Unauthorized);
    assert!(problem.fix.unwrap().contains("rooftree token create"));
}

#[tokio::test]
async fn posts_that_cannot_be_sent_wait_in_order_and_are_stored_once() {
    let served = Served::start(plan(vec![say("Hello.").agent("lead").times(9)])).await;
    let proxy = CutProxy::start("127.0.0.1:9".parse().unwrap(), vec![Fault::None]).await;
    let queue = PostQueue::new(served.remote(proxy.address));
    let session = served.runtime.post("first").await;
    served.runtime.wait_for_run(&session).await;
    let mut answers = Vec::new();
    for text in ["one", "two", "three"] {
        let mut command = post(&served, text);
        if let Command::Post { to, .. } = &mut command {
            *to = Address::Id {
                id: session.clone(),
            };
        }
        answers.push(queue.post(command));
    }
    while queue.unsent()[0].attempts < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(queue.unsent().len(), 3);
    proxy.lead_to(served.address);
    for answer in answers {
        assert!(answer.await.unwrap().is_ok());
    }
    served.runtime.wait_for_nth_run(&session, 4).await;
    let said: Vec<String> = served
        .runtime
        .events(&session)
        .await
        .into_iter()
        .filter_map(|event| match event.body {
            EventBody::MessageUser { message, .. } => match message.parts.first() {
                Some(Part::Text { text }) => Some(text.clone()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(said, ["first", "one", "two", "three"]);
}

#[tokio::test]
async fn a_session_that_is_removed_and_added_again_is_sent_once_with_a_new_snapshot() {
    let served = Served::start(plan(vec![say("Hello.").agent("lead").times(9)])).await;
    let client = served.embedded();
    let CommandReply::Accepted { session, .. } = client.send(post(&served, "hi")).await.unwrap()
    else {
        panic!("it is accepted")
    };
    served.runtime.wait_for_run(&session).await;
    let (changes, receiver) = tokio::sync::mpsc::channel(4);
    let setup = rooftree_stream::StreamSetup {
        handle: served.runtime.handle.clone(),
        clock: served.runtime.clock.clone(),
        who: rooftree_testkit::owner(),
        name: "str_1".into(),
        boot: "boot".into(),
        limits: rooftree_view::StreamLimits {
            sessions: 4,
            streams: 4,
        },
        changes: receiver,
        stopping: tokio_util::sync::CancellationToken::new(),
    };
    let mut stream = rooftree_stream::EventStream::new(setup, whole_tree(&session));
    while !matches!(stream.next().await.unwrap(), StreamFrame::Snapshot(_)) {}
    let head = served.runtime.events(&session).await.len() as u64;
    let again = rooftree_view::SessionStart::After(head);
    changes
        .send(rooftree_view::StreamPatch {
            add: [(session.clone(), again)].into(),
            remove: vec![session.clone()],
            ..Default::default()
        })
        .await
        .unwrap();
    while !matches!(stream.next().await.unwrap(), StreamFrame::Snapshot(_)) {}
    let to = Address::Id {
        id: session.clone(),
    };
    let more = Command::Post {
        to,
        parts: vec![Part::text("more")],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    };
    client.send(more).await.unwrap();
    let mut numbers = Vec::new();
    loop {
        let StreamFrame::Event(event) = stream.next().await.unwrap() else {
            continue;
        };
        numbers.extend(event.id);
        if matches!(event.body, EventBody::RunCompleted(_)) {
            break;
        }
    }
    let expected: Vec<u64> = (head + 1..=head + numbers.len() as u64).collect();
    assert_eq!(numbers, expected, "each event came once");
}
