//! Groups: answered where the owner allows it, when the bot is addressed, for people who are paired.

use rooftree_connectors::InboundBody;
use rooftree_protocol::{AuthorizedCaller, PermissionMode, Surface};
use rooftree_testkit::scripted::say;
use serde_json::json;

use super::{
    chat_scene::{ChatScene, owner, plan},
    fake_platform::{direct, in_group},
    requests::changing,
};

#[tokio::test]
async fn a_group_is_answered_only_if_it_is_allowed_and_the_bot_is_addressed() {
    let settings = json!({"debounce_ms": 0, "groups": ["-1"]});
    let scene = ChatScene::with_settings(plan([say("Yes?").times(9)]), settings).await;
    scene.pair("7", "owner", false).await;
    let mut aside = in_group("1", "-1", "7", "talking to somebody else");
    if let InboundBody::Message { addressed, .. } = &mut aside.body {
        *addressed = false;
    }
    scene.platform.deliver(aside);
    scene.platform.deliver(in_group("2", "-1", "8", "let me"));
    scene
        .platform
        .deliver(in_group("3", "-2", "7", "here too?"));
    scene.platform.deliver(in_group("4", "-2", "7", "and now?"));
    scene.acknowledged("4").await;
    assert!(scene.sessions().await.is_empty());
    let told = scene.told().await;
    assert_eq!(told.len(), 1, "said once an hour: {told:?}");
    assert!(told[0].1.contains("connectors set home --group -2"));
    scene.platform.deliver(in_group("5", "-1", "7", "hello"));
    let (target, _) = scene.hears("Yes?").await;
    assert_eq!(target.to_string(), "home:-1");
    assert_eq!(
        target.reply_to.as_deref(),
        Some("m5"),
        "it answers a message"
    );
}

#[tokio::test]
async fn people_in_a_group_share_its_session_and_the_agent_knows_who_speaks() {
    let settings = json!({"debounce_ms": 0, "groups": ["-1"]});
    let scene = ChatScene::with_settings(plan([say("ok").times(9)]), settings).await;
    let caller = AuthorizedCaller::local_owner(Surface::Cli);
    let ann = scene.runtime.handle.invite_person(&caller, "Ann").await;
    let ann = ann.unwrap().person.account.person;
    scene.pair("7", "owner", false).await;
    scene.pair("8", &ann, false).await;
    scene.platform.deliver(in_group("1", "-1", "8", "from ann"));
    scene
        .platform
        .deliver(in_group("2", "-1", "7", "from the owner"));
    scene.platform.deliver(direct("3", "8", "alone"));
    let answers = || async { (scene.told().await.len() == 3).then_some(()) };
    scene.until("three answers", answers).await;
    let sessions = scene.sessions().await;
    let persons: Vec<_> = sessions
        .iter()
        .map(|session| session.account.person.as_str())
        .collect();
    assert_eq!(persons.len(), 2);
    assert!(persons.contains(&"owner") && persons.contains(&ann.as_str()));
    let requests = format!("{:?}", scene.runtime.model.requests());
    assert!(
        requests.contains("sender=\\\"8\\\"") || requests.contains("sender=\"8\""),
        "{requests}"
    );
}

#[tokio::test]
async fn with_per_user_each_person_of_a_group_has_a_session() {
    let settings = json!({"debounce_ms": 0, "groups": ["-1"], "per_user": true});
    let scene = ChatScene::with_settings(plan([say("ok").times(9)]), settings).await;
    for sender in ["7", "8"] {
        scene.pair(sender, "owner", false).await;
        scene
            .platform
            .deliver(in_group(sender, "-1", sender, "hello"));
    }
    let answers = || async { (scene.told().await.len() == 2).then_some(()) };
    scene.until("two answers", answers).await;
    assert_eq!(scene.sessions().await.len(), 2);
}

#[tokio::test]
async fn a_group_that_moves_keeps_its_session() {
    let settings = json!({"debounce_ms": 0, "groups": ["-1"]});
    let scene = ChatScene::with_settings(plan([say("ok").times(9)]), settings).await;
    scene.pair("7", "owner", false).await;
    scene.platform.deliver(in_group("1", "-1", "7", "hello"));
    scene.hears("ok").await;
    let mut moved = in_group("2", "-1", "7", "");
    moved.body = InboundBody::Moved {
        chat: "-100".into(),
    };
    scene.platform.deliver(moved);
    scene
        .platform
        .deliver(in_group("3", "-100", "7", "here now"));
    let answers = || async { (scene.told().await.len() == 2).then_some(()) };
    scene.until("two answers", answers).await;
    assert_eq!(scene.sessions().await.len(), 1);
    let row = scene
        .runtime
        .handle
        .connector(&owner(), "home")
        .await
        .unwrap();
    assert_eq!(row.fields.settings["groups"], json!(["-1", "-100"]));
}

#[tokio::test]
async fn the_mode_of_a_connector_bounds_its_groups_whoever_speaks() {
    for per_user in [false, true] {
        let mut plan = changing();
        plan.rights.policy.mode = PermissionMode::Auto;
        let settings =
            json!({"debounce_ms": 0, "groups": ["-1"], "per_user": per_user, "mode": "ask"});
        let scene = ChatScene::with_settings(plan, settings).await;
        let caller = AuthorizedCaller::local_owner(Surface::Cli);
        let ann = scene.runtime.handle.invite_person(&caller, "Ann").await;
        scene
            .pair("8", &ann.unwrap().person.account.person, false)
            .await;
        scene
            .platform
            .deliver(in_group("1", "-1", "8", "change it"));
        let inquiry = scene.asked().await;
        let found = scene.runtime.store().session(&inquiry.session).await;
        let chat = found.unwrap().unwrap().chat.unwrap();
        assert_eq!((chat.to_string().as_str(), chat.group), ("home:-1", true));
    }
}
