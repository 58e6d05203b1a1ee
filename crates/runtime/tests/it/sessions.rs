//! Finding, branching and keeping sessions.

use rooftree_protocol::{
    Command, Origin, Part, SessionId,
    command::{Address, CommandReply, Delivery, NewSession},
};
use rooftree_providers::{ModelMessage, scripted::say};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};

async fn post(house: &TestRuntime, to: Address) -> SessionId {
    let parts = vec![Part::text("hello")];
    match house
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

fn new(house: &TestRuntime) -> NewSession {
    NewSession {
        agent: "lead".into(),
        cwd: house.path().into(),
        name: None,
        model: None,
    }
}

#[tokio::test]
async fn an_address_finds_the_latest_session_or_makes_one() {
    let house = TestRuntimeBuilder::new([say("hi").matching(".*")]).build();
    let one = post(&house, Address::LatestOrCreate(new(&house))).await;
    house.wait_for_run(&one).await;
    house.clock.advance(std::time::Duration::from_secs(1));
    let two = post(&house, Address::Create(new(&house))).await;
    house.wait_for_run(&two).await;
    assert_ne!(one, two);
    assert_eq!(
        post(
            &house,
            Address::Latest {
                agent: "Lead".into()
            }
        )
        .await,
        two
    );
    house.wait_for_nth_run(&two, 2).await;
    house.clock.advance(std::time::Duration::from_secs(1));
    house.post_to(&one, "again").await;
    house.wait_for_nth_run(&one, 2).await;
    assert_eq!(
        post(&house, Address::LatestOrCreate(new(&house))).await,
        one,
        "the latest is the one updated last"
    );
}

#[tokio::test]
async fn a_connector_key_is_the_same_session_after_a_restart() {
    let house = TestRuntimeBuilder::new([say("hi").matching(".*")]).build();
    let key = || "telegram/42/7".to_owned();
    let address = |house: &TestRuntime| Address::Connector {
        key: key(),
        new: new(house),
    };
    let first = post(&house, address(&house)).await;
    house.wait_for_run(&first).await;
    let house = house
        .reopen(TestRuntimeBuilder::new([say("hi").matching(".*")]))
        .await;
    assert_eq!(post(&house, address(&house)).await, first);
    house.wait_for_nth_run(&first, 2).await;
}

#[tokio::test]
async fn an_unknown_or_deleted_session_and_an_unknown_agent_are_refused_in_words() {
    let house = TestRuntimeBuilder::new([say("hi")]).build();
    let session = house.post("x").await;
    house.wait_for_run(&session).await;
    house
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
    let deleted = house
        .handle
        .send(to(Address::Id {
            id: session.clone(),
        }))
        .await
        .unwrap_err();
    assert!(deleted.problem().fix.unwrap().contains("sessions restore"));
    let unknown = Address::Create(NewSession {
        agent: "nobody".into(),
        ..new(&house)
    });
    assert!(
        house
            .handle
            .send(to(unknown))
            .await
            .unwrap_err()
            .problem()
            .message
            .contains("lead")
    );
    house
        .command(Command::Restore {
            session: session.clone(),
        })
        .await;
    house.post_to(&session, "back").await;
}

#[tokio::test]
async fn a_silent_message_to_a_session_that_was_deleted_since_the_last_one_is_refused() {
    let house = TestRuntimeBuilder::new([say("hi")]).build();
    let session = house.post("x").await;
    house.wait_for_run(&session).await;
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
        house.handle.send(aside.clone()).await.unwrap();
    }
    house
        .command(Command::Delete {
            session: session.clone(),
        })
        .await;
    let refused = house.handle.send(aside.clone()).await.unwrap_err();
    assert!(refused.problem().fix.unwrap().contains("sessions restore"));
    house.command(Command::Restore { session }).await;
    house.handle.send(aside).await.unwrap();
}

#[tokio::test]
async fn a_fork_reads_what_its_parent_had_read_and_leaves_it_alone() {
    let house = TestRuntimeBuilder::new([say("blue"), say("you asked for the colour")]).build();
    let parent = house.post("my colour is blue").await;
    house.wait_for_run(&parent).await;
    let before = house.events(&parent).await;
    let CommandReply::Session(fork) = house
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
    house.post_to(&fork.id, "which one?").await;
    house.wait_for_nth_run(&fork.id, 2).await;
    let requests = house.model.requests();
    let Some(ModelMessage::User(parts)) = requests[1].messages.first().map(AsRef::as_ref) else {
        panic!()
    };
    assert_eq!(parts, &[Part::text("my colour is blue")]);
    assert_eq!(
        house.events(&parent).await,
        before,
        "the parent's journal is untouched"
    );
    assert_eq!(
        house.events(&fork.id).await[..before.len()],
        before[..],
        "the fork refers to it"
    );
    house.verify().await;
}

#[tokio::test]
async fn a_watcher_that_comes_late_sees_the_same_events_as_one_that_was_there() {
    use rooftree_runtime::EventFilter;
    let house = TestRuntimeBuilder::new([say("one"), say("two")]).build();
    let session = house.post("a").await;
    let mut early = house.handle.subscribe(EventFilter {
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
    assert_eq!(seen, house.events(&session).await);
    assert_eq!(
        seen.iter()
            .map(|event| event.id.unwrap())
            .collect::<Vec<_>>(),
        (1..=seen.len() as u64).collect::<Vec<_>>()
    );
    let mut late = house.handle.subscribe(EventFilter {
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
    let house = TestRuntimeBuilder::new([
        say("x".repeat(5_000)).chunk(1),
        say("y".repeat(5_000)).chunk(1),
    ])
    .build();
    let session = house.post("talk").await;
    let mut slow = house.handle.subscribe(EventFilter {
        session: session.clone(),
        after: 0,
    });
    // It looks away while far more is said than the bus keeps for it.
    house.wait_for_run(&session).await;
    house.post_to(&session, "more").await;
    house.wait_for_nth_run(&session, 2).await;
    let stored = house.events(&session).await;
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
    let house = TestRuntimeBuilder::new(script).tools(tools).build();
    let mut sessions = Vec::new();
    for (name, text) in [("one", "list"), ("two", "plain")] {
        let cwd = house.path().join(name);
        std::fs::create_dir(&cwd).unwrap();
        std::fs::write(cwd.join("name.txt"), name).unwrap();
        let to = Address::Create(NewSession { cwd, ..new(&house) });
        let parts = vec![Part::text(text)];
        let post = Command::Post {
            to,
            parts,
            origin: Origin::User,
            key: None,
            delivery: Delivery::Queue,
        };
        let CommandReply::Accepted { session, .. } = house.command(post).await else {
            panic!()
        };
        sessions.push(session);
    }
    for (session, name) in sessions.iter().zip(["one", "two"]) {
        assert!(house.wait_for_run(session).await.text.contains(name));
    }
    assert!(house.transcript(&sessions[0]).await.contains("todos"));
    assert!(!house.transcript(&sessions[1]).await.contains("todos"));
}
