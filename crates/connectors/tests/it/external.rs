//! External connectors: what they post, files, tokens; and the example in Python, run as its own process.

use std::{
    path::Path,
    process::Stdio,
    sync::{Arc, OnceLock},
};

use rooftree_connectors::{
    Button, ChatPlace, Connector, ExternalConnector, ExternalRegistration, ExternalToken,
    FailureClass, Health, Inbound, InboundBody, OutboundFile, OutboundPart, PartBody,
    PlatformAnswer, PlatformRequest, Reconciled,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, Command},
};

use crate::loopback::{Arrived, Loopback, Reaction};

pub const TOKEN: &str = "external-token-0123456789";

pub fn external(url: &str) -> ExternalConnector {
    let registration = json!({"url": url, "capabilities": {"edit": true, "buttons": true, "files": true,
        "typing": true, "deliveries": true, "max_length": 500}});
    let registration: ExternalRegistration = serde_json::from_value(registration).unwrap();
    ExternalConnector::new(registration, ExternalToken::new(TOKEN).unwrap()).unwrap()
}

pub fn chat() -> ChatPlace {
    ChatPlace {
        chat: "console".to_owned(),
        thread: None,
        reply_to: None,
        group: false,
    }
}

async fn post(connector: &ExternalConnector, token: &str, body: &Value) -> PlatformAnswer {
    let (bearer, body) = (format!("Bearer {token}"), body.to_string());
    let request = PlatformRequest {
        headers: &[("Authorization", &bearer)],
        body: body.as_bytes(),
        at_ms: 5,
    };
    connector.take_request(request).await
}

async fn stored(connector: &ExternalConnector, body: &Value) -> (Inbound, Vec<Vec<u8>>) {
    let store = async {
        let found = connector.receive().await.unwrap();
        let mut files = Vec::new();
        if let InboundBody::Message { files: named, .. } = &found.body {
            for file in named {
                files.push(connector.download(file, 1_000).await.unwrap());
            }
        }
        connector.acknowledge(&found.key).await.unwrap();
        (found, files)
    };
    let (answer, found) = tokio::join!(post(connector, TOKEN, body), store);
    assert_eq!(answer.status, 202, "{answer:?}");
    found
}

#[tokio::test]
async fn a_posted_message_has_its_files_until_it_is_acknowledged() {
    let server = Loopback::start(|request| match request.method() {
        "own.txt" => Reaction::Answer(200, b"fetched".to_vec()),
        _ => Reaction::json(200, json!({})),
    });
    let server = server.await;
    let connector = external(&server.url);
    let body = json!({"key": "k1", "chat": "console", "thread": "t", "group": true, "from": {"id": "7", "name": "Ada"},
        "text": "look", "addressed": true, "files": [
            {"name": "../a.txt", "media_type": "text/plain", "base64": "aGVsbG8="},
            {"name": "own.txt", "url": format!("{}/own.txt", server.url)}]});
    let (found, files) = stored(&connector, &body).await;
    assert_eq!((found.key.as_str(), found.at_ms), ("k1", 5));
    assert_eq!(found.place.thread.as_deref(), Some("t"));
    assert_eq!(files, [b"hello".to_vec(), b"fetched".to_vec()]);
    let InboundBody::Message { files, .. } = found.body else {
        panic!("a message")
    };
    assert_eq!(files[0].name, "a.txt");
    let fetched = server
        .arrived()
        .into_iter()
        .find(|request| request.method() == "own.txt");
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(
        fetched.unwrap().header("authorization"),
        Some(bearer.as_str())
    );
    // Its bytes are dropped, and a URL of another host must not lead to this machine's address.
    assert!(connector.download(&files[0], 1_000).await.is_err());
    let mut foreign = files[1].clone();
    foreign.id = "http://127.0.0.1:1/secret".to_owned();
    let refused = connector.download(&foreign, 1_000).await.unwrap_err();
    assert_eq!(refused.class, FailureClass::InvalidPayload);
}

#[tokio::test]
async fn what_is_not_a_message_or_has_no_token_is_refused() {
    let server = Loopback::start(|_| Reaction::json(200, json!({}))).await;
    let connector = external(&server.url);
    let good = json!({"key": "k", "chat": "c", "from": {"id": "7"}, "text": "a"});
    for token in ["", "wrong", "external-token-012345678"] {
        assert_eq!(post(&connector, token, &good).await.status, 401);
    }
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    for (body, status) in [
        (json!([]), 400),
        (json!({"key": "k"}), 400),
        (with("key", json!("")), 422),
        (with("key", json!("x".repeat(129))), 422),
        (with("text", json!(" ")), 422),
        (with("files", json!([{"name": "a", "base64": "%"}])), 422),
        (with("files", json!([{"name": "a"}])), 422),
    ] {
        assert_eq!(
            post(&connector, TOKEN, &body).await.status,
            status,
            "{body}"
        );
    }
    let press = json!({"key": "b1", "chat": "c", "from": {"id": "7"},
        "callback": {"data": "p:1:y", "press": "9", "message": "m1"}});
    let (found, _) = stored(&connector, &press).await;
    assert!(matches!(found.body, InboundBody::Button { data, .. } if data == "p:1:y"));
}

#[tokio::test]
async fn messages_edits_and_presses_go_to_their_paths() {
    let server = Loopback::start(|request: &Arrived| match request.path.as_str() {
        "/base/deliveries/k2" => Reaction::json(404, json!({})),
        "/base/deliveries/k3" => Reaction::json(500, json!({})),
        _ => Reaction::json(200, json!({"message": "m1"})),
    });
    let server = server.await;
    let connector = external(&format!("{}/base/", server.url));
    let mut part = OutboundPart::text("**hi**");
    part.buttons = vec![vec![Button {
        label: "Yes".to_owned(),
        data: "p:1:y".to_owned(),
    }]];
    let receipt = connector.send_keyed(&chat(), &part, "k1").await.unwrap();
    connector
        .edit(&chat(), &receipt.message, &part)
        .await
        .unwrap();
    connector.answer_button("9/..", "thanks").await.unwrap();
    connector.typing(&chat()).await.unwrap();
    let arrived = server.arrived();
    let paths: Vec<(&str, &str)> = arrived
        .iter()
        .map(|request| (request.verb.as_str(), request.path.as_str()))
        .collect();
    let expected = [
        ("POST", "/base/messages"),
        ("PUT", "/base/messages/m1"),
        ("POST", "/base/buttons/9%2F.."),
        ("POST", "/base/typing"),
    ];
    assert_eq!(paths, expected);
    assert_eq!(arrived[0].header("idempotency-key"), Some("k1"));
    let body = json!({"chat": "console", "thread": null, "reply_to": null, "silent": false, "text": "**hi**",
        "buttons": [[{"label": "Yes", "data": "p:1:y"}]]});
    assert_eq!(arrived[0].json(), body);
    for (key, expected) in [
        ("k1", Reconciled::Sent(receipt)),
        ("k2", Reconciled::NotSent),
        ("k3", Reconciled::Unresolved),
    ] {
        assert_eq!(
            connector.reconcile_keyed(&chat(), &part, key).await,
            expected
        );
    }
}

/// The example, running; it ends with the value.
fn example(server: &Loopback) -> Child {
    let script = "../../examples/external-connector/chat.py";
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
    let process = Command::new("python3")
        .arg(script)
        .args([&format!("{}/requests", server.url), "0"])
        .env("TOKEN", TOKEN)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    process.unwrap()
}

#[tokio::test]
async fn the_example_in_python_says_hears_and_repeats_nothing() {
    let connector: Arc<OnceLock<Arc<ExternalConnector>>> = Arc::default();
    let route = connector.clone();
    let server = Loopback::start_slow(move |request| {
        let (route, request) = (route.clone(), request.clone());
        Box::pin(async move {
            let headers: Vec<(&str, &str)> = request
                .headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            let request = PlatformRequest {
                headers: &headers,
                body: &request.body,
                at_ms: 5,
            };
            let answer = route.get().unwrap().take_request(request).await;
            Reaction::json(answer.status, answer.body)
        })
    });
    let mut example = example(&server.await);
    let mut input = example.stdin.take().unwrap();
    let mut output = BufReader::new(example.stdout.take().unwrap()).lines();
    let url = output.next_line().await.unwrap().unwrap();
    let external = connector.get_or_init(|| Arc::new(external(&url))).clone();
    input.write_all("hello 👍\n".as_bytes()).await.unwrap();
    let found = external.receive().await.unwrap();
    external.acknowledge(&found.key).await.unwrap();
    let InboundBody::Message {
        text, addressed, ..
    } = found.body
    else {
        panic!("a message")
    };
    assert_eq!(
        (text.as_str(), addressed, found.from.id.as_str()),
        ("hello 👍", true, "me")
    );
    let mut health = external.health();
    tokio::select! {
        _ = external.receive() => panic!("nothing more was said"),
        up = health.wait_for(|health| *health == Health::Up) => { up.unwrap(); }
    }
    let part = OutboundPart::text("first");
    for _ in 0..2 {
        assert_eq!(
            external
                .send_keyed(&found.place, &part, "k1")
                .await
                .unwrap()
                .message,
            "m1"
        );
    }
    let arrived = external.reconcile_keyed(&found.place, &part, "k1").await;
    assert!(matches!(arrived, Reconciled::Sent(receipt) if receipt.message == "m1"));
    let missing = external.reconcile_keyed(&found.place, &part, "k2").await;
    assert_eq!(missing, Reconciled::NotSent);
    let file = OutboundFile {
        name: "a.bin".to_owned(),
        media_type: "application/octet-stream".to_owned(),
        caption: String::new(),
        bytes: vec![7; 1_000],
        blob: String::new(),
    };
    let file = OutboundPart {
        body: PartBody::File(file),
        ..OutboundPart::text("")
    };
    external
        .send_keyed(&found.place, &file, "k3")
        .await
        .unwrap();
    external
        .edit(&found.place, "m1", &OutboundPart::text("second"))
        .await
        .unwrap();
    let mut lines = Vec::new();
    for _ in 0..3 {
        lines.push(output.next_line().await.unwrap().unwrap());
    }
    assert_eq!(
        lines,
        ["first", "file a.bin: 1000 bytes", "edit m1: second"]
    );
}
