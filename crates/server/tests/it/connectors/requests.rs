//! Permission requests in chats: buttons and commands, who may answer, who was first.

use rooftree_protocol::{AuthorizedCaller, Effect, PermissionMode, SessionId, Surface};
use rooftree_runtime::people_tools;
use rooftree_server::connectors::{ButtonChoice, ButtonPress};
use rooftree_store::{Inquiry, OutboxBody};
use rooftree_testkit::{
    ProbeTool, TestRuntimeBuilder, Toolset,
    scripted::{call, say},
};
use serde_json::json;

use super::{
    chat_scene::{ChatScene, plan},
    fake_platform::direct,
};

pub fn changing() -> TestRuntimeBuilder {
    let changes = || say("I change it.").calls([call("Change", json!({"say": "x"}))]);
    let plan = plan([changes(), say("Done.")]);
    let tools = Toolset::new([ProbeTool::open("Change", Effect::LocalMutation)]);
    plan.with_delegation(tools).asking(PermissionMode::Ask)
}

pub fn button(inquiry: &Inquiry, choice: ButtonChoice) -> String {
    ButtonPress::new(&inquiry.id, choice).to_string()
}

async fn pressed(scene: &ChatScene, key: &str, from: &str, data: &str) -> String {
    scene.pressed("prompt", key, (from, data)).await
}

async fn session(scene: &ChatScene) -> SessionId {
    scene.sessions().await.remove(0).id
}

#[tokio::test]
async fn a_button_counts_once_from_one_who_may_and_the_second_learns_who_was_first() {
    let scene = ChatScene::start(changing()).await;
    scene.pair("7", "owner", false).await;
    scene.pair("8", "owner", true).await;
    scene.pair("9", "owner", true).await;
    scene.platform.deliver(direct("1", "7", "change it"));
    let inquiry = scene.asked().await;
    let yes = button(&inquiry, ButtonChoice::Allow);
    let sender = pressed(&scene, "2", "7", &yes).await;
    assert_eq!(
        sender, "You may not answer requests.",
        "to send is not to approve"
    );
    let stranger = pressed(&scene, "3", "666", &yes).await;
    assert!(stranger.contains("not paired"), "{stranger}");
    let forged = pressed(&scene, "4", "8", "p:aaaaaaaaaaaa:y").await;
    assert!(forged.contains("no such request"), "{forged}");
    let nonsense = pressed(&scene, "5", "8", "allow everything").await;
    assert!(nonsense.contains("does not work"), "{nonsense}");
    assert_eq!(pressed(&scene, "6", "8", &yes).await, "Allowed.");
    let no = button(&inquiry, ButtonChoice::Deny);
    let late = pressed(&scene, "7", "9", &no).await;
    assert_eq!(late, "Not counted: name of 8 (8) was faster.");
    scene.hears("Done.").await;
    let outcome = || async {
        let rows = scene.outbox().await;
        rows.into_iter().find_map(|row| match row.post.body {
            OutboxBody::Outcome { text, .. } => Some(text),
            _ => None,
        })
    };
    let outcome = scene.until("the outcome", outcome).await;
    assert!(outcome.contains("Allowed by name of 8 (8)"), "{outcome}");
}

#[tokio::test]
async fn requests_are_listed_and_answered_by_number_and_nothing_is_answered_unseen() {
    let scene = ChatScene::start(changing()).await;
    scene.pair("7", "owner", true).await;
    scene.platform.deliver(direct("1", "7", "change it"));
    scene.asked().await;
    // A number that he was shown nothing under is answered with the list.
    scene.platform.deliver(direct("2", "7", "/approve 1"));
    let (_, list) = scene.hears("Which one?").await;
    assert!(list.contains("1. helper · Change"), "{list}");
    scene
        .platform
        .deliver(direct("3", "7", "/deny 1 not today"));
    scene.hears("Denied.").await;
    let id = session(&scene).await;
    let resolved = scene
        .runtime
        .wait_for_event(&id, "permission.resolved")
        .await;
    assert!(format!("{:?}", resolved.body).contains("not today"));
    scene.hears("Done.").await;
    scene.platform.deliver(direct("4", "7", "/approve 1"));
    scene.hears("Not counted").await;
    scene.platform.deliver(direct("5", "7", "/approve"));
    scene.hears("Nothing is asked.").await;
}

#[tokio::test]
async fn an_approver_decides_about_his_own_sessions_only() {
    let scene = ChatScene::start(changing()).await;
    let caller = AuthorizedCaller::local_owner(Surface::Cli);
    let ann = scene.runtime.handle.invite_person(&caller, "Ann").await;
    let ann = ann.unwrap().person.account.person;
    scene.pair("7", "owner", true).await;
    scene.pair("8", &ann, true).await;
    scene.platform.deliver(direct("1", "7", "change it"));
    let inquiry = scene.asked().await;
    let yes = button(&inquiry, ButtonChoice::Allow);
    let foreign = pressed(&scene, "2", "8", &yes).await;
    assert!(foreign.contains("not yours"), "{foreign}");
    scene.platform.deliver(direct("3", "8", "/approve"));
    scene.hears("Nothing is asked.").await;
    assert_eq!(pressed(&scene, "4", "7", &yes).await, "Allowed.");
    scene.hears("Done.").await;
    scene.platform.deliver(direct("5", "8", "change mine"));
    let inquiry = scene.asked().await;
    let session_wide = button(&inquiry, ButtonChoice::AllowSession);
    assert_eq!(
        pressed(&scene, "6", "8", &session_wide).await,
        "Allowed for this session."
    );
    let both = || async {
        let done = scene.told().await.into_iter();
        let done = done.filter(|(_, text)| text == "Done.");
        let chats: Vec<String> = done.map(|(target, _)| target.chat).collect();
        (chats == ["7", "8"]).then_some(())
    };
    scene.until("both answers", both).await;
}

#[tokio::test]
async fn a_question_with_options_is_answered_by_a_button_or_in_words() {
    let ask = || {
        let input =
            json!({"question": "Which colour?", "header": "colour", "options": ["red", "blue"]});
        say("").calls([call("AskUserQuestion", input)])
    };
    let mut plan = plan([
        ask(),
        say("It is {{ results[0].text }}"),
        ask(),
        say("Now {{ results[0].text }}"),
    ]);
    plan = plan.asking(PermissionMode::Ask);
    plan.tools = people_tools::with_tools(&Toolset::default());
    let scene = ChatScene::start(plan).await;
    scene.pair("7", "owner", true).await;
    scene.platform.deliver(direct("1", "7", "go"));
    let inquiry = scene.asked().await;
    let yes = pressed(&scene, "2", "7", &button(&inquiry, ButtonChoice::Allow)).await;
    assert!(yes.contains("Choose one: red, blue"), "{yes}");
    let blue = pressed(&scene, "3", "7", &button(&inquiry, ButtonChoice::Option(1))).await;
    assert_eq!(blue, "Answered: blue");
    scene.hears("It is").await;
    scene.platform.deliver(direct("4", "7", "again"));
    scene.asked().await;
    scene.platform.deliver(direct("5", "7", "/approve"));
    scene.hears("Which colour?").await;
    scene.platform.deliver(direct("6", "7", "/approve 1 RED"));
    scene.hears("Answered: red").await;
    scene.hears("Now").await;
}

#[tokio::test]
async fn a_connector_bounds_the_mode_of_its_sessions() {
    for (mode, is_asked) in [("ask", true), ("bypass", false)] {
        let mut plan = changing();
        plan.rights.policy.mode = PermissionMode::Auto;
        let settings = json!({"debounce_ms": 0, "mode": mode});
        let scene = ChatScene::with_settings(plan, settings).await;
        scene.pair("7", "owner", true).await;
        scene.platform.deliver(direct("1", "7", "change it"));
        if is_asked {
            let inquiry = scene.asked().await;
            let yes = button(&inquiry, ButtonChoice::Allow);
            assert_eq!(pressed(&scene, "2", "7", &yes).await, "Allowed.");
        }
        scene.hears("Done.").await;
        let id = session(&scene).await;
        let events = scene.runtime.events(&id).await;
        let asked = events
            .iter()
            .any(|event| event.body.name() == "permission.requested");
        assert_eq!(asked, is_asked, "{mode}");
    }
}
