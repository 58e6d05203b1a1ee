//! Webhooks: signatures, the replay window, bodies, templates; and signed requests that are sent.

use std::{cell::RefCell, time::Duration};

use rooftree_connectors::{
    ChatPlace, Connector, FailureClass, Inbound, InboundBody, OutboundPart, PlatformAnswer,
    PlatformRequest, PrivateAddresses, Reconciled, SignatureStyle, WebhookConnector,
    WebhookInbound, WebhookOptions, WebhookOutbound, WebhookSecret, WebhookTemplate,
    WebhookTemplates, is_signed, sign_body,
};
use serde_json::json;

use crate::loopback::{Loopback, Reaction};

pub const SECRET: &str = "a-shared-secret-0123";
pub const NOW: i64 = 1_700_000_000;

pub fn inbound_options(style: SignatureStyle) -> WebhookInbound {
    let template = |text: &str| Some(WebhookTemplate::parse(text).unwrap());
    WebhookInbound {
        secret: WebhookSecret::new(SECRET).unwrap(),
        style,
        templates: WebhookTemplates {
            agent: template("{{agent}}"),
            session: template("issue-{{issue.number}}"),
            sender: template("{{user}}"),
            ..WebhookTemplates::of_text().unwrap()
        },
    }
}

pub fn receiver(style: SignatureStyle) -> WebhookConnector {
    let options = WebhookOptions {
        inbound: Some(inbound_options(style)),
        outbound: None,
    };
    WebhookConnector::new(options).unwrap()
}

/// Sends a request while what arrives is stored and acknowledged.
async fn post(
    connector: &WebhookConnector,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (PlatformAnswer, Option<Inbound>) {
    let request = PlatformRequest {
        headers,
        body,
        at_ms: NOW * 1_000,
    };
    let found = RefCell::new(None);
    let store = async {
        loop {
            let inbound = connector.receive().await.unwrap();
            connector.acknowledge(&inbound.key).await.unwrap();
            found.replace(Some(inbound));
        }
    };
    let answer = tokio::select! {
        answer = connector.take_request(request) => answer,
        () = store => panic!("it receives for ever"),
    };
    (answer, found.take())
}

pub fn signed(time: i64, body: &[u8]) -> String {
    format!("t={time},{}", sign_body(SECRET, time, body))
}

#[tokio::test]
async fn a_signed_request_becomes_a_message_by_its_templates() {
    let connector = receiver(SignatureStyle::Timestamped);
    let body = br#"{"text": "it is down", "agent": "ops", "issue": {"number": 7}, "user": "Ada"}"#;
    let (answer, found) = post(
        &connector,
        &[("X-Rooftree-Signature", &signed(NOW, body))],
        body,
    )
    .await;
    let found = found.unwrap();
    assert_eq!(
        (
            answer.status,
            answer.body["diagnostics"].as_array().unwrap().len()
        ),
        (202, 0)
    );
    assert_eq!(found.agent.as_deref(), Some("ops"));
    assert_eq!(found.place.chat, "issue-7");
    assert_eq!(
        (found.from.id.as_str(), found.from.name.as_str()),
        ("webhook", "Ada")
    );
    let InboundBody::Message {
        text, addressed, ..
    } = found.body
    else {
        panic!("a message")
    };
    assert_eq!((text.as_str(), addressed), ("it is down", true));
    // A field that is missing is empty and told.
    let (answer, found) = post(
        &connector,
        &[("x-rooftree-signature", &signed(NOW, b"{\"text\":\"a\"}"))],
        b"{\"text\":\"a\"}",
    )
    .await;
    assert_eq!(found.unwrap().agent, None);
    assert_eq!(answer.body["diagnostics"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_bad_signature_and_an_old_one_are_refused() {
    let connector = receiver(SignatureStyle::Timestamped);
    let body = br#"{"text": "a"}"#;
    let good = signed(NOW, body);
    let other = format!("t={},{}", NOW + 1, sign_body(SECRET, NOW, body));
    let foreign = format!("t={NOW},{}", sign_body("another-secret-0123", NOW, body));
    let cases = [
        vec![],
        vec![("x-rooftree-signature", "")],
        vec![("x-rooftree-signature", other.as_str())],
        vec![("x-rooftree-signature", foreign.as_str())],
        vec![("x-hub-signature-256", good.as_str())],
        // Twice: unclear which one counts.
        vec![
            ("x-rooftree-signature", good.as_str()),
            ("X-Rooftree-Signature", foreign.as_str()),
        ],
    ];
    for headers in cases {
        let (answer, found) = post(&connector, &headers, body).await;
        assert_eq!((answer.status, found), (401, None), "{headers:?}");
        assert!(!answer.body.to_string().contains(SECRET));
    }
    for (time, status) in [
        (NOW - 300, 202),
        (NOW - 301, 401),
        (NOW + 300, 202),
        (NOW + 301, 401),
    ] {
        let header = signed(time, body);
        let (answer, _) = post(&connector, &[("x-rooftree-signature", &header)], body).await;
        assert_eq!(answer.status, status, "{time}");
    }
    // While a secret is changed, a request has two signatures.
    let two = format!("{foreign},{}", sign_body(SECRET, NOW, body));
    let (answer, _) = post(&connector, &[("x-rooftree-signature", &two)], body).await;
    assert_eq!(answer.status, 202);
}

#[tokio::test]
async fn a_repeated_request_has_the_same_key_whatever_its_other_headers_say() {
    let body = br#"{"text": "a"}"#;
    let header = signed(NOW, body);
    let mut keys = Vec::new();
    for delivery in ["1", "2"] {
        // A connector that was started anew knows nothing of the first.
        let connector = receiver(SignatureStyle::Timestamped);
        let headers = [
            ("x-rooftree-signature", header.as_str()),
            ("x-rooftree-delivery", delivery),
        ];
        let (_, found) = post(&connector, &headers, body).await;
        keys.push(found.unwrap().key);
        let (answer, found) = post(&connector, &headers, body).await;
        assert_eq!(
            (answer.status, found),
            (202, None),
            "what is stored is not given out again"
        );
    }
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test]
async fn bodies_may_be_forms_or_text_and_of_github() {
    let plain = receiver(SignatureStyle::Timestamped);
    for (kind, body, text) in [
        (
            "application/x-www-form-urlencoded",
            "text=a+b%20%E8%AA%9E&agent=x&text=second",
            "a b 語",
        ),
        ("text/plain; charset=utf-8", "just this", "just this"),
        (
            "application/cloudevents+json",
            "{\"text\": \"event\"}",
            "event",
        ),
    ] {
        let header = signed(NOW, body.as_bytes());
        let headers = [
            ("content-type", kind),
            ("x-rooftree-signature", header.as_str()),
        ];
        let (answer, found) = post(&plain, &headers, body.as_bytes()).await;
        assert_eq!(answer.status, 202, "{kind}");
        let InboundBody::Message { text: found, .. } = found.unwrap().body else {
            panic!("a message")
        };
        assert_eq!(found, text);
    }
    for (kind, body, status) in [
        ("image/png", "x", 415),
        ("application/json", "{", 400),
        ("application/json", "{\"text\": \" \"}", 422),
    ] {
        let header = signed(NOW, body.as_bytes());
        let headers = [
            ("content-type", kind),
            ("x-rooftree-signature", header.as_str()),
        ];
        assert_eq!(
            post(&plain, &headers, body.as_bytes()).await.0.status,
            status,
            "{body}"
        );
    }
    let large = vec![b' '; (1 << 20) + 1];
    assert_eq!(post(&plain, &[], &large).await.0.status, 413);
    // echo -n 'payload=%7B%22text%22%3A%22pushed%22%7D' | openssl dgst -sha256 -hmac a-shared-secret-0123
    let body = b"payload=%7B%22text%22%3A%22pushed%22%7D";
    let digits = "sha256=bd4245cafaf86ec66155f01a12577b5ab3de7cbb51a890f46af886c07e47a637";
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let github = receiver(SignatureStyle::BodyOnly);
    let (answer, found) = post(&github, &[kind, ("X-Hub-Signature-256", digits)], body).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    assert!(found.unwrap().key.starts_with("body:"));
    let (answer, _) = post(
        &github,
        &[kind, ("X-Hub-Signature-256", digits)],
        b"payload=1",
    )
    .await;
    assert_eq!(answer.status, 401);
}

pub fn sender(server: &Loopback, is_deduplicating: bool) -> WebhookConnector {
    let options = WebhookOptions {
        inbound: None,
        outbound: Some(WebhookOutbound {
            url: format!("{}/hook", server.url),
            secret: WebhookSecret::new(SECRET).unwrap(),
            private: PrivateAddresses::Refused,
            is_deduplicating,
        }),
    };
    WebhookConnector::new(options).unwrap()
}

fn chat() -> ChatPlace {
    ChatPlace {
        chat: "issue-7".to_owned(),
        thread: None,
        reply_to: None,
        group: false,
    }
}

#[tokio::test]
async fn what_is_sent_is_signed_and_has_its_id() {
    let server = Loopback::start(|_| Reaction::json(200, json!({"message": "m1"}))).await;
    let connector = sender(&server, true);
    let part = connector.split("**hello**").remove(0);
    for _ in 0..2 {
        let receipt = connector.send_keyed(&chat(), &part, "out_1").await.unwrap();
        assert_eq!(receipt.message, "m1");
    }
    for request in server.arrived() {
        assert_eq!(request.header("x-rooftree-delivery"), Some("out_1"));
        let signature = request.header("x-rooftree-signature").unwrap();
        let (time, signature) = signature
            .strip_prefix("t=")
            .unwrap()
            .split_once(',')
            .unwrap();
        assert!(is_signed(
            SECRET,
            time.parse().unwrap(),
            &request.body,
            signature
        ));
        let expected = json!({"id": "out_1", "chat": "issue-7", "buttons": [], "silent": false, "text": "**hello**"});
        assert_eq!(request.json(), expected);
    }
    connector.send(&chat(), &part).await.unwrap();
    connector.send(&chat(), &part).await.unwrap();
    let ids: Vec<String> = server.arrived()[2..]
        .iter()
        .map(|request| request.header("x-rooftree-delivery").unwrap().to_owned())
        .collect();
    assert_ne!(
        ids[0], ids[1],
        "without a key two messages are two deliveries"
    );
}

#[tokio::test]
async fn a_failed_delivery_has_the_class_that_says_what_can_be_done() {
    use FailureClass::{Auth, InvalidPayload, NotFound, RateLimit, Transient, Unknown};
    for (status, class, deduplicated) in [
        (400, InvalidPayload, InvalidPayload),
        (401, Auth, Auth),
        (410, NotFound, NotFound),
        (429, RateLimit, RateLimit),
        (503, Transient, Transient),
        (504, Unknown, Transient),
        (307, InvalidPayload, InvalidPayload),
    ] {
        let server = Loopback::start(move |_| Reaction::json(status, json!({}))).await;
        for (is_deduplicating, class) in [(false, class), (true, deduplicated)] {
            let connector = sender(&server, is_deduplicating);
            let sent = connector.send(&chat(), &OutboundPart::text("a")).await;
            assert_eq!(sent.unwrap_err().class, class, "{status}");
        }
    }
    let server = Loopback::start(|_| Reaction::Cut).await;
    let part = OutboundPart::text("a");
    let connector = sender(&server, false);
    let cut = connector.send_keyed(&chat(), &part, "k").await;
    assert_eq!(cut.unwrap_err().class, Unknown);
    let unresolved = connector.reconcile_keyed(&chat(), &part, "k").await;
    assert_eq!(unresolved, Reconciled::Unresolved);
    let connector = sender(&server, true);
    let again = connector.reconcile_keyed(&chat(), &part, "k").await;
    assert_eq!(again, Reconciled::NotSent, "the receiver drops the second");
}

#[tokio::test]
async fn a_request_that_is_not_stored_in_time_is_refused() {
    let connector = receiver(SignatureStyle::Timestamped);
    tokio::time::pause();
    let body = b"{\"text\": \"a\"}";
    let header = signed(NOW, body);
    let request = PlatformRequest {
        headers: &[("x-rooftree-signature", &header)],
        body,
        at_ms: NOW * 1_000,
    };
    let begin = tokio::time::Instant::now();
    assert_eq!(connector.take_request(request).await.status, 503);
    assert!(begin.elapsed() < Duration::from_secs(10));
}
