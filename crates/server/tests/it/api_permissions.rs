//! Permission requests, questions and rules over the API: order, digest, the first answer, history.

use std::time::Duration;

use rooftree_protocol::{AccessScope, Effect, PermissionMode, Principal, SessionId, Surface};
use rooftree_testkit::{
    ProbeTool, TestRuntimeBuilder, Toolset,
    scripted::{ScriptEntry, call, say},
};
use serde_json::{Value, json};

use crate::api_scene::{ApiScene, token};

fn changing() -> Vec<ScriptEntry> {
    vec![
        say("I change it.").calls([call("Change", json!({"say": "x"}))]),
        say("Done."),
    ]
}

fn plan(entries: Vec<ScriptEntry>) -> TestRuntimeBuilder {
    let tools = Toolset::new([ProbeTool::open("Change", Effect::LocalMutation)]);
    TestRuntimeBuilder::new(entries)
        .with_delegation(tools)
        .asking(PermissionMode::Ask)
}

async fn asking(api: &ApiScene) -> (SessionId, Value) {
    let session = api.runtime.post("go").await;
    api.runtime
        .wait_for_event(&session, "permission.requested")
        .await;
    let pending = api.told(200, "GET /permissions?state=pending", None).await;
    let permissions = pending["permissions"].as_array().unwrap();
    let own = permissions
        .iter()
        .find(|one| one["session"] == session.as_str());
    (session, own.unwrap().clone())
}

fn allow(permission: &Value) -> Value {
    json!({"decision": "allow", "scope": "once", "digest": permission["digest"]})
}

fn line(permission: &Value) -> String {
    format!("POST /permissions/{}", permission["id"].as_str().unwrap())
}

#[tokio::test]
async fn two_clients_answer_and_the_second_is_told_who_was_first() {
    let api = ApiScene::start(plan(changing())).await;
    let (session, permission) = asking(&api).await;
    let line = line(&permission);
    let (one, two) = tokio::join!(
        api.ask_as(AccessScope::Approve, &line, Some(allow(&permission))),
        api.ask(&line, Some(allow(&permission))),
    );
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{one:?} {two:?}");
    let late = if one.status == 409 { one } else { two }.json();
    let answered = &late["answered"];
    assert_eq!(answered["decision"], "allow");
    assert_eq!(
        (&answered["by"], &answered["via"]),
        (&json!("owner"), &json!("http"))
    );
    assert!(
        answered["at"].is_string() && late["code"] == "E0409",
        "{late}"
    );
    api.runtime.wait_for_run(&session).await;
    let history = api.told(200, "GET /permissions?state=answered", None).await;
    assert_eq!(history["permissions"][0]["id"], permission["id"]);
    assert_eq!(history["permissions"][0]["state"], "answered");
}

#[tokio::test]
async fn an_answer_counts_only_for_what_was_shown_and_in_time() {
    let api = ApiScene::start(plan(changing())).await;
    let (_, permission) = asking(&api).await;
    let other = json!({"decision": "allow", "digest": "sha256:other"});
    let changed = api.ask(&line(&permission), Some(other)).await;
    assert_eq!(
        (changed.status, &changed.json()["pointer"]),
        (409, &json!("/digest"))
    );
    let missing = api
        .ask("POST /permissions/per_none", Some(allow(&permission)))
        .await;
    assert_eq!(missing.status, 404);
    let blind = api
        .ask(&line(&permission), Some(json!({"decision": "allow"})))
        .await;
    assert_eq!(blind.status, 422, "the digest is needed: {blind:?}");
    api.runtime
        .clock
        .advance(Duration::from_secs(30 * 24 * 60 * 60));
    let late = api.ask(&line(&permission), Some(allow(&permission))).await;
    assert_eq!(late.status, 410, "{late:?}");
}

#[tokio::test]
async fn a_chat_token_cannot_approve_its_own_calls() {
    let api = ApiScene::start(plan(changing())).await;
    let (_, permission) = asking(&api).await;
    for scope in [AccessScope::Read, AccessScope::Chat, AccessScope::Metrics] {
        let refused = api
            .ask_as(scope, &line(&permission), Some(allow(&permission)))
            .await;
        assert_eq!(refused.status, 403, "{scope}");
    }
}

#[tokio::test]
async fn many_answers_are_judged_each_on_its_own() {
    let mut entries = changing();
    entries.extend(changing());
    let api = ApiScene::start(plan(entries)).await;
    let (_, first) = asking(&api).await;
    let (_, second) = asking(&api).await;
    let pending = api.told(200, "GET /permissions", None).await;
    let order: Vec<&Value> = pending["permissions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["id"])
        .collect();
    assert_eq!(order, [&first["id"], &second["id"]], "first in, first out");
    let named = |permission: &Value, digest: &Value| json!({"id": permission["id"], "decision": "allow", "digest": digest});
    let answers = json!({"answers": [
        named(&first, &first["digest"]),
        named(&second, &json!("wrong")),
        named(&first, &first["digest"]),
    ]});
    let results = api.told(200, "POST /permissions", Some(answers)).await;
    let statuses: Vec<&Value> = results["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["status"])
        .collect();
    assert_eq!(statuses, [&json!(200), &json!(409), &json!(409)]);
    let many = json!({"answers": vec![named(&second, &second["digest"]); 51]});
    assert_eq!(api.ask("POST /permissions", Some(many)).await.status, 422);
}

#[tokio::test]
async fn a_request_is_answered_after_a_restart_and_the_very_call_goes_on() {
    let api = ApiScene::start(plan(changing())).await;
    let (session, permission) = asking(&api).await;
    let again = plan(changing());
    let definitions = again.definitions.clone();
    let runtime = api.runtime.crash(again).await;
    runtime.recover().await;
    let api = ApiScene::before(runtime, definitions).await;
    let answered = api.ask(&line(&permission), Some(allow(&permission))).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    let end = api.runtime.wait_for_run(&session).await;
    assert_eq!(end.text, "Done.");
    let events = api.runtime.events(&session).await;
    let count = |name: &str| {
        events
            .iter()
            .filter(|event| event.body.name() == name)
            .count()
    };
    let seen = [
        "permission.requested",
        "permission.resolved",
        "tool.started",
        "tool.completed",
    ];
    assert_eq!(seen.map(count), [1, 1, 1, 1]);
}

#[tokio::test]
async fn an_invited_person_neither_sees_nor_answers_for_others() {
    let api = ApiScene::start(plan(changing())).await;
    let (_, permission) = asking(&api).await;
    let guest = token(&api.runtime, AccessScope::Approve, Some("guest")).await;
    let list = api.send(&guest, "GET /permissions", &[], b"").await;
    assert_eq!(list.json()["permissions"], json!([]));
    let body = allow(&permission).to_string();
    let headers = [crate::agent_server::JSON];
    let answer = api
        .send(&guest, &line(&permission), &headers, body.as_bytes())
        .await;
    assert_eq!(answer.status, 404);
    let rule = json!({"kind": "allow", "rule": "Change", "scope": "always"}).to_string();
    let rules = api
        .send(&guest, "POST /permission-rules", &headers, rule.as_bytes())
        .await;
    assert_eq!(rules.status, 403, "{rules:?}");
}

#[tokio::test]
async fn rules_are_saved_listed_and_removed_by_who_made_them() {
    let api = ApiScene::start(plan(changing())).await;
    let new = json!({"kind": "allow", "rule": "Change", "scope": "always"});
    let rule = api.told(201, "POST /permission-rules", Some(new)).await;
    let number = rule["number"].as_i64().unwrap();
    let shown = api
        .told(200, &format!("GET /permission-rules/{number}"), None)
        .await;
    assert_eq!(
        (&shown["rule"], &shown["scope"]),
        (&json!("Change"), &json!("always"))
    );
    let session = api.runtime.post("go").await;
    api.runtime.wait_for_run(&session).await;
    api.told(204, &format!("DELETE /permission-rules/{number}"), None)
        .await;
    api.told(404, &format!("DELETE /permission-rules/{number}"), None)
        .await;
    let wrong = json!({"kind": "allow", "rule": "Bash(", "scope": "always"});
    api.told(422, "POST /permission-rules", Some(wrong)).await;
    let owner = Principal::local_owner(Surface::Http);
    let audit = api
        .runtime
        .handle
        .queries(&owner)
        .audit(0, 100)
        .await
        .unwrap();
    let added = audit
        .iter()
        .find(|row| row.entry.action == "rule.add")
        .unwrap();
    assert!(added.entry.who.token.is_some(), "{added:?}");
}

#[tokio::test]
async fn agents_of_one_reply_are_one_request_of_kind_spawn_with_one_answer() {
    let tasks = (0..9).map(|part| {
        let prompt = format!("part {part}");
        call(
            "Task",
            json!({"subagent_type": "explore", "prompt": prompt}),
        )
    });
    let api = ApiScene::start(plan(vec![
        say("").agent("lead").calls(tasks),
        say("done").agent("lead"),
        say("ok").agent("explore"),
    ]))
    .await;
    let (session, permission) = asking(&api).await;
    assert_eq!(permission["kind"], "spawn");
    assert_eq!(permission["spawn"][0]["agent"], "explore");
    assert_eq!(permission["spawn"][0]["calls"].as_array().unwrap().len(), 9);
    assert_eq!(permission["scopes"], json!(["once", "session"]));
    let line = line(&permission);
    let forever = json!({"decision": "allow", "scope": "always", "digest": permission["digest"]});
    let refused = api.ask(&line, Some(forever)).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    api.told(200, &line, Some(allow(&permission))).await;
    api.runtime.wait_for_run(&session).await;
    assert_eq!(api.runtime.children(&session).await.len(), 9);
}
