//! Connectors: rows with revisions, identities, pairing codes, chat bindings, and keys of what arrived.

use rooftree_protocol::{Account, Lane, Principal, SessionId, Surface, Timestamp};
use serde_json::Map;

use super::{fixture::*, list};
use crate::{
    AuditEntry, ChatBinding, ChatBindingWrite, ChatIdentity, ConnectorFields, ConnectorHealth,
    ConnectorWrite, ConnectorWriteOutcome, Error, InboundKey, KeyReuse, PairingBounds,
    PairingOffer, PairingRow, PairingUse, PersonRole, PersonRow, TokenHash,
};

list![
    a_connector_is_changed_only_at_the_revision_that_is_expected,
    what_belonged_to_a_connector_goes_with_it,
    a_sender_whose_person_is_disabled_is_nobody,
    pairing_codes_are_bounded_and_one_per_sender,
    a_pairing_code_is_used_once_by_the_right_sender_before_it_is_over,
    wrong_codes_use_up_the_codes_that_wait_for_anyone,
    a_chat_is_bound_once_for_each_thing_that_arrives,
    a_message_and_the_keys_of_what_arrived_are_one_commit,
    inbound_keys_are_deleted_when_their_time_is_over,
];

const BOUNDS: PairingBounds = PairingBounds {
    pending: 2,
    tries: 5,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp(NOW.0 + seconds * 1000)
}

fn audited(action: &str) -> Option<AuditEntry> {
    let who = Principal::local_owner(Surface::Cli);
    Some(AuditEntry::done(&who, NOW, action, "it"))
}

async fn actions(store: &StoreUnderTest) -> Vec<String> {
    let rows = store.audit("default", 0, 100).await.unwrap();
    rows.into_iter().map(|row| row.entry.action).collect()
}

fn fields(agent: &str) -> ConnectorFields {
    ConnectorFields {
        platform: "telegram".into(),
        agent: agent.into(),
        settings: Map::from_iter([("per_user".to_owned(), true.into())]),
        enabled: true,
    }
}

fn write(name: &str, fields: Option<ConnectorFields>, expected: Option<u64>) -> ConnectorWrite {
    ConnectorWrite {
        tenant: "default".into(),
        name: name.into(),
        fields,
        expected,
        by: Principal::local_owner(Surface::Cli),
        at: NOW,
        audit: audited("connector.write"),
    }
}

async fn add(store: &StoreUnderTest, name: &str) {
    let added = store.write_connector(write(name, Some(fields("lead")), None));
    assert!(matches!(
        added.await.unwrap(),
        ConnectorWriteOutcome::Written(Some(_))
    ));
}

fn identity(sender: &str, person: &str) -> ChatIdentity {
    ChatIdentity {
        tenant: "default".into(),
        connector: "home".into(),
        sender: sender.into(),
        name: "Ann".into(),
        person: person.into(),
        may_send: true,
        may_approve: false,
        paired_at: NOW,
    }
}

fn code(code: &str, sender: Option<&str>) -> PairingRow {
    PairingRow {
        tenant: "default".into(),
        connector: "home".into(),
        digest: TokenHash::of(code),
        sender: sender.map(str::to_owned),
        name: "Ann".into(),
        person: None,
        may_approve: false,
        created_at: NOW,
        expires_at: at(3600),
        tries: 0,
    }
}

fn used(code: &str, given_to: Option<&str>, identity: ChatIdentity) -> PairingUse {
    PairingUse {
        digest: TokenHash::of(code),
        given_to: given_to.map(str::to_owned),
        identity,
        audit: audited("connector.pair"),
    }
}

fn arrived(key: &str) -> InboundKey {
    InboundKey {
        tenant: "default".into(),
        connector: "home".into(),
        key: key.into(),
        expires_at: at(60),
    }
}

async fn is_known(store: &StoreUnderTest, key: &str) -> bool {
    let known = store.is_inbound_known("default", "home", key);
    known.await.unwrap()
}

async fn a_connector_is_changed_only_at_the_revision_that_is_expected(store: StoreUnderTest) {
    add(&store, "home").await;
    let taken = store.write_connector(write("home", Some(fields("other")), None));
    let taken = taken.await.unwrap();
    assert!(
        matches!(&taken, ConnectorWriteOutcome::Differs(Some(row)) if row.revision == 1),
        "{taken:?}"
    );
    let changed = store.write_connector(write("home", Some(fields("other")), Some(1)));
    let ConnectorWriteOutcome::Written(Some(changed)) = changed.await.unwrap() else {
        panic!("it is not changed")
    };
    assert_eq!(
        (changed.revision, changed.fields.agent.as_str()),
        (2, "other")
    );
    let health = ConnectorHealth {
        state: "degraded".into(),
        reason: Some("no network".into()),
        last_error: None,
        at: NOW,
    };
    let noted = store.note_connector_health("default", "home", health.clone());
    noted.await.unwrap();
    let kept = store.keep_connector_cursor("default", "home", "12".into());
    kept.await.unwrap();
    let rows = store.connectors("default").await.unwrap();
    let [row] = rows.as_slice() else {
        panic!("{rows:?}")
    };
    assert_eq!(row.health, Some(health));
    assert_eq!(row.cursor.as_deref(), Some("12"));
    assert_eq!(row.revision, 2, "health is not part of what it is set to");
    assert!(store.connectors("other").await.unwrap().is_empty());
    assert_eq!(
        actions(&store).await,
        ["connector.write", "connector.write"]
    );
}

async fn what_belonged_to_a_connector_goes_with_it(store: StoreUnderTest) {
    for name in ["home", "work"] {
        add(&store, name).await;
        let paired = ChatIdentity {
            connector: name.into(),
            ..identity("1", "owner")
        };
        store.put_chat_identity(paired, None).await.unwrap();
        let offer = PairingRow {
            connector: name.into(),
            ..code("code", None)
        };
        store.offer_pairing(offer, BOUNDS, None).await.unwrap();
        let key = InboundKey {
            connector: name.into(),
            ..arrived("1")
        };
        store.note_inbound(vec![key], NOW).await.unwrap();
    }
    let removed = store.write_connector(write("home", None, Some(1)));
    assert_eq!(removed.await.unwrap(), ConnectorWriteOutcome::Written(None));
    add(&store, "home").await;
    for (name, left) in [("home", 0), ("work", 1)] {
        let identities = store.chat_identities("default", name).await.unwrap();
        let codes = store.pairings("default", name, NOW).await.unwrap();
        let known = store.is_inbound_known("default", name, "1").await.unwrap();
        let counts = (identities.len(), codes.len(), usize::from(known));
        assert_eq!(counts, (left, left, left), "{name}");
    }
}

async fn a_sender_whose_person_is_disabled_is_nobody(store: StoreUnderTest) {
    add(&store, "home").await;
    let nobody = store.put_chat_identity(identity("1", "ann"), audited("connector.pair"));
    assert!(nobody.await.is_err(), "there is no such person");
    let account = Account {
        person: "ann".into(),
        ..Account::default()
    };
    let person = PersonRow {
        account: account.clone(),
        name: "Ann".into(),
        role: PersonRole::Member,
        invited_at: NOW,
        disabled_at: None,
    };
    store.put_person(person, None, None).await.unwrap();
    let put = store.put_chat_identity(identity("1", "ann"), audited("connector.pair"));
    put.await.unwrap();
    let elsewhere = ChatIdentity {
        connector: "nowhere".into(),
        ..identity("1", "ann")
    };
    assert!(store.put_chat_identity(elsewhere, None).await.is_err());
    let find = |sender: &str| store.chat_identity("default", "home", sender);
    assert_eq!(find("1").await.unwrap(), Some(identity("1", "ann")));
    assert_eq!(find("Ann").await.unwrap(), None, "a name is no identity");
    store.disable_person(&account, NOW, None).await.unwrap();
    assert_eq!(find("1").await.unwrap(), None);
    let listed = store.chat_identities("default", "home").await.unwrap();
    assert_eq!(listed.len(), 1, "he is still listed");
    let remove = || store.remove_chat_identity("default", "home", "1", audited("connector.unpair"));
    assert!(remove().await.unwrap());
    assert!(!remove().await.unwrap(), "only once");
    let said = actions(&store).await;
    assert_eq!(
        said,
        ["connector.write", "connector.pair", "connector.unpair"]
    );
}

async fn pairing_codes_are_bounded_and_one_per_sender(store: StoreUnderTest) {
    let nowhere = store.offer_pairing(code("a", Some("1")), BOUNDS, None);
    assert!(nowhere.await.is_err(), "there is no such connector");
    add(&store, "home").await;
    let table = [
        ("a", Some("1"), PairingOffer::Kept),
        ("b", Some("1"), PairingOffer::Waiting),
        ("c", Some("2"), PairingOffer::Kept),
        ("d", Some("3"), PairingOffer::Full),
        ("e", None, PairingOffer::Kept),
        ("f", None, PairingOffer::Kept),
        ("g", None, PairingOffer::Full),
    ];
    for (text, sender, wanted) in table {
        let offer = store.offer_pairing(code(text, sender), BOUNDS, None);
        assert_eq!(offer.await.unwrap(), wanted, "{text}");
    }
    let waiting = store.pairings("default", "home", NOW).await.unwrap();
    assert_eq!(waiting.len(), 4);
    let over = store.pairings("default", "home", at(3600)).await.unwrap();
    assert!(over.is_empty());
    let later = PairingRow {
        created_at: at(3600),
        expires_at: at(7200),
        ..code("h", Some("3"))
    };
    let offer = store.offer_pairing(later, BOUNDS, None);
    assert_eq!(
        offer.await.unwrap(),
        PairingOffer::Kept,
        "the others are over"
    );
}

async fn a_pairing_code_is_used_once_by_the_right_sender_before_it_is_over(store: StoreUnderTest) {
    add(&store, "home").await;
    for (text, sender) in [("own", Some("1")), ("any", None)] {
        let offer = store.offer_pairing(code(text, sender), BOUNDS, None);
        offer.await.unwrap();
    }
    let try_code = |text: &str, given_to: Option<&str>, seconds: i64| {
        let sender = given_to.unwrap_or("7");
        let identity = ChatIdentity {
            paired_at: at(seconds),
            ..identity(sender, "owner")
        };
        store.use_pairing(used(text, given_to, identity), BOUNDS)
    };
    let own = Some("1");
    assert!(!try_code("own", Some("2"), 0).await.unwrap(), "another's");
    assert!(!try_code("own", None, 0).await.unwrap(), "not for anyone");
    assert!(!try_code("own", own, 3600).await.unwrap(), "it is over");
    assert!(!try_code("any", own, 0).await.unwrap(), "given to nobody");
    assert!(try_code("own", own, 0).await.unwrap());
    assert!(try_code("any", None, 0).await.unwrap());
    assert!(!try_code("any", None, 0).await.unwrap(), "once");
    let paired = store.chat_identities("default", "home").await.unwrap();
    let senders: Vec<_> = paired.iter().map(|one| one.sender.as_str()).collect();
    assert_eq!(senders, ["1", "7"]);
    assert_eq!(
        actions(&store).await,
        ["connector.write", "connector.pair", "connector.pair"]
    );
}

async fn wrong_codes_use_up_the_codes_that_wait_for_anyone(store: StoreUnderTest) {
    add(&store, "home").await;
    for (text, sender) in [("any", None), ("own", Some("1"))] {
        let offer = store.offer_pairing(code(text, sender), BOUNDS, None);
        offer.await.unwrap();
    }
    for guess in ["v", "w", "x", "y", "z"] {
        let wrong = store.use_pairing(used(guess, None, identity("9", "owner")), BOUNDS);
        assert!(!wrong.await.unwrap());
    }
    let right = store.use_pairing(used("any", None, identity("9", "owner")), BOUNDS);
    assert!(!right.await.unwrap(), "too many tries");
    let own = store.use_pairing(used("own", Some("1"), identity("1", "owner")), BOUNDS);
    assert!(
        own.await.unwrap(),
        "a code for one sender cannot be guessed by another"
    );
}

async fn a_chat_is_bound_once_for_each_thing_that_arrives(store: StoreUnderTest) {
    add(&store, "home").await;
    let (one, two) = (open(&store, 1).await, open(&store, 2).await);
    let bind = |session: &SessionId, previous: Option<&SessionId>, key: &str| {
        store.bind_chat(ChatBindingWrite {
            tenant: "default".into(),
            connector: "home".into(),
            key: "home/7/1".into(),
            session: session.clone(),
            previous: previous.cloned(),
            inbound: arrived(key),
            at: NOW,
            audit: audited("chat.bind"),
        })
    };
    let found = || store.chat_binding("default", "home/7/1");
    assert_eq!(found().await.unwrap(), None);
    bind(&one, None, "1").await.unwrap();
    let second = bind(&two, Some(&one), "2").await.unwrap();
    let wanted = ChatBinding {
        session: two.clone(),
        previous: Some(one.clone()),
    };
    assert_eq!(second, wanted);
    let again = bind(&one, Some(&two), "2").await.unwrap();
    assert_eq!(again, wanted, "what arrived again changes nothing");
    assert_eq!(found().await.unwrap(), Some(wanted));
    assert!(is_known(&store, "2").await);
    let elsewhere = store.chat_binding("other", "home/7/1").await.unwrap();
    assert_eq!(elsewhere, None, "another tenant's");
    assert_eq!(
        actions(&store).await,
        ["connector.write", "chat.bind", "chat.bind"]
    );
}

async fn a_message_and_the_keys_of_what_arrived_are_one_commit(store: StoreUnderTest) {
    add(&store, "home").await;
    let id = open(&store, 1).await;
    let keys = vec![arrived("1"), arrived("2")];
    let first = store.post_inbound(post(&id, Lane::Mail, 1), keys.clone());
    assert_eq!(first.await.unwrap().repeated, KeyReuse::No);
    let again = store.post_inbound(post(&id, Lane::Mail, 1), keys);
    assert_eq!(again.await.unwrap().repeated, KeyReuse::Same);
    assert!(is_known(&store, "1").await && is_known(&store, "2").await);
    let mut full = post(&id, Lane::Mail, 2);
    full.capacity = 1;
    let refused = store.post_inbound(full, vec![arrived("3")]).await;
    assert!(matches!(refused, Err(Error::InboxFull(_))), "{refused:?}");
    assert!(
        !is_known(&store, "3").await,
        "a refused message leaves no key"
    );
    let waiting = store.waiting(&id, Lane::Mail, 10).await.unwrap();
    assert_eq!(waiting.len(), 1);
}

async fn inbound_keys_are_deleted_when_their_time_is_over(store: StoreUnderTest) {
    add(&store, "home").await;
    store.note_inbound(vec![arrived("1")], NOW).await.unwrap();
    store.note_inbound(Vec::new(), at(59)).await.unwrap();
    assert!(is_known(&store, "1").await);
    assert!(!is_known(&store, "2").await);
    store.note_inbound(Vec::new(), at(60)).await.unwrap();
    assert!(!is_known(&store, "1").await);
}
