//! Invited persons: they see their own sessions over HTTP, and nothing of others.

use rooftree_protocol::AccessScope;
use rooftree_runtime::NewAccessToken;

use crate::api_server::{ApiServer, HOST, bearer};

const JSON: &str = "content-type: application/json";

#[tokio::test]
async fn b18_an_invited_person_sees_his_own_sessions_and_manages_nobody() {
    let server = ApiServer::start().await;
    let admin = bearer(&server.token(&[AccessScope::Admin]).await);
    let invite = br#"{"name": "Ann"}"#;
    let said = server
        .ask("POST /api/v1/persons", &[HOST, &admin, JSON], invite)
        .await;
    assert_eq!(said.status, 201, "{said:?}");
    let link = said.json()["link"]["secret"].as_str().unwrap().to_owned();
    let twice = server
        .ask("POST /api/v1/persons", &[HOST, &admin, JSON], invite)
        .await;
    assert_eq!(twice.status, 422, "{twice:?}");
    let said = server.log_in(&link).await;
    assert_eq!(said.json()["person"], "ann");
    let set = said.header("set-cookie").to_owned();
    let ann = format!("cookie: {}", set.split(';').next().unwrap());
    let me = server
        .ask("GET /api/v1/me", &[HOST, &ann], b"")
        .await
        .json();
    assert_eq!(
        (&me["name"], &me["is_owner"]),
        (&"Ann".into(), &false.into())
    );
    // A session of the owner, and one of hers over /v1 with a token of hers.
    let owners = server.runtime.post("secret of the owner").await;
    server.runtime.wait_for_run(&owners).await;
    let hers = bearer(
        &server
            .made(NewAccessToken {
                name: "phone".into(),
                person: Some("ann".into()),
                scopes: [AccessScope::Chat].into_iter().collect(),
                agents: None,
                expires_at: None,
            })
            .await,
    );
    let ask = br#"{"model": "agent:helper", "user": "u", "messages": [{"role": "user", "content": "hi"}]}"#;
    let said = server
        .ask("POST /v1/chat/completions", &[HOST, &hers, JSON], ask)
        .await;
    assert_eq!(said.status, 200, "{said:?}");
    let session = said.header("x-rooftree-session").to_owned();
    let list = server.ask("GET /api/v1/sessions", &[HOST, &ann], b"").await;
    let ids: Vec<_> = list.json()["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].clone())
        .collect();
    assert_eq!(ids, [session.as_str()]);
    let path = format!("GET /api/v1/sessions/{owners}");
    assert_eq!(server.ask(&path, &[HOST, &ann], b"").await.status, 404);
    assert_eq!(server.ask(&path, &[HOST, &admin], b"").await.status, 200);
    // The same user of the owner's clients has a session of his own.
    let chat = bearer(&server.token(&[AccessScope::Chat]).await);
    let said = server
        .ask("POST /v1/chat/completions", &[HOST, &chat, JSON], ask)
        .await;
    assert_ne!(said.header("x-rooftree-session"), session);
    let named = format!("x-rooftree-session: {owners}");
    let said = server
        .ask(
            "POST /v1/chat/completions",
            &[HOST, &hers, JSON, &named],
            ask,
        )
        .await;
    assert_eq!(said.status, 404, "{said:?}");
    for line in [
        "GET /api/v1/tokens",
        "GET /api/v1/persons",
        "GET /api/v1/audit",
    ] {
        assert_eq!(
            server.ask(line, &[HOST, &ann], b"").await.status,
            403,
            "{line}"
        );
    }
    let said = server
        .ask("DELETE /api/v1/persons/ann", &[HOST, &admin], b"")
        .await;
    assert_eq!(said.status, 200, "{said:?}");
    for shown in [&ann, &hers] {
        assert_eq!(
            server
                .ask("GET /api/v1/me", &[HOST, shown], b"")
                .await
                .status,
            401
        );
    }
    let audit = server.ask("GET /api/v1/audit", &[HOST, &admin], b"").await;
    let audit = audit.body;
    for action in [
        "person.invite",
        "link.exchange",
        "token.create",
        "person.disable",
    ] {
        assert!(audit.contains(action), "{action}: {audit}");
    }
    assert!(!audit.contains(&link[3..]), "no secret is in the log");
}
