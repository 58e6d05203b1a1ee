//! The board against the truth: random histories of a real runtime, whose oracle is what the test did.

mod histories;

use std::time::Duration;

use rooftree_protocol::{Command, Effect, SessionId};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder, owner};
use rooftree_tools::Toolset;
use rooftree_view::board::{BoardChange, BoardRow, BoardState};
use serde_json::json;

/// The row of a session, once it satisfies a condition.
async fn row(
    runtime: &TestRuntime,
    session: &SessionId,
    is_wanted: impl Fn(&BoardRow) -> bool,
) -> Result<BoardRow, Option<BoardRow>> {
    let mut found = None;
    for _ in 0..2_000 {
        let queries = runtime.handle.queries(&owner());
        let page = queries.board(Default::default()).await.unwrap();
        let mut rows = page.rows.into_iter();
        found = rows.find(|row| row.session == *session);
        if let Some(row) = found.clone().filter(&is_wanted) {
            return Ok(row);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Err(found)
}

fn gated() -> (TestRuntimeBuilder, rooftree_testkit::probe_tool::ProbeGate) {
    let (tool, gate) = ProbeTool::gated("Look", Effect::ReadOnly);
    let look = say("I look.").calls([call("Look", json!({"say": "x"}))]);
    let plan = TestRuntimeBuilder::new([look, say("All is well.")]).tools(Toolset::new([tool]));
    (plan, gate)
}

#[tokio::test]
async fn watchers_get_the_board_then_changes_and_share_one_feed() {
    let (plan, gate) = gated();
    let runtime = plan.build();
    let mut first = runtime.handle.watch_board(&owner(), None);
    let mut second = runtime.handle.watch_board(&owner(), None);
    let BoardChange::Snapshot(empty) = first.next().await else {
        panic!("no snapshot first")
    };
    assert!(empty.rows.is_empty());
    let session = runtime.post("go").await;
    runtime.wait_for_event(&session, "tool.started").await;
    let mut known = empty.rev.clone();
    loop {
        match first.next().await {
            BoardChange::Row(row) if row.state == BoardState::Working => break,
            other => known = other.rev().clone(),
        }
    }
    gate.open(1);
    runtime.wait_for_run(&session).await;
    loop {
        if let BoardChange::Row(row) = first.next().await
            && row.state == BoardState::Done
        {
            assert_eq!(row.headline, "I look.", "15 seconds are not over");
            break;
        }
    }
    let BoardChange::Snapshot(late) = second.next().await else {
        panic!("no snapshot first")
    };
    assert_eq!(late.rows.len(), 1);
    assert_eq!(late.rev.boot, empty.rev.boot);
    // One that was cut off goes on after what it saw; a revision of another process is none.
    let mut again = runtime.handle.watch_board(&owner(), Some(&known));
    assert!(matches!(again.next().await, BoardChange::Row(_)));
    let mut foreign = late.rev.clone();
    foreign.boot = "boot_other".into();
    let mut other = runtime.handle.watch_board(&owner(), Some(&foreign));
    assert!(matches!(other.next().await, BoardChange::Snapshot(_)));
    let delete = Command::Delete {
        session: session.clone(),
    };
    runtime.command(delete).await;
    loop {
        if let BoardChange::Gone(gone) = first.next().await {
            assert_eq!(gone.session, session);
            break;
        }
    }
    runtime.close().await;
}

#[tokio::test]
async fn a_person_sees_own_sessions_and_a_bound_token_those_of_its_agents() {
    let runtime = TestRuntimeBuilder::new([say("yes").times(9)]).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let board = async |who: &rooftree_protocol::Principal| {
        let page = runtime.handle.queries(who).board(Default::default()).await;
        page.unwrap().rows.len()
    };
    let mut guest = owner();
    guest.person = "guest".into();
    let mut bound = owner();
    bound.agents = Some(["scout".to_owned()].into());
    assert_eq!(
        (
            board(&owner()).await,
            board(&guest).await,
            board(&bound).await
        ),
        (1, 0, 0)
    );
    let read = Command::MarkRead {
        session: session.clone(),
        upto: None,
    };
    assert!(runtime.handle.send(&guest, read.clone()).await.is_err());
    assert!(row(&runtime, &session, |row| row.unread).await.is_ok());
    runtime.command(read).await;
    assert!(row(&runtime, &session, |row| !row.unread).await.is_ok());
}
