//! Journals: numbers without gaps, takes in order, batches that are whole or nothing.

use rooftree_protocol::{Event, EventBody, Lane, RunStatus, Timestamp, Usage, event::RunEnd};

use super::{fixture::*, list};
use crate::{AppendBatch, Error, InboxPost, JournalPages, RunFilter, UsageFilter, UsageGroup};

list![
    events_read_back_whole_and_in_order,
    pages_of_a_journal_hold_every_event_once_and_end_where_they_should,
    an_event_must_be_the_next_durable_one_of_its_session,
    an_item_is_taken_only_as_the_next_of_its_lane_and_with_its_message,
    mail_is_done_in_order_and_never_before_it_is_taken,
    a_refused_post_takes_the_whole_batch_back,
    a_batch_moves_head_snippet_and_time_and_posts_to_others,
    what_a_restart_picks_up_is_an_open_run_undone_mail_or_a_boundary_that_is_not_silent,
    text_that_events_repeat_reads_back_as_it_was,
    usage_is_summed_up_by_agent_model_day_and_session,
];

async fn events_read_back_whole_and_in_order(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let claim = claim(&store, &id).await;
    let run = run_id(7);
    let mut first = started(&id, 1, &run);
    first.parent_run = Some(run_id(6));
    let events = vec![
        first,
        notice(&id, 2, "quotes \" and \\ and \u{1F333} and \0"),
        notice(&id, 3, ""),
    ];
    store.append(&claim, batch(events.clone())).await.unwrap();
    assert_eq!(store.events(&id, 0, usize::MAX).await.unwrap(), events);
    assert_eq!(
        store.events(&id, 1, 1).await.unwrap(),
        events.get(1..2).unwrap_or_default()
    );
    assert!(store.events(&id, 3, 10).await.unwrap().is_empty());
    assert!(store.events(&id, 0, 0).await.unwrap().is_empty());
}

async fn pages_of_a_journal_hold_every_event_once_and_end_where_they_should(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let claim = claim(&store, &id).await;
    append_notices(&store, &claim, 1, 7).await;
    let numbers = |events: Vec<Event>| events.iter().filter_map(|event| event.id).collect();
    for size in [1, 2, 3, 7, 100] {
        for (after, last, found) in [
            (0, u64::MAX, 1..=7),
            (2, 7, 3..=7),
            (0, 6, 1..=6),
            (3, 4, 4..=4),
        ] {
            let pages = JournalPages::after(store.as_ref(), &id, after).up_to(last);
            let read: Vec<u64> = numbers(pages.of_size(size).all().await.unwrap());
            assert_eq!(read, found.collect::<Vec<u64>>(), "{size} after {after}");
        }
    }
    let mut none = JournalPages::after(store.as_ref(), &id, 7);
    assert_eq!(none.next().await.unwrap(), None);
}

async fn an_event_must_be_the_next_durable_one_of_its_session(store: StoreUnderTest) {
    let (id, other) = (open(&store, 1).await, open(&store, 2).await);
    let claim = claim(&store, &id).await;
    append_notices(&store, &claim, 1, 2).await;
    let delta = event(
        &id,
        3,
        EventBody::MessageDelta {
            text: "gone".into(),
            place: None,
        },
    );
    let mut unnumbered = notice(&id, 3, "no number");
    unnumbered.id = None;
    for wrong in [
        notice(&id, 2, "again"),
        notice(&id, 4, "gap"),
        notice(&other, 3, "other"),
        delta,
        unnumbered,
    ] {
        assert_out_of_order(store.append(&claim, batch(vec![wrong])).await);
    }
    assert_out_of_order(
        store
            .append(
                &claim,
                batch(vec![notice(&id, 3, "a"), notice(&id, 5, "b")]),
            )
            .await,
    );
    assert_eq!(store.session(&id).await.unwrap().unwrap().head, 2);
    append_notices(&store, &claim, 3, 3).await;
}

async fn an_item_is_taken_only_as_the_next_of_its_lane_and_with_its_message(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let posts: Vec<InboxPost> = (1..=3)
        .map(|number| post(&id, Lane::Mail, number))
        .collect();
    for post in &posts {
        store.post(post.clone()).await.unwrap();
    }
    let claim = claim(&store, &id).await;
    let take = |which: &[(u64, u64)], head: u64| {
        let numbered = which.iter().zip(head + 1..);
        let events = numbered.filter_map(|((message, position), seq)| {
            let post = posts
                .iter()
                .find(|post| post.key == format!("key-{message}"))?;
            Some(told(&id, seq, post, *position))
        });
        let taken = which
            .iter()
            .map(|(_, position)| (Lane::Mail, *position))
            .collect();
        AppendBatch {
            taken,
            ..batch(events.collect())
        }
    };
    assert_out_of_order(store.append(&claim, take(&[(2, 2)], 0)).await);
    assert_out_of_order(store.append(&claim, take(&[(2, 1)], 0)).await);
    assert_out_of_order(store.append(&claim, take(&[(1, 1), (3, 3)], 0)).await);
    store
        .append(&claim, take(&[(1, 1), (2, 2)], 0))
        .await
        .unwrap();
    assert_out_of_order(store.append(&claim, take(&[(2, 2)], 2)).await);
    let untold = AppendBatch {
        taken: vec![(Lane::Mail, 3)],
        ..batch(vec![notice(&id, 3, "nothing of it")])
    };
    assert_out_of_order(store.append(&claim, untold).await);
    let untaken = AppendBatch {
        taken: Vec::new(),
        ..take(&[(3, 3)], 2)
    };
    assert_out_of_order(store.append(&claim, untaken).await);
    assert_eq!(
        store
            .waiting(&id, Lane::Mail, 9)
            .await
            .unwrap()
            .first()
            .map(|item| item.position),
        Some(3)
    );
    store.append(&claim, take(&[(3, 3)], 2)).await.unwrap();
    assert_out_of_order(store.append(&claim, take(&[(3, 4)], 3)).await);
}

async fn mail_is_done_in_order_and_never_before_it_is_taken(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let claim = claim(&store, &id).await;
    for number in 1..=2 {
        let post = post(&id, Lane::Mail, number);
        store.post(post.clone()).await.unwrap();
        let take = AppendBatch {
            taken: vec![(Lane::Mail, number as u64)],
            ..batch(vec![told(&id, number as u64, &post, number as u64)])
        };
        store.append(&claim, take).await.unwrap();
    }
    let done = |position| AppendBatch {
        done: vec![(Lane::Mail, position)],
        ..batch(Vec::new())
    };
    assert_out_of_order(store.append(&claim, done(2)).await);
    store.append(&claim, done(1)).await.unwrap();
    assert_out_of_order(store.append(&claim, done(1)).await);
    store.append(&claim, done(2)).await.unwrap();
    assert_out_of_order(store.append(&claim, done(3)).await);
    // What woke a session is done after what came in while it ran.
    for number in 3..=4 {
        let post = post(&id, Lane::Boundary, number);
        store.post(post.clone()).await.unwrap();
        let take = AppendBatch {
            taken: vec![(Lane::Boundary, number as u64 - 2)],
            ..batch(vec![told(&id, number as u64, &post, number as u64 - 2)])
        };
        store.append(&claim, take).await.unwrap();
    }
    let late = |position| AppendBatch {
        done: vec![(Lane::Boundary, position)],
        ..batch(Vec::new())
    };
    store.append(&claim, late(2)).await.unwrap();
    store.append(&claim, late(1)).await.unwrap();
    assert_out_of_order(store.append(&claim, late(3)).await);
}

async fn a_refused_post_takes_the_whole_batch_back(store: StoreUnderTest) {
    let (id, other, nobody) = (
        open(&store, 1).await,
        open(&store, 2).await,
        session_id(404),
    );
    let claim = claim(&store, &id).await;
    let own = post(&id, Lane::Mail, 1);
    store.post(own.clone()).await.unwrap();
    let refusals = [
        InboxPost {
            capacity: 0,
            ..post(&other, Lane::Mail, 3)
        },
        post(&nobody, Lane::Mail, 3),
    ];
    for refused in refusals {
        let whole = AppendBatch {
            taken: vec![(Lane::Mail, 1)],
            run: Some(Some(run_id(1))),
            posts: vec![post(&other, Lane::Mail, 2), refused],
            snippet: Some("no".into()),
            ..batch(vec![told(&id, 1, &own, 1)])
        };
        let answer = store.append(&claim, whole).await;
        assert!(
            matches!(answer, Err(Error::InboxFull(_) | Error::NoSession(_))),
            "{answer:?}"
        );
        assert!(
            store
                .waiting(&other, Lane::Mail, 9)
                .await
                .unwrap()
                .is_empty()
        );
        assert_eq!(store.waiting(&id, Lane::Mail, 9).await.unwrap().len(), 1);
        let session = store.session(&id).await.unwrap().unwrap();
        assert_eq!((session.head, session.last_snippet.as_str()), (0, ""));
    }
}

async fn a_batch_moves_head_snippet_and_time_and_posts_to_others(store: StoreUnderTest) {
    let (id, other) = (open(&store, 1).await, open(&store, 2).await);
    let claim = claim(&store, &id).await;
    let mut said = notice(&id, 1, "said");
    said.ts = Timestamp(NOW.0 + 5);
    let all = AppendBatch {
        posts: vec![post(&other, Lane::Boundary, 1), post(&other, Lane::Mail, 2)],
        snippet: Some("said".into()),
        ..batch(vec![said])
    };
    store.append(&claim, all).await.unwrap();
    let session = store.session(&id).await.unwrap().unwrap();
    assert_eq!(
        (
            session.head,
            session.last_snippet.as_str(),
            session.updated_at
        ),
        (1, "said", Timestamp(NOW.0 + 5))
    );
    append_notices(&store, &claim, 2, 2).await;
    assert_eq!(
        store.session(&id).await.unwrap().unwrap().last_snippet,
        "said"
    );
    assert_eq!(
        store
            .waiting(&other, Lane::Boundary, 9)
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(store.waiting(&other, Lane::Mail, 9).await.unwrap().len(), 1);
}

async fn what_a_restart_picks_up_is_an_open_run_undone_mail_or_a_boundary_that_is_not_silent(
    store: StoreUnderTest,
) {
    let mut ids = Vec::new();
    for number in 1..=5 {
        ids.push(open(&store, number).await);
    }
    let [idle, running, mailed, steered, whispered] = ids.as_slice() else {
        panic!("five sessions")
    };
    let claim_of_running = claim(&store, running).await;
    let begin = AppendBatch {
        run: Some(Some(run_id(1))),
        ..batch(vec![started(running, 1, &run_id(1))])
    };
    store.append(&claim_of_running, begin).await.unwrap();
    let mail = post(mailed, Lane::Mail, 1);
    store.post(mail.clone()).await.unwrap();
    store.post(post(steered, Lane::Boundary, 2)).await.unwrap();
    let mut silent = post(whispered, Lane::Boundary, 3);
    silent.message.silent = true;
    store.post(silent).await.unwrap();
    let wanted = [running.clone(), mailed.clone(), steered.clone()];
    assert_eq!(
        store.unfinished().await.unwrap(),
        wanted,
        "not {idle} and not {whispered}"
    );
    // Taken is not done.
    let claim = claim(&store, mailed).await;
    let take = AppendBatch {
        taken: vec![(Lane::Mail, 1)],
        ..batch(vec![told(mailed, 1, &mail, 1)])
    };
    store.append(&claim, take).await.unwrap();
    assert_eq!(store.unfinished().await.unwrap(), wanted);
    store
        .append(
            &claim,
            AppendBatch {
                done: vec![(Lane::Mail, 1)],
                ..batch(Vec::new())
            },
        )
        .await
        .unwrap();
    store
        .append(
            &claim_of_running,
            AppendBatch {
                run: Some(None),
                ..batch(Vec::new())
            },
        )
        .await
        .unwrap();
    assert_eq!(
        store.unfinished().await.unwrap(),
        std::slice::from_ref(steered)
    );
}

async fn text_that_events_repeat_reads_back_as_it_was(store: StoreUnderTest) {
    let (id, run) = (open(&store, 1).await, run_id(7));
    let claim = claim(&store, &id).await;
    let answer = "An \"answer\" of several lines,\nwith \u{1F333} and \\ in it. ".repeat(30);
    let in_run = |event: Event| Event {
        run: Some(run.clone()),
        ..event
    };
    let end = RunEnd {
        text: answer.clone(),
        ..RunEnd::new(RunStatus::Completed)
    };
    let events = vec![
        started(&id, 1, &run),
        in_run(replied(&id, 2, "one", &answer)),
        in_run(notice(&id, 3, &answer)),
        in_run(event(&id, 4, EventBody::RunCompleted(end))),
    ];
    let (first, last) = events.split_at(2);
    store.append(&claim, batch(first.to_vec())).await.unwrap();
    store.append(&claim, batch(last.to_vec())).await.unwrap();
    assert_eq!(store.events(&id, 0, usize::MAX).await.unwrap(), events);
    let tail = store.events(&id, 3, 1).await.unwrap();
    assert_eq!(tail.first(), events.last());
    let runs = store.runs(RunFilter::default()).await.unwrap();
    assert_eq!(runs.first().unwrap().ended.as_ref(), events.last());
    // A fork reads the same.
    let fork = store.fork(&id, 4, new_session(2)).await.unwrap().id;
    assert_eq!(store.events(&fork, 0, usize::MAX).await.unwrap(), events);
    assert!(store.verify().await.unwrap().violations.is_empty());
}

async fn usage_is_summed_up_by_agent_model_day_and_session(store: StoreUnderTest) {
    let (id, other) = (open(&store, 1).await, open(&store, 2).await);
    let (first, second) = (claim(&store, &id).await, claim(&store, &other).await);
    let events = vec![replied(&id, 1, "one", "a"), replied(&id, 2, "two", "b")];
    store.append(&first, batch(events)).await.unwrap();
    store
        .append(&first, batch(vec![replied(&id, 3, "one", "c")]))
        .await
        .unwrap();
    let tomorrow = Event {
        ts: Timestamp(NOW.0 + 24 * 60 * 60 * 1000),
        ..replied(&other, 1, "one", "d")
    };
    store.append(&second, batch(vec![tomorrow])).await.unwrap();
    let fork = store.fork(&id, 3, new_session(3)).await.unwrap().id;
    for (by, wanted) in [
        (UsageGroup::Agent, vec![("lead".to_owned(), 4)]),
        (
            UsageGroup::Model,
            vec![("one".into(), 3), ("two".into(), 1)],
        ),
        (
            UsageGroup::Day,
            vec![("2027-01-15".into(), 3), ("2027-01-16".into(), 1)],
        ),
        (
            UsageGroup::Session,
            vec![(id.to_string(), 3), (other.to_string(), 1)],
        ),
    ] {
        let tenant = Some("default".to_owned());
        let mut rows = store
            .usage(UsageFilter {
                by,
                tenant,
                ..UsageFilter::default()
            })
            .await
            .unwrap();
        rows.sort_by(|one, other| (other.replies, &one.name).cmp(&(one.replies, &other.name)));
        let found: Vec<(String, u64)> = rows
            .iter()
            .map(|row| (row.name.clone(), row.replies))
            .collect();
        assert_eq!(found, wanted, "{by:?}, and nothing for {fork}");
        for row in rows {
            let sum = (0..row.replies).fold(Usage::none(), |mut sum, _| {
                sum += used();
                sum
            });
            assert_eq!(row.usage, sum);
        }
    }
    let filter = UsageFilter {
        also: vec![UsageGroup::Agent, UsageGroup::Model],
        since: Some(NOW.0 / (24 * 60 * 60 * 1000) + 1),
        ..UsageFilter::by(UsageGroup::Day)
    };
    let rows = store.usage(filter).await.unwrap();
    let found: Vec<_> = rows.iter().map(|row| (&*row.name, &row.also)).collect();
    let also = vec!["lead".to_owned(), "one".to_owned()];
    assert_eq!(found, [("2027-01-16", &also)], "only the second day");
    let tenant = Some("another".to_owned());
    let by = UsageGroup::Model;
    assert!(
        store
            .usage(UsageFilter {
                by,
                tenant,
                ..UsageFilter::default()
            })
            .await
            .unwrap()
            .is_empty()
    );
    assert!(store.verify().await.unwrap().violations.is_empty());
}
