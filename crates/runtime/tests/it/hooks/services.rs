//! Hooks that are services: the same questions and answers, over HTTP.

use rooftree_protocol::DefinitionLevel;
use rooftree_runtime::hooks::{ConfiguredHook, HookFailureMode, HookPoint, HookService};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
};

use super::{doing, story_of};

/// A service that always answers the same; says where it is, and what it is asked.
async fn service(status: &str, body: &str) -> (String, mpsc::UnboundedReceiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (tell, asked) = mpsc::unbounded_channel();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut text = String::new();
            let mut buffer = [0; 4096];
            let body = loop {
                let length = stream.read(&mut buffer).await.unwrap();
                text.push_str(&String::from_utf8_lossy(&buffer[..length]));
                let Some((head, body)) = text.split_once("\r\n\r\n") else {
                    continue;
                };
                let lower = head.to_lowercase();
                let wanted = lower
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length: "))
                    .unwrap();
                if body.len() >= wanted.parse::<usize>().unwrap() {
                    break (head.to_owned(), serde_json::from_str(body).unwrap());
                }
            };
            let _ = tell.send(body);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, asked)
}

fn hook(url: &str, level: DefinitionLevel) -> ConfiguredHook {
    let headers = vec![("X-Where".to_owned(), "in ${CARGO_MANIFEST_DIR}".to_owned())];
    let service =
        HookService::new(url, headers, &["CARGO_MANIFEST_DIR".to_owned()], level).unwrap();
    let mut hook = ConfiguredHook::service(HookPoint::PreToolUse, service);
    hook.level = level;
    hook
}

#[tokio::test]
async fn a_service_is_told_the_same_and_answers_the_same() {
    let deny = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not today",
    }});
    let (url, mut asked) = service("200 OK", &deny.to_string()).await;
    let (_, _, story) = story_of(doing(vec![hook(&url, DefinitionLevel::User)])).await;
    assert!(story.contains("Do denied: [denied] not today"), "{story}");
    let (head, told) = asked.recv().await.unwrap();
    assert!(head.starts_with("POST /hook "), "{head}");
    assert!(
        head.to_lowercase().contains("x-where: in /") && head.contains("crates/runtime"),
        "{head}"
    );
    assert_eq!(
        (&told["hook_event_name"], &told["tool_name"]),
        (&json!("PreToolUse"), &json!("Do"))
    );
    let (url, _asked) = service("204 No Content", "").await;
    let (_, _, story) = story_of(doing(vec![hook(&url, DefinitionLevel::User)])).await;
    assert!(
        story.contains("Do done") && !story.contains("notice"),
        "{story}"
    );
}

#[tokio::test]
async fn what_is_no_answer_refuses_unless_it_says_otherwise() {
    let (broken, _broken) = service("500 Oh", "{}").await;
    let (moved, _moved) = service("302 Found", "").await;
    let (odd, _odd) = service("200 OK", "{\"decision\": \"maybe\"}").await;
    let gone = "http://127.0.0.1:1/".to_owned();
    for (url, why) in [
        (broken, "status 500"),
        (moved, "status 302"),
        (odd, "not understood"),
        (gone, "could not be asked"),
    ] {
        let (_, _, story) = story_of(doing(vec![hook(&url, DefinitionLevel::User)])).await;
        assert!(
            story.contains("Do denied") && story.contains(why),
            "{why}: {story}"
        );
        let mut open = hook(&url, DefinitionLevel::User);
        open.on_failure = HookFailureMode::Open;
        let (_, _, story) = story_of(doing(vec![open])).await;
        assert!(
            story.contains("Do done") && story.contains("notice   hook"),
            "{why}: {story}"
        );
    }
}

#[tokio::test]
async fn a_projects_hook_reaches_nothing_on_this_machine() {
    let (url, mut asked) = service("200 OK", "{}").await;
    let (_, _, story) = story_of(doing(vec![hook(&url, DefinitionLevel::Project)])).await;
    assert!(
        story.contains("Do denied") && story.contains("is not public"),
        "{story}"
    );
    assert!(asked.try_recv().is_err(), "it was asked");
    let local = url.replace("127.0.0.1", "localhost");
    let (_, _, story) = story_of(doing(vec![hook(&local, DefinitionLevel::Project)])).await;
    assert!(
        story.contains("Do denied") && story.contains("is not public"),
        "{story}"
    );
    assert!(asked.try_recv().is_err(), "it was asked");
}
