//! Sessions and messages over the API: a story each.

use std::time::Duration;

use rooftree_protocol::{AccessScope, Effect};
use rooftree_testkit::{
    ProbeTool, TestRuntimeBuilder, Toolset,
    scripted::{call, say},
};
use serde_json::{Value, json};

use crate::{
    agent_server::JSON,
    api_scene::{ApiScene, token},
};

fn plain(replies: &[&str]) -> TestRuntimeBuilder {
    TestRuntimeBuilder::new(replies.iter().map(|reply| say(*reply)))
}

fn text(text: &str) -> Option<Value> {
    Some(json!({"text": text}))
}

#[tokio::test]
async fn a_session_is_opened_changed_listed_deleted_and_restored() {
    let api = ApiScene::start(plain(&["One."])).await;
    let new = json!({"agent": "lead", "name": "alpha"});
    let made = api.told(201, "POST /sessions", Some(new)).await;
    let id = made["id"].as_str().unwrap().to_owned();
    let again = json!({"agent": "lead", "strategy": "latest-or-create"});
    assert_eq!(
        api.told(200, "POST /sessions", Some(again)).await["id"],
        made["id"]
    );
    let change = json!({"name": "beta", "pinned": true, "attributes": {"ticket": 7}, "model": "scripted/other"});
    let changed = api
        .told(200, &format!("PATCH /sessions/{id}"), Some(change))
        .await;
    assert_eq!(
        (&changed["name"], &changed["attributes"]["ticket"]),
        (&json!("beta"), &json!(7))
    );
    assert_eq!(changed["model"], "scripted/other");
    assert!(changed["pinned_at"].is_string());
    let cleared = json!({"name": null, "model": null, "pinned": false});
    let changed = api
        .told(200, &format!("PATCH /sessions/{id}"), Some(cleared))
        .await;
    assert!(
        changed.get("name").is_none() && changed.get("model").is_none(),
        "{changed}"
    );
    let mode = Some(json!({"mode": "bypass"}));
    let refused = api
        .ask_as(AccessScope::Chat, &format!("PATCH /sessions/{id}"), mode)
        .await;
    assert_eq!(refused.status, 403, "a mode is a permission");
    api.told(204, &format!("DELETE /sessions/{id}"), None).await;
    assert_eq!(
        api.told(200, "GET /sessions", None).await["sessions"],
        json!([])
    );
    let deleted = api.told(200, "GET /sessions?deleted=true", None).await;
    assert_eq!(deleted["sessions"][0]["id"], made["id"]);
    api.told(404, &format!("POST /sessions/{id}/messages"), text("x"))
        .await;
    api.told(200, &format!("POST /sessions/{id}/restore"), None)
        .await;
    assert_eq!(
        api.told(200, "GET /sessions?state=resting", None).await["sessions"][0]["id"],
        made["id"]
    );
    api.told(404, "GET /sessions/ses_none", None).await;
    api.told(404, "POST /sessions", Some(json!({"agent": "nobody"})))
        .await;
    let away = api
        .ask_as(
            AccessScope::Chat,
            "POST /sessions",
            Some(json!({"agent": "lead", "cwd": "/"})),
        )
        .await;
    assert_eq!(away.status, 403, "only below the server's directory");
}

#[tokio::test]
async fn pages_follow_each_other_by_cursor_and_hold_what_is_meant() {
    let api = ApiScene::start(plain(&[])).await;
    for number in 0..5 {
        api.runtime.clock.advance(Duration::from_secs(1));
        let name = if number % 2 == 0 {
            format!("even {number}")
        } else {
            format!("odd {number}")
        };
        api.told(
            201,
            "POST /sessions",
            Some(json!({"agent": "lead", "name": name})),
        )
        .await;
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = api
            .told(200, &format!("GET /sessions?q=EVEN&limit=1{cursor}"), None)
            .await;
        seen.extend(
            page["sessions"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["name"].clone()),
        );
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ["even 4", "even 2", "even 0"]);
    api.told(422, "GET /sessions?cursor=nonsense", None).await;
    api.told(422, "GET /sessions?unknown=1", None).await;
}

#[tokio::test]
async fn a_message_is_accepted_answered_and_shown() {
    let api = ApiScene::start(plain(&["Hello.", "Again."])).await;
    let session = api.opened().await;
    let line = format!("POST /sessions/{session}/messages");
    let headers = [
        JSON,
        "Prefer: respond-async, wait=60",
        "Idempotency-Key: one",
    ];
    let body = json!({"text": "hi"}).to_string();
    let chat = api.token(AccessScope::Chat).to_owned();
    let said = api.send(&chat, &line, &headers, body.as_bytes()).await;
    assert_eq!(said.status, 200, "{said:?}");
    let answered = said.json();
    assert_eq!(
        (&answered["text"], &answered["status"]),
        (&json!("Hello."), &json!("completed"))
    );
    let again = api
        .send(&chat, &line, &headers, body.as_bytes())
        .await
        .json();
    assert_eq!(
        (&again["message"], &again["repeated"]),
        (&answered["message"], &json!(true))
    );
    assert_eq!(
        again["text"], "Hello.",
        "a repeated one waits for the same run"
    );
    let other = json!({"text": "something else"}).to_string();
    let conflict = api.send(&chat, &line, &headers, other.as_bytes()).await;
    assert_eq!(conflict.status, 409, "{conflict:?}");
    let messages = api
        .told(200, &format!("GET /sessions/{session}/messages"), None)
        .await;
    let kinds: Vec<&str> = messages["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["message", "reply", "ended"]);
    let found = api.told(200, "GET /search?q=Hello", None).await;
    assert_eq!(found["hits"][0]["session"], session.as_str());
    api.told(422, &line, text("")).await;
}

#[tokio::test]
async fn a_client_that_waits_in_vain_gets_202_and_the_run_goes_on() {
    let (held, gate) = ProbeTool::gated("Held", Effect::ReadOnly);
    let plan = TestRuntimeBuilder::new([say("").calls([call("Held", json!({}))]), say("Late.")])
        .tools(Toolset::new([held]));
    let api = ApiScene::start(plan).await;
    let session = api.opened().await;
    let line = format!("POST /sessions/{session}/messages");
    let body = json!({"text": "hi"}).to_string();
    let token = api.token(AccessScope::Chat).to_owned();
    let ticking = async {
        loop {
            tokio::time::sleep(Duration::from_millis(5)).await;
            api.runtime.clock.advance(Duration::from_secs(5));
        }
    };
    let said = tokio::select! {
        said = api.send(&token, &line, &[JSON, "Prefer: wait=10"], body.as_bytes()) => said,
        () = ticking => panic!("time never ends"),
    };
    assert_eq!(
        (said.status, said.header("preference-applied")),
        (202, "wait=10")
    );
    gate.open(1);
    assert_eq!(api.runtime.wait_for_run(&session).await.text, "Late.");
}

#[tokio::test]
async fn a_waiting_message_is_listed_replaced_and_withdrawn() {
    let (held, gate) = ProbeTool::gated("Held", Effect::ReadOnly);
    let plan = TestRuntimeBuilder::new([
        say("").calls([call("Held", json!({}))]),
        say("Done."),
        say("Read: {{ user.text }}"),
    ])
    .tools(Toolset::new([held]));
    let api = ApiScene::start(plan).await;
    let session = api.runtime.post("go").await;
    api.runtime.wait_for_event(&session, "tool.started").await;
    let line = format!("POST /sessions/{session}/messages");
    let first = api.told(202, &line, text("first")).await;
    let second = api.told(202, &line, text("second")).await;
    let place = |message: &Value| {
        format!(
            "/sessions/{session}/queue/{}",
            message["message"].as_str().unwrap()
        )
    };
    api.told(200, &format!("PUT {}", place(&second)), text("better"))
        .await;
    api.told(204, &format!("DELETE {}", place(&first)), None)
        .await;
    let queue = api
        .told(200, &format!("GET /sessions/{session}/queue"), None)
        .await;
    assert_eq!(
        (
            &queue["queued"][0]["withdrawn"],
            &queue["queued"][1]["revision"]
        ),
        (&json!(true), &json!(1))
    );
    gate.open(1);
    let end = api.runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(end.text, "Read: better");
    api.told(409, &format!("DELETE {}", place(&second)), None)
        .await;
    api.told(
        404,
        &format!("DELETE /sessions/{session}/queue/msg_none"),
        None,
    )
    .await;
}

#[tokio::test]
async fn bytes_are_seen_by_their_uploader_and_by_those_who_see_the_session() {
    let api = ApiScene::start(plain(&["Nice."])).await;
    let session = api.opened().await;
    let chat = api.token(AccessScope::Chat).to_owned();
    let kind = ["Content-Type: application/octet-stream"];
    let gif = b"GIF89a picture";
    let upload = api.send(&chat, "POST /attachments", &kind, gif).await;
    assert_eq!(upload.status, 201, "{upload:?}");
    let blob = upload.json()["blob"].as_str().unwrap().to_owned();
    let body = json!({"text": "look", "attachments": [{"blob": blob}]});
    api.told(
        202,
        &format!("POST /sessions/{session}/messages"),
        Some(body.clone()),
    )
    .await;
    api.runtime.wait_for_run(&session).await;
    let read = api
        .ask_as(
            AccessScope::Read,
            &format!("GET /blobs/{blob}?session={session}"),
            None,
        )
        .await;
    assert_eq!(
        (read.status, read.header("content-type")),
        (200, "image/gif")
    );
    assert_eq!(
        (
            read.header("x-content-type-options"),
            read.header("content-disposition")
        ),
        ("nosniff", "inline")
    );
    let guest = token(&api.runtime, AccessScope::Chat, Some("guest")).await;
    for path in [
        format!("GET /blobs/{blob}"),
        format!("GET /blobs/{blob}?session={session}"),
    ] {
        assert_eq!(
            api.send(&guest, &path, &[], b"").await.status,
            404,
            "{path}"
        );
    }
    let own = api
        .send(&guest, "POST /sessions", &[JSON], br#"{"agent":"lead"}"#)
        .await
        .json();
    let line = format!("POST /sessions/{}/messages", own["id"].as_str().unwrap());
    let stolen = api
        .send(&guest, &line, &[JSON], body.to_string().as_bytes())
        .await;
    assert_eq!(
        stolen.status, 422,
        "bytes of others cannot be attached: {stolen:?}"
    );
    let page = b"<html><script>alert(1)</script></html>";
    let upload = api
        .send(&chat, "POST /attachments", &kind, page)
        .await
        .json();
    let page = api
        .send(
            &chat,
            &format!("GET /blobs/{}", upload["blob"].as_str().unwrap()),
            &[],
            b"",
        )
        .await;
    assert_eq!(
        (
            page.header("content-type"),
            page.header("content-disposition")
        ),
        ("application/octet-stream", "attachment")
    );
}

#[tokio::test]
async fn a_conversation_is_forked_handed_over_and_brought_back() {
    let api = ApiScene::start(plain(&["One.", "Two.", "Three."])).await;
    let session = api.opened().await;
    api.told(
        202,
        &format!("POST /sessions/{session}/messages"),
        text("hi"),
    )
    .await;
    api.runtime.wait_for_run(&session).await;
    let fork = api
        .told(
            201,
            &format!("POST /sessions/{session}/fork"),
            Some(json!({"name": "branch"})),
        )
        .await;
    assert_eq!(fork["forked_from"]["session"], session.as_str());
    api.told(
        422,
        &format!("POST /sessions/{session}/fork"),
        Some(json!({"at": 9_999})),
    )
    .await;
    let switch = json!({"agent": "task", "text": "go on"});
    let switched = api
        .told(
            201,
            &format!("POST /sessions/{session}/switch"),
            Some(switch),
        )
        .await;
    let other = rooftree_protocol::SessionId::parse(switched["id"].as_str().unwrap()).unwrap();
    api.runtime.wait_for_nth_run(&other, 2).await;
    let back = api
        .told(
            202,
            &format!("POST /sessions/{other}/back"),
            Some(json!({"summary": "extract"})),
        )
        .await;
    assert_eq!(back["session"], session.as_str());
    let queue = api
        .told(200, &format!("GET /sessions/{session}/queue"), None)
        .await;
    assert_eq!(queue["steering"].as_array().unwrap().len(), 1);
    api.told(202, &format!("POST /sessions/{session}/clear"), None)
        .await;
    api.told(200, &format!("GET /sessions/{session}/todos"), None)
        .await;
    let preview = api
        .told(200, &format!("GET /sessions/{session}/undo"), None)
        .await;
    assert_eq!(preview["undo"], Value::Null);
    api.told(
        422,
        &format!("POST /sessions/{session}/undo"),
        Some(json!({})),
    )
    .await;
}

#[tokio::test]
async fn an_exported_session_is_imported_with_its_events() {
    let api = ApiScene::start(plain(&["One."])).await;
    let session = api.opened().await;
    api.told(
        202,
        &format!("POST /sessions/{session}/messages"),
        text("hi"),
    )
    .await;
    api.runtime.wait_for_run(&session).await;
    let export = api
        .told(200, &format!("GET /sessions/{session}/export"), None)
        .await;
    let imported = api
        .told(201, "POST /sessions/import", Some(export.clone()))
        .await;
    assert_ne!(imported["id"], export["session"]["id"]);
    let line = format!(
        "GET /sessions/{}/messages",
        imported["id"].as_str().unwrap()
    );
    let kinds = api.told(200, &line, None).await;
    assert_eq!(kinds["messages"][1]["text"], "One.");
}
