//! The model a child is given, and keeps when it is written to.

use rooftree_protocol::{
    Address, Command, Delivery, EventBody, Origin, Part, SessionId,
    command::{CommandReply, NewSession},
};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::TestRuntime;
use serde_json::json;

use super::{plan, task};

/// The models a session's runs began with.
async fn models(runtime: &TestRuntime, session: &SessionId) -> Vec<String> {
    let events = runtime.events(session).await;
    let started = events.iter().filter_map(|event| match &event.body {
        EventBody::RunStarted { model, .. } => Some(model.clone()),
        _ => None,
    });
    started.collect()
}

async fn post_with_model(runtime: &TestRuntime, model: &str) -> SessionId {
    let model = Some(model.parse().unwrap());
    let new = NewSession {
        agent: "lead".into(),
        cwd: runtime.path().into(),
        name: None,
        model,
    };
    let post = Command::Post {
        to: Address::Create(new),
        parts: vec![Part::text("go")],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    };
    match runtime.command(post).await {
        CommandReply::Accepted { session, .. } => session,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn r1_d5_a_child_keeps_its_inherited_model_when_it_is_written_to() {
    let to = "{{ results[0].text | find('ses_[a-z0-9]+') }}";
    let runtime = plan([
        say("").agent("lead").calls([task("helper", "look")]),
        say("")
            .agent("lead")
            .calls([call("SendMessage", json!({"to": to, "text": "more"}))]),
        say("{{ results[0].text }}").agent("lead"),
        say("done").agent("helper").times(20),
    ])
    .build();
    let lead = post_with_model(&runtime, "scripted/special").await;
    let said = runtime.wait_for_run(&lead).await.text;
    assert!(said.starts_with("System message sent."), "{said}");
    let child = runtime.children(&lead).await.remove(0).id;
    runtime.wait_for_nth_run(&child, 2).await;
    // A person's message has no mandate: what the session itself knows counts.
    runtime.post_to(&child, "and now?").await;
    runtime.wait_for_nth_run(&child, 3).await;
    assert_eq!(models(&runtime, &child).await, ["scripted/special"; 3]);
}

#[tokio::test]
async fn r1_d5_the_sender_is_told_if_nobody_can_work_on_its_message() {
    let mut plan = plan([
        say("")
            .agent("lead")
            .calls([call("SendMessage", json!({"to": "scout", "text": "more"}))]),
        say("{{ results[0].text }}").agent("lead"),
        say("hello").agent("scout"),
    ]);
    plan.definitions = plan.definitions.with(rooftree_protocol::AgentDefinition {
        model: Some("nowhere/at-all".parse().unwrap()),
        ..super::agent("scout")
    });
    let runtime = plan.build();
    let scout = runtime.post_as("scout", "hi").await;
    runtime.wait_for_run(&scout).await;
    let lead = runtime.post("go").await;
    let said = runtime.wait_for_run(&lead).await.text;
    assert!(said.contains("`scout` cannot work on a message"), "{said}");
}
