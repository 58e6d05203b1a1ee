//! Browsers: one-time links, cookies, forged requests, other origins, lockout and proxies.

use rooftree_protocol::AccessScope;

use crate::{
    api_server::{ApiServer, HOST, bearer},
    callback_server::{hear, sent},
};

const JSON: &str = "content-type: application/json";
const OWN: &str = "origin: http://localhost";

#[tokio::test]
async fn a_link_becomes_a_cookie_once() {
    let server = ApiServer::start().await;
    let link = server.link().await;
    let said = server.log_in(&link).await;
    assert_eq!(said.status, 200, "{said:?}");
    let set = said.header("set-cookie").to_owned();
    assert!(
        set.contains("HttpOnly") && set.contains("SameSite=Strict"),
        "{set}"
    );
    assert!(
        !said.body.contains("rt_"),
        "no script reads the token: {}",
        said.body
    );
    assert_eq!(server.log_in(&link).await.status, 401, "once");
    let cookie = format!("cookie: {}", set.split(';').next().unwrap());
    let me = server.ask("GET /api/v1/me", &[HOST, &cookie], b"").await;
    let me = me.json();
    assert_eq!(me["person"], "owner");
    assert_eq!(me["token"]["name"], "browser");
    assert!(me["csrf"].as_str().unwrap().len() == 64);
    let out = server
        .ask("POST /api/v1/logout", &[HOST, &cookie, OWN, JSON], b"{}")
        .await;
    assert_eq!(out.status, 204, "{out:?}");
    assert!(out.header("set-cookie").contains("Max-Age=0"));
    let after = server.ask("GET /api/v1/me", &[HOST, &cookie], b"").await;
    assert_eq!(
        after.status, 401,
        "the token has ended, not only the cookie"
    );
}

#[tokio::test]
async fn b10_a_cookie_changes_something_only_from_our_own_page() {
    let server = ApiServer::start().await;
    let cookie = server.cookie().await;
    let me = server.ask("GET /api/v1/me", &[HOST, &cookie], b"").await;
    let csrf = format!("x-rooftree-csrf: {}", me.json()["csrf"].as_str().unwrap());
    let body = br#"{"name": "ci", "scopes": ["read"]}"#;
    let same = "sec-fetch-site: same-origin";
    let table: [(&[&str], u16); 9] = [
        (&[JSON], 403),
        (&[JSON, "x-rooftree-csrf: 00"], 403),
        (&[JSON, "sec-fetch-site: none"], 403),
        (&[JSON, "origin: http://evil.test"], 403),
        (&["content-type: text/plain", OWN], 403),
        (&["content-type: text/plain", &csrf], 403),
        (&[JSON, OWN], 201),
        (&[JSON, same], 201),
        (&[JSON, &csrf], 201),
    ];
    for (headers, status) in table {
        let headers: Vec<&str> = [HOST, &cookie]
            .into_iter()
            .chain(headers.iter().copied())
            .collect();
        let said = server.ask("POST /api/v1/tokens", &headers, body).await;
        assert_eq!(said.status, status, "{headers:?}: {said:?}");
    }
    let delete = server
        .ask("DELETE /api/v1/tokens/tok_x", &[HOST, &cookie], b"")
        .await;
    assert_eq!(delete.status, 403);
    let tokens = server
        .ask("GET /api/v1/tokens", &[HOST, &cookie], b"")
        .await;
    let made = tokens.json()["tokens"].as_array().unwrap().len();
    assert_eq!(made, 1 + 3, "the browser's own, and three");
    let chat = server
        .ask("POST /v1/chat/completions", &[HOST, &cookie, JSON], b"{}")
        .await;
    assert_eq!(chat.status, 403, "the same holds for /v1: {chat:?}");
}

#[tokio::test]
async fn b10_only_listed_origins_get_cors_and_never_by_cookie() {
    let origin = "https://app.example";
    let server = ApiServer::with(
        |options| options,
        |server| server.with_allowed_origins(vec![origin.into()]),
    )
    .await;
    let from = format!("origin: {origin}");
    let token = bearer(&server.token(&[AccessScope::Read]).await);
    let said = server
        .ask(
            "GET /api/v1/me",
            &[HOST, &token, &from, "sec-fetch-site: cross-site"],
            b"",
        )
        .await;
    assert_eq!(
        (said.status, said.header("access-control-allow-origin")),
        (200, origin)
    );
    assert_eq!(said.header("access-control-allow-credentials"), "");
    let preflight = [HOST, &from, "access-control-request-method: POST"];
    let said = server.ask("OPTIONS /api/v1/tokens", &preflight, b"").await;
    assert_eq!(said.status, 204, "{said:?}");
    let cookie = server.cookie().await;
    let said = server
        .ask("GET /api/v1/me", &[HOST, &cookie, &from], b"")
        .await;
    assert_eq!(said.status, 403, "{said:?}");
    let other = [HOST, &token, "origin: https://evil.example"];
    let said = server.ask("GET /api/v1/me", &other, b"").await;
    assert_eq!(
        (said.status, said.header("access-control-allow-origin")),
        (403, "")
    );
    let other = [
        HOST,
        "origin: https://evil.example",
        "access-control-request-method: POST",
    ];
    let said = server.ask("OPTIONS /api/v1/tokens", &other, b"").await;
    assert_eq!(
        (said.status, said.header("access-control-allow-origin")),
        (403, "")
    );
}

#[tokio::test]
async fn b10_wrong_tokens_and_links_lock_an_address_but_not_those_who_are_in() {
    let server = ApiServer::start().await;
    let cookie = server.cookie().await;
    let known = bearer(&server.token(&[AccessScope::Read]).await);
    let unknown = bearer(&server.token(&[AccessScope::Read]).await);
    assert_eq!(
        server
            .ask("GET /api/v1/me", &[HOST, &known], b"")
            .await
            .status,
        200
    );
    // Requests of a page of another site do not count for the lockout.
    for _ in 0..30 {
        let foreign = [
            HOST,
            "origin: http://evil.test",
            "authorization: Bearer rt_x",
        ];
        assert_eq!(
            server.ask("GET /api/v1/me", &foreign, b"").await.status,
            403
        );
    }
    let mut statuses = Vec::new();
    for number in 0..30 {
        // What a client says about its address does not count without a trusted proxy.
        let said = match number % 2 {
            0 => server.log_in("rl_wrong").await,
            _ => {
                server
                    .ask("GET /v1/models", &[HOST, "authorization: Bearer rt_x"], b"")
                    .await
            }
        };
        statuses.push(said.status);
        if said.status == 429 {
            assert!(said.header("retry-after").parse::<u16>().unwrap() > 0);
        }
    }
    assert_eq!(
        statuses.iter().position(|status| *status == 429),
        Some(20),
        "{statuses:?}"
    );
    assert!(
        statuses.iter().skip(20).all(|status| *status == 429),
        "{statuses:?}"
    );
    let late = server.ask("GET /api/v1/me", &[HOST, &unknown], b"").await;
    assert_eq!(late.status, 429, "nothing new is looked at");
    let link = server.link().await;
    assert_eq!(server.log_in(&link).await.status, 429);
    for shown in [&cookie, &known] {
        let said = server.ask("GET /api/v1/me", &[HOST, shown], b"").await;
        assert_eq!(said.status, 200, "those who are in stay in");
    }
    assert_eq!(server.ask("GET /healthz", &[], b"").await.status, 200);
}

#[tokio::test]
async fn b10_forwarded_hosts_count_only_from_a_trusted_proxy() {
    let asked = [
        "host: evil.test",
        "x-forwarded-host: roof.test",
        "forwarded: host=roof.test",
    ];
    for (is_trusted, status) in [(false, 421), (true, 200)] {
        let server = if is_trusted {
            ApiServer::behind_proxy().await
        } else {
            ApiServer::start().await
        };
        let token = bearer(&server.token(&[AccessScope::Read]).await);
        let headers: Vec<&str> = asked.iter().copied().chain([token.as_str()]).collect();
        let said = hear(sent(server.address, "GET /api/v1/me", &headers, b"").await).await;
        assert_eq!(said.status, status, "{said:?}");
    }
    // With a public URL its host is a name of the server, and its cookie is sent over TLS alone.
    let server = ApiServer::with(
        |mut options| {
            options.public_url = Some("https://public.example/".into());
            options
        },
        |server| server,
    )
    .await;
    let token = bearer(&server.token(&[AccessScope::Read]).await);
    let said = server
        .ask("GET /api/v1/me", &["host: public.example", &token], b"")
        .await;
    assert_eq!(said.status, 200, "{said:?}");
    let link = server.link().await;
    let said = server.log_in(&link).await;
    assert!(said.header("set-cookie").starts_with("__Host-"), "{said:?}");
    assert!(said.header("set-cookie").ends_with("; Secure"), "{said:?}");
}
