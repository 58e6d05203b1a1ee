//! What arrives is taken once: redelivery after a crash, replay, a second poller, a store that fails.

use std::{sync::Arc, time::Duration};

use rooftree_protocol::EventBody;
use rooftree_server::connectors::is_platform_known;
use rooftree_testkit::scripted::say;
use serde_json::json;

use super::{
    chat_scene::{ChatScene, plan, with_connectors},
    fake_platform::direct,
};

#[tokio::test]
async fn what_was_stored_but_not_acknowledged_comes_again_and_changes_nothing() {
    let scene = ChatScene::start(plan([say("ok").times(99)])).await;
    scene.pair("7", "owner", false).await;
    scene.platform.lose_acknowledgements(true);
    scene.platform.deliver(direct("1", "7", "hello"));
    scene.platform.deliver(direct("2", "7", "/new"));
    scene.platform.deliver(direct("3", "7", "anybody?"));
    let answered = || async { (scene.told().await.len() == 3).then_some(()) };
    scene.until("two answers and a notice", answered).await;
    assert_eq!(scene.platform.waiting(), ["1", "2", "3"]);
    let scene = scene.restarted(plan([say("late").times(99)])).await;
    scene.platform.lose_acknowledgements(false);
    // What is new is handled after what came again.
    scene.platform.deliver(direct("4", "7", "/status"));
    scene.acknowledged("4").await;
    assert_eq!(scene.told().await.len(), 4);
    assert_eq!(
        scene.sessions().await.len(),
        2,
        "no message went to the wrong session"
    );
    assert_eq!(
        scene.runtime.model.requests().len(),
        0,
        "nothing was asked twice"
    );
}

/// Runs a part of a story; what it started ends with it in the middle of whatever it does, as a killed process.
fn until_killed<T>(part: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(part)
}

#[test]
fn what_comes_again_after_a_process_was_killed_is_taken_once() {
    let scene = until_killed(async {
        let scene = ChatScene::start(plan([say("ok").times(99)])).await;
        scene.pair("7", "owner", false).await;
        scene.platform.lose_acknowledgements(true);
        scene.platform.deliver(direct("1", "7", "hello"));
        scene.hears("ok").await;
        // Of this one it is left open how far it came.
        scene.platform.deliver(direct("2", "7", "anybody?"));
        scene
    });
    assert_eq!(scene.platform.waiting(), ["1", "2"]);
    until_killed(async {
        let ChatScene {
            runtime, platform, ..
        } = scene;
        let (plan, control) = with_connectors(plan([say("late").times(99)]), &platform);
        let runtime = runtime.crash(plan).await;
        platform.lose_acknowledgements(false);
        let scene = ChatScene {
            runtime,
            platform,
            control,
        };
        scene.runtime.recover().await;
        let answered = || async {
            scene.runtime.clock.advance(Duration::from_secs(5));
            let is_taken = scene.platform.waiting().is_empty();
            (is_taken && scene.told().await.len() == 2).then_some(())
        };
        scene.until("two answers", answered).await;
        let sessions = scene.sessions().await;
        assert_eq!(sessions.len(), 1);
        let events = scene.runtime.events(&sessions[0].id).await;
        let said: Vec<String> = events
            .iter()
            .filter_map(|event| match &event.body {
                EventBody::MessageUser { message, .. } => Some(message.text()),
                _ => None,
            })
            .collect();
        assert_eq!(said, ["hello", "anybody?"]);
        scene.runtime.verify().await;
    });
}

#[tokio::test]
async fn a_client_goes_on_where_the_one_before_it_acknowledged() {
    let scene = ChatScene::start(plan([say("ok").times(99)])).await;
    scene.pair("7", "owner", false).await;
    for key in ["1", "2"] {
        scene.platform.deliver(direct(key, "7", "hello"));
        scene.acknowledged(key).await;
    }
    let is_kept = || async {
        let rows = scene.runtime.store().connectors("default").await.unwrap();
        let home = rows.into_iter().find(|row| row.name == "home")?;
        (home.cursor.as_deref() == Some("2")).then_some(())
    };
    scene.until("the stored cursor", is_kept).await;
    let scene = scene.restarted(plan([say("late").times(99)])).await;
    scene.platform.deliver(direct("3", "7", "/status"));
    scene.acknowledged("3").await;
    assert_eq!(scene.platform.cursors(), [None, Some("2".into())]);
}

#[test]
fn discord_is_known_only_to_a_program_that_was_compiled_with_it() {
    assert_eq!(is_platform_known("discord"), cfg!(feature = "discord"));
    assert!(is_platform_known("telegram") && !is_platform_known("pigeon"));
}

#[tokio::test]
async fn what_waited_to_be_joined_when_the_process_stopped_is_not_lost() {
    let scene = ChatScene::with_settings(plan([say("never")]), json!({})).await;
    scene.pair("7", "owner", false).await;
    scene.platform.deliver(direct("1", "7", "half a thought"));
    let received = || async { (scene.runtime.clock.sleepers() > 0).then_some(()) };
    scene.until("the poller", received).await;
    assert!(scene.platform.acknowledged().is_empty());
    let scene = scene.restarted(plan([say("whole")])).await;
    let answered = || async {
        scene.runtime.clock.advance(Duration::from_millis(500));
        (!scene.told().await.is_empty()).then_some(())
    };
    scene.until("the answer", answered).await;
    assert_eq!(scene.sessions().await.len(), 1);
    scene.acknowledged("1").await;
}

#[tokio::test]
async fn only_one_process_polls_an_account() {
    let scene = ChatScene::start(plan([say("ok").times(99)])).await;
    scene.pair("7", "owner", false).await;
    scene.platform.deliver(direct("1", "7", "hello"));
    scene.hears("ok").await;
    let (second, control) = with_connectors(plan([say("other").times(99)]), &scene.platform);
    let second = scene.runtime.open_second(second);
    control.note_change();
    for key in ["2", "3", "4"] {
        scene.platform.deliver(direct(key, "7", "more"));
        scene.acknowledged(key).await;
    }
    assert_eq!(scene.platform.receivers(), 1, "the second one never asked");
    // When the first one ends, the second takes over.
    let ChatScene {
        runtime, platform, ..
    } = scene;
    runtime.close().await;
    let scene = ChatScene {
        runtime: second,
        platform: Arc::clone(&platform),
        control,
    };
    platform.deliver(direct("5", "7", "anybody?"));
    let taken = || async {
        scene.runtime.clock.advance(Duration::from_secs(10));
        platform
            .acknowledged()
            .iter()
            .any(|key| key == "5")
            .then_some(())
    };
    scene.until("the second poller", taken).await;
    assert_eq!(platform.receivers(), 2);
}

#[tokio::test]
async fn a_connector_without_credentials_says_so_and_starts_when_it_is_changed() {
    let scene = ChatScene::start(plan([])).await;
    scene.add("broken", "discord", json!({})).await;
    let health = || async {
        let rows = scene.runtime.store().connectors("default").await.unwrap();
        let broken = rows.into_iter().find(|row| row.name == "broken")?;
        broken.health.filter(|health| health.state == "stopped")
    };
    let health = scene.until("its health", health).await;
    assert_eq!(health.reason.as_deref(), Some("no token for discord"));
}
