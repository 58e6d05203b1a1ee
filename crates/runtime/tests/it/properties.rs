//! Whatever happens and in whatever order: every call a model reads has its one result, and a
//! replay reads what was read live.

use std::{sync::Arc, time::Duration};

use proptest::{prelude::*, test_runner::TestRunner};
use rooftree_protocol::{
    CallId, Command, Effect, Event, EventBody, Lane, Message, MessageId, Origin, Outcome, Part,
    RunId, RunStatus, SessionId, Timestamp, ToolCall, Usage,
    command::CommandReply,
    event::{ClearReason, ReplyPart, ReplyRecord, RunEnd, RunMode, StopReason, ToolRecord},
};
use rooftree_providers::{
    ModelMessage,
    scripted::{call, say},
};
use rooftree_runtime::History;
use rooftree_testkit::{Dice, ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::json;

/// Asserts that every reply with calls is followed by exactly the results of those calls, in order.
fn assert_paired(messages: &[Arc<ModelMessage>]) {
    let mut owed: Vec<CallId> = Vec::new();
    for message in messages {
        match message.as_ref() {
            ModelMessage::Results(results) => {
                let given: Vec<CallId> = results.iter().map(|result| result.call.clone()).collect();
                assert_eq!(given, owed, "results do not match the calls before them");
                owed.clear();
            }
            other => {
                assert!(
                    owed.is_empty(),
                    "calls {owed:?} have no result before {other:?}"
                );
                if let ModelMessage::Assistant { parts, .. } = other {
                    let calls = parts.iter().filter_map(|part| match part {
                        ReplyPart::Call(call) => Some(call.id.clone()),
                        _ => None,
                    });
                    owed.extend(calls);
                }
            }
        }
    }
    assert!(owed.is_empty(), "the request ends with open calls {owed:?}");
}

fn run_started() -> EventBody {
    EventBody::RunStarted {
        mode: RunMode::Main,
        message: MessageId::from_entropy(1),
        model: String::new(),
        title: String::new(),
        depth: 0,
        parent: None,
        policy: None,
        bounds: None,
        surroundings: None,
    }
}

/// Something a journal may hold, sensible or not.
fn any_body() -> impl Strategy<Value = EventBody> {
    let id = |n: u8| CallId::parse(&format!("call_{n}")).unwrap();
    let tool_call = move |n: u8| {
        ReplyPart::Call(ToolCall {
            id: id(n),
            tool: "T".into(),
            input: json!({}),
        })
    };
    prop_oneof![
        any::<bool>().prop_map(|silent| EventBody::MessageUser {
            message: Message {
                id: MessageId::from_entropy(1),
                parts: vec![Part::text("hi")],
                origin: Origin::User,
                silent,
                outside: false,
                context: None,
                mandate: None,
                call: None,
                restriction: None,
                revision: 0,
                who: None,
                at: Timestamp(0)
            },
            lane: Lane::Mail,
            position: 1
        }),
        proptest::collection::btree_set(0_u8..12, 0..4).prop_map(move |calls| {
            EventBody::MessageCompleted(ReplyRecord {
                message: None,
                text: String::new(),
                parts: calls.into_iter().map(tool_call).collect(),
                model: "m".into(),
                stop: StopReason::Calls,
                usage: Usage::none(),
                request: None,
            })
        }),
        (0_u8..12).prop_map(move |n| {
            EventBody::ToolCompleted(ToolRecord {
                call: id(n),
                tool: "T".into(),
                title: String::new(),
                outcome: Outcome::Done,
                content: vec![Part::text(n.to_string())],
                duration_ms: 0,
                full: None,
                inside: None,
                input: None,
                skill: None,
                files: vec![],
                diff: None,
                task: None,
                usage: None,
            })
        }),
        Just(run_started()),
        Just(EventBody::RunCompleted(RunEnd::new(RunStatus::Cancelled))),
        Just(EventBody::SessionCleared {
            reason: ClearReason::Asked
        }),
        Just(EventBody::SessionOpened {
            agent: "lead".into(),
            name: None,
            forked_from: Some(rooftree_protocol::ForkPoint {
                session: SessionId::from_entropy(1),
                at: 3
            })
        }),
    ]
}

fn as_event(body: EventBody) -> Event {
    Event {
        v: 1,
        id: Some(1),
        ts: Timestamp(0),
        session: SessionId::from_entropy(1),
        run: Some(RunId::from_entropy(1)),
        parent_run: None,
        agent: "lead".into(),
        who: None,
        body,
    }
}

#[test]
fn no_journal_whatever_it_holds_and_wherever_it_breaks_off_folds_to_an_unpaired_call() {
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 2_000,
        ..ProptestConfig::default()
    });
    let journals = proptest::collection::vec(any_body(), 0..40);
    let checked = runner.run(&journals, |bodies| {
        let mut history = History::default();
        for body in bodies {
            history.apply(&as_event(body));
            assert_paired(&history.messages());
        }
        Ok(())
    });
    checked.unwrap();
}

fn plan() -> TestRuntimeBuilder {
    let two = say("working").calls([
        call("Look", json!({"say": "a"})),
        call("Change", json!({"say": "b"})),
    ]);
    let three = say("more").calls([
        call("Look", json!({"say": "c"})),
        call("Look", json!({"say": "d"})),
        call("Change", json!({"say": "e"})),
    ]);
    let tools = Toolset::new([
        ProbeTool::open("Look", Effect::ReadOnly),
        ProbeTool::open("Change", Effect::LocalMutation),
    ]);
    TestRuntimeBuilder::new([
        two.on("go").chunk(3),
        three.on("go"),
        say("done").on("go").chunk(2),
    ])
    .tools(tools)
}

/// Every request that was made live is what some prefix of a journal folds to.
async fn assert_replayed(runtime: &TestRuntime, sessions: &[SessionId]) {
    let mut replayed: Vec<Vec<Arc<ModelMessage>>> = Vec::new();
    for session in sessions {
        let mut history = History::default();
        for event in runtime.events(session).await {
            history.apply(&event);
            replayed.push(history.messages().to_vec());
        }
    }
    for request in runtime.model.requests() {
        assert!(
            replayed.contains(&request.messages),
            "a replay would never ask: {:#?}",
            request.messages
        );
    }
}

/// How a runtime ends in the middle of everything.
#[derive(Clone, Copy, PartialEq)]
enum Ending {
    /// Stopped in order.
    Stopped,
    /// Taken over while it still hangs about; what it asks after that may never reach a journal.
    TakenOver,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_interrupts_cancels_crashes_and_forks_keep_calls_paired() {
    for seed in 0..80 {
        let mut dice = Dice(seed);
        let ending = if seed % 2 == 0 {
            Ending::Stopped
        } else {
            Ending::TakenOver
        };
        let mut runtime = plan().build();
        let mut sessions = vec![runtime.post("go first").await];
        for _ in 0..6 {
            let session = sessions[dice.roll(sessions.len())].clone();
            match dice.roll(6) {
                0 => runtime.post_to(&session, "go on").await,
                1 => runtime.steer(&session, "no, differently").await,
                2 => drop(
                    runtime
                        .handle
                        .send(
                            &rooftree_testkit::owner(),
                            Command::Cancel { session, run: None },
                        )
                        .await,
                ),
                3 => {
                    runtime = match ending {
                        Ending::Stopped => runtime.reopen(plan()).await,
                        Ending::TakenOver => runtime.crash(plan()).await,
                    };
                    runtime.recover().await;
                }
                4 => {
                    let forked = runtime
                        .handle
                        .send(
                            &rooftree_testkit::owner(),
                            Command::Fork {
                                session,
                                at: None,
                                name: None,
                                agent: None,
                                message: None,
                            },
                        )
                        .await;
                    if let Ok(CommandReply::Session(fork)) = forked {
                        runtime.post_to(&fork.id, "go branch").await;
                        sessions.push(fork.id);
                    }
                }
                _ => tokio::time::sleep(Duration::from_micros(dice.roll(3_000) as u64)).await,
            }
        }
        for session in &sessions {
            runtime.post_to(session, "go last").await;
            runtime
                .wait_until(session, "the answer to the last message", |event| {
                    matches!(&event.body, EventBody::MessageUser { message, .. } if message.text() == "go last")
                })
                .await;
        }
        settled(&runtime, &sessions).await;
        runtime
            .model
            .requests()
            .iter()
            .for_each(|request| assert_paired(&request.messages));
        if ending == Ending::Stopped {
            assert_replayed(&runtime, &sessions).await;
        }
        runtime.verify().await;
        runtime.close().await;
    }
}

/// Waits until no session has anything left to do.
async fn settled(runtime: &TestRuntime, sessions: &[SessionId]) {
    for _ in 0..5_000 {
        let unfinished = runtime.store().unfinished().await.unwrap();
        if !sessions.iter().any(|session| unfinished.contains(session)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("never settled:\n{}", runtime.transcript(&sessions[0]).await);
}
