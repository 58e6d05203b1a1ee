//! Commands, tasks, blobs and search.

use rooftree_protocol::{Command, EventBody, Lane, SessionId, Timestamp};

use super::{fixture::*, list};
use crate::{
    AppendBatch, CommandRow, JournalSearch, OutputPiece, SessionPatch, TaskFilter, TaskRow,
    TaskStatus,
};

list![
    commands_are_handed_out_once_and_oldest_first,
    a_task_is_replaced_by_its_id_until_it_has_ended_and_listed_newest_first,
    what_a_process_wrote_is_read_in_order_from_any_place_on,
    of_what_processes_wrote_the_last_is_kept,
    bytes_are_kept_under_the_name_of_their_content,
    r1_d23_bytes_that_an_append_names_can_be_read_before_it_is_answered,
    search_finds_words_of_messages_in_any_form,
    no_search_words_are_an_error,
    a_search_sees_what_was_appended_since_the_last_one,
    a_deleted_session_is_not_found,
];

async fn commands_are_handed_out_once_and_oldest_first(store: StoreUnderTest) {
    let (id, other) = (open(&store, 1).await, open(&store, 2).await);
    let claim = claim(&store, &id).await;
    assert!(store.take_commands(&claim).await.unwrap().is_empty());
    store
        .put_command(
            &id,
            CommandRow::new(
                Command::Cancel {
                    session: id.clone(),
                    run: None,
                },
                NOW,
            ),
        )
        .await
        .unwrap();
    store
        .put_command(
            &other,
            CommandRow::new(
                Command::Clear {
                    session: other.clone(),
                    unless_busy: false,
                },
                NOW,
            ),
        )
        .await
        .unwrap();
    store
        .put_command(
            &id,
            CommandRow::new(
                Command::Clear {
                    session: id.clone(),
                    unless_busy: false,
                },
                minute(),
            ),
        )
        .await
        .unwrap();
    let rows = store.take_commands(&claim).await.unwrap();
    let rows: Vec<_> = rows.into_iter().map(|row| (row.command, row.at)).collect();
    let wanted = [
        (
            Command::Cancel {
                session: id.clone(),
                run: None,
            },
            NOW,
        ),
        (
            Command::Clear {
                session: id.clone(),
                unless_busy: false,
            },
            minute(),
        ),
    ];
    assert_eq!(rows, wanted);
    assert!(store.take_commands(&claim).await.unwrap().is_empty());
    assert!(
        store
            .put_command(
                &session_id(404),
                CommandRow::new(
                    Command::Clear {
                        session: id,
                        unless_busy: false
                    },
                    NOW
                )
            )
            .await
            .is_err()
    );
}

async fn a_task_is_replaced_by_its_id_until_it_has_ended_and_listed_newest_first(
    store: StoreUnderTest,
) {
    let (one, two) = (open(&store, 1).await, open(&store, 2).await);
    let old = task("prc_a", one.clone(), 1);
    let new = task("prc_b", one.clone(), 2);
    let elsewhere = task("run_c", two, 3);
    for row in [&old, &new, &elsewhere] {
        store.put_task(row.clone()).await.unwrap();
    }
    let ended = TaskRow {
        status: TaskStatus::Failed,
        process_group: None,
        detail: "exit code 3".into(),
        ended_at: Some(minute()),
        ..old
    };
    store.put_task(ended.clone()).await.unwrap();
    let again = TaskRow {
        status: TaskStatus::Running,
        ended_at: None,
        ..ended.clone()
    };
    store.put_task(again).await.unwrap();
    assert_eq!(
        store.tasks(TaskFilter::of(&one)).await.unwrap(),
        [new.clone(), ended.clone()]
    );
    assert_eq!(store.task("prc_a").await.unwrap().as_ref(), Some(&ended));
    assert_eq!(store.task("prc_none").await.unwrap(), None);
    assert_eq!(
        store.tasks(TaskFilter::default()).await.unwrap(),
        [elsewhere, new, ended]
    );
}

/// A process at work.
pub(super) fn task(id: &str, session: SessionId, at: i64) -> TaskRow {
    TaskRow {
        id: id.into(),
        session,
        kind: "process".into(),
        title: "sleep".into(),
        status: TaskStatus::Running,
        process_group: Some((4711, u64::from(u32::MAX) + 5)),
        detail: String::new(),
        started_at: Timestamp(NOW.0 + at),
        ended_at: None,
        child: None,
        data: serde_json::Map::new(),
    }
}

fn piece(start: u64, text: &str) -> OutputPiece {
    OutputPiece {
        start,
        text: text.into(),
    }
}

async fn what_a_process_wrote_is_read_in_order_from_any_place_on(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    assert!(
        store
            .put_output("prc_a", piece(0, "too early"))
            .await
            .is_err(),
        "there is no such task"
    );
    store.put_task(task("prc_a", id.clone(), 1)).await.unwrap();
    store.put_task(task("prc_b", id, 2)).await.unwrap();
    assert_eq!(store.last_output("prc_a").await.unwrap(), None);
    let (first, second) = (piece(0, "größer\n"), piece(9, "two\n"));
    assert_eq!(
        first.end(),
        second.start,
        "bytes are counted, not characters"
    );
    store.put_output("prc_a", first.clone()).await.unwrap();
    store.put_output("prc_a", second.clone()).await.unwrap();
    store.put_output("prc_a", piece(9, "again")).await.unwrap();
    store.put_output("prc_b", piece(0, "other")).await.unwrap();
    assert_eq!(
        store.output("prc_a", 0).await.unwrap(),
        [first.clone(), second.clone()]
    );
    assert_eq!(
        store.output("prc_a", 8).await.unwrap(),
        [first, second.clone()]
    );
    assert_eq!(
        store.output("prc_a", 9).await.unwrap(),
        std::slice::from_ref(&second)
    );
    assert_eq!(store.output("prc_a", 13).await.unwrap(), []);
    assert_eq!(store.last_output("prc_a").await.unwrap(), Some(second));
}

async fn of_what_processes_wrote_the_last_is_kept(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    store.put_task(task("prc_a", id.clone(), 1)).await.unwrap();
    let page = "x".repeat(64 * 1024);
    for number in 0..20 {
        store
            .put_output("prc_a", piece(number * 64 * 1024, &page))
            .await
            .unwrap();
    }
    let kept = store.output("prc_a", 0).await.unwrap();
    assert_eq!(
        kept.first().map(|piece| piece.start),
        Some(12 * 64 * 1024),
        "half a MiB is kept"
    );
    assert_eq!(kept.len(), 8);
    for number in 0..64 {
        let name = format!("prc_{number:03}");
        store
            .put_task(task(&name, id.clone(), number + 2))
            .await
            .unwrap();
        store.put_output(&name, piece(0, "hello")).await.unwrap();
    }
    assert_eq!(
        store.output("prc_a", 0).await.unwrap(),
        [],
        "64 came after it"
    );
    assert_eq!(store.output("prc_000", 0).await.unwrap().len(), 1);
}

async fn r1_d23_bytes_that_an_append_names_can_be_read_before_it_is_answered(
    store: StoreUnderTest,
) {
    let id = open(&store, 1).await;
    let claim = claim(&store, &id).await;
    for number in 1..=20_u64 {
        let bytes = format!("long output {number}").into_bytes();
        let named = AppendBatch {
            blobs: vec![bytes.clone()],
            ..batch(vec![notice(&id, number, "see the blob")])
        };
        // Not awaited: a store may leave it until it is.
        let appended = store.append(&claim, named);
        assert_eq!(
            store.blob(&crate::blob_id(&bytes)).await.unwrap(),
            Some(bytes.clone()),
            "{number}"
        );
        appended.await.unwrap();
        let kept = format!("put {number}").into_bytes();
        let put = store.put_blob(kept.clone());
        assert_eq!(
            store.blob(&crate::blob_id(&kept)).await.unwrap(),
            Some(kept)
        );
        put.await.unwrap();
    }
    assert_eq!(
        store
            .blob(&crate::blob_id(b"nothing like it"))
            .await
            .unwrap(),
        None
    );
}

async fn bytes_are_kept_under_the_name_of_their_content(store: StoreUnderTest) {
    let name = store.put_blob(b"hello".to_vec()).await.unwrap();
    assert_eq!(
        name.as_str(),
        "blb_2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c"
    );
    assert_eq!(store.put_blob(b"hello".to_vec()).await.unwrap(), name);
    let large = vec![0x5A; 3_000_000];
    let other = store.put_blob(large.clone()).await.unwrap();
    assert_eq!(
        store.blob(&name).await.unwrap().as_deref(),
        Some(b"hello".as_slice())
    );
    assert_eq!(store.blob(&other).await.unwrap(), Some(large));
    let empty = store.put_blob(Vec::new()).await.unwrap();
    assert_eq!(store.blob(&empty).await.unwrap(), Some(Vec::new()));
    let nobody = rooftree_protocol::BlobId::parse("blb_nothing").unwrap();
    assert_eq!(store.blob(&nobody).await.unwrap(), None);
}

/// A session with these messages taken into its journal.
async fn conversation(store: &StoreUnderTest, number: u128, texts: &[&str]) -> crate::Claim {
    let claim = claim(store, &open(store, number).await).await;
    for (text, place) in texts.iter().zip(1..) {
        say(store, &claim, place, text).await;
    }
    claim
}

async fn say(store: &StoreUnderTest, claim: &crate::Claim, place: u64, text: &str) {
    let mut post = post(&claim.session, Lane::Mail, u128::from(place));
    post.message = message(u128::from(place), text);
    store.post(post.clone()).await.unwrap();
    let event = event(
        &claim.session,
        place,
        EventBody::MessageUser {
            message: post.message,
            lane: Lane::Mail,
            position: place,
        },
    );
    store
        .append(
            claim,
            AppendBatch {
                taken: vec![(Lane::Mail, place)],
                ..batch(vec![event])
            },
        )
        .await
        .unwrap();
}

async fn search_finds_words_of_messages_in_any_form(store: StoreUnderTest) {
    let claim = conversation(
        &store,
        1,
        &["Plant an oak", "The gardens are flooded", "nothing"],
    )
    .await;
    let hits = store
        .search(JournalSearch::new("garden flooding", 10))
        .await
        .unwrap();
    let found: Vec<_> = hits
        .iter()
        .map(|hit| (&hit.session.id, hit.event, hit.snippet.as_str()))
        .collect();
    assert_eq!(found, [(&claim.session, 2, "The [gardens] are [flooded]")]);
    assert!(
        store
            .search(JournalSearch::new("garden oak", 10))
            .await
            .unwrap()
            .is_empty(),
        "all words are meant"
    );
    assert!(
        store
            .search(JournalSearch::new("parts", 10))
            .await
            .unwrap()
            .is_empty(),
        "field names are no words"
    );
    assert!(
        store
            .search(JournalSearch::new("oak", 0))
            .await
            .unwrap()
            .is_empty()
    );
}

async fn no_search_words_are_an_error(store: StoreUnderTest) {
    conversation(&store, 1, &["a cat AND a dog's (tail)"]).await;
    let odd = [
        "", " ", "\"", "*", "cat AND", "NEAR(", "text:cat", "-cat", "(tail)", "dog's", "^cat",
        "a + b", "\0", "{}", "'",
    ];
    for words in odd {
        let answer = store.search(JournalSearch::new(words, 10)).await;
        assert!(answer.is_ok(), "{words:?}: {answer:?}");
    }
    assert_eq!(
        store
            .search(JournalSearch::new("cat AND", 10))
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        store
            .search(JournalSearch::new("(tail) *", 10))
            .await
            .unwrap()
            .len(),
        1
    );
}

async fn a_search_sees_what_was_appended_since_the_last_one(store: StoreUnderTest) {
    let claim = conversation(&store, 1, &["oak"]).await;
    assert_eq!(
        store
            .search(JournalSearch::new("oak", 10))
            .await
            .unwrap()
            .len(),
        1
    );
    say(&store, &claim, 2, "another oak").await;
    assert_eq!(
        store
            .search(JournalSearch::new("oak", 10))
            .await
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        store
            .search(JournalSearch::new("oak", 1))
            .await
            .unwrap()
            .len(),
        1
    );
}

async fn a_deleted_session_is_not_found(store: StoreUnderTest) {
    let claim = conversation(&store, 1, &["oak"]).await;
    let deletion = SessionPatch {
        deleted_at: Some(Some(NOW)),
        ..SessionPatch::default()
    };
    store.update(&claim.session, deletion).await.unwrap();
    assert!(
        store
            .search(JournalSearch::new("oak", 10))
            .await
            .unwrap()
            .is_empty()
    );
}
