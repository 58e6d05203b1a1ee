//! Pairing: codes both ways, wrong and expired ones, caps, and names that mean nothing.

use std::time::Duration;

use rooftree_protocol::{AuthorizedCaller, Surface};
use rooftree_runtime::NewPairing;
use rooftree_testkit::scripted::say;

use super::{
    chat_scene::{ChatScene, owner, plan},
    fake_platform::{direct, in_group},
};

fn pairing(may_approve: bool) -> NewPairing {
    NewPairing {
        connector: "home".into(),
        person: None,
        may_approve,
    }
}

fn code_in(text: &str) -> String {
    text.split('`').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn an_unknown_sender_gets_a_code_and_nothing_else_until_the_owner_confirms_it() {
    let scene = ChatScene::start(plan([say("Welcome.")])).await;
    let handle = &scene.runtime.handle;
    scene.platform.deliver(direct("1", "7", "let me in"));
    let (target, text) = scene.hears("rooftree connectors pair home").await;
    assert_eq!(target.to_string(), "home:7");
    let code = code_in(&text);
    assert!(
        code.len() == 8 && !code.contains(['0', 'O', '1', 'I']),
        "{code}"
    );
    scene.platform.deliver(direct("2", "7", "hello?"));
    scene.acknowledged("2").await;
    assert_eq!(scene.told().await.len(), 1, "one message an hour");
    assert!(scene.sessions().await.is_empty());
    // The code that an unknown sender was told does not pair him if he sends it back himself.
    scene.platform.deliver(direct("3", "7", &code));
    scene.acknowledged("3").await;
    assert!(scene.identities().await.is_empty());
    let (us, small) = (owner(), code.to_lowercase());
    let wrong = handle.confirm_pairing(&us, pairing(false), "ABCDEFGH");
    assert!(wrong.await.is_err());
    let paired = handle.confirm_pairing(&us, pairing(true), &small);
    let paired = paired.await.unwrap();
    assert_eq!((paired.sender.as_str(), paired.may_approve), ("7", true));
    let twice = handle.confirm_pairing(&us, pairing(false), &code);
    assert!(twice.await.is_err(), "a code is used once");
    scene.platform.deliver(direct("4", "7", "thanks"));
    scene.hears("Welcome.").await;
}

#[tokio::test]
async fn a_code_of_the_owner_pairs_whoever_sends_it_first_and_nobody_after_an_hour() {
    let scene = ChatScene::start(plan([])).await;
    let handle = &scene.runtime.handle;
    let first = handle
        .create_pairing(&owner(), pairing(false))
        .await
        .unwrap();
    let dashed = format!("{}-{}", &first.code[..4], first.code[4..].to_lowercase());
    scene.platform.deliver(direct("1", "7", &dashed));
    scene.hears("You are paired as `owner`").await;
    scene.platform.deliver(direct("2", "8", &first.code));
    scene.acknowledged("2").await;
    assert_eq!(scene.identities().await.len(), 1);
    let late = handle
        .create_pairing(&owner(), pairing(false))
        .await
        .unwrap();
    scene.runtime.clock.advance(Duration::from_secs(3601));
    scene.platform.deliver(direct("3", "9", &late.code));
    scene.acknowledged("3").await;
    assert_eq!(scene.identities().await.len(), 1);
    let audit = scene
        .runtime
        .store()
        .audit("default", 0, 100)
        .await
        .unwrap();
    let paired = audit
        .iter()
        .filter(|row| row.entry.action == "connector.pair");
    assert_eq!(paired.count(), 1);
    for row in &audit {
        assert!(
            !format!("{row:?}").contains(&late.code),
            "a code is not kept"
        );
    }
}

#[tokio::test]
async fn too_many_wrong_codes_end_the_codes_that_wait() {
    let scene = ChatScene::start(plan([])).await;
    let handle = &scene.runtime.handle;
    let issued = handle
        .create_pairing(&owner(), pairing(false))
        .await
        .unwrap();
    for guess in 0..10 {
        let code = format!("WRNG{:04}", 2222 + guess);
        scene
            .platform
            .deliver(direct(&format!("g{guess}"), "66", &code));
    }
    scene.platform.deliver(direct("right", "66", &issued.code));
    scene.acknowledged("right").await;
    assert!(scene.identities().await.is_empty());
}

#[tokio::test]
async fn three_unknown_senders_get_codes_and_others_get_nothing() {
    let scene = ChatScene::start(plan([])).await;
    for sender in 1..=5 {
        let sender = sender.to_string();
        scene.platform.deliver(direct(&sender, &sender, "hello"));
    }
    scene.acknowledged("5").await;
    assert_eq!(scene.told().await.len(), 3);
    let handle = &scene.runtime.handle;
    let waiting = handle.pairings(&owner(), "home").await.unwrap();
    assert_eq!(waiting.len(), 3);
    // They do not use up the codes of the owner, who has three too.
    for _ in 0..3 {
        handle
            .create_pairing(&owner(), pairing(false))
            .await
            .unwrap();
    }
    assert!(
        handle
            .create_pairing(&owner(), pairing(false))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_display_name_is_no_identity() {
    let scene = ChatScene::start(plan([say("secret")])).await;
    scene.pair("7", "owner", true).await;
    for (key, name) in [
        ("1", "paired"),
        ("2", "owner"),
        ("3", "7"),
        ("4", "name of 7 (7)"),
        ("5", "home:7"),
    ] {
        let mut spoofed = direct(key, "666", "/status");
        spoofed.from.name = name.into();
        spoofed.place.chat = "666".into();
        scene.platform.deliver(spoofed);
    }
    scene.acknowledged("5").await;
    assert!(scene.sessions().await.is_empty());
    let told = scene.told().await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].1.contains("knows only people"), "{told:?}");
}

#[tokio::test]
async fn codes_are_not_told_in_groups() {
    let scene = ChatScene::start(plan([])).await;
    scene.platform.deliver(in_group("1", "-1", "8", "hello"));
    scene.acknowledged("1").await;
    assert!(scene.told().await.is_empty());
}

#[tokio::test]
async fn a_person_who_is_disabled_or_unpaired_is_unknown_again() {
    let scene = ChatScene::start(plan([say("Hello.").times(9)])).await;
    let handle = &scene.runtime.handle;
    let caller = AuthorizedCaller::local_owner(Surface::Cli);
    let ann = handle.invite_person(&caller, "Ann").await.unwrap();
    let ann = ann.person.account.person;
    scene.pair("7", &ann, false).await;
    scene.pair("8", "owner", false).await;
    scene.platform.deliver(direct("1", "7", "hi"));
    scene.hears("Hello.").await;
    let session = scene.sessions().await.remove(0);
    assert_eq!(session.account.person, ann, "it is her own session");
    handle.disable_person(&caller, &ann).await.unwrap();
    handle.unpair(&owner(), "home", "8").await.unwrap();
    scene.platform.deliver(direct("2", "7", "hi again"));
    scene.platform.deliver(direct("3", "8", "hi"));
    scene.acknowledged("3").await;
    assert_eq!(scene.sessions().await.len(), 1);
    assert_eq!(scene.runtime.model.requests().len(), 1);
}
