//! Finding, branching and keeping sessions.

use rooftree_protocol::{
    Command, Origin, Part, SessionId,
    command::{Address, CommandReply, Delivery, NewSession},
};
use rooftree_providers::{ModelMessage, scripted::say};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};

async fn post(runtime: &TestRuntime, to: Address) -> SessionId {
    let parts = vec![Part::text("hello")];
    match runtime
        .command(Command::Post {
            to,
            parts,
            origin: Origin::User,
            key: None,
            delivery: Delivery::Queue,
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
    let mut early = runtime.handle.subscribe(EventFilter {
        session: session.clone(),
        after: 0,
    });
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
    let mut late = runtime.handle.subscribe(EventFilter {
        session: session.clone(),
        after: 3,
    });
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
    let mut slow = runtime.handle.subscribe(EventFilter {
        session: session.clone(),
        after: 0,
    });
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
