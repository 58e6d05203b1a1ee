//! Changed metadata of a watched session reach a client, in the same process and over HTTP.

use rooftree_client::RuntimeClient;
use rooftree_protocol::{Command, Session};
use rooftree_view::{RunTreeView, StreamFrame};

use crate::served_story::{Served, entries, plan, whole_tree};

async fn rename_pin_and_choose_a_model(served: &Served, client: &dyn RuntimeClient) {
    let session = served.played().await;
    let mut watch = client.watch(whole_tree(&session));
    let mut view = RunTreeView::of(session.clone());
    let changes = [
        Command::Rename {
            session: session.clone(),
            name: Some("Parser".into()),
        },
        Command::Pin {
            session: session.clone(),
            pinned: true,
        },
        Command::SetModel {
            session: session.clone(),
            model: Some("scripted/other".parse().unwrap()),
        },
    ];
    let mut changes = changes.into_iter();
    let mut told: Vec<Session> = Vec::new();
    let mut is_begun = false;
    while told.len() < 3 {
        match watch.next_frame().await.unwrap().unwrap() {
            StreamFrame::Snapshot(snapshot) if snapshot.session == session && !is_begun => {
                is_begun = true;
                view.apply_snapshot(&snapshot);
                client.send(changes.next().unwrap()).await.unwrap();
            }
            StreamFrame::Meta(meta) => {
                view.apply_meta(&meta);
                told.push(*meta);
                if let Some(change) = changes.next() {
                    client.send(change).await.unwrap();
                }
            }
            _ => {}
        }
    }
    assert_eq!(told[0].name.as_deref(), Some("Parser"));
    assert!(told[0].pinned_at.is_none() && told[1].pinned_at.is_some());
    assert_eq!(told[2].model.as_deref(), Some("scripted/other"));
    let shown = view.session(&session).unwrap();
    assert_eq!(shown.name.as_deref(), Some("Parser"));
}

#[tokio::test]
async fn in_the_same_process_each_change_of_metadata_is_told_once() {
    let served = Served::start(plan(entries())).await;
    rename_pin_and_choose_a_model(&served, &served.embedded()).await;
}

#[tokio::test]
async fn over_http_each_change_of_metadata_is_told_once() {
    let served = Served::start(plan(entries())).await;
    rename_pin_and_choose_a_model(&served, &served.remote(served.address)).await;
}
