//! Runs, tasks, agents, catalog and the OpenAPI document over the API.

use rooftree_protocol::{AccessScope, AgentDefinition, Effect};
use rooftree_testkit::{
    ProbeTool, TestRuntimeBuilder, Toolset,
    scripted::{call, say},
};
use serde_json::{Value, json};

use crate::{agent_server::JSON, api_scene::ApiScene};

#[tokio::test]
async fn runs_are_listed_shown_traced_and_cancelled() {
    let (held, _gate) = ProbeTool::gated("Held", Effect::ReadOnly);
    let plan = TestRuntimeBuilder::new([say("One."), say("").calls([call("Held", json!({}))])])
        .tools(Toolset::new([held]));
    let api = ApiScene::start(plan).await;
    let session = api.runtime.post("hi").await;
    api.runtime.wait_for_run(&session).await;
    api.runtime.post_to(&session, "again").await;
    api.runtime.wait_for_event(&session, "tool.started").await;
    let page = api
        .told(200, &format!("GET /runs?session={session}&limit=1"), None)
        .await;
    let running = page["runs"][0]["run"].as_str().unwrap().to_owned();
    assert_eq!(page["runs"][0]["state"], "running");
    let cursor = page["next"].as_str().unwrap();
    let rest = api
        .told(
            200,
            &format!("GET /runs?session={session}&limit=1&cursor={cursor}"),
            None,
        )
        .await;
    let ended = rest["runs"][0]["run"].as_str().unwrap().to_owned();
    assert_eq!(
        (&rest["runs"][0]["text"], &rest["next"]),
        (&json!("One."), &Value::Null)
    );
    let spans = api
        .told(200, &format!("GET /runs/{ended}/trace"), None)
        .await;
    assert_eq!(spans["spans"][0]["run"], ended);
    let steps = spans["spans"][0]["steps"].as_array().unwrap();
    assert_eq!((steps.len(), &steps[0]["kind"]), (1, &json!("model")));
    assert!(steps[0]["to"].is_string() && steps[0]["ended"].is_number());
    let open = api
        .told(200, &format!("GET /runs/{running}/trace"), None)
        .await;
    let steps = open["spans"][0]["steps"].as_array().unwrap();
    let kinds: Vec<_> = steps.iter().map(|step| &step["kind"]).collect();
    assert_eq!(
        kinds,
        ["model", "tool"],
        "no model is asked while a call runs"
    );
    assert_eq!(
        (&steps[1]["name"], &steps[1]["to"]),
        (&json!("Held"), &Value::Null)
    );
    let svg = api
        .ask(&format!("GET /runs/{ended}/trace?format=svg"), None)
        .await;
    assert!(svg.body.starts_with("<svg") && svg.header("content-type") == "image/svg+xml");
    let otlp = api
        .told(200, &format!("GET /runs/{ended}/trace?format=otlp"), None)
        .await;
    assert_eq!(
        otlp["resourceSpans"][0]["scopeSpans"][0]["spans"]
            .as_array()
            .unwrap()
            .len(),
        2,
        "the run, and its request to the model"
    );
    api.told(409, &format!("POST /runs/{ended}/cancel"), None)
        .await;
    api.told(409, &format!("POST /runs/{running}/background"), None)
        .await;
    api.told(202, &format!("POST /runs/{running}/cancel"), None)
        .await;
    let end = api.runtime.wait_for_nth_run(&session, 2).await;
    assert_eq!(end.status.to_string(), "cancelled");
    api.told(404, "GET /runs/run_none", None).await;
}

#[tokio::test]
async fn a_delegated_run_moved_to_background_lets_its_caller_go_on() {
    let (held, gate) = ProbeTool::gated("Held", Effect::ReadOnly);
    let worker = AgentDefinition::new("worker");
    let plan = TestRuntimeBuilder::new([
        say("")
            .calls([call(
                "Task",
                json!({"prompt": "work", "subagent_type": "worker", "description": "w"}),
            )])
            .agent("lead"),
        say("").calls([call("Held", json!({}))]).agent("worker"),
        say("I go on.").agent("lead"),
        say("Worked.").agent("worker"),
        say("Thanks.").agent("lead"),
    ])
    .with_delegation(Toolset::new([held]))
    .agent(worker);
    let api = ApiScene::start(plan).await;
    let session = api.runtime.post("go").await;
    let child = loop {
        match api.runtime.children(&session).await.pop() {
            Some(child) => break child.id,
            None => tokio::task::yield_now().await,
        }
    };
    api.runtime.wait_for_event(&child, "tool.started").await;
    let runs = api
        .told(200, &format!("GET /runs?session={child}"), None)
        .await;
    let run = runs["runs"][0]["run"].as_str().unwrap();
    api.told(202, &format!("POST /runs/{run}/background"), None)
        .await;
    let end = api.runtime.wait_for_run(&session).await;
    assert_eq!(end.text, "I go on.");
    let tasks = api.told(200, "GET /tasks?state=running", None).await;
    assert_eq!(tasks["tasks"][0]["task"], run);
    gate.open(1);
    assert_eq!(
        api.runtime.wait_for_nth_run(&session, 2).await.text,
        "Thanks."
    );
    assert_eq!(
        api.told(200, &format!("GET /tasks/{run}"), None).await["state"],
        "completed"
    );
    api.told(409, &format!("POST /tasks/{run}/stop"), None)
        .await;
}

const SCOUT: &str = "---\ndescription: Looks around\ntools: [Read]\n---\nYou look around.\n";

#[tokio::test]
async fn an_agent_made_over_the_api_is_used_at_once_and_changed_by_its_etag() {
    let api = ApiScene::start(TestRuntimeBuilder::new([say("Seen.")])).await;
    let new = json!({"name": "scout", "text": SCOUT});
    let check = api
        .told(200, "POST /agents/validate", Some(new.clone()))
        .await;
    assert_eq!(check["valid"], true, "{check}");
    api.told(404, "GET /agents/scout", None).await;
    let made = api.told(201, "POST /agents", Some(new.clone())).await;
    assert_eq!(
        (&made["definition"]["description"], &made["etag"]),
        (&json!("Looks around"), &json!("\"r1\""))
    );
    api.told(409, "POST /agents", Some(new)).await;
    let session = api.runtime.post_as("scout", "look").await;
    assert_eq!(api.runtime.wait_for_run(&session).await.text, "Seen.");
    let text = json!({"text": SCOUT.replace("Looks", "Walks")}).to_string();
    let admin = api.token(AccessScope::Admin).to_owned();
    let change = async |etag: &str| {
        let etag = format!("If-Match: {etag}");
        api.send(&admin, "PUT /agents/scout", &[JSON, &etag], text.as_bytes())
            .await
    };
    let blind = api
        .send(&admin, "PUT /agents/scout", &[JSON], text.as_bytes())
        .await;
    assert_eq!(blind.status, 428);
    assert_eq!(change("\"r1\"").await.header("etag"), "\"r2\"");
    assert_eq!(change("\"r1\"").await.status, 412, "somebody changed it");
    let file = api.ask("GET /agents/scout/file", None).await;
    assert!(file.body.contains("Walks around"), "{file:?}");
    let gone = api
        .send(&admin, "DELETE /agents/scout", &["If-Match: \"r2\""], b"")
        .await;
    assert_eq!(gone.status, 204);
    api.told(404, "GET /agents/scout", None).await;
}

#[tokio::test]
async fn an_agent_made_over_the_api_cannot_start_programs_or_leave_the_sandbox() {
    let api = ApiScene::start(TestRuntimeBuilder::new([])).await;
    let wide = [
        "sandbox: off",
        "mcpServers:\n  evil:\n    command: sh",
        "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: id",
    ];
    for field in wide {
        let text = SCOUT.replace("tools: [Read]", field);
        let new = json!({"name": "scout", "text": text});
        let refused = api.ask("POST /agents", Some(new)).await;
        assert_eq!(refused.status, 422, "{field}: {refused:?}");
        assert!(!refused.json()["diagnostics"].as_array().unwrap().is_empty());
    }
    let other = json!({"name": "../etc", "text": SCOUT});
    api.told(422, "POST /agents", Some(other)).await;
    for scope in [AccessScope::Read, AccessScope::Chat, AccessScope::Approve] {
        let new = json!({"name": "scout", "text": SCOUT});
        assert_eq!(
            api.ask_as(scope, "POST /agents", Some(new)).await.status,
            403
        );
    }
    api.told(409, "DELETE /agents/lead", None).await;
}

#[tokio::test]
async fn lists_of_what_is_configured_can_be_read() {
    let api = ApiScene::start(TestRuntimeBuilder::new([say("One.")])).await;
    let session = api.runtime.post("hi").await;
    api.runtime.wait_for_run(&session).await;
    for path in [
        "models",
        "tools",
        "skills",
        "mcp",
        "hooks",
        "schema/events",
        "agents/lead/effective",
    ] {
        api.told(200, &format!("GET /{path}"), None).await;
    }
    let usage = api.told(200, "GET /usage?by=agent", None).await;
    assert_eq!(usage["rows"][0]["name"], "lead");
    let daily = "GET /usage?by=day&also=agent,model&days=7";
    let usage = api.told(200, daily, None).await;
    assert_eq!(usage["rows"][0]["also"][0], "lead");
    assert_eq!(usage["rows"].as_array().unwrap().len(), 1);
    assert!(usage["since"].as_str() < usage["rows"][0]["name"].as_str());
    for wrong in ["days=0", "days=367", "also=moon", "also=day,day,day,day"] {
        api.told(422, &format!("GET /usage?{wrong}"), None).await;
    }
    let agents = api.told(200, "GET /agents", None).await;
    assert!(
        agents["agents"]
            .as_array()
            .unwrap()
            .iter()
            .any(|agent| agent["name"] == "lead")
    );
}
