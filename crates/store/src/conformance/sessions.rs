//! Sessions: identity, names, metadata, lists.

use std::path::PathBuf;

use rooftree_protocol::{CallId, ParentCall, Session};
use serde_json::json;

use super::{fixture::*, list};
use crate::{Error, NewSessionRow, SessionFilter, SessionPatch};

list![
    an_opened_session_reads_back_as_it_was_given,
    an_id_nobody_opened_is_none_or_a_clear_error,
    a_name_is_taken_without_regard_to_case,
    a_deleted_session_frees_its_name_and_may_not_come_back_if_it_was_given_away,
    a_connector_key_leads_to_the_session_that_had_it_first,
    metadata_changes_only_where_the_patch_says_so,
    r2_d29_a_patch_that_says_when_moves_the_time_of_the_last_update_forward_only,
    a_list_is_newest_first_and_filtered,
];

async fn an_opened_session_reads_back_as_it_was_given(store: StoreUnderTest) {
    let parent = ParentCall {
        session: session_id(9),
        run: run_id(9),
        call: CallId::from_entropy(9),
    };
    let new = NewSessionRow {
        name: Some("Ärger".into()),
        model: Some("scripted/demo".into()),
        parent: Some(parent.clone()),
        connector_key: Some("chat/1".into()),
        chat: Some("telegram:1/2".parse().unwrap()),
        ..new_session(1)
    };
    let opened = store.open(new.clone()).await.unwrap();
    let read = store.session(&new.id).await.unwrap().unwrap();
    assert_eq!(opened, read);
    let wanted = Session {
        id: new.id,
        agent: new.agent,
        name: new.name,
        model: new.model,
        cwd: new.cwd,
        parent: Some(parent),
        forked_from: None,
        pinned_at: None,
        created_at: NOW,
        updated_at: NOW,
        deleted_at: None,
        last_snippet: String::new(),
        attributes: serde_json::Map::new(),
        account: Default::default(),
        chat: new.chat,
        head: 0,
    };
    assert_eq!(read, wanted);
}

async fn an_id_nobody_opened_is_none_or_a_clear_error(store: StoreUnderTest) {
    let nobody = session_id(404);
    assert_eq!(store.session(&nobody).await.unwrap(), None);
    assert_eq!(store.session_by_key("nothing").await.unwrap(), None);
    let lane = rooftree_protocol::Lane::Mail;
    let answers = [
        store.update(&nobody, SessionPatch::default()).await.err(),
        store.post(post(&nobody, lane, 1)).await.err(),
        store.fork(&nobody, 0, new_session(1)).await.err(),
        store.events(&nobody, 0, 10).await.err(),
        store.waiting(&nobody, lane, 10).await.err(),
        store.owner(&nobody).await.err(),
        store.claim(&nobody, &stranger(), NOW, minute()).await.err(),
    ];
    for answer in answers {
        assert!(
            matches!(&answer, Some(Error::NoSession(id)) if *id == nobody),
            "{answer:?}"
        );
    }
}

async fn a_name_is_taken_without_regard_to_case(store: StoreUnderTest) {
    let named = |number, name: &str| NewSessionRow {
        name: Some(name.into()),
        ..new_session(number)
    };
    store.open(named(1, "Über Plan")).await.unwrap();
    let again = store.open(named(2, "über PLAN")).await;
    assert!(
        matches!(&again, Err(Error::NameTaken(name)) if name == "über PLAN"),
        "{again:?}"
    );
    assert_eq!(store.session(&session_id(2)).await.unwrap(), None);
    let other = open(&store, 3).await;
    let rename = SessionPatch {
        name: Some(Some("ÜBER plan".into())),
        ..SessionPatch::default()
    };
    assert!(matches!(
        store.update(&other, rename).await,
        Err(Error::NameTaken(_))
    ));
    // A session may spell its own name anew.
    let spell = SessionPatch {
        name: Some(Some("ÜBER PLAN".into())),
        ..SessionPatch::default()
    };
    assert_eq!(
        store
            .update(&session_id(1), spell)
            .await
            .unwrap()
            .name
            .as_deref(),
        Some("ÜBER PLAN")
    );
}

async fn a_deleted_session_frees_its_name_and_may_not_come_back_if_it_was_given_away(
    store: StoreUnderTest,
) {
    let named = |number| NewSessionRow {
        name: Some("plan".into()),
        ..new_session(number)
    };
    let first = store.open(named(1)).await.unwrap().id;
    let deletion = SessionPatch {
        deleted_at: Some(Some(NOW)),
        ..SessionPatch::default()
    };
    assert_eq!(
        store
            .update(&first, deletion.clone())
            .await
            .unwrap()
            .deleted_at,
        Some(NOW)
    );
    let second = store.open(named(2)).await.unwrap().id;
    let restore = SessionPatch {
        deleted_at: Some(None),
        ..SessionPatch::default()
    };
    assert!(matches!(
        store.update(&first, restore.clone()).await,
        Err(Error::NameTaken(_))
    ));
    store.update(&second, deletion).await.unwrap();
    assert_eq!(
        store.update(&first, restore).await.unwrap().deleted_at,
        None
    );
}

async fn a_connector_key_leads_to_the_session_that_had_it_first(store: StoreUnderTest) {
    let keyed = |number| NewSessionRow {
        connector_key: Some("cron:7".into()),
        ..new_session(number)
    };
    let first = store.open(keyed(1)).await.unwrap();
    assert_eq!(store.open(keyed(2)).await.unwrap(), first);
    assert_eq!(store.session(&session_id(2)).await.unwrap(), None);
    assert_eq!(store.session_by_key("cron:7").await.unwrap(), Some(first));
}

async fn r2_d29_a_patch_that_says_when_moves_the_time_of_the_last_update_forward_only(
    store: StoreUnderTest,
) {
    let id = open(&store, 1).await;
    let renamed = |name: &str, at| SessionPatch {
        name: Some(Some(name.into())),
        at,
        ..SessionPatch::default()
    };
    let before = store.session(&id).await.unwrap().unwrap().updated_at;
    assert_eq!(
        store
            .update(&id, renamed("a", None))
            .await
            .unwrap()
            .updated_at,
        before
    );
    assert_eq!(
        store
            .update(&id, renamed("b", Some(minute())))
            .await
            .unwrap()
            .updated_at,
        minute()
    );
    assert_eq!(
        store
            .update(&id, renamed("c", Some(NOW)))
            .await
            .unwrap()
            .updated_at,
        minute()
    );
    assert_eq!(
        store.session(&id).await.unwrap().unwrap().updated_at,
        minute()
    );
}

async fn metadata_changes_only_where_the_patch_says_so(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let attributes = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
    let first = SessionPatch {
        name: Some(Some("one".into())),
        pinned_at: Some(Some(NOW)),
        model: Some(Some("m".into())),
        attributes: attributes(json!({"a": 1, "b": {"c": [true]}})),
        ..SessionPatch::default()
    };
    store.update(&id, first).await.unwrap();
    let second = SessionPatch {
        attributes: attributes(json!({"a": null, "d": 2})),
        ..SessionPatch::default()
    };
    let session = store.update(&id, second).await.unwrap();
    assert_eq!(session.name.as_deref(), Some("one"));
    assert_eq!(session.pinned_at, Some(NOW));
    assert_eq!(session.model.as_deref(), Some("m"));
    assert_eq!(
        session.attributes,
        attributes(json!({"b": {"c": [true]}, "d": 2}))
    );
    let away = SessionPatch {
        name: Some(None),
        pinned_at: Some(None),
        model: Some(None),
        ..SessionPatch::default()
    };
    let session = store.update(&id, away).await.unwrap();
    assert_eq!(
        (session.name, session.pinned_at, session.model),
        (None, None, None)
    );
}

async fn a_list_is_newest_first_and_filtered(store: StoreUnderTest) {
    let parent = ParentCall {
        session: session_id(1),
        run: run_id(1),
        call: CallId::from_entropy(1),
    };
    let later = |by: i64| rooftree_protocol::Timestamp(NOW.0 + by);
    let rows = [
        NewSessionRow {
            name: Some("Alpha".into()),
            at: later(1),
            ..new_session(1)
        },
        NewSessionRow {
            agent: "Explore".into(),
            parent: Some(parent),
            at: later(3),
            ..new_session(2)
        },
        NewSessionRow {
            cwd: PathBuf::from("/elsewhere"),
            at: later(2),
            ..new_session(3)
        },
    ];
    for row in rows {
        store.open(row).await.unwrap();
    }
    store
        .update(
            &open(&store, 4).await,
            SessionPatch {
                deleted_at: Some(Some(NOW)),
                ..SessionPatch::default()
            },
        )
        .await
        .unwrap();
    let tail = session_id(3)
        .as_str()
        .chars()
        .rev()
        .take(8)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect();
    let none = SessionFilter::default;
    let table: [(&str, SessionFilter, &[u128]); 9] = [
        ("all that live", none(), &[2, 3, 1]),
        ("the newest", SessionFilter { limit: 1, ..none() }, &[2]),
        (
            "of an agent",
            SessionFilter {
                agent: Some("explore".into()),
                ..none()
            },
            &[2],
        ),
        (
            "by name",
            SessionFilter {
                called: Some("ALPHA".into()),
                ..none()
            },
            &[1],
        ),
        (
            "by the end of the id",
            SessionFilter {
                called: Some(tail),
                ..none()
            },
            &[3],
        ),
        (
            "children",
            SessionFilter {
                parent: Some(session_id(1)),
                ..none()
            },
            &[2],
        ),
        (
            "in a directory",
            SessionFilter {
                cwd: Some("/elsewhere".into()),
                ..none()
            },
            &[3],
        ),
        (
            "top level",
            SessionFilter {
                top_level: Some(true),
                ..none()
            },
            &[3, 1],
        ),
        (
            "deleted",
            SessionFilter {
                deleted: true,
                ..none()
            },
            &[4],
        ),
    ];
    for (what, filter, wanted) in table {
        let found: Vec<_> = store
            .sessions(filter)
            .await
            .unwrap()
            .into_iter()
            .map(|session| session.id)
            .collect();
        let wanted: Vec<_> = wanted.iter().map(|number| session_id(*number)).collect();
        assert_eq!(found, wanted, "{what}");
    }
}
