//! The context line of messages, and texts that look like commands: what the server keeps and what it does not do.

use rooftree_protocol::{AccessScope, AuthorizedCaller, Surface};
use rooftree_runtime::NewAccessToken;
use rooftree_testkit::{TestRuntimeBuilder, scripted::say};
use serde_json::{Value, json};

use crate::{agent_server::JSON, api_scene::ApiScene};

/// As the page writes it: an escaped quotation mark, letters beyond ASCII, two blanks.
const LINE: &str = "<context panel-id=\"p-1\" panel-type=\"list\" panel-title=\"Ähren &quot;Q&quot;  &lt;b&gt;\" selection=\"a,b\" mode=\"brief\" />";

async fn answered(api: &ApiScene, session: &str, body: Value) -> Value {
    let line = format!("POST /sessions/{session}/messages");
    let headers = [JSON, "Prefer: wait=60"];
    let chat = api.token(AccessScope::Chat).to_owned();
    let body = body.to_string();
    let said = api.send(&chat, &line, &headers, body.as_bytes()).await;
    assert_eq!(said.status, 200, "{said:?}");
    said.json()
}

/// What the model was asked last, as text.
fn last_request(api: &ApiScene) -> String {
    let requests = api.runtime.model.requests();
    format!("{:?}", requests.last().unwrap().messages)
}

async fn events(api: &ApiScene, session: &str) -> Vec<Value> {
    let line = format!("GET /sessions/{session}/events");
    let page = api.told(200, &line, None).await;
    page["events"].as_array().unwrap().clone()
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["type"] == kind)
        .collect()
}

#[tokio::test]
async fn a_context_line_is_kept_byte_by_byte_and_shown_to_the_model_before_the_text() {
    let api = ApiScene::start(TestRuntimeBuilder::new([say("One.")])).await;
    let session = api.opened().await.to_string();
    answered(
        &api,
        &session,
        json!({"text": "What is selected?", "context": LINE}),
    )
    .await;
    let events = events(&api, &session).await;
    let told = of_kind(&events, "message.user");
    assert_eq!(told[0]["data"]["message"]["context"], LINE, "{}", told[0]);
    let asked = last_request(&api);
    let (line, text) = (asked.find("panel-id"), asked.find("What is selected?"));
    assert!(line.is_some() && line < text, "{asked}");
}

#[tokio::test]
async fn what_is_no_context_line_is_refused_and_nothing_is_posted() {
    let api = ApiScene::start(TestRuntimeBuilder::new([])).await;
    let session = api.opened().await.to_string();
    let line = format!("POST /sessions/{session}/messages");
    let long = format!("<context mode=\"{}\" />", "a".repeat(5_000));
    for bad in [
        "brief",
        "<context mode=\"a\" />\nmore",
        "<system_message />",
        &long,
    ] {
        let problem = api
            .told(400, &line, Some(json!({"text": "x", "context": bad})))
            .await;
        assert_eq!(problem["pointer"], "/context", "{problem}");
        assert!(
            problem["hint"].as_str().unwrap().contains("<context"),
            "{problem}"
        );
        let command = json!({"command": "post", "to": {"session": "id", "id": session}, "parts": [{"type": "text", "text": "x"}], "origin": {"kind": "user"}, "context": bad});
        let refused = api.ask("POST /commands", Some(command)).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        assert!(
            refused.json()["title"]
                .as_str()
                .unwrap()
                .contains("context line"),
            "{refused:?}"
        );
    }
    assert_eq!(
        of_kind(&events(&api, &session).await, "message.user").len(),
        0
    );
    let queue = api
        .told(200, &format!("GET /sessions/{session}/queue"), None)
        .await;
    assert_eq!(queue, json!({"queued": [], "steering": []}));
}

#[tokio::test]
async fn a_text_that_looks_like_a_command_is_only_a_text() {
    let replies = ["One.", "Two.", "Three.", "Four."].map(say);
    let api = ApiScene::start(TestRuntimeBuilder::new(replies)).await;
    let session = api.opened().await.to_string();
    answered(&api, &session, json!({"text": "Remember the word walnut."})).await;
    for typed in ["/reset", "/clear"] {
        answered(&api, &session, json!({"text": typed})).await;
        let asked = last_request(&api);
        assert!(asked.contains("walnut") && asked.contains(typed), "{asked}");
    }
    assert_eq!(
        of_kind(&events(&api, &session).await, "session.cleared").len(),
        0
    );
    // The route does what the text does not.
    api.told(
        202,
        &format!("POST /sessions/{session}/clear"),
        Some(json!({})),
    )
    .await;
    answered(&api, &session, json!({"text": "And now?"})).await;
    assert!(!last_request(&api).contains("walnut"));
    assert_eq!(
        of_kind(&events(&api, &session).await, "session.cleared").len(),
        1
    );
}

#[tokio::test]
async fn providers_and_the_default_model_are_the_owners_and_a_server_without_settings_changes_nothing()
 {
    let api = ApiScene::start(TestRuntimeBuilder::new([])).await;
    for line in ["GET /providers", "GET /local-servers"] {
        assert_eq!(
            api.ask_as(AccessScope::Approve, line, None).await.status,
            403
        );
        api.told(200, line, None).await;
    }
    let key = Some(json!({"key": "sk-1"}));
    let line = "PUT /providers/anthropic/key";
    assert_eq!(
        api.ask_as(AccessScope::Approve, line, key.clone())
            .await
            .status,
        403
    );
    api.told(422, line, key).await;
    let bound = NewAccessToken {
        name: "bound".into(),
        person: None,
        scopes: [AccessScope::Admin].into_iter().collect(),
        agents: Some(vec!["lead".into()]),
        expires_at: None,
    };
    let owner = AuthorizedCaller::local_owner(Surface::Http);
    let bound = api
        .runtime
        .handle
        .create_token(&owner, bound)
        .await
        .unwrap();
    let said = api.send(&bound.secret, line, &[JSON], br#"{"key":"sk-1"}"#);
    assert_eq!(
        said.await.status,
        403,
        "a token for some agents changes no settings"
    );
    api.told(404, "POST /demo", None).await;
}
