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

use rooftree_protocol::{DefinitionLevel, Effect, EventBody, SessionId};
use rooftree_providers::scripted::{ScriptEntry, call, say};
use rooftree_runtime::hooks::{ConfiguredHook, HookMatcher, HookPoint, HookProgram};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::Toolset;
use serde_json::{Value, json};

/// A program that is asked at a point, written by the user.
fn asked(point: HookPoint, script: &str) -> ConfiguredHook {
    let mut hook = ConfiguredHook::program(point, HookProgram::shell(script));
    hook.level = DefinitionLevel::User;
    hook
}

/// The same, for these tools alone.
fn asked_about(point: HookPoint, matcher: &str, script: &str) -> ConfiguredHook {
    let mut hook = asked(point, script);
    hook.matcher = HookMatcher::parse(matcher).unwrap();
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
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A model that calls `Do` once and says what came of it; everything is allowed.
fn doing(hooks: Vec<ConfiguredHook>) -> TestRuntimeBuilder {
    let entries = [
        say("").calls([call("Do", json!({"say": "effect"}))]),
        say("{{ results[0].text }}"),
    ];
    with(entries, hooks).tools(Toolset::new([ProbeTool::open("Do", Effect::LocalMutation)]))
}

fn with(
    entries: impl IntoIterator<Item = ScriptEntry>,
    hooks: Vec<ConfiguredHook>,
) -> TestRuntimeBuilder {
    let mut plan = TestRuntimeBuilder::new(entries);
    plan.hooks.hooks = hooks;
    plan
}

/// Everything the model read for its last reply.
fn last_read(runtime: &TestRuntime) -> String {
    let requests = runtime.model.requests();
    requests
        .last()
        .map(|request| format!("{:?}", request.messages))
        .unwrap_or_default()
}

/// What a runtime tells about its first session when that has done its work.
async fn story_of(plan: TestRuntimeBuilder) -> (TestRuntime, SessionId, String) {
    let runtime = plan.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    (runtime, session, story)
}

/// What people are told in a session.
async fn told(runtime: &TestRuntime, session: &SessionId) -> String {
    let events = runtime.events(session).await;
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
    tokio::time::timeout(Duration::from_secs(20), waiting)
        .await
        .unwrap();
}
