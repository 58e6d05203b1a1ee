//! Finding, branching and keeping sessions.

use rooftree_protocol::{
    Command, Origin, Part, SessionId,
    command::{Address, CommandReply, Delivery, HandBackSummary, NewSession},
};
use rooftree_providers::{ModelMessage, scripted::say};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};
use serde_json::{Value, json};

async fn post(runtime: &TestRuntime, to: Address) -> SessionId {
    let parts = vec![Part::text("hello")];
    match runtime
        .command(Command::Post {
            to,
            parts,
            origin: Origin::User,
            key: None,
            delivery: Delivery::Queue,
            context: None,
        })
        .await
    {
        CommandReply::Accepted { session, .. } => session,
        other => panic!("{other:?}"),
    }
}

fn new(runtime: &TestRuntime) -> NewSession {
    NewSession {
        agent: "lead".into(),
        cwd: runtime.path().into(),
        name: None,
        model: None,
    }
}

#[tokio::test]
async fn an_address_finds_the_latest_session_or_makes_one() {
    let runtime = TestRuntimeBuilder::new([say("hi").matching(".*")]).build();
    let one = post(&runtime, Address::LatestOrCreate(new(&runtime))).await;
    runtime.wait_for_run(&one).await;
    runtime.clock.advance(std::time::Duration::from_secs(1));
    let two = post(&runtime, Address::Create(new(&runtime))).await;
    runtime.wait_for_run(&two).await;
    assert_ne!(one, two);
    assert_eq!(
        post(
            &runtime,
            Address::Latest {
                agent: "Lead".into()
            }
        )
        .await,
        two
    );
    runtime.wait_for_nth_run(&two, 2).await;
    runtime.clock.advance(std::time::Duration::from_secs(1));
    runtime.post_to(&one, "again").await;
    runtime.wait_for_nth_run(&one, 2).await;
    assert_eq!(
        post(&runtime, Address::LatestOrCreate(new(&runtime))).await,
        one,
        "the latest is the one updated last"
    );
}

#[tokio::test]
async fn a_connector_key_is_the_same_session_after_a_restart() {
    let runtime = TestRuntimeBuilder::new([say("hi").matching(".*")]).build();
    let key = || "telegram/42/7".to_owned();
    let address = |runtime: &TestRuntime| Address::Connector {
        key: key(),
        new: new(runtime),
        chat: None,
    };
    let first = post(&runtime, address(&runtime)).await;
    runtime.wait_for_run(&first).await;
    let runtime = runtime
        .reopen(TestRuntimeBuilder::new([say("hi").matching(".*")]))
        .await;
    assert_eq!(post(&runtime, address(&runtime)).await, first);
    runtime.wait_for_nth_run(&first, 2).await;
}

#[tokio::test]
async fn an_unknown_or_deleted_session_and_an_unknown_agent_are_refused_in_words() {
    let runtime = TestRuntimeBuilder::new([say("hi")]).build();
    let session = runtime.post("x").await;
    runtime.wait_for_run(&session).await;
    runtime
        .command(Command::Delete {
            session: session.clone(),
        })
        .await;
    let to = |to| Command::Post {
        to,
        parts: vec![],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    };
    let deleted = runtime
        .handle
        .send(
            &rooftree_testkit::owner(),
            to(Address::Id {
                id: session.clone(),
            }),
        )
        .await
        .unwrap_err();
    assert!(deleted.problem().fix.unwrap().contains("sessions restore"));
    let unknown = Address::Create(NewSession {
        agent: "nobody".into(),
        ..new(&runtime)
    });
    assert!(
        runtime
            .handle
            .send(&rooftree_testkit::owner(), to(unknown))
            .await
            .unwrap_err()
            .problem()
            .message
            .contains("lead")
    );
    runtime
        .command(Command::Restore {
            session: session.clone(),
        })
        .await;
    runtime.post_to(&session, "back").await;
}

#[tokio::test]
async fn a_silent_message_to_a_session_that_was_deleted_since_the_last_one_is_refused() {
    let runtime = TestRuntimeBuilder::new([say("hi")]).build();
    let session = runtime.post("x").await;
    runtime.wait_for_run(&session).await;
    let to = Address::Id {
        id: session.clone(),
    };
    let (parts, origin, delivery) = (
        vec![Part::text("by the way")],
        Origin::User,
        Delivery::Silent,
    );
    let aside = Command::Post {
        to,
        parts,
        origin,
        key: None,
        delivery,
        context: None,
    };
    for _ in 0..2 {
        runtime
            .handle
            .send(&rooftree_testkit::owner(), aside.clone())
            .await
            .unwrap();
    }
    runtime
        .command(Command::Delete {
            session: session.clone(),
        })
        .await;
    let refused = runtime
        .handle
        .send(&rooftree_testkit::owner(), aside.clone())
        .await
        .unwrap_err();
    assert!(refused.problem().fix.unwrap().contains("sessions restore"));
    runtime.command(Command::Restore { session }).await;
    runtime
        .handle
        .send(&rooftree_testkit::owner(), aside)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_fork_reads_what_its_parent_had_read_and_leaves_it_alone() {
    let runtime = TestRuntimeBuilder::new([say("blue"), say("you asked for the colour")]).build();
    let parent = runtime.post("my colour is blue").await;
    runtime.wait_for_run(&parent).await;
    let before = runtime.events(&parent).await;
    let CommandReply::Session(fork) = runtime
        .command(Command::Fork {
            session: parent.clone(),
            at: None,
            name: Some("branch".into()),
            agent: None,
            message: None,
        })
        .await
    else {
        panic!()
    };
    runtime.post_to(&fork.id, "which one?").await;
    runtime.wait_for_nth_run(&fork.id, 2).await;
    let requests = runtime.model.requests();
    let Some(ModelMessage::User(parts)) = requests[1].messages.first().map(AsRef::as_ref) else {
        panic!()
    };
    assert_eq!(parts, &[Part::text("my colour is blue")]);
    assert_eq!(
        runtime.events(&parent).await,
        before,
        "the parent's journal is untouched"
    );
    assert_eq!(
        runtime.events(&fork.id).await[..before.len()],
        before[..],
        "the fork refers to it"
    );
    runtime.verify().await;
}

#[tokio::test]
async fn a_watcher_that_comes_late_sees_the_same_events_as_one_that_was_there() {
    use rooftree_runtime::EventFilter;
    let runtime = TestRuntimeBuilder::new([say("one"), say("two")]).build();
    let session = runtime.post("a").await;
    let mut early = runtime.handle.subscribe(
        &rooftree_testkit::owner(),
        EventFilter {
            session: session.clone(),
            after: 0,
        },
    );
    let mut seen = Vec::new();
    loop {
        let event = early.next().await.unwrap();
        let last = event.body.name() == "run.completed";
        if event.id.is_some() {
            seen.push(event.as_ref().clone());
        }
        if last {
            break;
        }
    }
    assert_eq!(seen, runtime.events(&session).await);
    assert_eq!(
        seen.iter()
            .map(|event| event.id.unwrap())
            .collect::<Vec<_>>(),
        (1..=seen.len() as u64).collect::<Vec<_>>()
    );
    let mut late = runtime.handle.subscribe(
        &rooftree_testkit::owner(),
        EventFilter {
            session: session.clone(),
            after: 3,
        },
    );
    let first_kept = loop {
        if let Some(number) = late.next().await.unwrap().id {
            break number;
        }
    };
    assert_eq!(first_kept, 4);
}

#[tokio::test]
async fn a_watcher_that_falls_behind_misses_deltas_and_no_event() {
    use rooftree_runtime::EventFilter;
    let runtime = TestRuntimeBuilder::new([
        say("x".repeat(5_000)).chunk(1),
        say("y".repeat(5_000)).chunk(1),
    ])
    .build();
    let session = runtime.post("talk").await;
    let mut slow = runtime.handle.subscribe(
        &rooftree_testkit::owner(),
        EventFilter {
            session: session.clone(),
            after: 0,
        },
    );
    // It looks away while far more is said than the bus keeps for it.
    runtime.wait_for_run(&session).await;
    runtime.post_to(&session, "more").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let stored = runtime.events(&session).await;
    let mut seen = Vec::new();
    while seen.len() < stored.len() {
        let event = slow.next().await.unwrap();
        if event.id.is_some() {
            seen.push(event.as_ref().clone());
        }
    }
    assert_eq!(seen, stored);
}

#[tokio::test]
async fn two_sessions_in_one_process_share_no_directory_and_no_todos() {
    use rooftree_providers::scripted::call;
    use serde_json::json;
    let list = json!({"todos": [{"content": "mine", "status": "pending"}]});
    let script = [
        say("")
            .calls([
                call("Read", json!({"file_path": "name.txt"})),
                call("TodoWrite", list),
            ])
            .on("list"),
        say("{{ all[0].text }}").on("list"),
        say("")
            .calls([call("Read", json!({"file_path": "name.txt"}))])
            .on("plain"),
        say("{{ all[0].text }}").on("plain"),
    ];
    let tools = rooftree_tools::builtin(std::sync::Arc::new(
        rooftree_tools::BackgroundProcesses::new(|| 9),
    ));
    let runtime = TestRuntimeBuilder::new(script).tools(tools).build();
    let mut sessions = Vec::new();
    for (name, text) in [("one", "list"), ("two", "plain")] {
        let cwd = runtime.path().join(name);
        std::fs::create_dir(&cwd).unwrap();
        std::fs::write(cwd.join("name.txt"), name).unwrap();
        let to = Address::Create(NewSession {
            cwd,
            ..new(&runtime)
        });
        let parts = vec![Part::text(text)];
        let post = Command::Post {
            to,
            parts,
            origin: Origin::User,
            key: None,
            delivery: Delivery::Queue,
            context: None,
        };
        let CommandReply::Accepted { session, .. } = runtime.command(post).await else {
            panic!()
        };
        sessions.push(session);
    }
    for (session, name) in sessions.iter().zip(["one", "two"]) {
        assert!(runtime.wait_for_run(session).await.text.contains(name));
    }
    assert!(runtime.transcript(&sessions[0]).await.contains("todos"));
    assert!(!runtime.transcript(&sessions[1]).await.contains("todos"));
}

#[tokio::test]
async fn as2_a_session_is_pinned_and_keeps_attributes_and_both_advance_its_time() {
    let runtime = TestRuntimeBuilder::new([say("hi")]).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let send = async |command: Command| {
        runtime.clock.advance(std::time::Duration::from_secs(1));
        match runtime.command(command).await {
            CommandReply::Session(session) => *session,
            other => panic!("{other:?}"),
        }
    };
    let pin = |pinned| Command::Pin {
        session: session.clone(),
        pinned,
    };
    let first = send(pin(true)).await;
    assert_eq!(first.pinned_at, Some(first.updated_at));
    let again = send(pin(true)).await;
    assert_eq!(again.pinned_at, first.pinned_at, "it keeps its place");
    assert!(again.updated_at > first.updated_at);
    let set = |name: &str, value: Value| Command::SetAttributes {
        session: session.clone(),
        attributes: [(name.to_owned(), value)].into_iter().collect(),
    };
    send(set("ticket", json!(42))).await;
    let both = send(set("panel", json!({"open": true}))).await;
    assert_eq!(
        Value::Object(both.attributes),
        json!({"ticket": 42, "panel": {"open": true}})
    );
    let one = send(set("ticket", Value::Null)).await;
    assert_eq!(
        Value::Object(one.attributes),
        json!({"panel": {"open": true}})
    );
    assert_eq!(send(pin(false)).await.pinned_at, None);
    for (name, value) in [
        ("", json!(1)),
        ("a\nb", json!(1)),
        ("x", json!("y".repeat(20_000))),
    ] {
        let refused = runtime
            .handle
            .send(&rooftree_testkit::owner(), set(name, value))
            .await;
        assert!(refused.is_err(), "{name}");
    }
    let audit = runtime
        .handle
        .queries(&rooftree_testkit::owner())
        .audit(0, 99)
        .await
        .unwrap();
    let actions: Vec<&str> = audit.iter().map(|row| row.entry.action.as_str()).collect();
    assert!(
        ["session.pin", "session.unpin", "session.attributes"]
            .iter()
            .all(|action| actions.contains(action)),
        "{actions:?}"
    );
    runtime.verify().await;
}

/// Hands the conversation of a session over to `explore`, with a first message.
async fn switched(runtime: &TestRuntime, session: &SessionId, first: &str) -> SessionId {
    let reply = runtime
        .command(Command::Fork {
            session: session.clone(),
            at: None,
            name: None,
            agent: Some("explore".into()),
            message: Some(vec![Part::text(first)]),
        })
        .await;
    let CommandReply::Session(over) = reply else {
        panic!("{reply:?}")
    };
    over.id
}

fn back(session: &SessionId, summary: HandBackSummary) -> Command {
    Command::HandBack {
        session: session.clone(),
        summary,
    }
}

/// What the lead has read in its last request.
fn read_by_lead(runtime: &TestRuntime) -> String {
    let requests = runtime.model.requests();
    let last = requests
        .iter()
        .rfind(|request| request.agent.as_ref() == "lead")
        .unwrap();
    format!("{:?}", last.messages)
}

#[tokio::test]
async fn as5_a_conversation_is_switched_with_a_first_message_and_comes_back_with_an_extract() {
    let runtime = TestRuntimeBuilder::new([
        say("hello").agent("lead").times(9),
        say("we take the blue one")
            .agent("explore")
            .matching("discuss"),
    ])
    .build();
    let session = runtime.post("my colours").await;
    runtime.wait_for_run(&session).await;
    let over = switched(&runtime, &session, "discuss the colour").await;
    let end = runtime.wait_for_nth_run(&over, 2).await;
    assert_eq!(end.text, "we take the blue one");
    for _ in 0..2 {
        runtime.command(back(&over, HandBackSummary::Extract)).await;
    }
    runtime.post_to(&session, "and now?").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let read = read_by_lead(&runtime);
    assert_eq!(read.matches("we take the blue one").count(), 1, "{read}");
    assert!(read.contains("Asked: discuss the colour"), "{read}");
    runtime.verify().await;
}

#[tokio::test]
async fn as5_a_summary_by_the_model_is_a_run_of_its_session_and_told_once_it_has_ended() {
    let script = [
        say("hello").agent("lead").times(9),
        say("long talk").agent("explore").matching("discuss"),
        say("SUMMARY: blue, because it is calm")
            .agent("explore")
            .matching("goes back to the agent")
            .times(9),
    ];
    let runtime = TestRuntimeBuilder::new(script).build();
    let session = runtime.post("my colours").await;
    runtime.wait_for_run(&session).await;
    let over = switched(&runtime, &session, "discuss the colour").await;
    runtime.wait_for_nth_run(&over, 2).await;
    runtime.command(back(&over, HandBackSummary::Model)).await;
    let end = runtime.wait_for_nth_run(&over, 3).await;
    assert_eq!(end.text, "SUMMARY: blue, because it is calm");
    // Asked again, nothing is new: neither another run nor another message.
    runtime.command(back(&over, HandBackSummary::Model)).await;
    runtime.post_to(&session, "and now?").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let read = read_by_lead(&runtime);
    assert_eq!(read.matches("SUMMARY: blue").count(), 1, "{read}");
    assert!(
        !read.contains("long talk"),
        "the summary takes its place: {read}"
    );
    let runs = runtime.events(&over).await;
    let runs = runs
        .iter()
        .filter(|event| event.body.name() == "run.completed")
        .count();
    assert_eq!(runs, 3);
    runtime.verify().await;
}

#[tokio::test]
async fn as5_a_model_that_writes_no_summary_is_replaced_by_the_extract() {
    use rooftree_providers::scripted::{ScriptedFailureKind, fail};
    let runtime = TestRuntimeBuilder::new([
        say("hello").agent("lead").times(9),
        say("long talk").agent("explore").matching("discuss"),
        fail(ScriptedFailureKind::Refused)
            .agent("explore")
            .matching("goes back to the agent"),
    ])
    .build();
    let session = runtime.post("my colours").await;
    runtime.wait_for_run(&session).await;
    let over = switched(&runtime, &session, "discuss the colour").await;
    runtime.wait_for_nth_run(&over, 2).await;
    runtime.command(back(&over, HandBackSummary::Model)).await;
    runtime.wait_for_nth_run(&over, 3).await;
    runtime.post_to(&session, "and now?").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let read = read_by_lead(&runtime);
    assert!(read.contains("long talk"), "{read}");
}
