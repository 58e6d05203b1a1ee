//! Idempotency keys over the API: a repeated request changes nothing and gets the first answer.

use rooftree_protocol::AccessScope;
use rooftree_server::listed_routes;
use rooftree_testkit::{TestRuntimeBuilder, scripted::say};
use serde_json::json;

use crate::{agent_server::JSON, api_scene::ApiScene, callback_server::Said};

async fn scene() -> ApiScene {
    ApiScene::start(TestRuntimeBuilder::new([say("ok")])).await
}

async fn keyed(api: &ApiScene, line: &str, key: &str, body: &str) -> Said {
    let key = format!("Idempotency-Key: {key}");
    let token = api.token(AccessScope::Admin);
    api.send(token, line, &[JSON, &key], body.as_bytes()).await
}

fn is_replayed(said: &Said) -> bool {
    said.header("idempotent-replayed") == "true"
}

#[tokio::test]
async fn every_route_that_changes_something_answers_a_repeated_key_as_before() {
    let api = scene().await;
    let routes = listed_routes();
    let heeding: Vec<_> = routes.iter().filter(|route| route.heeds_key).collect();
    assert!(heeding.len() > 25, "{}", heeding.len());
    for (number, route) in heeding.into_iter().enumerate() {
        let mut path = String::new();
        for part in route.path.split('/').skip(1) {
            path += if part.starts_with('{') { "/none" } else { "/" };
            path += if part.starts_with('{') { "" } else { part };
        }
        let (line, key) = (format!("{} {path}", route.method), format!("key-{number}"));
        let first = keyed(&api, &line, &key, "{}").await;
        assert!(!is_replayed(&first), "{line}: {first:?}");
        let again = keyed(&api, &line, &key, "{}").await;
        assert!(is_replayed(&again), "{line}: {again:?}");
        if first.status < 300 && again.status == 409 {
            continue;
        }
        assert_eq!(
            (again.status, &again.body),
            (first.status, &first.body),
            "{line}"
        );
        let other = keyed(&api, &line, &key, r#"{"other": 1}"#).await;
        assert_eq!(other.status, 409, "{line}: {other:?}");
        assert!(!is_replayed(&other), "{line}");
    }
    for route in routes.iter().filter(|route| !route.heeds_key) {
        let is_known = route.method == "GET"
            || [
                "/stream",
                "/stream/{id}",
                "/attachments",
                "/login",
                "/logout",
            ]
            .contains(&route.path)
            || route.path.ends_with("/messages");
        assert!(
            is_known || route.path.starts_with("/stream"),
            "{} {} heeds no key",
            route.method,
            route.path
        );
    }
}

#[tokio::test]
async fn a_session_is_opened_once_for_one_key_and_keys_of_tokens_are_apart() {
    let api = scene().await;
    let body = json!({"agent": "lead"}).to_string();
    let first = keyed(&api, "POST /sessions", "one", &body).await;
    let again = keyed(&api, "POST /sessions", "one", &body).await;
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.json()["id"], again.json()["id"]);
    let key = "Idempotency-Key: one";
    let token = api.token(AccessScope::Chat);
    let headers = [JSON, key];
    let sent = api.send(token, "POST /sessions", &headers, body.as_bytes());
    let other = sent.await;
    assert_ne!(
        first.json()["id"],
        other.json()["id"],
        "the key of another token"
    );
    let listed = api.told(200, "GET /sessions", None).await;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn requests_with_one_key_at_the_same_time_are_carried_out_once() {
    let api = scene().await;
    let body = json!({"agent": "lead"}).to_string();
    let asked = (0..8).map(|_| keyed(&api, "POST /sessions", "race", &body));
    for said in futures::future::join_all(asked).await {
        match said.status {
            201 => {}
            409 => assert!(!said.header("retry-after").is_empty(), "{said:?}"),
            _ => panic!("{said:?}"),
        }
    }
    let listed = api.told(200, "GET /sessions", None).await;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_secret_is_made_once_and_its_answer_is_not_stored() {
    let api = scene().await;
    let body = json!({"name": "ci", "scopes": ["read"]}).to_string();
    let first = keyed(&api, "POST /tokens", "t", &body).await;
    assert_eq!(first.status, 201, "{first:?}");
    let again = keyed(&api, "POST /tokens", "t", &body).await;
    assert_eq!(again.status, 409);
    assert!(again.body.contains("holds a secret"), "{again:?}");
    let listed = api.told(200, "GET /tokens", None).await;
    let made = listed["tokens"].as_array().unwrap();
    assert_eq!(made.iter().filter(|one| one["name"] == "ci").count(), 1);
}
