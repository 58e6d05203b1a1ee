//! Rows about access, kept answers and the board hold no secrets: whatever a name, a key or an answer contains.

use std::{fs, path::Path};

use rooftree_protocol::{Account, Timestamp};
use rooftree_providers::scripted::say;
use rooftree_runtime::Clock;
use rooftree_store::{
    AccessLinkRow, AccessTokenRow, AuditEntry, AuditPhase, BoardQuery, FiredSchedule, FiringWork,
    IdempotencyOutcome, IdempotentRequest, IncidentReport, LinkPurpose, OccurrenceReview,
    OccurrenceState, OccurrenceUpdate, OutboxBody, OutboxFailure, OutboxFilter, OutboxKind,
    OutboxPost, OutboxState, OutboxWish, Owner, PersonRole, PersonRow, ScheduleContent,
    ScheduleFiring, ScheduleWrite, StoredAnswer, TokenHash, WorkerClaimOutcome,
};
use rooftree_testkit::{
    TestRuntime, TestRuntimeBuilder, owner,
    secret_canaries::{SecretCanary, generate_canaries},
};
use serde_json::{Map, json};

pub fn canaries(seed: u64) -> (Vec<SecretCanary>, String) {
    let shapes = include_str!("../../../secrets/tests/corpora/secret_shapes.txt");
    let canaries = generate_canaries(shapes, seed);
    let told = canaries.iter().map(|canary| format!("{}\n", canary.text));
    let told = told.collect();
    (canaries, told)
}

#[track_caller]
pub fn assert_silent(what: &str, text: &str, canaries: &[SecretCanary]) {
    for canary in canaries {
        let found = canary.read_in(text);
        assert_eq!(found, None, "the {} is in {what}", canary.name);
    }
}

/// The database with its log, as it lies on the disk.
pub fn database(directory: &Path) -> String {
    let files = fs::read_dir(directory).unwrap().flatten();
    let files = files.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files
        .map(|entry| String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned())
        .collect()
}

pub fn entry(told: &str, at: Timestamp) -> Option<AuditEntry> {
    Some(AuditEntry {
        at,
        who: owner(),
        action: "token.create".into(),
        subject: told.to_owned(),
        detail: Map::from_iter([("name".to_owned(), json!(told))]),
        phase: AuditPhase::Done,
    })
}

fn token(told: &str, id: &str, at: Timestamp) -> AccessTokenRow {
    AccessTokenRow {
        id: id.into(),
        account: Account::default(),
        name: told.to_owned(),
        digest: TokenHash::of(id),
        scopes: Default::default(),
        agents: None,
        created_at: at,
        expires_at: None,
        revoked_at: None,
        used_at: None,
    }
}

#[tokio::test]
async fn names_of_tokens_and_persons_are_kept_without_secrets() {
    let (canaries, told) = canaries(21);
    let runtime = TestRuntimeBuilder::new([]).build();
    let (store, at) = (runtime.store(), runtime.clock.now());
    let put = store.put_access_token(token(&told, "tok_1", at), entry(&told, at));
    put.await.unwrap();
    let person = PersonRow {
        account: Account {
            person: "ann".into(),
            ..Account::default()
        },
        name: told.clone(),
        role: PersonRole::Member,
        invited_at: at,
        disabled_at: None,
    };
    let link = AccessLinkRow {
        digest: TokenHash::of("link"),
        account: person.account.clone(),
        purpose: LinkPurpose::Invitation,
        scopes: Default::default(),
        created_at: at,
        expires_at: Timestamp(at.0 + 60_000),
        used_at: None,
    };
    let invited = store.put_person(person.clone(), Some(link), entry(&told, at));
    invited.await.unwrap();
    let device = AccessTokenRow {
        account: person.account.clone(),
        ..token(&told, "tok_2", at)
    };
    let exchanged = store.exchange_access_link(TokenHash::of("link"), at, device, entry(&told, at));
    assert!(exchanged.await.unwrap());
    let account = person.account;
    let disabled = store.disable_person(&account, at, entry(&told, at));
    assert!(disabled.await.unwrap());
    let revoked = store.revoke_access_token("default", "tok_1", at, entry(&told, at));
    assert!(revoked.await.unwrap());
    let tokens = store.access_tokens("default").await.unwrap();
    assert_eq!(tokens.len(), 2);
    let persons = store.persons("default").await.unwrap();
    let audit = store.audit("default", 0, 100).await.unwrap();
    let read = format!("{tokens:?} {persons:?} {audit:?}");
    assert!(read.contains("[redacted: github token]"), "{read}");
    assert_silent("what is read", &read, &canaries);
    assert_silent("the database", &database(runtime.path()), &canaries);
}

#[tokio::test]
async fn keys_and_kept_answers_of_requests_hold_no_secrets_and_are_found_again() {
    let (canaries, told) = canaries(22);
    let runtime = TestRuntimeBuilder::new([]).build();
    let (store, at) = (runtime.store(), runtime.clock.now());
    let request = IdempotentRequest {
        account: Account::default(),
        token: "tok_1".into(),
        key: told.clone(),
        request: TokenHash::of_pieces(&[b"POST"]),
        at,
        abandoned_before: Timestamp(at.0 - 60_000),
        expires_at: Timestamp(at.0 + 60_000),
    };
    let begun = store.begin_idempotent(request.clone()).await.unwrap();
    assert_eq!(begun, IdempotencyOutcome::New);
    let answer = StoredAnswer {
        status: 201,
        body: told.clone(),
    };
    let ended = store.end_idempotent(request.clone(), Some(answer));
    ended.await.unwrap();
    let again = store.begin_idempotent(request).await.unwrap();
    let IdempotencyOutcome::Answered(kept) = again else {
        panic!("{again:?}")
    };
    assert!(
        kept.body.contains("[redacted: github token]"),
        "{}",
        kept.body
    );
    assert_silent("the kept answer", &kept.body, &canaries);
    assert_silent("the database", &database(runtime.path()), &canaries);
}

#[tokio::test]
async fn the_board_and_past_runs_tell_no_secrets() {
    let (canaries, told) = canaries(23);
    let runtime: TestRuntime = TestRuntimeBuilder::new([say(told.as_str())]).build();
    let session = runtime.post(&told).await;
    runtime.wait_for_run(&session).await;
    let store = runtime.store();
    let query = BoardQuery {
        reader: Account::default(),
        person: None,
        agents: None,
        rest: 50,
        after: None,
    };
    let board = store.board(query).await.unwrap();
    let past = store
        .past_runs(&Account::default(), "lead", 20)
        .await
        .unwrap();
    assert_eq!(past.len(), 1);
    let read = format!("{board:?} {past:?}");
    assert!(read.contains(session.as_str()), "{read}");
    assert_silent("the board", &read, &canaries);
    assert_silent("the database", &database(runtime.path()), &canaries);
}

#[tokio::test]
async fn messages_to_chats_their_parts_and_failures_hold_no_secrets() {
    let (canaries, told) = canaries(24);
    let runtime = TestRuntimeBuilder::new([]).build();
    let (store, at) = (runtime.store(), runtime.clock.now());
    let bodies = [
        OutboxBody::Text { text: told.clone() },
        OutboxBody::Inquiry {
            inquiry: "per_1".into(),
            text: told.clone(),
        },
        OutboxBody::Outcome {
            inquiry: "per_1".into(),
            text: told.clone(),
        },
        OutboxBody::File {
            blob: rooftree_protocol::BlobId::from_digest(&[1; 32]),
            name: told.clone(),
            media_type: "text/plain".into(),
            caption: told.clone(),
        },
    ];
    for (n, body) in bodies.into_iter().enumerate() {
        let post = OutboxPost {
            id: format!("out_{n}"),
            key: format!("key {n}"),
            account: Account::default(),
            session: None,
            run: None,
            kind: OutboxKind::Notice,
            target: "telegram:1".parse().unwrap(),
            body,
            at,
        };
        store.post_outbox(post, entry(&told, at)).await.unwrap();
    }
    let asked = store.claim_worker("delivery:telegram", &Owner::this_process(), at, at);
    let WorkerClaimOutcome::Granted(claim) = asked.await.unwrap() else {
        panic!("held")
    };
    let part = json!({"body": {"kind": "text", "text": told}}).to_string();
    let planned = store.plan_outbox(&claim, "out_0", vec![part.clone(), told.clone()]);
    let planned = planned.await.unwrap();
    let kept = serde_json::from_str::<serde_json::Value>(&planned[0].body);
    assert!(kept.is_ok(), "a part stays JSON");
    store.begin_part(&claim, "out_0", 0, part).await.unwrap();
    let failure = OutboxFailure {
        id: "out_0".into(),
        part: 0,
        state: OutboxState::Dead,
        is_unknown: false,
        counts: true,
        not_before: at,
        class: "auth".into(),
        error: told.clone(),
        at,
    };
    store.part_failed(&claim, failure).await.unwrap();
    let wish = OutboxWish::Drop;
    let changed = store.change_outbox("out_0", wish, at, entry(&told, at));
    changed.await.unwrap();
    let filter = OutboxFilter {
        tenant: "default".into(),
        limit: 9,
        ..OutboxFilter::default()
    };
    let read = format!("{:?}", store.outbox(filter).await.unwrap());
    assert!(read.contains("[redacted: github token]"), "{read}");
    assert_silent("what is read", &read, &canaries);
    assert_silent("the database", &database(runtime.path()), &canaries);
}

#[tokio::test]
async fn schedules_and_their_occurrences_are_kept_without_secrets() {
    let (canaries, told) = canaries(27);
    let runtime = TestRuntimeBuilder::new([]).build();
    let (store, at) = (runtime.store(), runtime.clock.now());
    let plan = |work: serde_json::Value| {
        serde_json::from_value(json!({
            "kind": {"type": "time"}, "zone": "UTC", "agent": "lead", "cwd": "/", "work": work, "gate": {"command": told}
        }))
        .unwrap()
    };
    for (id, work) in [
        ("sch_a", json!({"type": "prompt", "text": told})),
        ("sch_b", json!({"type": "command", "command": told})),
    ] {
        let content = ScheduleContent {
            name: told.clone(),
            plan: plan(work),
            enabled: true,
            disabled_reason: Some(told.clone()),
            next_due: Some(at),
        };
        let written = store.write_schedule(ScheduleWrite {
            id: id.into(),
            account: Account::default(),
            content: Some(content),
            expected: None,
            by: owner(),
            at,
            audit: entry(&told, at),
        });
        written.await.unwrap();
    }
    let row = store.schedule("sch_a").await.unwrap().unwrap();
    let fired = store.fire(ScheduleFiring {
        schedules: vec![FiredSchedule {
            gate_state: Some(told.clone()),
            ..row.fired_at(at, None)
        }],
        work: FiringWork::Command,
        at,
    });
    fired.await.unwrap();
    let settled = store.settle_occurrence(OccurrenceUpdate {
        schedule: "sch_a".into(),
        due: at,
        state: OccurrenceState::Failed,
        reason: Some(told.clone()),
        detail: Some(told.clone()),
        answer: Some(told.clone()),
        at,
    });
    assert!(settled.await.unwrap());
    let reviewed = store.review_occurrence(OccurrenceReview {
        schedule: "sch_a".into(),
        due: at,
        streak: 1,
        attempts: 0,
        gate_state: Some(told.clone()),
        next_due: None,
        disable: Some(told.clone()),
        incident: Some(IncidentReport {
            signature: told.clone(),
            words: told.clone(),
            alerted: false,
        }),
        outbox: Vec::new(),
        shown: None,
        at,
    });
    assert!(reviewed.await.unwrap());
    assert_silent(
        "the rows of schedules",
        &database(runtime.path()),
        &canaries,
    );
    runtime.close().await;
}
