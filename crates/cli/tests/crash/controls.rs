//! The same checks with a guarantee switched off: they must find something, or they prove nothing.

use std::{thread, time::Duration};

use crate::{
    audit::{Findings, audit},
    fixture::{Pace, QUICK, Scene, until},
    notebook::{Notebook, requests},
    poster,
    tally::print,
    worker::{Ending, Worker},
};

/// Slow enough that a worker can be stopped while the model thinks.
const THINKING: Pace = Pace {
    thinking: "4s",
    working: "0.02",
};
/// Slow enough that a worker can be stopped while its tool works.
const WORKING: Pace = Pace {
    thinking: "15ms",
    working: "4",
};

#[test]
fn without_the_key_messages_are_handled_twice() {
    let scene = Scene::new(&QUICK);
    let off = [("ROOFTREE_WITHOUT", "dedup")];
    poster::post(&scene, "poster", 1..=3, &off);
    Worker::start(&scene, &off).finish().assert_success();
    let findings = audit(
        &scene,
        &poster::accepted(&scene, "poster"),
        &Notebook::default(),
    );
    print(&format!(
        "control without the idempotency key:\n{}",
        findings.table()
    ));
    assert!(findings.count("messages handled twice") >= 3);
    assert!(findings.count("side-effect tools run twice") >= 3);
}

/// When the first worker wakes up again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waking {
    WhileTheSecondWorks,
    AfterTheSecondIsDone,
}

/// One worker is stopped where `is_there` says, another one takes over, and the first one wakes
/// up and goes on as if nothing had happened.
fn sleep_through_a_takeover(
    pace: &Pace,
    orders: &[(&str, &str)],
    is_there: fn(&Scene) -> bool,
    waking: Waking,
) -> Findings {
    let scene = Scene::new(pace);
    // Two tasks, so that neither worker leaves when the other one has done the first.
    poster::post(&scene, "poster", 1..=2, &[]);
    let sleeper = Worker::start(&scene, orders);
    until("the first worker is at work", || is_there(&scene));
    // A process that is stopped inside a commit keeps everybody out; let this one end.
    thread::sleep(Duration::from_millis(300));
    sleeper.signal("STOP");
    let asked = requests(&scene).len();
    let second = Worker::start(&scene, orders);
    let endings = match waking {
        Waking::WhileTheSecondWorks => {
            until("the second worker asks the model", || {
                requests(&scene).len() > asked
            });
            sleeper.signal("CONT");
            [second.finish(), sleeper.finish()]
        }
        Waking::AfterTheSecondIsDone => {
            let ending = second.finish();
            sleeper.signal("CONT");
            [ending, sleeper.finish()]
        }
    };
    assert!(
        endings.iter().all(|ending| ending.status.code().is_some()),
        "they end by themselves: {endings:?}"
    );
    if orders.is_empty() {
        endings.iter().for_each(Ending::assert_success);
    }
    audit(
        &scene,
        &poster::accepted(&scene, "poster"),
        &Notebook::default(),
    )
}

fn has_asked(scene: &Scene) -> bool {
    !requests(scene).is_empty()
}

fn has_acted(scene: &Scene) -> bool {
    !scene.effects().is_empty()
}

/// Waits for real: the second worker is let in when the lease of the first one is over.
#[test]
fn a_worker_that_slept_through_a_takeover_changes_nothing() {
    let thinking = thread::spawn(|| {
        sleep_through_a_takeover(&THINKING, &[], has_asked, Waking::WhileTheSecondWorks)
    });
    let mut findings =
        sleep_through_a_takeover(&WORKING, &[], has_acted, Waking::AfterTheSecondIsDone);
    findings.merge(thinking.join().unwrap());
    print(&format!(
        "stopped past the lease, taken over, woken up:\n{}",
        findings.table()
    ));
    findings.assert_none();
}

#[test]
fn without_the_fence_a_worker_that_slept_does_harm() {
    let off = [("ROOFTREE_WITHOUT", "fence")];
    let thinking =
        sleep_through_a_takeover(&THINKING, &off, has_asked, Waking::WhileTheSecondWorks);
    let working = sleep_through_a_takeover(&WORKING, &off, has_acted, Waking::AfterTheSecondIsDone);
    let tables = [thinking.table(), working.table()];
    print(&format!(
        "control without the fence, stopped while the model thinks:\n{}while a tool works:\n{}",
        tables[0], tables[1]
    ));
    assert!(
        thinking.count("side-effect tools run twice") > 0,
        "{thinking:?}"
    );
    assert!(
        working.count("tool calls without exactly one result") > 0,
        "{working:?}"
    );
}
