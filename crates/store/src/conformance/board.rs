//! The board: what is on it, who sees it, and how far persons have read.

use rooftree_protocol::{
    Account, CallId, EventBody, Lane, ParentCall, PermissionId, Problem, RunStatus, SessionId,
    event::RunEnd,
};

use super::{
    fixture::{
        NOW, StoreUnderTest, batch, claim, event, minute, new_session, open, post, run_id,
        session_id, started,
    },
    list,
};
use crate::{
    AppendBatch, BoardQuery, BoardRecord, BoardRecords, Claim, Inquiry, NewSessionRow, ReadMark,
    SessionPatch,
};

list![
    a_board_has_what_is_open_failed_waiting_or_pinned_and_the_latest_of_the_rest,
    what_a_session_below_asks_stands_in_the_row_of_its_root,
    a_failure_is_on_the_board_until_its_readers_have_seen_it,
    a_read_mark_belongs_to_a_person_and_never_moves_back,
    a_person_who_is_not_the_owner_sees_only_own_sessions,
    the_rest_of_a_board_is_read_page_by_page,
];

fn query(rest: usize) -> BoardQuery {
    BoardQuery {
        reader: Account::default(),
        person: None,
        agents: None,
        rest,
        after: None,
    }
}

async fn board(store: &StoreUnderTest, query: BoardQuery) -> BoardRecords {
    store.board(query).await.unwrap()
}

async fn ids(store: &StoreUnderTest, rest: usize) -> Vec<SessionId> {
    let found = board(store, query(rest)).await.records;
    let mut ids: Vec<SessionId> = found.into_iter().map(|record| record.session.id).collect();
    ids.sort();
    ids
}

async fn row(store: &StoreUnderTest, session: &SessionId) -> BoardRecord {
    let found = board(store, query(50)).await.records;
    let mut found = found.into_iter();
    found.find(|record| record.session.id == *session).unwrap()
}

fn sorted(ids: impl IntoIterator<Item = SessionId>) -> Vec<SessionId> {
    let mut ids: Vec<SessionId> = ids.into_iter().collect();
    ids.sort();
    ids
}

async fn begin(store: &StoreUnderTest, session: &SessionId) -> Claim {
    let claim = claim(store, session).await;
    let started = AppendBatch {
        run: Some(Some(run_id(1))),
        ..batch(vec![started(session, 1, &run_id(1))])
    };
    store.append(&claim, started).await.unwrap();
    claim
}

async fn end(store: &StoreUnderTest, claim: Claim, status: RunStatus) {
    let mut ended = event(
        &claim.session,
        2,
        EventBody::RunCompleted(RunEnd {
            error: (status == RunStatus::Failed)
                .then(|| Problem::new(rooftree_protocol::ErrorCode::Internal, "it broke")),
            ..RunEnd::new(status)
        }),
    );
    ended.run = Some(run_id(1));
    let ended = AppendBatch {
        run: Some(None),
        ..batch(vec![ended])
    };
    store.append(&claim, ended).await.unwrap();
    store.release(claim).await.unwrap();
}

async fn run_once(store: &StoreUnderTest, number: u128, status: RunStatus) -> SessionId {
    let session = open(store, number).await;
    let claim = begin(store, &session).await;
    end(store, claim, status).await;
    session
}

fn mark(session: &SessionId, person: &str, upto: u64) -> ReadMark {
    ReadMark {
        reader: Account {
            person: person.into(),
            ..Account::default()
        },
        session: session.clone(),
        upto,
        at: NOW,
    }
}

async fn a_board_has_what_is_open_failed_waiting_or_pinned_and_the_latest_of_the_rest(
    store: StoreUnderTest,
) {
    let working = open(&store, 1).await;
    let _claim = begin(&store, &working).await;
    let failed = run_once(&store, 2, RunStatus::Failed).await;
    let waiting = open(&store, 3).await;
    store.post(post(&waiting, Lane::Mail, 1)).await.unwrap();
    let pinned = open(&store, 4).await;
    let pin = SessionPatch {
        pinned_at: Some(Some(NOW)),
        ..SessionPatch::default()
    };
    store.update(&pinned, pin).await.unwrap();
    let deleted = run_once(&store, 5, RunStatus::Failed).await;
    let delete = SessionPatch {
        deleted_at: Some(Some(NOW)),
        ..SessionPatch::default()
    };
    store.update(&deleted, delete).await.unwrap();
    let done = run_once(&store, 6, RunStatus::Completed).await;
    let urgent = [working.clone(), failed, waiting.clone(), pinned];
    assert_eq!(ids(&store, 0).await, sorted(urgent.clone()));
    assert_eq!(
        ids(&store, 50).await,
        sorted(urgent.into_iter().chain([done]))
    );
    let (working, waiting) = (row(&store, &working).await, row(&store, &waiting).await);
    assert!(working.activity.run.is_some() && working.claim.is_some() && !working.mail_waits);
    assert!(waiting.activity.run.is_none() && waiting.claim.is_none() && waiting.mail_waits);
}

async fn what_a_session_below_asks_stands_in_the_row_of_its_root(store: StoreUnderTest) {
    let root = open(&store, 1).await;
    let mut above = root.clone();
    for number in [2, 3] {
        let below = NewSessionRow {
            parent: Some(ParentCall {
                session: above.clone(),
                run: run_id(1),
                call: CallId::from_entropy(1),
            }),
            ..new_session(number)
        };
        above = store.open(below).await.unwrap().id;
    }
    let asking = begin(&store, &above).await;
    let done = claim(&store, &session_id(2)).await;
    let body = EventBody::PermissionRequested {
        id: PermissionId::from_entropy(1),
        call: CallId::from_entropy(1),
        tool: "Bash".into(),
        title: "dig".into(),
        detail: String::new(),
        effect: rooftree_protocol::Effect::Destructive,
        rule: String::new(),
        until: minute(),
        reason: String::new(),
        digest: String::new(),
        scopes: Vec::new(),
        kind: Default::default(),
        spawn: Vec::new(),
    };
    let inquiry = Inquiry {
        id: PermissionId::from_entropy(1).to_string(),
        session: above.clone(),
        root: root.clone(),
        run: Some(run_id(1)),
        agent: "lead".into(),
        digest: String::new(),
        asked: body.clone(),
        asked_at: NOW,
        until: minute(),
        answer: None,
        settled: false,
    };
    let mut asked = event(&above, 2, body);
    asked.run = Some(run_id(1));
    let ask = AppendBatch {
        asks: vec![inquiry.clone()],
        ..batch(vec![asked])
    };
    store.append(&asking, ask).await.unwrap();
    let begun = AppendBatch {
        run: Some(Some(run_id(1))),
        ..batch(vec![started(&done.session, 1, &run_id(1))])
    };
    store.append(&done, begun).await.unwrap();
    end(&store, done, RunStatus::Completed).await;
    assert_eq!(ids(&store, 50).await, std::slice::from_ref(&root));
    let found = row(&store, &root).await;
    assert_eq!(found.inquiries.len(), 1);
    assert_eq!((found.children_done, found.children_failed), (1, 0));
    let [child] = found.open_children.as_slice() else {
        panic!("{:?}", found.open_children)
    };
    assert_eq!(
        (&child.session, &child.activity.asked),
        (&above, &vec![inquiry.id])
    );
    assert!(store.verify().await.unwrap().violations.is_empty());
}

async fn a_failure_is_on_the_board_until_its_readers_have_seen_it(store: StoreUnderTest) {
    let own = run_once(&store, 1, RunStatus::Failed).await;
    let guests = NewSessionRow {
        account: Account {
            person: "guest".into(),
            ..Account::default()
        },
        ..new_session(2)
    };
    let guests = store.open(guests).await.unwrap().id;
    let claim = begin(&store, &guests).await;
    end(&store, claim, RunStatus::Failed).await;
    assert_eq!(ids(&store, 0).await, sorted([own.clone(), guests.clone()]));
    store.mark_read(mark(&own, "owner", 1)).await.unwrap();
    assert_eq!(ids(&store, 0).await.len(), 2, "not up to its end");
    store.mark_read(mark(&own, "owner", 2)).await.unwrap();
    assert_eq!(ids(&store, 0).await, std::slice::from_ref(&guests));
    store.mark_read(mark(&guests, "guest", 2)).await.unwrap();
    assert_eq!(
        ids(&store, 0).await,
        std::slice::from_ref(&guests),
        "the owner has not seen it"
    );
    store.mark_read(mark(&guests, "owner", 9)).await.unwrap();
    assert!(ids(&store, 0).await.is_empty());
    assert!(store.verify().await.unwrap().violations.is_empty());
}

async fn a_read_mark_belongs_to_a_person_and_never_moves_back(store: StoreUnderTest) {
    let session = run_once(&store, 1, RunStatus::Completed).await;
    assert!(store.mark_read(mark(&session, "owner", 99)).await.unwrap());
    assert!(!store.mark_read(mark(&session, "owner", 1)).await.unwrap());
    assert_eq!(
        row(&store, &session).await.read_upto,
        2,
        "the last event there is"
    );
    assert!(store.mark_read(mark(&session, "guest", 1)).await.unwrap());
    let guest = BoardQuery {
        reader: mark(&session, "guest", 0).reader,
        ..query(50)
    };
    let found = board(&store, guest).await.records;
    let [seen] = found.as_slice() else {
        panic!("one row")
    };
    assert_eq!(seen.read_upto, 1);
    assert!(
        store
            .mark_read(mark(&session_id(7), "owner", 1))
            .await
            .is_err()
    );
}

async fn a_person_who_is_not_the_owner_sees_only_own_sessions(store: StoreUnderTest) {
    run_once(&store, 1, RunStatus::Failed).await;
    let account = |tenant: &str, person: &str| Account {
        tenant: tenant.into(),
        person: person.into(),
    };
    for (number, tenant, agent) in [
        (2, "default", "lead"),
        (3, "default", "Scout"),
        (4, "other", "lead"),
    ] {
        let new = NewSessionRow {
            account: account(tenant, "guest"),
            agent: agent.into(),
            ..new_session(number)
        };
        store.open(new).await.unwrap();
        store
            .post(post(&session_id(number), Lane::Mail, number))
            .await
            .unwrap();
    }
    let guest = BoardQuery {
        reader: account("default", "guest"),
        person: Some("guest".into()),
        ..query(50)
    };
    assert_eq!(board(&store, guest.clone()).await.records.len(), 2);
    let scout = BoardQuery {
        agents: Some(vec!["scout".into()]),
        ..guest
    };
    let found = board(&store, scout).await.records;
    assert_eq!(found.len(), 1);
    assert!(
        found
            .iter()
            .all(|record| record.session.id == session_id(3))
    );
    assert_eq!(
        ids(&store, 50).await.len(),
        3,
        "the owner of the tenant sees all of it"
    );
}

async fn the_rest_of_a_board_is_read_page_by_page(store: StoreUnderTest) {
    for number in 1..=7 {
        run_once(&store, number, RunStatus::Completed).await;
    }
    let (mut seen, mut next, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = BoardQuery {
            after: next,
            ..query(3)
        };
        let found = board(&store, page).await;
        pages += 1;
        seen.extend(found.records.into_iter().map(|record| record.session.id));
        next = found.next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!((pages, sorted(seen)), (3, sorted((1..=7).map(session_id))));
}
