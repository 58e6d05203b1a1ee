//! The outbox: stored with its cause, delivered in order, each part once, and what persons may change.

use rooftree_protocol::{Account, ChatTarget, Timestamp};

use super::{
    fixture::{NOW, StoreUnderTest, batch, claim, minute, notice, open, run_id, stranger},
    list,
};
use crate::{
    AppendBatch, AuditEntry, BoardQuery, Error, OutboxBody, OutboxCounts, OutboxFailure,
    OutboxFilter, OutboxKind, OutboxPost, OutboxRow, OutboxState, OutboxWish, Owner, PartReceipt,
    WorkerClaim, WorkerClaimOutcome,
};

list![
    a_message_is_stored_with_the_events_that_cause_it_and_never_without_them,
    the_same_key_stores_one_message,
    messages_to_a_chat_come_in_order_and_chats_do_not_wait_for_each_other,
    parts_are_planned_once_and_each_has_its_receipt,
    what_a_dead_worker_left_in_sending_is_the_head_of_its_chat,
    a_part_whose_receipt_was_lost_is_noted_when_it_is_seen,
    a_failure_waits_for_its_time_and_a_dead_message_lets_the_next_one_through,
    an_answer_supersedes_the_status_line_of_its_run,
    a_status_line_is_replaced_in_place,
    a_question_that_nobody_saw_is_not_asked_after_its_outcome,
    a_message_is_retried_or_dropped_once_with_an_audit_entry,
    messages_are_listed_by_owner_state_and_page,
    undelivered_messages_are_on_the_board_of_their_session,
    sent_messages_are_forgotten_and_undelivered_ones_are_not,
    a_job_has_one_worker_and_one_that_lost_it_writes_nothing,
];

fn target(chat: &str) -> ChatTarget {
    format!("telegram:{chat}").parse().unwrap()
}

fn text(key: &str, chat: &str) -> OutboxPost {
    OutboxPost {
        id: format!("out_{key}"),
        key: key.into(),
        account: Account::default(),
        session: None,
        run: None,
        kind: OutboxKind::Notice,
        target: target(chat),
        body: OutboxBody::Text { text: key.into() },
        at: NOW,
    }
}

async fn put(store: &StoreUnderTest, post: OutboxPost) -> bool {
    store.post_outbox(post, None).await.unwrap()
}

async fn row(store: &StoreUnderTest, key: &str) -> OutboxRow {
    store.outbox_by_key(key).await.unwrap().unwrap()
}

async fn state(store: &StoreUnderTest, key: &str) -> OutboxState {
    row(store, key).await.state
}

/// The keys of the messages that are next, sorted by chat.
async fn heads(store: &StoreUnderTest, now: Timestamp) -> Vec<String> {
    let heads = store.outbox_heads("telegram", now, 100).await.unwrap();
    heads.due.into_iter().map(|row| row.post.key).collect()
}

async fn worker(store: &StoreUnderTest) -> WorkerClaim {
    let asked = store.claim_worker("delivery:telegram", &Owner::this_process(), NOW, minute());
    match asked.await.unwrap() {
        WorkerClaimOutcome::Granted(claim) => claim,
        WorkerClaimOutcome::Held(owner) => panic!("held by {owner:?}"),
    }
}

/// Sends part `n` of a message of this many parts.
async fn send(store: &StoreUnderTest, worker: &WorkerClaim, key: &str, (n, of): (u32, u32)) {
    let id = row(store, key).await.post.id;
    let parts = (0..of).map(|n| format!("part {n}")).collect();
    store.plan_outbox(worker, &id, parts).await.unwrap();
    let body = format!("part {n}");
    assert!(store.begin_part(worker, &id, n, body).await.unwrap());
    let receipt = PartReceipt {
        platform_id: format!("{key}/{n}"),
        id,
        part: n,
        at: NOW,
    };
    store.part_sent(worker, receipt).await.unwrap();
}

fn failure(id: &str, state: OutboxState, not_before: Timestamp) -> OutboxFailure {
    OutboxFailure {
        id: id.into(),
        part: 0,
        state,
        is_unknown: false,
        counts: true,
        not_before,
        class: "transient".into(),
        error: "the platform was not reached".into(),
        at: NOW,
    }
}

async fn a_message_is_stored_with_the_events_that_cause_it_and_never_without_them(
    store: StoreUnderTest,
) {
    let session = open(&store, 1).await;
    let held = claim(&store, &session).await;
    let commit = |seq, key| AppendBatch {
        outbox: vec![text(key, "1")],
        ..batch(vec![notice(&session, seq, "said")])
    };
    store.append(&held, commit(1, "first")).await.unwrap();
    let events = [std::sync::Arc::new(notice(&session, 2, "said"))];
    let shared = AppendBatch {
        events: Vec::new(),
        ..commit(2, "second")
    };
    let appended = store.append_shared(&held, &events, shared);
    appended.await.unwrap();
    assert!(store.append(&held, commit(9, "lost")).await.is_err());
    assert_eq!(row(&store, "first").await.post, text("first", "1"));
    assert_eq!(row(&store, "second").await.ordinal, 2);
    assert_eq!(store.outbox_by_key("lost").await.unwrap(), None);
    assert!(store.verify().await.unwrap().violations.is_empty());
}

async fn the_same_key_stores_one_message(store: StoreUnderTest) {
    assert!(put(&store, text("a", "1")).await);
    let again = OutboxPost {
        id: "out_other".into(),
        ..text("a", "2")
    };
    assert!(!put(&store, again).await);
    assert_eq!(row(&store, "a").await.post, text("a", "1"));
}

async fn messages_to_a_chat_come_in_order_and_chats_do_not_wait_for_each_other(
    store: StoreUnderTest,
) {
    for (key, chat) in [
        ("a1", "1"),
        ("b1", "1/7"),
        ("a2", "1"),
        ("c1", "2"),
        ("b2", "1/7"),
    ] {
        put(&store, text(key, chat)).await;
    }
    let other = OutboxPost {
        target: "discord:1".parse().unwrap(),
        ..text("d", "1")
    };
    put(&store, other).await;
    let worker = worker(&store).await;
    assert_eq!(heads(&store, NOW).await, ["a1", "b1", "c1"]);
    send(&store, &worker, "b1", (0, 1)).await;
    assert_eq!(heads(&store, NOW).await, ["a1", "b2", "c1"]);
    send(&store, &worker, "a1", (0, 2)).await;
    assert_eq!(heads(&store, NOW).await, ["a1", "b2", "c1"], "half sent");
    send(&store, &worker, "a1", (1, 2)).await;
    assert_eq!(heads(&store, NOW).await, ["a2", "b2", "c1"]);
    assert_eq!(
        store
            .outbox_heads("telegram", NOW, 2)
            .await
            .unwrap()
            .due
            .len(),
        2
    );
}

async fn parts_are_planned_once_and_each_has_its_receipt(store: StoreUnderTest) {
    put(&store, text("a", "1")).await;
    let worker = worker(&store).await;
    send(&store, &worker, "a", (0, 2)).await;
    let again = store.plan_outbox(&worker, "out_a", vec!["whole".into()]);
    let parts = again.await.unwrap();
    let told: Vec<_> = parts
        .iter()
        .map(|part| (part.body.as_str(), part.state, part.platform_id.as_deref()))
        .collect();
    let wanted = [
        ("part 0", OutboxState::Sent, Some("a/0")),
        ("part 1", OutboxState::Planned, None),
    ];
    assert_eq!(told, wanted);
    assert_eq!(state(&store, "a").await, OutboxState::Sending);
    send(&store, &worker, "a", (1, 2)).await;
    assert_eq!(state(&store, "a").await, OutboxState::Sent);
    let late = store.begin_part(&worker, "out_a", 1, "part 1".into());
    assert!(!late.await.unwrap(), "what was sent is not begun again");
}

async fn what_a_dead_worker_left_in_sending_is_the_head_of_its_chat(store: StoreUnderTest) {
    put(&store, text("a", "1")).await;
    put(&store, text("b", "1")).await;
    let claim = worker(&store).await;
    let planned = store.plan_outbox(&claim, "out_a", vec!["one".into()]);
    planned.await.unwrap();
    let begun = store.begin_part(&claim, "out_a", 0, "one".into());
    assert!(begun.await.unwrap());
    store.release_worker(claim).await.unwrap();
    let claim = worker(&store).await;
    let heads = store.outbox_heads("telegram", NOW, 9).await.unwrap().due;
    let [left] = heads.as_slice() else {
        panic!("{heads:?}")
    };
    assert_eq!(left.parts.first().unwrap().state, OutboxState::Sending);
    let unknown = OutboxFailure {
        is_unknown: true,
        ..failure("out_a", OutboxState::Unknown, NOW)
    };
    store.part_failed(&claim, unknown).await.unwrap();
    let left = row(&store, "a").await;
    assert_eq!(
        (left.state, left.closed_at),
        (OutboxState::Unknown, Some(NOW))
    );
    assert_eq!(left.parts.first().unwrap().state, OutboxState::Unknown);
}

async fn a_part_whose_receipt_was_lost_is_noted_when_it_is_seen(store: StoreUnderTest) {
    put(&store, text("a", "1")).await;
    let claim = worker(&store).await;
    let seen = |message: &str| PartReceipt {
        id: "out_a".into(),
        part: 0,
        platform_id: message.into(),
        at: NOW,
    };
    let planned = store.plan_outbox(&claim, "out_a", vec!["one".into()]);
    planned.await.unwrap();
    let early = store.part_seen(seen("7")).await.unwrap();
    assert!(!early, "what was not begun cannot be seen");
    let begun = store.begin_part(&claim, "out_a", 0, "one".into());
    assert!(begun.await.unwrap());
    let unknown = OutboxFailure {
        is_unknown: true,
        ..failure("out_a", OutboxState::Unknown, NOW)
    };
    store.part_failed(&claim, unknown).await.unwrap();
    assert!(store.part_seen(seen("7")).await.unwrap());
    assert!(!store.part_seen(seen("8")).await.unwrap(), "it has one");
    let found = row(&store, "a").await;
    let part = found.parts.first().unwrap();
    let told = (found.state, part.state, part.platform_id.as_deref());
    assert_eq!(told, (OutboxState::Sent, OutboxState::Sent, Some("7")));
    let unwanted = store.begin_part(&claim, "out_a", 0, "one".into());
    assert!(!unwanted.await.unwrap(), "it is not sent again");
}

async fn a_failure_waits_for_its_time_and_a_dead_message_lets_the_next_one_through(
    store: StoreUnderTest,
) {
    put(&store, text("a", "1")).await;
    put(&store, text("b", "1")).await;
    let worker = worker(&store).await;
    let waits = failure("out_a", OutboxState::Failed, minute());
    store.part_failed(&worker, waits.clone()).await.unwrap();
    let uncounted = OutboxFailure {
        counts: false,
        ..waits
    };
    store.part_failed(&worker, uncounted).await.unwrap();
    let found = store.outbox_heads("telegram", NOW, 9).await.unwrap();
    assert_eq!((found.due.len(), found.next), (0, Some(minute())));
    assert_eq!(heads(&store, minute()).await, ["a"]);
    let failed = row(&store, "a").await;
    assert_eq!(
        (failed.attempts, failed.class.as_deref()),
        (1, Some("transient"))
    );
    let dead = failure("out_a", OutboxState::Dead, NOW);
    store.part_failed(&worker, dead).await.unwrap();
    assert_eq!(heads(&store, NOW).await, ["b"]);
}

async fn an_answer_supersedes_the_status_line_of_its_run(store: StoreUnderTest) {
    let of_run = |key: &str, kind, run| OutboxPost {
        run: Some(run_id(run)),
        kind,
        ..text(key, "1")
    };
    put(&store, of_run("busy", OutboxKind::Progress, 1)).await;
    put(&store, of_run("other", OutboxKind::Progress, 2)).await;
    assert_eq!(store.outbox_of_run(&run_id(1)).await.unwrap(), None);
    put(&store, of_run("answer", OutboxKind::Final, 1)).await;
    assert_eq!(state(&store, "busy").await, OutboxState::Superseded);
    assert_eq!(state(&store, "other").await, OutboxState::Planned);
    assert!(!put(&store, of_run("late", OutboxKind::Progress, 1)).await);
    let found = store.outbox_of_run(&run_id(1)).await.unwrap();
    assert_eq!(found, Some(OutboxState::Planned));
}

async fn a_status_line_is_replaced_in_place(store: StoreUnderTest) {
    let line = |words: &str| OutboxPost {
        run: Some(run_id(1)),
        kind: OutboxKind::Progress,
        body: OutboxBody::Text { text: words.into() },
        ..text("line", "1")
    };
    put(&store, line("10 s")).await;
    let worker = worker(&store).await;
    send(&store, &worker, "line", (0, 1)).await;
    assert!(heads(&store, NOW).await.is_empty());
    assert!(put(&store, line("20 s")).await);
    let found = row(&store, "line").await;
    assert_eq!(found.post.body, line("20 s").body);
    let part = found.parts.first().unwrap();
    let wanted = (OutboxState::Planned, Some("line/0".to_owned()));
    assert_eq!((part.state, part.platform_id.clone()), wanted);
    assert_eq!(heads(&store, NOW).await, ["line"]);
    assert_eq!(found.ordinal, 1);
}

async fn a_question_that_nobody_saw_is_not_asked_after_its_outcome(store: StoreUnderTest) {
    let ask = |id: &str| OutboxPost {
        kind: OutboxKind::Permission,
        body: OutboxBody::Inquiry {
            inquiry: id.into(),
            text: "May I?".into(),
        },
        ..text(&OutboxPost::ask_key(id), "1")
    };
    let outcome = |id: &str| OutboxPost {
        kind: OutboxKind::Permission,
        body: OutboxBody::Outcome {
            inquiry: id.into(),
            text: "Allowed.".into(),
        },
        ..text(&OutboxPost::outcome_key(id), "1")
    };
    put(&store, ask("seen")).await;
    let worker = worker(&store).await;
    send(&store, &worker, "ask:seen", (0, 1)).await;
    put(&store, ask("unseen")).await;
    put(&store, outcome("unseen")).await;
    put(&store, outcome("seen")).await;
    assert_eq!(state(&store, "ask:unseen").await, OutboxState::Superseded);
    let unneeded = state(&store, "outcome:unseen").await;
    assert_eq!(unneeded, OutboxState::Superseded);
    assert_eq!(heads(&store, NOW).await, ["outcome:seen"]);
}

async fn a_message_is_retried_or_dropped_once_with_an_audit_entry(store: StoreUnderTest) {
    let who = rooftree_protocol::Principal::local_owner(rooftree_protocol::Surface::Cli);
    let entry = || Some(AuditEntry::done(&who, NOW, "outbox.change", "out_a"));
    put(&store, text("a", "1")).await;
    put(&store, text("b", "1")).await;
    let worker = worker(&store).await;
    let dead = failure("out_a", OutboxState::Dead, NOW);
    store.part_failed(&worker, dead).await.unwrap();
    let retried = store.change_outbox("out_a", OutboxWish::Retry, minute(), entry());
    let retried = retried.await.unwrap().unwrap();
    assert_eq!((retried.state, retried.attempts), (OutboxState::Planned, 0));
    assert_eq!((retried.due_since, retried.closed_at), (minute(), None));
    assert_eq!(heads(&store, NOW).await, ["a"], "before what came later");
    let again = store.change_outbox("out_a", OutboxWish::Retry, minute(), entry());
    again.await.unwrap();
    let dropped = store.change_outbox("out_a", OutboxWish::Drop, minute(), entry());
    let dropped = dropped.await.unwrap().unwrap();
    assert_eq!(dropped.state, OutboxState::Superseded);
    assert_eq!(heads(&store, NOW).await, ["b"]);
    send(&store, &worker, "b", (0, 1)).await;
    let sent = store.change_outbox("out_b", OutboxWish::Drop, minute(), entry());
    assert_eq!(sent.await.unwrap().unwrap().state, OutboxState::Sent);
    let unknown = store.change_outbox("out_x", OutboxWish::Drop, minute(), entry());
    assert_eq!(unknown.await.unwrap(), None);
    assert_eq!(store.audit("default", 0, 9).await.unwrap().len(), 2);
}

async fn messages_are_listed_by_owner_state_and_page(store: StoreUnderTest) {
    for (key, person) in [("a", "owner"), ("b", "guest"), ("c", "owner")] {
        let mut post = text(key, "1");
        post.account.person = person.into();
        put(&store, post).await;
    }
    let keys = async |filter: OutboxFilter| {
        let found = store.outbox(filter).await.unwrap();
        let keys: Vec<String> = found.into_iter().map(|row| row.post.key).collect();
        keys.concat()
    };
    let all = OutboxFilter {
        tenant: "default".into(),
        limit: 9,
        ..OutboxFilter::default()
    };
    assert_eq!(keys(all.clone()).await, "cba");
    let second = OutboxFilter {
        before: Some(row(&store, "c").await.number),
        limit: 1,
        ..all.clone()
    };
    assert_eq!(keys(second).await, "b");
    let guests = OutboxFilter {
        person: Some("guest".into()),
        ..all.clone()
    };
    assert_eq!(keys(guests).await, "b");
    let sent = OutboxFilter {
        states: Some(vec![OutboxState::Sent, OutboxState::Dead]),
        ..all.clone()
    };
    assert_eq!(keys(sent).await, "");
    let elsewhere = OutboxFilter {
        connector: Some("discord".into()),
        ..all
    };
    assert_eq!(keys(elsewhere).await, "");
    let worker = worker(&store).await;
    for (key, state) in [("b", OutboxState::Failed), ("c", OutboxState::Dead)] {
        let failed = failure(&format!("out_{key}"), state, NOW);
        store.part_failed(&worker, failed).await.unwrap();
    }
    let counts = OutboxCounts {
        connector: "telegram".into(),
        queued: 1,
        failed: 1,
        dead: 1,
    };
    assert_eq!(store.outbox_counts("default").await.unwrap(), [counts]);
    assert_eq!(store.outbox_counts("other").await.unwrap(), []);
}

async fn undelivered_messages_are_on_the_board_of_their_session(store: StoreUnderTest) {
    let session = open(&store, 1).await;
    for key in ["a", "b"] {
        let post = OutboxPost {
            session: Some(session.clone()),
            ..text(key, "1")
        };
        put(&store, post).await;
    }
    let urgent = async || {
        let query = BoardQuery {
            reader: Account::default(),
            person: None,
            agents: None,
            rest: 0,
            after: None,
        };
        store.board(query).await.unwrap().records
    };
    assert!(urgent().await.is_empty());
    let worker = worker(&store).await;
    for id in ["out_a", "out_b"] {
        let dead = failure(id, OutboxState::Dead, NOW);
        store.part_failed(&worker, dead).await.unwrap();
    }
    let found = urgent().await;
    let undelivered = found.first().unwrap().undelivered.clone().unwrap();
    assert_eq!((undelivered.id.as_str(), undelivered.count), ("out_a", 2));
    assert_eq!(undelivered.target, "telegram:1");
    for id in ["out_a", "out_b"] {
        let dropped = store.change_outbox(id, OutboxWish::Drop, NOW, None);
        dropped.await.unwrap();
    }
    assert!(urgent().await.is_empty());
}

async fn sent_messages_are_forgotten_and_undelivered_ones_are_not(store: StoreUnderTest) {
    let worker = worker(&store).await;
    for key in ["sent", "dead", "open"] {
        put(&store, text(key, key)).await;
    }
    send(&store, &worker, "sent", (0, 1)).await;
    let dead = failure("out_dead", OutboxState::Dead, NOW);
    store.part_failed(&worker, dead).await.unwrap();
    assert_eq!(store.prune_outbox(NOW).await.unwrap(), 0);
    assert_eq!(store.prune_outbox(minute()).await.unwrap(), 1);
    assert_eq!(store.outbox_by_key("sent").await.unwrap(), None);
    assert_eq!(state(&store, "dead").await, OutboxState::Dead);
    assert_eq!(state(&store, "open").await, OutboxState::Planned);
}

async fn a_job_has_one_worker_and_one_that_lost_it_writes_nothing(store: StoreUnderTest) {
    put(&store, text("a", "1")).await;
    let ask = async |owner: Owner, now| {
        let asked = store.claim_worker("delivery:telegram", &owner, now, minute());
        asked.await.unwrap()
    };
    let WorkerClaimOutcome::Granted(first) = ask(stranger(), NOW).await else {
        panic!("held")
    };
    let refused = ask(Owner::this_process(), NOW).await;
    assert!(matches!(refused, WorkerClaimOutcome::Held(owner) if owner == stranger()));
    let other = store.claim_worker("poll:telegram", &Owner::this_process(), NOW, minute());
    let other = other.await.unwrap();
    assert!(
        matches!(other, WorkerClaimOutcome::Granted(_)),
        "another job"
    );
    let later = Timestamp(minute().0 + 1);
    let WorkerClaimOutcome::Granted(second) = ask(Owner::this_process(), later).await else {
        panic!("its lease had ended")
    };
    assert!(second.fence() > first.fence());
    let planned = store.plan_outbox(&first, "out_a", vec!["one".into()]);
    assert!(matches!(planned.await, Err(Error::Fenced)));
    let begun = store.begin_part(&first, "out_a", 0, "one".into());
    assert!(matches!(begun.await, Err(Error::Fenced)));
    let renewed = store.renew_worker(&first, later).await;
    assert!(matches!(renewed, Err(Error::Fenced)));
    assert!(row(&store, "a").await.parts.is_empty());
    store.release_worker(first).await.unwrap();
    store.renew_worker(&second, later).await.unwrap();
    store.release_worker(second).await.unwrap();
    let free = ask(stranger(), NOW).await;
    assert!(matches!(free, WorkerClaimOutcome::Granted(_)));
}
