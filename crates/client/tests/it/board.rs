//! The board over a client: rows follow what sessions do, in the same process and over HTTP.

use rooftree_client::{RuntimeClient, Watch};
use rooftree_protocol::{
    Answer, Command, PermissionId, PermissionScope, SessionId, command::CommandReply,
};
use rooftree_testkit::scripted::{ScriptEntry, call, say};
use rooftree_view::{
    StreamFrame, StreamRequest,
    board::{BoardChange, BoardReasonKind, BoardRow, BoardState},
};
use serde_json::json;

use crate::{
    cut_proxy::{CutProxy, Fault},
    served_story::{PATIENCE, Served, plan},
    stories::post,
};

fn asking() -> Vec<ScriptEntry> {
    let change = call("Change", json!({"say": "x"}));
    vec![
        say("I change it.").agent("lead").calls([change]),
        say("Changed.").agent("lead"),
    ]
}

fn whole_board() -> StreamRequest {
    StreamRequest {
        board: Some(String::new()),
        ..StreamRequest::default()
    }
}

/// The next change of the board.
async fn next_change(watch: &mut Watch) -> BoardChange {
    let read = async {
        loop {
            let frame = watch.next_frame().await.unwrap().unwrap();
            if let StreamFrame::Topic(topic) = frame {
                break topic;
            }
        }
    };
    let topic = tokio::time::timeout(PATIENCE, read).await;
    let topic = topic.unwrap_or_else(|_| panic!("the board never changed"));
    let change = topic.board_change().unwrap();
    assert_eq!(topic.rev, change.rev().to_string());
    change
}

/// Reads until the row of a session is in this state.
async fn until_state(watch: &mut Watch, session: &SessionId, state: BoardState) -> BoardRow {
    let is_it = |row: &BoardRow| row.session == *session && row.state == state;
    loop {
        let found = match next_change(watch).await {
            BoardChange::Snapshot(snapshot) => snapshot.rows.into_iter().find(is_it),
            BoardChange::Row(row) => Some(*row).filter(is_it),
            BoardChange::Gone(_) => None,
        };
        if let Some(row) = found {
            return row;
        }
    }
}

/// Answers what the only reason of a row asks.
async fn allow(client: &dyn RuntimeClient, row: &BoardRow) {
    assert_eq!(row.why.len(), 1);
    assert_eq!(row.why[0].kind, BoardReasonKind::Permission);
    let answer = Command::Permit {
        session: row.session.clone(),
        permission: PermissionId::parse(&row.why[0].id).unwrap(),
        answer: Answer::allow(PermissionScope::Once),
    };
    client.send(answer).await.unwrap();
}

async fn begin(served: &Served, client: &dyn RuntimeClient) -> SessionId {
    let reply = client.send(post(served, "go")).await.unwrap();
    let CommandReply::Accepted { session, .. } = reply else {
        panic!("{reply:?}")
    };
    session
}

async fn watch_and_answer(served: &Served, client: &dyn RuntimeClient) {
    let mut watch = client.watch(whole_board());
    let first = next_change(&mut watch).await;
    let BoardChange::Snapshot(first) = first else {
        panic!("{first:?}")
    };
    assert!(first.rows.is_empty());
    let session = begin(served, client).await;
    let row = until_state(&mut watch, &session, BoardState::NeedsYou).await;
    allow(client, &row).await;
    let row = until_state(&mut watch, &session, BoardState::Done).await;
    assert!(row.why.is_empty() && row.ended.is_some());
}

#[tokio::test]
async fn a_remote_client_sees_a_row_need_a_person_and_be_done_after_the_answer() {
    let served = Served::start(plan(asking())).await;
    watch_and_answer(&served, &served.remote(served.address)).await;
}

#[tokio::test]
async fn an_embedded_client_sees_the_same() {
    let served = Served::start(plan(asking())).await;
    watch_and_answer(&served, &served.embedded()).await;
}

#[tokio::test]
async fn a_board_that_is_cut_goes_on_where_it_was() {
    let served = Served::start(plan(asking())).await;
    // After `hello` and the whole board; then after `hello` and one row.
    let cuts = [2, 2, 2].map(Fault::CutAfter).to_vec();
    let proxy = CutProxy::start(served.address, cuts).await;
    watch_and_answer(&served, &served.remote(proxy.address)).await;
    assert!(proxy.left() < 3, "the stream was cut");
}
