//! Servers reached by HTTP.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    process::{Child, Command, Stdio},
};

use rooftree_protocol::McpServer;
use rooftree_tools::mcp::McpLogin;
use serde_json::json;

use super::stand::{Stand, program};

/// The test server on loopback, ended with the test.
pub struct Served {
    child: Child,
    url: String,
}

impl Served {
    pub fn start(options: &[&str]) -> Self {
        let mut command = Command::new("python3");
        command
            .arg(program())
            .arg("--http")
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut url)
            .unwrap();
        Self {
            child,
            url: url.trim().to_owned(),
        }
    }

    pub fn server(&self) -> McpServer {
        McpServer {
            url: Some(self.url.clone()),
            ..McpServer::default()
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_server_elsewhere_is_like_one_here_in_both_manners() {
    for options in [&[][..], &["--modern"]] {
        let served = Served::start(options);
        let stand = Stand::new(&[("s", served.server())]);
        let tools = stand.tools().await;
        assert_eq!(
            stand
                .call(&tools, "echo", json!({"text": "over there"}))
                .await
                .text(),
            "over there"
        );
        assert!(
            stand
                .call(&tools, "fail", json!({}))
                .await
                .failure
                .is_some()
        );
        stand.servers.close().await;
    }
}

#[tokio::test]
async fn headers_are_sent_along_and_without_them_one_is_asked_to_log_in() {
    let served = Served::start(&["--require", "tok-abcdef"]);
    let stand = Stand::new(&[("s", served.server())]);
    let notice = stand.notice().await;
    assert_eq!(
        notice.hint.as_deref(),
        Some("rooftree mcp login s"),
        "{}",
        notice.message
    );
    stand.servers.close().await;
    let mut known = served.server();
    known
        .headers
        .insert("Authorization".into(), "Bearer tok-abcdef".into());
    let stand = Stand::new(&[("s", known)]);
    let tools = stand.tools().await;
    let said = stand
        .call(&tools, "echo", json!({"text": "I know tok-abcdef"}))
        .await
        .text();
    assert_eq!(said, "I know [Authorization]");
    stand.servers.close().await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_notice() {
    let stand = Stand::new(&[(
        "s",
        McpServer {
            url: Some("http://127.0.0.1:1/mcp".into()),
            ..McpServer::default()
        },
    )]);
    assert!(stand.notice().await.message.contains("cannot be reached"));
    stand.servers.close().await;
}

#[tokio::test]
async fn an_answer_of_ten_megabytes_is_refused() {
    let served = Served::start(&[]);
    let stand = Stand::new(&[("s", served.server())]);
    let tools = stand.tools().await;
    let huge = stand
        .call(&tools, "huge", json!({"bytes": 10 * 1024 * 1024}))
        .await;
    assert!(
        huge.failure.is_some() && huge.text().contains("more than 8 MB"),
        "{}",
        huge.text()
    );
    assert_eq!(
        stand
            .call(&tools, "echo", json!({"text": "fine"}))
            .await
            .text(),
        "fine"
    );
    stand.servers.close().await;
}

#[tokio::test]
async fn whoever_has_logged_in_once_is_known_from_then_on() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("mcp-tokens.json");
    let served = Served::start(&["--oauth"]);
    let stand = || {
        Stand::with(&[("s", served.server())], |setup| {
            setup.tokens = Some(file.clone())
        })
    };
    let stranger = stand();
    assert_eq!(
        stranger.notice().await.hint.as_deref(),
        Some("rooftree mcp login s")
    );
    stranger.servers.close().await;
    let login = McpLogin::begin(&served.server(), &file).await.unwrap();
    let visiting = tokio::spawn(reqwest::get(login.page().to_owned()));
    login.finish().await.unwrap();
    assert!(
        visiting
            .await
            .unwrap()
            .unwrap()
            .text()
            .await
            .unwrap()
            .contains("You are logged in.")
    );
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let first = fs::read_to_string(&file).unwrap();
    assert!(first.contains("access-1-secret"));
    for time in ["first", "second"] {
        let known = stand();
        let tools = known.tools().await;
        assert_eq!(
            known
                .call(&tools, "echo", json!({"text": time}))
                .await
                .text(),
            time
        );
        known.servers.close().await;
    }
    let last = fs::read_to_string(&file).unwrap();
    assert!(
        !last.contains("access-1-secret"),
        "what was used up was replaced"
    );
}

#[tokio::test]
async fn a_login_that_was_not_begun_here_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let served = Served::start(&["--oauth"]);
    let login = McpLogin::begin(&served.server(), &home.path().join("mcp-tokens.json"))
        .await
        .unwrap();
    let back = login
        .page()
        .split("redirect_uri=")
        .nth(1)
        .unwrap()
        .split('&')
        .next()
        .unwrap();
    let back = back.replace("%3A", ":").replace("%2F", "/");
    let visiting = tokio::spawn(reqwest::get(format!("{back}?code=code-0&state=made-up")));
    assert!(login.finish().await.is_err());
    assert!(
        visiting
            .await
            .unwrap()
            .unwrap()
            .text()
            .await
            .unwrap()
            .contains("did not work")
    );
}
