//! Claims: a session has one owner at a time, and only the owner can write.

use rooftree_protocol::{Command, Lane, Timestamp};

use super::{fixture::*, list};
use crate::{AppendBatch, Claim, ClaimOutcome, CommandRow, Error, Owner};

list![
    a_session_has_one_owner_at_a_time,
    a_released_session_can_be_claimed_again_with_a_higher_fence,
    a_lease_keeps_others_away_until_it_is_over,
    a_dead_process_of_this_host_is_replaced_at_once,
    s_l7_a_clock_that_jumps_takes_no_session_from_a_running_process_of_this_host,
    whoever_lost_the_claim_can_change_nothing,
    the_right_number_with_another_token_is_refused,
    attempts_count_claims_that_did_not_settle_their_run,
    a_claim_brings_the_commands_left_and_what_waits,
    whoever_gives_a_claim_back_learns_whether_something_waits,
];

async fn a_claim_brings_the_commands_left_and_what_waits(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    for number in 1..=3 {
        store.post(post(&id, Lane::Mail, number)).await.unwrap();
        store
            .post(post(&id, Lane::Boundary, number + 10))
            .await
            .unwrap();
    }
    store
        .put_command(
            &id,
            CommandRow::new(
                Command::Clear {
                    session: id.clone(),
                    unless_busy: false,
                },
                NOW,
            ),
        )
        .await
        .unwrap();
    let claimed = claim_until(&store, &id, NOW, minute()).await;
    assert_eq!(claimed.commands.len(), 1);
    assert!(
        store
            .take_commands(&claimed.claim)
            .await
            .unwrap()
            .is_empty(),
        "each is handed out once"
    );
    let places = claimed
        .waiting
        .map(|(lane, items)| (lane, items.iter().map(|item| item.position).collect()));
    assert_eq!(
        places,
        [(Lane::Mail, vec![1, 2]), (Lane::Boundary, vec![1, 2, 3])]
    );
}

async fn whoever_gives_a_claim_back_learns_whether_something_waits(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let first = claim(&store, &id).await;
    assert!(!store.release(first).await.unwrap(), "nothing was posted");
    let second = claim(&store, &id).await;
    let mut silent = post(&id, Lane::Boundary, 1);
    silent.message.silent = true;
    store.post(silent).await.unwrap();
    assert!(
        !store.release(second).await.unwrap(),
        "a silent message wakes nobody"
    );
    let third = claim(&store, &id).await;
    store.post(post(&id, Lane::Boundary, 2)).await.unwrap();
    assert!(store.release(third).await.unwrap());
    let other = open(&store, 2).await;
    let fourth = claim(&store, &other).await;
    store.post(post(&other, Lane::Mail, 3)).await.unwrap();
    assert!(store.release(fourth).await.unwrap());
}

async fn a_session_has_one_owner_at_a_time(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    assert_eq!(store.owner(&id).await.unwrap(), None);
    let _claim = claim(&store, &id).await;
    let me = Owner::this_process();
    assert_eq!(store.owner(&id).await.unwrap(), Some(me.clone()));
    for asker in [me.clone(), stranger()] {
        let outcome = store.claim(&id, &asker, NOW, minute()).await.unwrap();
        assert!(
            matches!(&outcome, ClaimOutcome::Held(owner) if *owner == me),
            "{outcome:?}"
        );
    }
}

async fn a_released_session_can_be_claimed_again_with_a_higher_fence(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let first = claim(&store, &id).await;
    let fence = first.fence;
    store.release(first).await.unwrap();
    assert_eq!(store.owner(&id).await.unwrap(), None);
    let second = claim(&store, &id).await;
    assert!(second.fence > fence);
}

async fn a_lease_keeps_others_away_until_it_is_over(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let claimed = store.claim(&id, &stranger(), NOW, minute()).await.unwrap();
    let ClaimOutcome::Granted(claimed) = claimed else {
        panic!("nobody had it")
    };
    let me = Owner::this_process();
    let at = |seconds: i64| Timestamp(NOW.0 + seconds * 1_000);
    assert!(matches!(
        store.claim(&id, &me, at(59), at(99)).await.unwrap(),
        ClaimOutcome::Held(_)
    ));
    store.renew(&claimed.claim, at(120)).await.unwrap();
    assert!(matches!(
        store.claim(&id, &me, at(61), at(99)).await.unwrap(),
        ClaimOutcome::Held(_)
    ));
    let longer = AppendBatch {
        lease: at(180),
        ..batch(vec![notice(&id, 1, "still here")])
    };
    store.append(&claimed.claim, longer).await.unwrap();
    assert!(matches!(
        store.claim(&id, &me, at(179), at(999)).await.unwrap(),
        ClaimOutcome::Held(_)
    ));
    assert!(matches!(
        store.claim(&id, &me, at(180), at(999)).await.unwrap(),
        ClaimOutcome::Granted(_)
    ));
}

async fn a_dead_process_of_this_host_is_replaced_at_once(store: StoreUnderTest) {
    let me = Owner::this_process();
    let dead = [
        Owner {
            pid: u32::MAX,
            ..me.clone()
        },
        Owner {
            started: me.started + 1,
            ..me.clone()
        },
        Owner {
            boot: "an earlier one".into(),
            ..me.clone()
        },
    ];
    for (number, owner) in dead.into_iter().enumerate() {
        let id = open(&store, number as u128 + 1).await;
        assert!(matches!(
            store.claim(&id, &owner, NOW, minute()).await.unwrap(),
            ClaimOutcome::Granted(_)
        ));
        let outcome = store.claim(&id, &me, NOW, minute()).await.unwrap();
        assert!(matches!(outcome, ClaimOutcome::Granted(_)), "{owner:?}");
    }
}

async fn s_l7_a_clock_that_jumps_takes_no_session_from_a_running_process_of_this_host(
    store: StoreUnderTest,
) {
    let mut child = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let me = Owner::this_process();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let started = stat
        .rsplit_once(") ")
        .unwrap()
        .1
        .split(' ')
        .nth(19)
        .unwrap()
        .parse()
        .unwrap();
    let owner = Owner {
        pid: child.id(),
        started,
        ..me.clone()
    };
    let id = open(&store, 1).await;
    let claimed = store.claim(&id, &owner, NOW, minute()).await.unwrap();
    let ClaimOutcome::Granted(claimed) = claimed else {
        panic!("nobody had it")
    };
    let a_day_later = Timestamp(NOW.0 + 86_400_000);
    let until = Timestamp(a_day_later.0 + 15_000);
    let outcome = store.claim(&id, &me, a_day_later, until).await.unwrap();
    assert!(
        matches!(&outcome, ClaimOutcome::Held(holder) if *holder == owner),
        "{outcome:?}"
    );
    append_notices(&store, &claimed.claim, 1, 1).await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(
        store.claim(&id, &me, NOW, minute()).await.unwrap(),
        ClaimOutcome::Granted(_)
    ));
}

async fn whoever_lost_the_claim_can_change_nothing(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let old = claim(&store, &id).await;
    append_notices(&store, &old, 1, 1).await;
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
    let claimed = claim_until(&store, &id, minute(), Timestamp(NOW.0 + 120_000)).await;
    let (new, commands) = (claimed.claim, claimed.commands);
    let other = open(&store, 2).await;
    let late = AppendBatch {
        posts: vec![post(&other, Lane::Mail, 1)],
        snippet: Some("late".into()),
        ..batch(vec![notice(&id, 2, "late")])
    };
    assert!(matches!(store.append(&old, late).await, Err(Error::Fenced)));
    assert!(matches!(
        store.append(&old, AppendBatch::default()).await,
        Err(Error::Fenced)
    ));
    assert!(matches!(
        store.renew(&old, minute()).await,
        Err(Error::Fenced)
    ));
    assert!(matches!(
        store.take_commands(&old).await,
        Err(Error::Fenced)
    ));
    assert!(matches!(store.release(old).await, Err(Error::Fenced)));
    assert!(
        store
            .waiting(&other, Lane::Mail, 1)
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(commands.len(), 1, "they go to whoever has the claim");
    append_notices(&store, &new, 2, 2).await;
    let texts: Vec<_> = notices(&store, &id)
        .await
        .into_iter()
        .map(|(_, _, text)| text)
        .collect();
    assert_eq!(texts, ["notice 1", "notice 2"]);
    assert_eq!(store.session(&id).await.unwrap().unwrap().last_snippet, "");
}

async fn the_right_number_with_another_token_is_refused(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let mine = claim(&store, &id).await;
    let forged = Claim {
        session: id.clone(),
        fence: mine.fence,
        token: "guessed".into(),
    };
    assert!(matches!(
        store
            .append(&forged, batch(vec![notice(&id, 1, "no")]))
            .await,
        Err(Error::Fenced)
    ));
    assert!(matches!(store.release(forged).await, Err(Error::Fenced)));
    append_notices(&store, &mine, 1, 1).await;
}

async fn attempts_count_claims_that_did_not_settle_their_run(store: StoreUnderTest) {
    let id = open(&store, 1).await;
    let at = |minutes: i64| Timestamp(NOW.0 + minutes * 60_000);
    let first = claim_until(&store, &id, at(0), at(1)).await;
    assert_eq!(first.attempts, 0);
    let begin = AppendBatch {
        run: Some(Some(run_id(1))),
        ..batch(vec![started(&id, 1, &run_id(1))])
    };
    store.append(&first.claim, begin).await.unwrap();
    assert_eq!(claim_until(&store, &id, at(1), at(2)).await.attempts, 1);
    let third = claim_until(&store, &id, at(2), at(3)).await;
    assert_eq!(third.attempts, 2);
    let settle = AppendBatch {
        run: Some(None),
        ..batch(vec![notice(&id, 2, "settled")])
    };
    store.append(&third.claim, settle).await.unwrap();
    store.release(third.claim).await.unwrap();
    let fourth = claim_until(&store, &id, at(3), at(4)).await;
    assert_eq!(fourth.attempts, 0);
    store.release(fourth.claim).await.unwrap();
    assert_eq!(claim_until(&store, &id, at(3), at(4)).await.attempts, 0);
}
