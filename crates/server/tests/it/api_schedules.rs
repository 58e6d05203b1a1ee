//! Schedules over the API: previewed, added, changed at their revision, run, their failures listed and acknowledged.

use std::time::Duration;

use rooftree_protocol::AccessScope;
use rooftree_runtime::scheduler;
use rooftree_testkit::{TestRuntimeBuilder, scripted::say};
use serde_json::{Value, json};

use crate::api_scene::{ApiScene, token};

/// Timeout of a wait in real time.
const PATIENCE: Duration = Duration::from_secs(20);

async fn scene() -> ApiScene {
    let mut plan = TestRuntimeBuilder::new([say("Looked.").times(9)]);
    plan.services.push(scheduler::service());
    ApiScene::start(plan).await
}

/// Waits until so many due times of a schedule are over, and gives them.
async fn over(api: &ApiScene, id: &str, count: usize) -> Vec<Value> {
    let look = async {
        loop {
            let line = format!("GET /schedules/{id}/history");
            let page = api.told(200, &line, None).await;
            let items = page["items"].as_array().unwrap().clone();
            if items.len() == count && items.iter().all(|one| one["ended"].is_string()) {
                return items;
            }
        }
    };
    tokio::time::timeout(PATIENCE, look).await.unwrap()
}

#[tokio::test]
async fn a_schedule_is_previewed_added_changed_run_and_removed() {
    let api = scene().await;
    let form = json!({"when": "weekdays at 9", "zone": "Europe/Berlin"});
    let preview = api
        .told(200, "POST /schedules/preview", Some(form.clone()))
        .await;
    assert_eq!(preview["words"], "weekdays at 09:00 Europe/Berlin");
    assert_eq!(preview["next"].as_array().unwrap().len(), 5);
    let never = json!({"when": "whenever"});
    api.told(422, "POST /schedules/preview", Some(never)).await;

    let mut draft = form;
    draft["name"] = json!("morning");
    draft["prompt"] = json!("Look.");
    let added = api.told(201, "POST /schedules", Some(draft)).await;
    let id = added["id"].as_str().unwrap();
    assert_eq!(added["next"], preview["next"]);
    assert_eq!(added["model"], "scripted/story", "the model of now is kept");
    let listed = api.told(200, "GET /schedules", None).await;
    assert_eq!(listed["items"][0]["id"], added["id"]);

    let later = json!({"when": "weekdays at 10", "rev": added["rev"]});
    let path = format!("PATCH /schedules/{id}");
    let changed = api.told(200, &path, Some(later.clone())).await;
    assert_eq!(changed["words"], "weekdays at 10:00 Europe/Berlin");
    api.told(409, &path, Some(later)).await;

    let paused = api
        .told(200, &format!("POST /schedules/{id}/pause"), None)
        .await;
    assert_eq!(paused["enabled"], false);
    api.told(409, &format!("POST /schedules/{id}/run"), None)
        .await;
    api.told(200, &format!("POST /schedules/{id}/resume"), None)
        .await;
    api.told(202, &format!("POST /schedules/{id}/run"), None)
        .await;
    let ran = over(&api, id, 1).await;
    assert_eq!(
        (&ran[0]["execution"], &ran[0]["answer"]),
        (&json!("completed"), &json!("Looked."))
    );

    let gone = format!("DELETE /schedules/{id}");
    api.told(409, &format!("{gone}?rev=1"), None).await;
    api.told(204, &gone, None).await;
    api.told(404, &format!("GET /schedules/{id}"), None).await;
}

#[tokio::test]
async fn failures_are_listed_by_their_cause_and_acknowledged() {
    let api = scene().await;
    let draft =
        json!({"when": "every 2h", "name": "disk", "command": "echo no such disk >&2; exit 3"});
    let added = api.told(201, "POST /schedules", Some(draft)).await;
    let id = added["id"].as_str().unwrap();
    let incidents = format!("GET /schedules/{id}/incidents");
    assert_eq!(api.told(200, &incidents, None).await["items"], json!([]));
    for count in 1..=2 {
        api.told(202, &format!("POST /schedules/{id}/run"), None)
            .await;
        api.runtime.clock.advance(Duration::from_millis(1));
        over(&api, id, count).await;
    }
    let is_told = async {
        loop {
            let found = api.told(200, &incidents, None).await;
            if found["items"][0]["state"] == "alerted" {
                return found["items"][0].clone();
            }
        }
    };
    let one = tokio::time::timeout(PATIENCE, is_told).await.unwrap();
    assert_eq!(one["count"], 2);
    assert!(
        one["words"].as_str().unwrap().contains("no such disk"),
        "{one}"
    );
    let acknowledge = format!("POST /schedules/{id}/acknowledge");
    let wrong = json!({"signature": "another"});
    api.told(404, &acknowledge, Some(wrong)).await;
    let right = json!({"signature": one["signature"]});
    api.told(204, &acknowledge, Some(right.clone())).await;
    let found = api.told(200, &incidents, None).await;
    assert_eq!(found["items"][0]["state"], "acknowledged");
    let reader = token(&api.runtime, AccessScope::Read, None).await;
    let body = right.to_string();
    let headers = ["Content-Type: application/json"];
    let refused = api
        .send(&reader, &acknowledge, &headers, body.as_bytes())
        .await;
    assert_eq!(refused.status, 403);
}

#[tokio::test]
async fn an_invited_person_adds_no_commands_gates_and_chats_and_sees_only_own_schedules() {
    let api = scene().await;
    let own = json!({"when": "every 2h", "prompt": "Look.", "name": "mine"});
    let added = api.told(201, "POST /schedules", Some(own)).await;
    let id = added["id"].as_str().unwrap();
    let guest = token(&api.runtime, AccessScope::Chat, Some("Ann")).await;
    let headers = ["Content-Type: application/json"];
    for (more, status) in [
        (json!({"command": "id", "prompt": null}), 403),
        (json!({"gate": "exit 0"}), 403),
        (json!({"target": "home:1"}), 403),
        (json!({"fail_target": "home:1"}), 403),
        (json!({}), 201),
    ] {
        let mut draft = json!({"when": "every 2h", "prompt": "Look.", "name": "hers"});
        for (name, value) in more.as_object().unwrap() {
            draft[name] = value.clone();
        }
        let body = draft.to_string();
        let answer = api.send(&guest, "POST /schedules", &headers, body.as_bytes());
        let answer = answer.await;
        assert_eq!(answer.status, status, "{draft}: {answer:?}");
    }
    for line in [
        format!("GET /schedules/{id}"),
        format!("GET /schedules/{id}/incidents"),
        format!("POST /schedules/{id}/run"),
        format!("DELETE /schedules/{id}"),
    ] {
        assert_eq!(
            api.send(&guest, &line, &[], b"").await.status,
            404,
            "{line}"
        );
    }
    let seen = api.send(&guest, "GET /schedules", &[], b"").await;
    let seen: Value = serde_json::from_str(&seen.body).unwrap();
    let names: Vec<&str> = seen["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["hers"]);
}
