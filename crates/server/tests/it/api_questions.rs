//! Questions of agents over the API: who answers first, who comes late, and what the agent hears.

use std::time::Duration;

use rooftree_protocol::{AccessScope, PermissionMode, SessionId};
use rooftree_runtime::people_tools;
use rooftree_testkit::{
    TestRuntimeBuilder, Toolset,
    scripted::{call, say},
};
use serde_json::{Value, json};

use crate::api_scene::ApiScene;

fn plan() -> TestRuntimeBuilder {
    let input =
        json!({"question": "Which colour?", "header": "colour", "options": ["red", "blue"]});
    let mut plan = TestRuntimeBuilder::new([
        say("").calls([call("AskUserQuestion", input)]),
        say("{{ results[0].text }}"),
    ])
    .asking(PermissionMode::Ask);
    plan.tools = people_tools::with_tools(&Toolset::default());
    plan
}

async fn asking(api: &ApiScene) -> (SessionId, Value) {
    let session = api.runtime.post("go").await;
    api.runtime
        .wait_for_event(&session, "question.requested")
        .await;
    let pending = api.told(200, "GET /questions?state=pending", None).await;
    (session, pending["questions"][0].clone())
}

fn line(question: &Value) -> String {
    format!("POST /questions/{}", question["id"].as_str().unwrap())
}

fn colour(said: &str) -> Option<Value> {
    Some(json!({"reply": "answered", "answers": {"colour": [said]}}))
}

#[tokio::test]
async fn the_first_answer_reaches_the_agent_and_the_second_is_told_which_it_was() {
    let api = ApiScene::start(plan()).await;
    let (session, question) = asking(&api).await;
    assert_eq!(question["state"], "pending");
    assert_eq!(question["questions"][0]["text"], "Which colour?");
    let line = line(&question);
    let chat = api.ask_as(AccessScope::Chat, &line, colour("red")).await;
    assert_eq!(chat.status, 403, "{chat:?}");
    let first = api.ask_as(AccessScope::Approve, &line, colour("red")).await;
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(first.json()["state"], "answered");
    let second = api.told(409, &line, colour("blue")).await;
    let answered = &second["answered"];
    assert_eq!(
        answered["reply"]["answers"]["colour"],
        json!(["red"]),
        "{second}"
    );
    assert_eq!(
        (&answered["by"], &answered["via"]),
        (&json!("owner"), &json!("http"))
    );
    let end = api.runtime.wait_for_run(&session).await;
    assert!(
        end.text.contains("red") && !end.text.contains("blue"),
        "{}",
        end.text
    );
    let pending = api.told(200, "GET /questions", None).await;
    assert_eq!(pending["questions"], json!([]));
    let history = api.told(200, "GET /questions?state=answered", None).await;
    assert_eq!(history["questions"][0]["id"], question["id"]);
}

#[tokio::test]
async fn an_answer_after_its_time_is_gone_and_one_to_nothing_is_not_there() {
    let api = ApiScene::start(plan()).await;
    let (_, question) = asking(&api).await;
    api.told(404, "POST /questions/que_none", colour("red"))
        .await;
    let wrong = Some(json!({"reply": "answered"}));
    api.told(422, &line(&question), wrong).await;
    api.runtime
        .clock
        .advance(Duration::from_secs(30 * 24 * 60 * 60));
    api.told(410, &line(&question), colour("red")).await;
}
