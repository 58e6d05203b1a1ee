//! Messages from chats: identity, sessions, answers, files, debounce.

use std::time::Duration;

use rooftree_protocol::{EventBody, Origin, Part, Surface};
use rooftree_testkit::scripted::say;
use serde_json::json;

use super::{
    chat_scene::{ChatScene, plan},
    fake_platform::{direct, in_group},
};

#[tokio::test]
async fn a_message_of_a_paired_person_is_answered_in_his_chat() {
    let scene = ChatScene::start(plan([say("Hello Ann.")])).await;
    scene.pair("7", "owner", false).await;
    scene.platform.deliver(direct("1", "7", "Good morning"));
    let (target, _) = scene.hears("Hello Ann.").await;
    assert_eq!(target.to_string(), "home:7");
    scene.acknowledged("1").await;
    let sessions = scene.sessions().await;
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0].agent, "helper");
    assert_eq!(sessions[0].chat.as_ref(), Some(&target));
    let events = scene.runtime.events(&sessions[0].id).await;
    let said = events.iter().find_map(|event| match &event.body {
        EventBody::MessageUser { message, .. } => Some((message.clone(), event.who.clone())),
        _ => None,
    });
    let (message, who) = said.unwrap();
    assert_eq!(message.text(), "Good morning");
    assert!(
        matches!(&message.origin, Origin::Connector { connector, channel, user, reply: Some(_) }
            if connector == "home" && channel == "7" && user == "7"),
        "{:?}",
        message.origin
    );
    let who = who.unwrap();
    assert_eq!(who.surface, Surface::Connector);
    assert_eq!(who.on_behalf_of.as_deref(), Some("name of 7 (7)"));
    scene.runtime.verify().await;
}

#[tokio::test]
async fn messages_in_quick_succession_are_one_message_and_acknowledged_after_it_is_stored() {
    let scene = ChatScene::with_settings(plan([say("Both.")]), json!({})).await;
    scene.pair("7", "owner", false).await;
    scene.platform.deliver(direct("1", "7", "one"));
    scene.platform.deliver(direct("2", "7", "two"));
    let joined = || async {
        // The poller sleeps until the pause is over; then nothing was acknowledged and no session is there.
        scene.runtime.clock.advance(Duration::from_millis(500));
        assert!(scene.platform.acknowledged().is_empty() || !scene.sessions().await.is_empty());
        (scene.platform.acknowledged().len() == 2).then_some(())
    };
    scene.until("both are acknowledged", joined).await;
    scene.hears("Both.").await;
    let sessions = scene.sessions().await;
    let transcript = scene.runtime.transcript(&sessions[0].id).await;
    let runs = scene.runtime.events(&sessions[0].id).await;
    let runs = runs
        .iter()
        .filter(|event| event.body.name() == "run.started");
    assert_eq!(runs.count(), 1, "{transcript}");
    assert_eq!(scene.runtime.model.requests().len(), 1);
}

#[tokio::test]
async fn chats_do_not_share_sessions_or_answers() {
    let scene = ChatScene::with_settings(
        plan([say("heard").times(999)]),
        json!({"debounce_ms": 0, "groups": ["-1", "-2"]}),
    )
    .await;
    for sender in ["1", "2", "3"] {
        scene.pair(sender, "owner", false).await;
    }
    let mut key = 0;
    for round in 0..3 {
        for sender in ["1", "2", "3"] {
            key += 1;
            let text = format!("direct {sender} round {round}");
            scene
                .platform
                .deliver(direct(&key.to_string(), sender, &text));
            for group in ["-1", "-2"] {
                key += 1;
                let mut said = in_group(&key.to_string(), group, sender, &text);
                said.place.thread = Some(format!("t{}", round % 2));
                scene.platform.deliver(said);
            }
        }
    }
    scene.acknowledged(&key.to_string()).await;
    let all = || async { (scene.told().await.len() == 27).then_some(()) };
    scene.until("27 answers", all).await;
    // Three direct chats, and two groups with two threads each.
    assert_eq!(scene.sessions().await.len(), 7);
    for row in scene.outbox().await {
        let session = row.post.session.unwrap();
        let events = scene.runtime.events(&session).await;
        let routes: Vec<String> = events
            .iter()
            .filter_map(|event| match &event.body {
                EventBody::MessageUser { message, .. } => message.origin.reply_target(),
                _ => None,
            })
            .map(ToString::to_string)
            .collect();
        assert!(
            routes
                .iter()
                .all(|route| *route == row.post.target.to_string()),
            "{routes:?} got {}",
            row.post.target
        );
    }
}

#[tokio::test]
async fn files_and_pictures_become_parts_and_what_is_too_large_is_said() {
    let scene = ChatScene::start(plan([say("Seen.")])).await;
    scene.pair("7", "owner", false).await;
    scene.platform.keep_file("png", b"\x89PNG\r\n\x1a\nrest");
    scene.platform.keep_file("large", &vec![0; (1 << 20) + 1]);
    let file = |id: &str, name: &str, size: Option<u64>| rooftree_connectors::InboundFile {
        id: id.into(),
        name: name.into(),
        media_type: Some("text/html".into()),
        size,
    };
    let mut inbound = direct("1", "7", "look");
    if let rooftree_connectors::InboundBody::Message { files, .. } = &mut inbound.body {
        *files = vec![
            file("png", "../../etc/x.png", None),
            file("large", "large.bin", None),
            file("known", "known.bin", Some(u64::MAX)),
            file("gone", "gone.bin", None),
        ];
    }
    scene.platform.deliver(inbound);
    scene.hears("Seen.").await;
    assert_eq!(
        scene.platform.downloads(),
        3,
        "what says that it is too large is not fetched"
    );
    let sessions = scene.sessions().await;
    let events = scene.runtime.events(&sessions[0].id).await;
    let parts = events.iter().find_map(|event| match &event.body {
        EventBody::MessageUser { message, .. } => Some(message.parts.clone()),
        _ => None,
    });
    let parts = parts.unwrap();
    assert!(
        matches!(&parts[1], Part::Image { media_type, .. } if media_type == "image/png"),
        "{parts:?}"
    );
    let words = rooftree_protocol::message::text_of(&parts);
    for wanted in [
        "look",
        "large.bin was not taken",
        "known.bin was not taken",
        "gone.bin was not taken",
    ] {
        assert!(words.contains(wanted), "{words}");
    }
}
