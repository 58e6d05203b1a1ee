//! Stories of runs that do not go straight to their end: stopped, failed, cut, compacted, crashed, checked, steered.

use std::{sync::Arc, time::Duration};

use rooftree_protocol::{AgentDefinition, Command, Effect, event::StopReason};
use rooftree_tools::{BackgroundProcesses, Toolset};
use serde_json::json;

use super::{calling, plan, played, reply, task, tools};
use crate::{
    ProbeTool, TestRuntime, TestRuntimeBuilder, recorded_story,
    scripted::{ScriptedFailureKind, call, fail},
};

/// Waits until a gated call has begun.
async fn under_way(gate: &crate::probe_tool::ProbeGate) {
    while gate.started() < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

pub(super) async fn cancelled() -> String {
    let (wait, gate) = ProbeTool::gated("Wait", Effect::ReadOnly);
    let entries = [
        calling("lead", "", [task("helper", "dig", json!({}))]),
        calling("helper", "Digging.", [call("Wait", json!({"say": "long"}))]),
    ];
    let house = plan(&Toolset::new([wait]), entries).build();
    let session = house.post("Dig").await;
    under_way(&gate).await;
    house.clock.advance(Duration::from_secs(2));
    let cancel = Command::Cancel {
        session: session.clone(),
        run: None,
    };
    house.command(cancel).await;
    for child in house.children(&session).await {
        house.wait_for_run(&child.id).await;
    }
    played(house, session).await
}

pub(super) async fn failed() -> String {
    let entries = [
        calling("lead", "", [task("helper", "dig", json!({}))]),
        fail(ScriptedFailureKind::Unauthorized).agent("helper"),
        reply("lead", "The helper could not."),
    ];
    let house = plan(&tools(), entries).build();
    let session = house.post("Dig").await;
    played(house, session).await
}

pub(super) async fn truncated() -> String {
    let cut = |text: &str| reply("lead", text).stop(StopReason::MaxOutput);
    let entries = ["One, ", "two, ", "three, ", "four, ", "five"].map(cut);
    let house = plan(&tools(), entries).build();
    let session = house.post("Count").await;
    played(house, session).await
}

pub(super) async fn cleared() -> String {
    let entries = [
        reply("lead", "Hello."),
        reply("lead", "Who are you?").on("Again"),
    ];
    let house = plan(&tools(), entries).build();
    let session = house.post("Hello").await;
    house.wait_for_run(&session).await;
    let clear = Command::Clear {
        session: session.clone(),
        unless_busy: false,
    };
    house.command(clear).await;
    house.wait_for_event(&session, "session.cleared").await;
    house.post_to(&session, "Again").await;
    house.wait_for_nth_run(&session, 2).await;
    recorded_story::record(&house, &session).await
}

pub(super) async fn compacted() -> String {
    let entries = [
        reply("lead", "Noted.").on("teal"),
        // Once the context is smaller, the model reads none of its replies any more.
        fail(ScriptedFailureKind::TooLong).agent("lead").turn(2),
        reply("compaction", "The colour is teal.").matching(".*"),
        reply("lead", "Teal.").matching("recall").turn(1),
    ];
    let house = plan(&tools(), entries).build();
    let session = house.post("The colour is teal").await;
    house.wait_for_run(&session).await;
    house.post_to(&session, "Please recall the colour").await;
    house.wait_for_nth_run(&session, 2).await;
    recorded_story::record(&house, &session).await
}

/// A process that dies during a call with effects: the call gets the outcome unknown.
pub(super) async fn recovered() -> String {
    let entries = || {
        [
            calling("lead", "", [call("Change", json!({"say": "a.txt"}))]),
            reply("lead", "It may have been changed."),
        ]
    };
    let (held, gate) = ProbeTool::gated("Change", Effect::LocalMutation);
    let house = plan(&Toolset::new([held]), entries()).build();
    let session = house.post("Change a.txt").await;
    under_way(&gate).await;
    let house = house.crash(plan(&tools(), entries())).await;
    house.recover().await;
    played(house, session).await
}

pub(super) async fn rate_limited() -> String {
    let limit = fail(ScriptedFailureKind::RateLimit)
        .agent("lead")
        .retry_after(Duration::from_secs(7));
    let house = plan(&tools(), [limit, reply("lead", "Here I am.")]).build();
    let session = house.post("Hello").await;
    house.wait_for_event(&session, "run.waiting").await;
    house.clock.advance(Duration::from_secs(7));
    played(house, session).await
}

/// A reply that breaks off is asked for again.
pub(super) async fn retried() -> String {
    let broken = fail(ScriptedFailureKind::Broken).agent("lead");
    let house = plan(
        &tools(),
        [broken, reply("lead", "The beginning of a reply.")],
    )
    .build();
    let session = house.post("Hello").await;
    house.wait_for_event(&session, "run.waiting").await;
    house.clock.advance(Duration::from_secs(60));
    played(house, session).await
}

/// Work that verifiers find bad as often as it is checked.
pub(super) async fn refuted() -> String {
    let lead = AgentDefinition {
        verifiers: vec!["tests".into()],
        ..AgentDefinition::new("lead")
    };
    let entries =
        ["Done.", "Now it is done.", "Really done.", "Done!"].map(|text| reply("lead", text));
    let mut plan = plan(&tools(), entries).agent(lead);
    let found = || Box::pin(std::future::ready(Err("ok.txt is missing".to_owned())));
    plan.checkers
        .insert("tests".into(), Arc::new(move |_| found()));
    let house = plan.build();
    let session = house.post("Make ok.txt").await;
    played(house, session).await
}

pub(super) async fn todos() -> String {
    let list = |first: &str, second: &str| {
        let items =
            json!([{"content": "look", "status": first}, {"content": "mend", "status": second}]);
        call("TodoWrite", json!({ "todos": items }))
    };
    let entries = [
        calling("lead", "A plan.", [list("in_progress", "pending")]),
        calling("lead", "", [list("completed", "in_progress")]),
        reply("lead", "Half done."),
    ];
    let builtin = rooftree_tools::builtin(Arc::new(BackgroundProcesses::new(|| 7)));
    let house: TestRuntime = TestRuntimeBuilder::new(entries).tools(builtin).build();
    let session = house.post("Mend it").await;
    played(house, session).await
}

/// A message that enters a run under way.
pub(super) async fn steered() -> String {
    let (wait, gate) = ProbeTool::gated("Wait", Effect::ReadOnly);
    let entries = [
        calling("lead", "", [call("Wait", json!({"say": "a while"}))]),
        reply("lead", "Changed course."),
    ];
    let house = plan(&Toolset::new([wait]), entries).build();
    let session = house.post("Go north").await;
    under_way(&gate).await;
    house.steer(&session, "Go south instead").await;
    gate.open(1);
    played(house, session).await
}
