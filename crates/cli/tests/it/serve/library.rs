//! A program that is written once, for a runtime in its own process and for a server in another one
//! (`Runtime::connect`): it watches a run, answers what is asked, and stops another run.

use std::{collections::BTreeMap, path::Path};

use rooftree::{
    PermissionMode, Runtime,
    client::{RemoteOptions, RuntimeClient},
    testing::{ScriptedModel, call, say},
};
use rooftree_protocol::{
    Address, Answer, Command, Delivery, EventBody, Origin, Part, PermissionScope, RunStatus,
    SessionId,
    command::{CommandReply, NewSession},
};
use rooftree_view::{SessionStart, StreamCursor, StreamFrame, StreamRequest};
use serde_json::json;

use super::remote::start;
use crate::run::fixture::Desk;

/// What the model says, in both processes.
const SCRIPT: &str = "[[reply]]\non = \"a note\"\ntext = \"I write it.\"\n[[reply.call]]\ntool = \"Write\"\n\
    input = { file_path = \"note.txt\", content = \"hello\" }\n\
    [[reply]]\non = \"a note\"\ntext = \"It is written.\"\n\
    [[reply]]\non = \"more\"\ntext = \"I write more.\"\n[[reply.call]]\ntool = \"Write\"\n\
    input = { file_path = \"more.txt\", content = \"more\" }\n";

/// What the program does when it is asked for a permission.
#[derive(Clone, Copy, PartialEq)]
enum Reaction {
    Allow,
    Stop,
}

async fn post(client: &dyn RuntimeClient, cwd: &Path, text: &str) -> SessionId {
    let new = NewSession {
        agent: "lead".into(),
        cwd: cwd.into(),
        name: None,
        model: None,
    };
    let post = Command::Post {
        to: Address::Create(new),
        parts: vec![Part::text(text)],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    };
    match client.send(post).await.unwrap() {
        CommandReply::Accepted { session, .. } => session,
        other => panic!("{other:?}"),
    }
}

/// Watches until the run has ended; says how, and with which text.
async fn watch(
    client: &dyn RuntimeClient,
    session: &SessionId,
    reaction: Reaction,
) -> (RunStatus, String) {
    let cursor = StreamCursor {
        after: Some(0),
        tree: true,
        ..StreamCursor::default()
    };
    let mut watch = client.watch(StreamRequest {
        sessions: BTreeMap::from([(session.clone(), SessionStart::Detailed(cursor))]),
        ..StreamRequest::default()
    });
    let mut next = 1;
    loop {
        let frame = watch.next_frame().await.unwrap().unwrap();
        let StreamFrame::Event(event) = frame else {
            continue;
        };
        if let Some(id) = event.id {
            assert_eq!(id, next, "in order, once");
            next += 1;
        }
        match &event.body {
            EventBody::PermissionRequested { id, .. } => {
                assert_eq!(client.open_questions().await.unwrap()[0].id, id.as_str());
                let session = session.clone();
                let command = match reaction {
                    Reaction::Allow => Command::Permit {
                        session,
                        permission: id.clone(),
                        answer: Answer::allow(PermissionScope::Once),
                    },
                    Reaction::Stop => Command::Cancel { session, run: None },
                };
                client.send(command).await.unwrap();
            }
            EventBody::RunCompleted(end) => return (end.status, end.text.clone()),
            _ => {}
        }
    }
}

/// The program.
async fn write_and_stop(client: &dyn RuntimeClient, cwd: &Path) {
    let session = post(client, cwd, "Write a note").await;
    let (status, text) = watch(client, &session, Reaction::Allow).await;
    assert_eq!(
        (status, text.as_str()),
        (RunStatus::Completed, "It is written.")
    );
    assert_eq!(
        std::fs::read_to_string(cwd.join("note.txt")).unwrap(),
        "hello"
    );
    let session = post(client, cwd, "Write more").await;
    let (status, text) = watch(client, &session, Reaction::Stop).await;
    assert_eq!(status, RunStatus::Cancelled, "{text}");
    assert!(!cwd.join("more.txt").exists());
    assert!(client.open_questions().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_program_uses_a_server_in_another_process_as_a_runtime_of_its_own() {
    let desk = Desk::new(SCRIPT);
    let made = ["token", "create", "program", "--scope", "chat,approve"];
    let token = desk.house.rooftree(&made).well().trim().to_owned();
    let (mut server, url) = start(&desk, "0");
    let client = Runtime::connect(RemoteOptions::new(url).token(token)).unwrap();
    write_and_stop(&client, &std::fs::canonicalize(desk.path()).unwrap()).await;
    server.kill().unwrap();
    server.wait().unwrap();

    let place = tempfile::tempdir().unwrap();
    let write =
        |name: &str, content: &str| call("Write", json!({"file_path": name, "content": content}));
    let model = ScriptedModel::from_replies([
        say("I write it.")
            .on("a note")
            .calls([write("note.txt", "hello")]),
        say("It is written.").on("a note"),
        say("I write more.")
            .on("more")
            .calls([write("more.txt", "more")]),
    ]);
    let runtime = Runtime::builder()
        .provider("scripted", model.unwrap())
        .cwd(place.path())
        .permission_mode(PermissionMode::Ask)
        .ask_by_events()
        .build()
        .await
        .unwrap();
    write_and_stop(&runtime.client(), place.path()).await;
    runtime.stop().await;
}
