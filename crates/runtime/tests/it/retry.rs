//! A model that does not answer: waited for and asked again where that helps, visibly.

use std::time::Duration;

use rooftree_protocol::{EventBody, RunStatus};
use rooftree_providers::scripted::{ScriptedFailureKind, fail, say};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};

/// Turns the clock until the run has ended.
async fn finish(
    runtime: &TestRuntime,
    session: &rooftree_protocol::SessionId,
) -> rooftree_protocol::event::RunEnd {
    let turning = async {
        loop {
            runtime.clock.advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! { end = runtime.wait_for_run(session) => end, () = turning => unreachable!() }
}

#[tokio::test]
async fn a_rate_limit_is_waited_out_as_long_as_the_provider_says() {
    let limit = fail(ScriptedFailureKind::RateLimit).retry_after(Duration::from_secs(7));
    let runtime = TestRuntimeBuilder::new([limit, say("here I am")]).build();
    let session = runtime.post("hi").await;
    let waiting = runtime.wait_for_event(&session, "run.waiting").await;
    let EventBody::RunWaiting { until, .. } = &waiting.body else {
        panic!()
    };
    assert_eq!(until.unwrap().since(waiting.ts), Duration::from_secs(7));
    runtime.clock.advance(Duration::from_secs(6));
    assert!(!runtime.transcript(&session).await.contains("here I am"));
    runtime.clock.advance(Duration::from_secs(1));
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Completed
    );
}

#[tokio::test]
async fn a_wait_survives_a_restart() {
    let limit = fail(ScriptedFailureKind::RateLimit).retry_after(Duration::from_secs(60));
    let runtime = TestRuntimeBuilder::new([limit, say("never")]).build();
    let session = runtime.post("hi").await;
    runtime.wait_for_event(&session, "run.waiting").await;
    let runtime = runtime
        .reopen(TestRuntimeBuilder::new([say("here I am")]))
        .await;
    runtime.recover().await;
    runtime.clock.advance(Duration::from_secs(50));
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert!(
        runtime.model.requests().is_empty(),
        "it was asked again before the provider wanted to be"
    );
    runtime.clock.advance(Duration::from_secs(10));
    assert_eq!(
        runtime.wait_for_run(&session).await.status,
        RunStatus::Completed
    );
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_asked_again_and_nothing_half_is_kept() {
    let runtime =
        TestRuntimeBuilder::new([fail(ScriptedFailureKind::Cut).cut_after(3), say("whole")])
            .build();
    let session = runtime.post("hi").await;
    finish(&runtime, &session).await;
    assert_eq!(
        runtime.transcript(&session).await,
        "user     hi\nwaits    Retry\nmodel    \"whole\"\nended    completed, 1 turns"
    );
}

#[tokio::test]
async fn a_provider_that_never_recovers_fails_the_run_after_some_tries() {
    let runtime = TestRuntimeBuilder::new(
        (0..9)
            .map(|_| fail(ScriptedFailureKind::Overloaded))
            .chain([say("never")]),
    )
    .build();
    let session = runtime.post("hi").await;
    let end = finish(&runtime, &session).await;
    assert_eq!(end.status, RunStatus::Failed);
    assert_eq!(runtime.model.requests().len(), 6);
}

#[tokio::test]
async fn what_cannot_be_mended_by_waiting_is_not_tried_again() {
    for kind in [
        ScriptedFailureKind::Unauthorized,
        ScriptedFailureKind::Refused,
    ] {
        let runtime = TestRuntimeBuilder::new([fail(kind), say("never")]).build();
        let session = runtime.post("hi").await;
        assert_eq!(
            runtime.wait_for_run(&session).await.status,
            RunStatus::Failed
        );
        assert_eq!(runtime.model.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_model_that_cannot_be_had_is_stood_in_for_during_that_turn() {
    let busy = (0..2).map(|_| fail(ScriptedFailureKind::Overloaded));
    let mut plan =
        TestRuntimeBuilder::new(busy.chain([say("the other one"), say("the first again")]));
    plan.models.fallbacks = vec!["scripted/other".parse().unwrap()];
    let runtime = plan.build();
    let session = runtime.post("hi").await;
    let end = finish(&runtime, &session).await;
    assert_eq!(end.status, RunStatus::Completed);
    let models: Vec<String> = runtime
        .model
        .requests()
        .iter()
        .map(|request| request.model.clone())
        .collect();
    assert_eq!(models, ["story", "story", "other"]);
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("notice   fallback")
    );
    runtime.post_to(&session, "and now?").await;
    runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(
        runtime.model.requests().last().unwrap().model,
        "story",
        "the stand-in is for one turn only"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_sessions_that_hit_one_rate_limit_slow_down_together_and_all_finish() {
    use std::sync::{Arc, Mutex};

    use rooftree_protocol::{
        Timestamp,
        event::{ReplyPart, StopReason},
    };
    use rooftree_providers::{Error, ModelReply, ModelRequest, Provider, ReplyChunk, ReplyStream};
    use rooftree_runtime::Clock;

    /// Answers twice a second and refuses the rest, as a provider with a quota does.
    struct Strict {
        clock: Arc<rooftree_testkit::VirtualClock>,
        window: Mutex<(Timestamp, u32, u32)>,
    }

    impl Provider for Strict {
        fn stream(&self, _: ModelRequest) -> ReplyStream {
            let mut window = self.window.lock().unwrap();
            if self.clock.now().since(window.0) >= Duration::from_secs(1) {
                (window.0, window.1) = (self.clock.now(), 0);
            }
            window.1 += 1;
            let answer = if window.1 > 2 {
                window.2 += 1;
                Err(Error::RateLimited {
                    retry_after: Some(Duration::from_secs(1)),
                })
            } else {
                let parts = vec![ReplyPart::Text { text: "ok".into() }];
                let usage = rooftree_protocol::Usage::none();
                Ok(ReplyChunk::Reply(ModelReply {
                    parts,
                    stop: StopReason::End,
                    usage,
                    request: None,
                    dropped: vec![],
                }))
            };
            Box::pin(futures::stream::iter([answer]))
        }
    }

    let mut plan = TestRuntimeBuilder::new([say("unused")]);
    let strict = Arc::new(Mutex::new(None::<Arc<Strict>>));
    let made = strict.clone();
    plan.provider = Some(Box::new(move |clock| {
        let provider = Arc::new(Strict {
            clock,
            window: Mutex::new((Timestamp(0), 0, 0)),
        });
        *made.lock().unwrap() = Some(provider.clone());
        provider
    }));
    let runtime = plan.build();
    let mut sessions = Vec::new();
    for number in 0..50 {
        sessions.push(runtime.post(&format!("message {number}")).await);
    }
    for session in &sessions {
        assert_eq!(finish(&runtime, session).await.status, RunStatus::Completed);
    }
    let refused = strict
        .lock()
        .unwrap()
        .as_ref()
        .unwrap()
        .window
        .lock()
        .unwrap()
        .2;
    assert!(
        refused < 200,
        "the herd was refused {refused} times for 50 answers"
    );
}
