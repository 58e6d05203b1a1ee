//! Slash commands of chats.

use std::time::Duration;

use rooftree_protocol::{
    Command, Origin, Part,
    command::{Address, Delivery},
};
use rooftree_testkit::scripted::say;

use super::{
    chat_scene::{ChatScene, owner, plan},
    fake_platform::direct,
};

async fn paired(
    entries: impl IntoIterator<Item = rooftree_testkit::scripted::ScriptEntry>,
) -> ChatScene {
    let scene = ChatScene::start(plan(entries)).await;
    scene.pair("7", "owner", false).await;
    scene
}

#[tokio::test]
async fn new_begins_another_session_back_returns_and_a_restart_keeps_it() {
    let scene = paired([say("first").times(99)]).await;
    scene.platform.deliver(direct("1", "7", "hello"));
    scene.hears("first").await;
    let first = scene.sessions().await.remove(0).id;
    scene
        .platform
        .deliver(direct("2", "7", "/new and what now?"));
    scene.hears("A new conversation with helper").await;
    let answers = || async {
        let rows = scene.outbox().await;
        (rows.len() == 3).then_some(rows)
    };
    scene.until("the second answer", answers).await;
    let sessions = scene.sessions().await;
    assert_eq!(sessions.len(), 2);
    let second = sessions.iter().find(|session| session.id != first).unwrap();
    assert_eq!(
        second.chat, sessions[0].chat,
        "its results go to the same chat"
    );
    let second = second.id.clone();
    let scene = scene.restarted(plan([say("again").times(99)])).await;
    scene.platform.deliver(direct("3", "7", "still here?"));
    scene.hears("again").await;
    let last = scene.outbox().await.pop().unwrap();
    assert_eq!(
        last.post.session,
        Some(second),
        "the chat stays where it was"
    );
    scene.platform.deliver(direct("4", "7", "/back"));
    scene.hears("Back to").await;
    scene.platform.deliver(direct("5", "7", "and here?"));
    let first_again = || async {
        let last = scene.outbox().await.pop()?;
        (last.post.session.as_ref() == Some(&first)).then_some(())
    };
    scene
        .until("an answer of the first session", first_again)
        .await;
    assert_eq!(scene.sessions().await.len(), 2);
    scene.runtime.verify().await;
}

#[tokio::test]
async fn agent_and_switch_choose_the_agent() {
    let scene = paired([say("ok").times(99)]).await;
    scene.platform.deliver(direct("1", "7", "/agent"));
    let (_, text) = scene.hears("Agents:").await;
    assert!(text.contains("helper") && text.contains("other"), "{text}");
    scene.platform.deliver(direct("2", "7", "/switch other"));
    scene.hears("no conversation to hand over").await;
    scene
        .platform
        .deliver(direct("3", "7", "/agent other hello there"));
    scene.hears("A new conversation with other").await;
    scene.platform.deliver(direct("4", "7", "/switch helper"));
    scene.hears("helper goes on").await;
    scene.platform.deliver(direct("5", "7", "/agent nosuch"));
    scene.hears("nosuch").await;
    let agents: Vec<String> = scene
        .sessions()
        .await
        .into_iter()
        .map(|session| session.agent)
        .collect();
    assert_eq!(agents.len(), 2);
    scene.platform.deliver(direct("6", "7", "/status"));
    scene.hears("agent: helper").await;
    scene.platform.deliver(direct("7", "7", "/back"));
    scene.hears("Back to").await;
    scene.platform.deliver(direct("8", "7", "/usage"));
    scene.hears("1 runs").await;
    scene.platform.deliver(direct("9", "7", "/sessions"));
    scene.hears("/resume ID").await;
}

#[tokio::test]
async fn an_unknown_command_gets_help_and_what_only_looks_like_one_is_text() {
    let scene = paired([say("read").times(99)]).await;
    scene.platform.deliver(direct("1", "7", "/frobnicate"));
    let (_, help) = scene.hears("There is no command /frobnicate").await;
    for name in [
        "/new",
        "/reset",
        "/stop",
        "/status",
        "/sessions",
        "/agent",
        "/switch",
        "/back",
        "/approve",
        "/deny",
        "/usage",
        "/help",
    ] {
        assert!(help.contains(name), "{name}");
    }
    assert!(scene.sessions().await.is_empty());
    scene
        .platform
        .deliver(direct("2", "7", "what does /new do?"));
    scene.hears("read").await;
    let asked = format!("{:?}", scene.runtime.model.requests());
    assert!(asked.contains("what does /new do?"));
}

#[tokio::test]
async fn reset_forgets_and_a_command_told_over_another_surface_is_text() {
    let scene = paired([say("noted").times(99)]).await;
    scene
        .platform
        .deliver(direct("1", "7", "my colour is blue"));
    scene.hears("noted").await;
    let session = scene.sessions().await.remove(0).id;
    let post = Command::Post {
        to: Address::Id {
            id: session.clone(),
        },
        parts: vec![Part::text("/reset")],
        origin: Origin::User,
        key: None,
        delivery: Delivery::Queue,
        context: None,
    };
    scene.runtime.handle.send(&owner(), post).await.unwrap();
    scene.runtime.wait_for_nth_run(&session, 2).await;
    let cleared = |name: &'static str| {
        let scene = &scene;
        let session = session.clone();
        async move {
            let events = scene.runtime.events(&session).await;
            events
                .iter()
                .filter(|event| event.body.name() == name)
                .count()
        }
    };
    assert_eq!(cleared("session.cleared").await, 0, "text resets nothing");
    scene.platform.deliver(direct("2", "7", "/reset"));
    scene.hears("Forgotten").await;
    scene
        .runtime
        .wait_for_event(&session, "session.cleared")
        .await;
    scene.platform.deliver(direct("3", "7", "/stop"));
    scene.hears("Nothing is being worked on").await;
}

#[tokio::test]
async fn status_stop_usage_and_sessions_tell_of_the_conversation_of_the_chat() {
    let slow = say("never said").delay(Duration::from_secs(3600));
    let scene = paired([say("quick").usage(40, 2), slow]).await;
    scene.platform.deliver(direct("1", "7", "/usage"));
    scene.hears("Nothing was used yet.").await;
    scene.platform.deliver(direct("2", "7", "/stop"));
    scene.hears("Nothing is being worked on.").await;
    scene.platform.deliver(direct("3", "7", "hello"));
    scene.hears("quick").await;
    scene.platform.deliver(direct("4", "7", "/usage"));
    scene.hears("1 runs, 40 tokens in, 2 out").await;
    scene.platform.deliver(direct("5", "7", "think long"));
    scene.acknowledged("5").await;
    scene.platform.deliver(direct("6", "7", "/status"));
    scene.hears("now: working").await;
    scene.platform.deliver(direct("7", "7", "/stop"));
    scene.hears("Stopped.").await;
    scene.platform.deliver(direct("8", "7", "/sessions"));
    scene.hears("helper · ").await;
    scene.platform.deliver(direct("9", "7", "/help"));
    let (_, help) = scene.hears("/switch AGENT").await;
    assert!(
        help.contains("/approve") && help.contains("/reset"),
        "{help}"
    );
}
