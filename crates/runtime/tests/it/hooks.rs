//! Hooks, told as stories: a scripted model, a real runtime, real programs that are asked.

mod begin;
mod children;
mod elicit;
mod ends;
mod every_point;
mod failing;
mod gates;
mod results;
mod scripts;
mod services;

use std::{path::Path, time::Duration};

use rooftree_protocol::{Effect, EventBody, Level, SessionId};
use rooftree_providers::scripted::{Entry, call, say};
use rooftree_runtime::hooks::{Hook, Matcher, Point, Program};
use rooftree_testkit::{House, Plan, Probe};
use rooftree_tools::Toolset;
use serde_json::{Value, json};

/// A program that is asked at a point, written by the user.
fn asked(point: Point, script: &str) -> Hook {
    let mut hook = Hook::program(point, Program::shell(script));
    hook.level = Level::User;
    hook
}

/// The same, for these tools alone.
fn asked_about(point: Point, matcher: &str, script: &str) -> Hook {
    let mut hook = asked(point, script);
    hook.matcher = Matcher::parse(matcher).unwrap();
    hook
}

/// A script that prints this.
fn prints(value: &Value) -> String {
    format!("cat >/dev/null; cat <<'END'\n{value}\nEND\n")
}

/// A script that keeps what it is asked, a line each, and says nothing.
fn keeps(file: &Path) -> String {
    format!("cat >> '{}'", file.display())
}

/// What such a script has kept.
fn kept(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A model that calls `Do` once and says what came of it; everything is allowed.
fn doing(hooks: Vec<Hook>) -> Plan {
    let entries = [say("").calls([call("Do", json!({"say": "effect"}))]), say("{{ results[0].text }}")];
    with(entries, hooks).tools(Toolset::new([Probe::open("Do", Effect::LocalMutation)]))
}

fn with(entries: impl IntoIterator<Item = Entry>, hooks: Vec<Hook>) -> Plan {
    let mut plan = Plan::new(entries);
    plan.hooks.hooks = hooks;
    plan
}

/// Everything the model read for its last reply.
fn last_read(house: &House) -> String {
    let requests = house.model.requests();
    requests.last().map(|request| format!("{:?}", request.messages)).unwrap_or_default()
}

/// What a house tells about its first session when that has done its work.
async fn story_of(plan: Plan) -> (House, SessionId, String) {
    let house = plan.build();
    let session = house.post("go").await;
    house.finished(&session).await;
    let story = house.story(&session).await;
    (house, session, story)
}

/// What people are told in a session.
async fn told(house: &House, session: &SessionId) -> String {
    let events = house.events(session).await;
    let notices = events.iter().filter_map(|event| match &event.body {
        EventBody::Notice { message, .. } => Some(format!("{message}\n")),
        _ => None,
    });
    notices.collect()
}

/// Waits for a file that a real program makes.
async fn appears(file: &Path) {
    let waiting = async {
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap();
}
