//! Topics of the stream: schedules, connectors and messages to chats as they change, for those who may see them.

use std::time::Duration;

use rooftree_protocol::{AccessScope, Account, Principal, ScheduleDraft};
use rooftree_runtime::{Clock, ConnectorChange, NewPairing, RowNotice, ScheduleDefaults};
use rooftree_store::{ConnectorFields, OutboxBody, OutboxKind, OutboxPost, OutboxWish};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder, owner};
use rooftree_view::{StreamFrame, TopicFrame};
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt, net::TcpStream};

use crate::{
    agent_server::JSON,
    api_scene::{ApiScene, token},
    callback_server::sent,
    reply_html::frames,
};

/// Timeout of a test in real time.
const PATIENCE: Duration = Duration::from_secs(20);

/// An open stream.
struct TopicReader {
    stream: TcpStream,
    text: String,
    read: usize,
}

impl TopicReader {
    async fn open(scene: &ApiScene, token: &str, topics: &[&str]) -> Self {
        let topics: Value = topics.iter().map(|topic| (*topic, "")).collect();
        let body = json!({ "topics": topics }).to_string();
        let bearer = format!("authorization: Bearer {token}");
        let headers = ["host: localhost", &bearer, JSON];
        let line = "POST /api/v1/stream";
        Self {
            stream: sent(scene.address, line, &headers, body.as_bytes()).await,
            text: String::new(),
            read: 0,
        }
    }

    async fn frame(&mut self) -> StreamFrame {
        loop {
            let known = frames(&self.text);
            if let Some(frame) = known.into_iter().nth(self.read) {
                self.read += 1;
                return frame;
            }
            let mut bytes = [0; 4096];
            let read = tokio::time::timeout(PATIENCE, self.stream.read(&mut bytes)).await;
            let read = read.unwrap_or_else(|_| panic!("nothing follows {}", self.text));
            let read = read.unwrap();
            assert!(read > 0, "the stream ended: {}", self.text);
            self.text.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    }

    /// The name of the stream.
    async fn name(&mut self) -> String {
        match self.frame().await {
            StreamFrame::Hello(hello) => hello.stream,
            other => panic!("{other:?}"),
        }
    }

    /// The next frame with this name for which something holds.
    async fn until(&mut self, name: &str, is_it: impl Fn(&Value) -> bool) -> TopicFrame {
        loop {
            if let StreamFrame::Topic(topic) = self.frame().await
                && topic.name == name
                && is_it(&topic.data)
            {
                return topic;
            }
        }
    }
}

async fn change(runtime: &TestRuntime, fields: Option<ConnectorFields>, expected: Option<u64>) {
    let change = ConnectorChange {
        name: "home".into(),
        fields,
        expected,
    };
    let handle = &runtime.handle;
    handle.change_connector(&owner(), change).await.unwrap();
}

fn telegram() -> ConnectorFields {
    ConnectorFields {
        platform: "telegram".into(),
        agent: "lead".into(),
        settings: Default::default(),
        enabled: true,
    }
}

async fn put(runtime: &TestRuntime, text: &str, person: &str) {
    let post = OutboxPost {
        id: format!("out_{text}"),
        key: text.into(),
        account: Account {
            person: person.into(),
            ..Account::default()
        },
        session: None,
        run: None,
        kind: OutboxKind::Notice,
        target: "home:1".parse().unwrap(),
        body: OutboxBody::Text { text: text.into() },
        at: runtime.clock.now(),
    };
    let access = runtime.handle.connector_access();
    access.post(post, None).await.unwrap();
}

#[tokio::test]
async fn schedules_connectors_and_messages_are_told_as_they_change() {
    let api = ApiScene::start(TestRuntimeBuilder::new([])).await;
    let topics = ["schedules", "connectors", "outbox"];
    let mut reader = TopicReader::open(&api, api.token(AccessScope::Admin), &topics).await;
    for topic in topics {
        let name = format!("{topic}.snapshot");
        let snapshot = reader.until(&name, |_| true).await;
        assert_eq!(snapshot.data["items"], json!([]), "{topic}");
        // The others may have come before.
        reader.read = 0;
    }
    let runtime = &api.runtime;
    change(runtime, Some(telegram()), None).await;
    let row = reader.until("connectors.row", |_| true).await;
    assert_eq!(row.data["row"]["health"]["state"], "off", "{row:?}");
    let (boot, count) = row.rev.split_once(':').unwrap();
    assert!(boot.starts_with("boot_") && count == "2", "{}", row.rev);
    let new = NewPairing {
        connector: "home".into(),
        person: None,
        may_approve: false,
    };
    runtime.handle.create_pairing(&owner(), new).await.unwrap();
    let waits = |data: &Value| data["row"]["pending_pairing"].as_array().unwrap().len() == 1;
    reader.until("connectors.row", waits).await;
    put(runtime, "hello", "owner").await;
    let planned = |data: &Value| data["row"]["state"] == "planned";
    reader.until("outbox.row", planned).await;
    let queued = |data: &Value| data["row"]["outbox"]["queued"] == 1;
    reader.read = 0;
    reader.until("connectors.row", queued).await;
    let (handle, us) = (&runtime.handle, owner());
    let dropped = handle.change_outbox(&us, "out_hello", OutboxWish::Drop);
    dropped.await.unwrap();
    let dropped = |data: &Value| data["row"]["state"] == "superseded";
    reader.until("outbox.row", dropped).await;
    let draft = ScheduleDraft {
        name: Some("morning".into()),
        when: Some("every 2h".into()),
        prompt: Some("Look.".into()),
        ..ScheduleDraft::default()
    };
    let defaults = ScheduleDefaults {
        agent: "lead".into(),
        cwd: runtime.path().into(),
        zone: "UTC".into(),
    };
    let added = handle.add_schedule(&us, &draft, defaults);
    added.await.unwrap();
    let named = |data: &Value| data["row"]["name"] == "morning";
    reader.until("schedules.row", named).await;
    // What another process does is told too.
    let second = runtime.open_second(TestRuntimeBuilder::new([]));
    change(&second, None, Some(1)).await;
    let gone = |data: &Value| data["id"] == "home";
    reader.until("connectors.gone", gone).await;
}

#[tokio::test]
async fn a_topic_is_added_to_an_open_stream_and_needs_the_scope_of_its_list() {
    let api = ApiScene::start(TestRuntimeBuilder::new([])).await;
    change(&api.runtime, Some(telegram()), None).await;
    let read = api.token(AccessScope::Read);
    for (token, topics, status) in [
        (read, json!({"connectors": ""}), 403),
        (api.token(AccessScope::Admin), json!({"pigeons": ""}), 422),
    ] {
        let body = json!({ "topics": topics }).to_string();
        let refused = api
            .send(token, "POST /stream", &[JSON], body.as_bytes())
            .await;
        assert_eq!(refused.status, status, "{topics}: {refused:?}");
    }
    let mut reader = TopicReader::open(&api, api.token(AccessScope::Admin), &["outbox"]).await;
    let line = format!("PATCH /stream/{}", reader.name().await);
    let patch = json!({"topics": {"connectors": "", "outbox": null}});
    api.told(200, &line, Some(patch)).await;
    let snapshot = reader.until("connectors.snapshot", |_| true).await;
    assert_eq!(snapshot.data["items"][0]["id"], "home", "{snapshot:?}");
    put(&api.runtime, "unheard", "owner").await;
    let queued = |data: &Value| data["row"]["outbox"]["queued"] == 1;
    reader.until("connectors.row", queued).await;
    assert!(!reader.text.contains("outbox.row"), "{}", reader.text);
    // An open stream of a token with less is not widened.
    let mut reader = TopicReader::open(&api, read, &["outbox"]).await;
    let line = format!("PATCH /stream/{}", reader.name().await);
    let patch = json!({"topics": {"connectors": ""}}).to_string();
    let refused = api.send(read, &line, &[JSON], patch.as_bytes()).await;
    assert_eq!(refused.status, 403, "{refused:?}");
}

#[tokio::test]
async fn an_invited_person_sees_own_messages_and_no_connector() {
    let api = ApiScene::start(TestRuntimeBuilder::new([])).await;
    change(&api.runtime, Some(telegram()), None).await;
    let guest = token(&api.runtime, AccessScope::Read, Some("Ann")).await;
    let persons = api.told(200, "GET /persons", None).await;
    let persons = persons["persons"].as_array().unwrap();
    let ann = persons.iter().find(|one| one["name"] == "Ann").unwrap();
    let ann = Principal {
        person: ann["id"].as_str().unwrap().to_owned(),
        ..owner()
    };
    put(&api.runtime, "of-the-owner", "owner").await;
    put(&api.runtime, "of-ann", &ann.person).await;
    let mut watch = api.runtime.handle.watch_connectors(&ann);
    let none = watch.next().await.unwrap();
    assert_eq!(none, RowNotice::Snapshot(Vec::new()));
    let mut reader = TopicReader::open(&api, &guest, &["outbox"]).await;
    let own = reader.until("outbox.snapshot", |_| true).await;
    let texts: Vec<&Value> = own.data["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["text"])
        .collect();
    assert_eq!(texts, [&json!("of-ann")]);
}
