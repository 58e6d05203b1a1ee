//! Rows of connectors hold no secrets: whatever a setting, a name, a key or a failure contains.

use rooftree_protocol::Timestamp;
use rooftree_providers::scripted::say;
use rooftree_runtime::Clock;
use rooftree_store::{
    ChatBindingWrite, ChatIdentity, ConnectorFields, ConnectorHealth, ConnectorWrite, InboundKey,
    PairingBounds, PairingRow, PairingUse, TokenHash,
};
use rooftree_testkit::{TestRuntimeBuilder, owner};
use serde_json::{Map, json};

use crate::secret_rows::{assert_silent, canaries, database, entry};

#[tokio::test]
async fn rows_of_connectors_hold_no_secrets_and_keys_are_found_again() {
    let (canaries, told) = canaries(24);
    let runtime = TestRuntimeBuilder::new([say("ok")]).build();
    let (store, at) = (runtime.store(), runtime.clock.now());
    let written = store.write_connector(ConnectorWrite {
        tenant: "default".into(),
        name: "home".into(),
        fields: Some(ConnectorFields {
            platform: "telegram".into(),
            agent: "lead".into(),
            settings: Map::from_iter([("base_url".to_owned(), json!(told))]),
            enabled: true,
        }),
        expected: None,
        by: owner(),
        at,
        audit: entry(&told, at),
    });
    written.await.unwrap();
    let health = ConnectorHealth {
        state: "degraded".into(),
        reason: Some(told.clone()),
        last_error: Some(told.clone()),
        at,
    };
    let noted = store.note_connector_health("default", "home", health);
    noted.await.unwrap();
    let kept = store.keep_connector_cursor("default", "home", told.clone());
    kept.await.unwrap();
    let code = PairingRow {
        tenant: "default".into(),
        connector: "home".into(),
        digest: TokenHash::of("code"),
        sender: Some("7".into()),
        name: told.clone(),
        person: None,
        may_approve: false,
        created_at: at,
        expires_at: Timestamp(at.0 + 60_000),
        tries: 0,
    };
    let bounds = PairingBounds {
        pending: 3,
        tries: 3,
    };
    let offered = store.offer_pairing(code, bounds, entry(&told, at));
    offered.await.unwrap();
    let waiting = store.pairings("default", "home", at).await.unwrap();
    let identity = ChatIdentity {
        tenant: "default".into(),
        connector: "home".into(),
        sender: "7".into(),
        name: told.clone(),
        person: "owner".into(),
        may_send: true,
        may_approve: false,
        paired_at: at,
    };
    let used = PairingUse {
        digest: TokenHash::of("code"),
        given_to: Some("7".into()),
        identity: identity.clone(),
        audit: entry(&told, at),
    };
    assert!(store.use_pairing(used, bounds).await.unwrap());
    let put = store.put_chat_identity(identity, entry(&told, at));
    put.await.unwrap();
    let session = runtime.post("hello").await;
    let key = |text: &str| InboundKey {
        tenant: "default".into(),
        connector: "home".into(),
        key: text.to_owned(),
        expires_at: Timestamp(at.0 + 60_000),
    };
    store.note_inbound(vec![key(&told)], at).await.unwrap();
    let known = store.is_inbound_known("default", "home", &told);
    assert!(known.await.unwrap(), "a redacted key is still known");
    let bound = store.bind_chat(ChatBindingWrite {
        tenant: "default".into(),
        connector: "home".into(),
        key: "home/7/7".into(),
        session,
        previous: None,
        inbound: key(&format!("{told}/bind")),
        at,
        audit: entry(&told, at),
    });
    bound.await.unwrap();
    let rows = store.connectors("default").await.unwrap();
    let people = store.chat_identities("default", "home").await.unwrap();
    let audit = store.audit("default", 0, 100).await.unwrap();
    let read = format!("{rows:?} {people:?} {waiting:?} {audit:?}");
    assert!(read.contains("[redacted: github token]"), "{read}");
    assert_silent("what is read", &read, &canaries);
    assert_silent("the database", &database(runtime.path()), &canaries);
    let removed = store.remove_chat_identity("default", "home", "7", entry(&told, at));
    assert!(removed.await.unwrap());
    assert_silent("the database", &database(runtime.path()), &canaries);
}
