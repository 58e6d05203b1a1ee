//! Every route of the table against requests that must be refused, and against every scope.

use std::time::Duration;

use rooftree_protocol::{
    AccessScope,
    api_paths::{API_PREFIX, SESSION_IMPORT},
};
use rooftree_runtime::{Clock, NewAccessToken};
use rooftree_server::{ListedRoute, listed_routes};

use crate::{
    api_server::{ApiServer, HOST, bearer, owner},
    callback_server::Said,
};

const JSON: &str = "content-type: application/json";

fn line(route: &ListedRoute) -> String {
    let path: Vec<&str> = route
        .path
        .split('/')
        .map(|piece| {
            if piece.starts_with('{') {
                "ses_x"
            } else {
                piece
            }
        })
        .collect();
    format!("{} {API_PREFIX}{}", route.method, path.join("/"))
}

fn assert_problem(said: &Said, status: u16, about: &str) {
    assert_eq!(said.status, status, "{about}: {said:?}");
    assert_eq!(
        said.header("content-type"),
        "application/problem+json",
        "{about}"
    );
    assert!(said.json()["code"].is_string(), "{about}");
}

#[tokio::test]
async fn b10_b18_no_route_answers_without_a_good_token_or_to_a_foreign_page() {
    let server = ApiServer::behind_proxy().await;
    let good = bearer(&server.token(&[AccessScope::Admin]).await);
    let handle = &server.runtime.handle;
    let revoked = server.token(&[AccessScope::Admin]).await;
    let caller = handle.authenticate(&revoked).await.unwrap().unwrap();
    let id = caller.principal.token.unwrap();
    handle.revoke_token(&owner().principal, &id).await.unwrap();
    let expired = NewAccessToken {
        name: "short".into(),
        person: None,
        scopes: [AccessScope::Admin].into_iter().collect(),
        agents: None,
        expires_at: Some(server.runtime.clock.now().after(Duration::from_secs(1))),
    };
    let expired = server.made(expired).await;
    server.runtime.clock.advance(Duration::from_secs(2));
    let wrong = bearer(&format!("rt_{}", "0".repeat(64)));
    let (revoked, expired) = (bearer(&revoked), bearer(&expired));
    let refused: [(&[&str], u16); 10] = [
        (&[HOST], 401),
        (&[HOST, &wrong], 401),
        (&[HOST, &revoked], 401),
        (&[HOST, &expired], 401),
        (&[HOST, "authorization: Bearer sesame"], 401),
        (&[HOST, &good, "authorization: Bearer x"], 401),
        (&["host: evil.test", &good], 421),
        (&[HOST, &good, "origin: http://evil.test"], 403),
        (&[HOST, &good, "origin: null"], 403),
        (&[HOST, &good, "sec-fetch-site: cross-site"], 403),
    ];
    let routes = listed_routes();
    assert!(routes.len() >= 12, "the table is read");
    for route in &routes {
        let line = line(route);
        for (headers, status) in refused {
            let is_about_token = status == 401;
            if route.scope.is_none() && is_about_token {
                continue;
            }
            let headers: Vec<&str> = headers.iter().copied().chain([JSON]).collect();
            let said = server.ask(&line, &headers, b"{}").await;
            assert_problem(&said, status, &format!("{line} {headers:?}"));
        }
    }
    let unknown = server.ask("GET /api/v1/nothing", &[HOST], b"").await;
    assert_problem(&unknown, 401, "a path that is not there");
    let unknown = server.ask("GET /api/v1/nothing", &[HOST, &good], b"").await;
    assert_problem(&unknown, 404, "a path that is not there");
    let public: Vec<_> = routes
        .iter()
        .filter(|route| route.scope.is_none())
        .collect();
    assert!(
        matches!(public[..], [ListedRoute { path: "/login", .. }]),
        "{public:?}"
    );
}

#[tokio::test]
async fn b18_every_route_needs_its_scope_and_no_other_one_will_do() {
    let server = ApiServer::behind_proxy().await;
    for route in listed_routes() {
        let Some(needed) = route.scope else { continue };
        for scope in AccessScope::ALL {
            // One of its own: logging out ends it.
            let token = bearer(&server.token(&[scope]).await);
            let line = line(&route);
            // A body that is refused: a stream that is opened does not end.
            let body: &[u8] = if route.is_stream && route.has_body {
                b"0"
            } else {
                b"{}"
            };
            let said = server.ask(&line, &[HOST, &token, JSON], body).await;
            let about = format!("{line} with {scope}");
            if scope.includes(needed) {
                assert!(!matches!(said.status, 401 | 403), "{about}: {said:?}");
                assert!(said.status < 500, "{about}: {said:?}");
            } else {
                assert_problem(&said, 403, &about);
                let title = said.json()["title"].to_string();
                assert!(title.contains(needed.word()), "{about}: {title}");
            }
        }
    }
}

#[tokio::test]
async fn b10_a_body_must_be_json_and_small() {
    let server = ApiServer::behind_proxy().await;
    let good = bearer(&server.token(&[AccessScope::Admin]).await);
    let mut tried = 0;
    for route in listed_routes().iter().filter(|route| route.has_body) {
        tried += 1;
        let line = line(route);
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "text/json",
        ] {
            let kind = format!("content-type: {kind}");
            let said = server.ask(&line, &[HOST, &good, &kind], b"{}").await;
            assert_problem(&said, 415, &format!("{line} {kind}"));
        }
        // An exported session may be larger than other bodies.
        let most = if route.path == SESSION_IMPORT { 32 } else { 1 } << 20;
        let large = vec![b' '; most + 1];
        let said = server.ask(&line, &[HOST, &good, JSON], &large).await;
        assert_problem(&said, 413, &line);
        let said = server.ask(&line, &[HOST, &good, JSON], b"{").await;
        assert_problem(&said, 400, &line);
    }
    assert!(tried >= 3);
}

#[tokio::test]
async fn b18_v1_takes_the_same_tokens_and_the_environments_is_good_for_nothing_else() {
    let server = ApiServer::behind_proxy().await;
    let ask = br#"{"model": "agent:helper", "messages": [{"role": "user", "content": "hi"}]}"#;
    for (scope, models, chat) in [
        (AccessScope::Metrics, 403, 403),
        (AccessScope::Read, 200, 403),
        (AccessScope::Approve, 200, 403),
        (AccessScope::Chat, 200, 200),
        (AccessScope::Admin, 200, 200),
    ] {
        let token = bearer(&server.token(&[scope]).await);
        let said = server.ask("GET /v1/models", &[HOST, &token], b"").await;
        assert_eq!(said.status, models, "{scope}: {said:?}");
        let said = server
            .ask("POST /v1/chat/completions", &[HOST, &token, JSON], ask)
            .await;
        assert_eq!(said.status, chat, "{scope}: {said:?}");
    }
    let environment = "authorization: Bearer sesame";
    let said = server
        .ask("GET /v1/models", &[HOST, environment], b"")
        .await;
    assert_eq!(said.status, 200);
    let said = server
        .ask("GET /api/v1/sessions", &[HOST, environment], b"")
        .await;
    assert_problem(&said, 401, "the token of the environment");
    assert!(said.body.contains("ROOFTREE_SERVER_TOKEN"));
    let bound = NewAccessToken {
        name: "bound".into(),
        person: None,
        scopes: [AccessScope::Chat].into_iter().collect(),
        agents: Some(vec!["other".into()]),
        expires_at: None,
    };
    let bound = bearer(&server.made(bound).await);
    let said = server.ask("GET /v1/models", &[HOST, &bound], b"").await;
    let names = said.json()["data"].to_string();
    assert!(
        names.contains("agent:other") && !names.contains("agent:helper"),
        "{names}"
    );
    let said = server
        .ask("POST /v1/chat/completions", &[HOST, &bound, JSON], ask)
        .await;
    assert_eq!(said.status, 404, "{said:?}");
}

#[tokio::test]
async fn b18_a_revocation_counts_for_the_very_next_request() {
    let server = ApiServer::start().await;
    let token = server.token(&[AccessScope::Read]).await;
    let shown = bearer(&token);
    assert_eq!(
        server
            .ask("GET /api/v1/me", &[HOST, &shown], b"")
            .await
            .status,
        200
    );
    // By another process: another handle on the same database.
    let store = server.runtime.store().clone();
    let elsewhere = rooftree_runtime::Handle::without_agents(store, server.runtime.clock.clone());
    let id = elsewhere
        .authenticate(&token)
        .await
        .unwrap()
        .unwrap()
        .principal
        .token;
    elsewhere
        .revoke_token(&owner().principal, &id.unwrap())
        .await
        .unwrap();
    assert_eq!(
        server
            .ask("GET /api/v1/me", &[HOST, &shown], b"")
            .await
            .status,
        401
    );
}
