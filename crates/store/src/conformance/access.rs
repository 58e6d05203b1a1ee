//! Access control: tokens, persons, one-time links, idempotency keys, and which sessions a list holds.

use rooftree_protocol::{
    AccessScope, AccessScopes, Account, CallId, ParentCall, Principal, Surface, Timestamp,
};

use super::{fixture::*, list, records::task};
use crate::{
    AccessLinkRow, AccessTokenRow, AuditEntry, Error, IdempotencyOutcome, IdempotentRequest,
    JournalSearch, LinkPurpose, NewSessionRow, PersonRole, PersonRow, RunFilter, SessionFilter,
    StoredAnswer, TaskFilter, TokenHash, UsageFilter, UsageGroup, VisibleSessions,
};

list![
    a_token_is_found_by_its_digest_and_ends_when_it_is_revoked_once,
    the_use_of_a_token_is_noted_at_most_every_so_often,
    a_disabled_person_has_no_token_and_no_link_and_gets_none,
    a_link_is_exchanged_once_before_it_expires_and_only_with_its_token,
    an_idempotency_key_gives_the_first_answer_and_is_refused_for_another_request,
    lists_hold_only_visible_sessions_and_those_below_them,
];

fn account(person: &str) -> Account {
    Account {
        person: person.into(),
        ..Account::default()
    }
}

fn scopes() -> AccessScopes {
    [AccessScope::Chat].into_iter().collect()
}

fn token(id: &str, person: &str) -> AccessTokenRow {
    AccessTokenRow {
        id: id.into(),
        account: account(person),
        name: format!("name of {id}"),
        digest: TokenHash::of(id),
        scopes: scopes(),
        agents: Some(vec!["lead".into()]),
        created_at: NOW,
        expires_at: Some(minute()),
        revoked_at: None,
        used_at: None,
    }
}

fn person(id: &str) -> PersonRow {
    PersonRow {
        account: account(id),
        name: id.to_uppercase(),
        role: PersonRole::Member,
        invited_at: NOW,
        disabled_at: None,
    }
}

fn link(secret: &str, person: &str) -> AccessLinkRow {
    AccessLinkRow {
        digest: TokenHash::of(secret),
        account: account(person),
        purpose: LinkPurpose::Invitation,
        scopes: scopes(),
        created_at: NOW,
        expires_at: minute(),
        used_at: None,
    }
}

fn audited(action: &str) -> Option<AuditEntry> {
    let who = Principal::local_owner(Surface::Cli);
    Some(AuditEntry::done(&who, NOW, action, "it"))
}

async fn actions(store: &StoreUnderTest) -> Vec<String> {
    let rows = store.audit("default", 0, 100).await.unwrap();
    rows.into_iter().map(|row| row.entry.action).collect()
}

async fn a_token_is_found_by_its_digest_and_ends_when_it_is_revoked_once(store: StoreUnderTest) {
    let first = token("tok_1", "owner");
    store
        .put_access_token(first.clone(), audited("token.create"))
        .await
        .unwrap();
    let twice = store.put_access_token(token("tok_1", "owner"), audited("token.create"));
    assert!(twice.await.is_err(), "an id and a digest are there once");
    let nobody = store.put_access_token(token("tok_2", "nobody"), audited("token.create"));
    assert!(nobody.await.is_err(), "there is no such person");
    let found = store.access_token(TokenHash::of("tok_1")).await.unwrap();
    assert_eq!(found.as_ref(), Some(&first));
    assert!(first.is_valid_at(NOW) && !first.is_valid_at(minute()));
    assert!(
        store
            .access_token(TokenHash::of("tok"))
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(store.access_tokens("default").await.unwrap(), [first]);
    assert!(store.access_tokens("other").await.unwrap().is_empty());
    let revoke = |tenant, id| store.revoke_access_token(tenant, id, NOW, audited("token.revoke"));
    assert!(!revoke("other", "tok_1").await.unwrap(), "another tenant's");
    assert!(!revoke("default", "tok_9").await.unwrap());
    assert!(revoke("default", "tok_1").await.unwrap());
    assert!(!revoke("default", "tok_1").await.unwrap(), "only once");
    let found = store.access_token(TokenHash::of("tok_1")).await.unwrap();
    assert_eq!(found.unwrap().revoked_at, Some(NOW));
    assert_eq!(actions(&store).await, ["token.create", "token.revoke"]);
}

async fn the_use_of_a_token_is_noted_at_most_every_so_often(store: StoreUnderTest) {
    let new = token("tok_1", "owner");
    store.put_access_token(new, None).await.unwrap();
    let at = |seconds: i64| Timestamp(NOW.0 + seconds * 1000);
    for (now, noted) in [(0, 0), (100, 0), (300, 300), (400, 300)] {
        let touched = store.touch_access_token("tok_1", at(now), at(now - 300));
        touched.await.unwrap();
        let found = store.access_token(TokenHash::of("tok_1")).await.unwrap();
        assert_eq!(found.unwrap().used_at, Some(at(noted)), "after {now} s");
    }
}

async fn a_disabled_person_has_no_token_and_no_link_and_gets_none(store: StoreUnderTest) {
    let invite = |id| store.put_person(person(id), Some(link(id, id)), audited("person.invite"));
    invite("ann").await.unwrap();
    let twice = invite("ann").await;
    assert!(matches!(twice, Err(Error::NameTaken(_))), "{twice:?}");
    let taken = invite("owner").await;
    assert!(
        matches!(taken, Err(Error::NameTaken(_))),
        "the owner is there"
    );
    store
        .put_access_token(token("tok_1", "ann"), None)
        .await
        .unwrap();
    let disable = |id| store.disable_person(&account(id), NOW, audited("person.disable"));
    assert!(!disable("owner").await.unwrap(), "the owner stays");
    assert!(!disable("bob").await.unwrap());
    assert!(disable("ann").await.unwrap());
    assert!(!disable("ann").await.unwrap(), "only once");
    let found = store.access_token(TokenHash::of("tok_1")).await.unwrap();
    assert_eq!(found.unwrap().revoked_at, Some(NOW));
    assert!(
        store
            .access_link(TokenHash::of("ann"))
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        store
            .put_access_token(token("tok_2", "ann"), None)
            .await
            .is_err()
    );
    assert!(
        store
            .put_access_link(link("again", "ann"), None)
            .await
            .is_err()
    );
    let persons = store.persons("default").await.unwrap();
    let names: Vec<_> = persons
        .iter()
        .map(|person| {
            (
                person.account.person.as_str(),
                person.role,
                person.disabled_at,
            )
        })
        .collect();
    let wanted = [
        ("ann", PersonRole::Member, Some(NOW)),
        ("owner", PersonRole::Owner, None),
    ];
    assert_eq!(names, wanted);
    assert!(store.persons("other").await.unwrap().is_empty());
    assert_eq!(actions(&store).await, ["person.invite", "person.disable"]);
}

async fn a_link_is_exchanged_once_before_it_expires_and_only_with_its_token(store: StoreUnderTest) {
    for secret in ["one", "late", "other"] {
        let made = store.put_access_link(link(secret, "owner"), audited("link.create"));
        made.await.unwrap();
    }
    store.put_person(person("ann"), None, None).await.unwrap();
    let found = store.access_link(TokenHash::of("one")).await.unwrap();
    assert_eq!(found, Some(link("one", "owner")));
    let exchange = |secret, at, token| {
        store.exchange_access_link(TokenHash::of(secret), at, token, audited("link.use"))
    };
    let device = |id: &str| token(id, "owner");
    assert!(!exchange("nothing", NOW, device("tok_0")).await.unwrap());
    assert!(!exchange("late", minute(), device("tok_0")).await.unwrap());
    let foreign = exchange("other", NOW, token("tok_0", "ann"));
    assert!(!foreign.await.unwrap(), "a link is for its own person");
    let both = [
        exchange("one", NOW, device("tok_1")),
        exchange("one", NOW, device("tok_2")),
    ];
    let [first, second] = both;
    assert!(first.await.unwrap() && !second.await.unwrap(), "once");
    let tokens = store.access_tokens("default").await.unwrap();
    assert_eq!(tokens, [device("tok_1")], "a token comes only with a link");
    let used = store.access_link(TokenHash::of("one")).await.unwrap();
    assert_eq!(used.unwrap().used_at, Some(NOW));
    let uses = actions(&store).await;
    assert_eq!(
        uses.iter().filter(|action| *action == "link.use").count(),
        1
    );
    // A token that cannot be kept leaves the link as it was.
    assert!(exchange("other", NOW, device("tok_1")).await.is_err());
    let unused = store.access_link(TokenHash::of("other")).await.unwrap();
    assert_eq!(unused.unwrap().used_at, None);
}

async fn an_idempotency_key_gives_the_first_answer_and_is_refused_for_another_request(
    store: StoreUnderTest,
) {
    let at = |seconds: i64| Timestamp(NOW.0 + seconds * 1000);
    let request = |key: &str, body: &str, seconds: i64| IdempotentRequest {
        account: account("owner"),
        token: "tok_1".into(),
        key: key.into(),
        request: TokenHash::of_pieces(&[b"POST", body.as_bytes()]),
        at: at(seconds),
        abandoned_before: at(seconds - 60),
        expires_at: at(seconds + 3600),
    };
    let begin = |request| store.begin_idempotent(request);
    let answer = || StoredAnswer {
        status: 201,
        body: "made".into(),
    };
    assert_eq!(
        begin(request("k", "a", 0)).await.unwrap(),
        IdempotencyOutcome::New
    );
    let again = begin(request("k", "a", 1)).await.unwrap();
    assert_eq!(again, IdempotencyOutcome::Running);
    let other = begin(request("k", "b", 1)).await.unwrap();
    assert_eq!(other, IdempotencyOutcome::Other);
    let ended = store.end_idempotent(request("k", "a", 0), Some(answer()));
    ended.await.unwrap();
    let again = begin(request("k", "a", 100)).await.unwrap();
    assert_eq!(again, IdempotencyOutcome::Answered(answer()));
    let mut elsewhere = request("k", "a", 100);
    elsewhere.token = "tok_2".into();
    let elsewhere = begin(elsewhere).await.unwrap();
    assert_eq!(elsewhere, IdempotencyOutcome::New, "keys belong to a token");
    let after = begin(request("k", "b", 3600)).await.unwrap();
    assert_eq!(after, IdempotencyOutcome::New, "it has expired");
    // One that failed, and one whose process died, are free again.
    begin(request("failed", "a", 0)).await.unwrap();
    let freed = store.end_idempotent(request("failed", "a", 0), None);
    freed.await.unwrap();
    let again = begin(request("failed", "a", 1)).await.unwrap();
    assert_eq!(again, IdempotencyOutcome::New);
    begin(request("dead", "a", 0)).await.unwrap();
    let again = begin(request("dead", "a", 61)).await.unwrap();
    assert_eq!(again, IdempotencyOutcome::New);
    assert_ne!(
        TokenHash::of_pieces(&[b"ab", b"c"]),
        TokenHash::of_pieces(&[b"a", b"bc"])
    );
}

/// A session of a person, with an event that was used and found, and a task.
async fn filled(store: &StoreUnderTest, number: u128, new: NewSessionRow) {
    let id = store.open(new).await.unwrap().id;
    let claim = claim(store, &id).await;
    let run = run_id(number);
    let events = vec![started(&id, 1, &run), replied(&id, 2, "model", "needle")];
    store.append(&claim, batch(events)).await.unwrap();
    let task = task(&format!("prc_{number}"), id, 1);
    store.put_task(task).await.unwrap();
}

async fn lists_hold_only_visible_sessions_and_those_below_them(store: StoreUnderTest) {
    let new = |number: u128, agent: &str, person: &str, above: Option<u128>| NewSessionRow {
        agent: agent.into(),
        account: account(person),
        parent: above.map(|above| ParentCall {
            session: session_id(above),
            run: run_id(above),
            call: CallId::from_entropy(number),
        }),
        ..new_session(number)
    };
    let table = [
        (1, "lead", "owner", None),
        (2, "helper", "owner", Some(1)),
        (3, "deep", "owner", Some(2)),
        (4, "helper", "owner", None),
        (5, "lead", "owner", Some(4)),
        (6, "lead", "ann", None),
        (7, "lost", "owner", Some(99)),
    ];
    for (number, agent, person, above) in table {
        filled(&store, number, new(number, agent, person, above)).await;
    }
    let agents = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let everything = VisibleSessions::default();
    let ann = || Some("ann".to_owned());
    let seen: [(VisibleSessions, Vec<u128>); 6] = [
        (everything.clone(), vec![1, 2, 3, 4, 5, 6, 7]),
        (
            VisibleSessions {
                person: ann(),
                agents: None,
            },
            vec![6],
        ),
        (
            VisibleSessions {
                person: None,
                agents: agents(&["LEAD"]),
            },
            vec![1, 2, 3, 6],
        ),
        (
            VisibleSessions {
                person: None,
                agents: agents(&["helper"]),
            },
            vec![4, 5],
        ),
        (
            VisibleSessions {
                person: ann(),
                agents: agents(&["helper"]),
            },
            vec![],
        ),
        (
            VisibleSessions {
                person: None,
                agents: agents(&["lost", "deep"]),
            },
            vec![],
        ),
    ];
    for (visible, wanted) in seen {
        let ids: Vec<_> = wanted.iter().map(|number| session_id(*number)).collect();
        let about = format!("{visible:?}");
        let filter = SessionFilter {
            visible: visible.clone(),
            ..Default::default()
        };
        let sessions = store.sessions(filter).await.unwrap();
        let sessions = sessions.into_iter().map(|session| session.id);
        assert_eq!(sorted(sessions), sorted(ids.clone()), "{about}");
        let filter = RunFilter {
            visible: visible.clone(),
            ..Default::default()
        };
        let runs = store.runs(filter).await.unwrap();
        let runs = runs.into_iter().map(|run| run.started.session);
        assert_eq!(sorted(runs), sorted(ids.clone()), "runs, {about}");
        let filter = TaskFilter {
            visible: visible.clone(),
            ..Default::default()
        };
        let tasks = store.tasks(filter).await.unwrap();
        let tasks = tasks.into_iter().map(|task| task.session);
        assert_eq!(sorted(tasks), sorted(ids.clone()), "tasks, {about}");
        let by = UsageGroup::Session;
        let filter = UsageFilter {
            by,
            visible: visible.clone(),
            ..Default::default()
        };
        let usage = store.usage(filter).await.unwrap().len();
        assert_eq!(usage, ids.len(), "usage, {about}");
        let search = JournalSearch {
            visible,
            ..JournalSearch::new("needle", 100)
        };
        let hits = store.search(search).await.unwrap();
        let hits = hits.into_iter().map(|hit| hit.session.id);
        assert_eq!(sorted(hits), sorted(ids), "search, {about}");
    }
}

fn sorted<T: ToString>(ids: impl IntoIterator<Item = T>) -> Vec<String> {
    let mut ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    ids.sort();
    ids
}
