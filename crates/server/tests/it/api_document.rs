//! The OpenAPI document: checked in, complete, and true for every route and scope.

use std::{fs, path::Path};

use rooftree_protocol::AccessScope;
use rooftree_testkit::TestRuntimeBuilder;
use serde_json::{Value, json};

use crate::{
    agent_server::JSON,
    api_scene::{ApiScene, token},
};

/// Every operation of the document: method, path with parameters filled in, and the operation.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let filled: Vec<&str> = path
                .split('/')
                .map(|piece| {
                    if piece.starts_with('{') {
                        "none"
                    } else {
                        piece
                    }
                })
                .collect();
            found.push((method.to_uppercase(), filled.join("/"), operation.clone()));
        }
    }
    found
}

#[test]
fn the_document_that_is_checked_in_is_what_the_code_generates() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let text = fs::read_to_string(path).unwrap_or_default();
    let written: Value = serde_json::from_str(&text).unwrap_or_default();
    assert!(
        written == rooftree_server::openapi(),
        "docs/openapi.json is not what the code generates: run cargo xtask generate and commit it"
    );
}

#[test]
fn every_operation_says_what_it_does_needs_and_answers() {
    let document = rooftree_server::openapi();
    let operations = operations(&document);
    assert!(operations.len() >= 60, "{}", operations.len());
    let mut ids = std::collections::BTreeSet::new();
    for (method, path, operation) in &operations {
        assert!(
            !operation["summary"].as_str().unwrap().is_empty(),
            "{method} {path}"
        );
        let is_public = operation["security"] == json!([]);
        assert!(
            operation["x-scope"].is_string() != is_public,
            "{method} {path}"
        );
        let statuses = operation["responses"].as_object().unwrap();
        assert!(
            statuses.keys().any(|status| status.starts_with('2')),
            "{method} {path}"
        );
        assert!(
            ids.insert(operation["operationId"].to_string()),
            "{method} {path}"
        );
    }
    let text = document.to_string();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name} is not there");
    }
}

#[tokio::test]
async fn no_route_is_reached_with_too_little_scope_and_none_answers_what_is_not_documented() {
    let api = ApiScene::start(TestRuntimeBuilder::new([])).await;
    let document = rooftree_server::openapi();
    for (method, path, operation) in operations(&document) {
        let line = format!("{method} {}", path.strip_prefix("/api/v1").unwrap());
        let scope = operation["x-scope"].as_str();
        let needed: Option<AccessScope> = scope.map(|scope| scope.parse().unwrap());
        let success = &operation["responses"]["200"]["content"];
        // A body that is refused: a stream that is opened does not end.
        let is_stream = success.get("text/event-stream").is_some();
        let body = operation.get("requestBody");
        let body = body.map(|_| if is_stream { json!(0) } else { json!({}) });
        for scope in AccessScope::ALL {
            // One of its own: logging out ends it.
            let token = token(&api.runtime, scope, None).await;
            let bytes = body.as_ref().map(Value::to_string).unwrap_or_default();
            let said = api.send(&token, &line, &[JSON], bytes.as_bytes()).await;
            if needed.is_some_and(|needed| !scope.includes(needed)) {
                assert_eq!(said.status, 403, "{line} as {scope}: {said:?}");
            } else {
                assert_ne!(said.status, 403, "{line} as {scope}: {said:?}");
            }
            let status = said.status.to_string();
            assert!(
                operation["responses"].get(&status).is_some(),
                "{line} as {scope}: {said:?}"
            );
            assert!(said.status < 500, "{line} as {scope}: {said:?}");
        }
    }
}

#[tokio::test]
async fn the_document_needs_no_token() {
    let api = ApiScene::start(TestRuntimeBuilder::new([])).await;
    let line = "GET /api/openapi.json";
    let sent = crate::callback_server::sent(api.address, line, &["host: localhost"], b"").await;
    let said = crate::callback_server::hear(sent).await;
    assert_eq!(
        (said.status, &said.json()["openapi"]),
        (200, &json!("3.1.0"))
    );
}
