//! What becomes of a run when its client goes away, or the server does.

use rooftree_protocol::{Effect, EventBody, RunStatus, SessionId};
use rooftree_testkit::{
    ProbeTool, TestRuntimeBuilder, Toolset,
    probe_tool::ProbeGate,
    scripted::{call, say},
};
use serde_json::json;

use crate::agent_server::{JSON, Reached, TOKEN, question, until, with};

/// A runtime whose tool waits at its gate.
async fn working() -> (Reached, ProbeGate) {
    let (tool, keeper) = ProbeTool::gated("Work", Effect::LocalMutation);
    let entries = [
        say("").calls([call("Work", json!({"say": "x"}))]),
        say("Done."),
    ];
    (
        Reached::start(TestRuntimeBuilder::new(entries).tools(Toolset::new([tool]))).await,
        keeper,
    )
}

async fn status(reached: &Reached, session: &SessionId) -> RunStatus {
    reached.runtime.wait_for_run(session).await.status
}

#[tokio::test]
async fn a_client_that_goes_away_stops_a_run_that_was_only_for_it() {
    let (reached, keeper) = working().await;
    let stream = reached.stream(&question("go"), &[]).await;
    let session = stream.session().clone();
    reached
        .runtime
        .wait_for_event(&session, "tool.started")
        .await;
    drop(stream);
    assert_eq!(status(&reached, &session).await, RunStatus::Cancelled);
    until("putting it away", async || {
        reached.is_put_away(&session).await
    })
    .await;

    let whole = reached.send(&question("go"), &[]).await;
    until("the work", async || keeper.started() == 2).await;
    let sessions = reached
        .runtime
        .store()
        .sessions(Default::default())
        .await
        .unwrap();
    let session = sessions[0].id.clone();
    drop(whole);
    assert_eq!(status(&reached, &session).await, RunStatus::Cancelled);
    until("putting it away", async || {
        reached.is_put_away(&session).await
    })
    .await;
}

#[tokio::test]
async fn a_run_in_a_session_with_a_name_goes_on_and_its_answer_is_found_again() {
    let (reached, keeper) = working().await;
    for (number, more, headers) in [
        (1, json!({"user": "ada"}), vec!["idempotency-key: a"]),
        (2, json!({}), vec!["idempotency-key: a"]),
    ] {
        let body = with(question("go"), more);
        let stream = reached.stream(&body, &headers).await;
        let session = stream.session().clone();
        until("the work", async || keeper.started() == number).await;
        drop(stream);
        keeper.open(1);
        assert_eq!(status(&reached, &session).await, RunStatus::Completed);
        let answer = reached.answer(&body, &headers).await;
        assert_eq!(answer["choices"][0]["message"]["content"], "Done.");
        assert_eq!(keeper.started(), number, "it was not done again");
    }
}

#[tokio::test]
async fn a_server_that_stops_ends_streams_in_order_and_stops_what_nobody_can_come_back_to() {
    let (reached, _keeper) = working().await;
    let alone = reached.stream(&question("go"), &[]).await;
    let bound = reached
        .stream(&with(question("go"), json!({"user": "ada"})), &[])
        .await;
    let (own, kept) = (alone.session().clone(), bound.session().clone());
    reached.runtime.wait_for_event(&own, "tool.started").await;
    reached.runtime.wait_for_event(&kept, "tool.started").await;
    // A request of which the server has only seen the beginning.
    let mut late = tokio::net::TcpStream::connect(reached.address)
        .await
        .unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n{TOKEN}\r\n{JSON}\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"
    );
    tokio::io::AsyncWriteExt::write_all(&mut late, head.as_bytes())
        .await
        .unwrap();
    let mut invited = [0; 25];
    tokio::io::AsyncReadExt::read_exact(&mut late, &mut invited)
        .await
        .unwrap();
    reached.stop.cancel();
    for (stream, words) in [
        (alone, "has stopped the run"),
        (bound, "goes on when it starts again"),
    ] {
        let pieces = stream.rest().await;
        let error = &pieces.last().unwrap()["error"];
        assert_eq!(error["code"], "shutting_down", "{pieces:?}");
        assert!(
            error["message"].as_str().unwrap().contains(words),
            "{pieces:?}"
        );
    }
    tokio::io::AsyncWriteExt::write_all(&mut late, b"{}")
        .await
        .unwrap();
    let said = crate::callback_server::hear(late).await;
    assert_eq!(said.status, 503, "{said:?}");
    assert_eq!(said.header("retry-after"), "5");
    assert_eq!(status(&reached, &own).await, RunStatus::Cancelled);
    let events = reached.runtime.events(&kept).await;
    let ended = events
        .iter()
        .any(|event| matches!(event.body, EventBody::RunCompleted(_)));
    assert!(!ended, "the other goes on when the server is back");
    assert!(reached.task.await.unwrap().is_ok());
}
