//! Two hundred kills of the real program, in every window and at any moment.

use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime},
};

use crate::{
    audit::{audit, tasks_taken},
    fixture::{QUICK, Scene, until},
    poster,
    tally::{Aim, Tally, print},
    window::{self, Window},
    worker::{Reached, Worker},
};

/// Posters one after the other, each of which posts all that those before it did, and more.
const GENERATIONS: u64 = 10;
/// Rounds per poster: five aimed kills, one task each. A run that is cut off six times is given up.
const ROUNDS: u64 = 5;
/// Rounds of three kills at any moment.
const RANDOM_ROUNDS: u64 = 15;
/// Milliseconds a worker lives at most before such a kill; three tasks take longer.
const LIFETIME: u32 = 300;
const POSTER: &str = "poster";

/// Where to kill: the named place, the n-th time it is reached, and what the disk then shows.
type Place = (&'static str, Window);

const TAKING: Place = ("mail.taking:1", Window::AcceptToTake);
const ASKED: [Place; 2] = [
    ("model.asked:1", Window::ModelCall),
    ("model.asked:2", Window::ModelCall),
];
/// Reads begun, reads returned, first read answered, line to be left, line left, answer of that kept.
const TOOLS_FROM_FIRST_TURN: [Place; 5] = [
    ("tool.intended:1", Window::IntentToResult),
    ("tool.returned:1", Window::IntentToResult),
    ("tool.answered:1", Window::IntentToResult),
    ("tool.intended:2", Window::IntentToResult),
    ("tool.returned:3", Window::IntentToResult),
];
const TOOLS_FROM_SECOND_TURN: [Place; 3] = [
    ("tool.intended:1", Window::IntentToResult),
    ("tool.returned:1", Window::IntentToResult),
    ("tool.answered:1", Window::ModelCall),
];
const SETTLING: Place = ("run.settling:1", Window::ReplyToSettle);

/// The five places of a round, each reached by going on from the one before.
fn places(round: u64) -> [Place; 5] {
    let nth = usize::try_from(round).unwrap();
    let [first_turn, second_turn] = ASKED;
    let (asked, tool) = match nth % 2 {
        0 => (first_turn, pick(&TOOLS_FROM_FIRST_TURN, nth / 2)),
        _ => (second_turn, pick(&TOOLS_FROM_SECOND_TURN, nth / 2)),
    };
    [TAKING, asked, tool, first_turn, SETTLING]
}

fn pick(places: &[Place], nth: usize) -> Place {
    places.iter().copied().cycle().nth(nth).unwrap()
}

/// How soon after the stall the kill comes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Haste {
    /// At once: what is on its way to the disk may be lost.
    AtOnce,
    /// When the disk shows the window that is meant.
    WhenStored,
}

#[test]
fn two_hundred_kills_lose_nothing_and_do_nothing_twice() {
    let (scene, mut tally) = (Scene::new(&QUICK), Tally::default());
    let mut poster_kills = 0;
    for generation in 0..GENERATIONS {
        let first = generation * ROUNDS;
        poster_kills += kill_poster_after(&scene, first + 1, first + ROUNDS);
        let poster = poster::start(&scene, POSTER, 1..=first + ROUNDS, &[]);
        for round in first..first + ROUNDS {
            until("the next task is accepted", || {
                has_accepted(&scene, round + 1)
            });
            let haste = if round % 3 == 2 {
                Haste::AtOnce
            } else {
                Haste::WhenStored
            };
            for place in places(round) {
                kill_at(&scene, place, haste, &mut tally);
            }
        }
        poster.finish().assert_success();
    }
    // The last run was cut off as often as it may be; it ends before chance takes over.
    Worker::start(&scene, &[]).finish().assert_success();
    for round in 0..RANDOM_ROUNDS {
        let first = GENERATIONS * ROUNDS + 3 * round;
        poster::post(&scene, POSTER, first + 1..=first + 3, &[]);
        for _ in 0..3 {
            kill_some_time(&scene, &mut tally);
        }
        Worker::start(&scene, &[]).finish().assert_success();
    }
    conclude(&scene, tally, poster_kills);
}

fn conclude(scene: &Scene, mut tally: Tally, poster_kills: u32) {
    let accepted = poster::accepted(scene, POSTER);
    let findings = audit(scene, &accepted, &tally.notebook);
    tally.findings.merge(findings);
    let tasks = GENERATIONS * ROUNDS + 3 * RANDOM_ROUNDS;
    print(&format!(
        "kill -9 of the worker\n{}  {:<36}{poster_kills:>9}\n{} tasks, {} posts accepted, {} effects; found afterwards:\n{}",
        tally.table(),
        "the poster, too",
        tasks,
        accepted.len(),
        scene.effects().len(),
        tally.findings.table()
    ));
    tally.findings.assert_none();
    let posted: BTreeSet<u64> = accepted.iter().map(|one| one.task).collect();
    assert!(posted.into_iter().eq(1..=tasks), "every task was accepted");
    assert!(
        tasks_taken(&scene.look()).into_iter().eq(1..=tasks),
        "in the order of acceptance"
    );
    assert!(tally.total() >= 200, "only {} kills", tally.total());
    for window in Window::REQUIRED {
        assert!(
            tally.in_window(window) >= 25,
            "only {} kills in {window:?}",
            tally.in_window(window)
        );
    }
}

fn has_accepted(scene: &Scene, task: u64) -> bool {
    poster::accepted(scene, POSTER)
        .iter()
        .any(|one| one.task == task)
}

/// Kills a poster as soon as this task is accepted; the next one starts from the beginning.
/// Says how many were killed before they were through.
fn kill_poster_after(scene: &Scene, task: u64, last: u64) -> u32 {
    let poster = poster::start(scene, POSTER, 1..=last, &[]);
    until("the poster has got on", || has_accepted(scene, task));
    u32::from(poster.kill().was_killed())
}

/// Lets workers go on until one stands still at the place, and kills it there.
fn kill_at(scene: &Scene, (place, meant): Place, haste: Haste, tally: &mut Tally) {
    let mut worker = Worker::start(scene, &[("ROOFTREE_STALL", place)]);
    match worker.reach_stall() {
        Reached::Stalled => {}
        Reached::Ended(status) => {
            panic!("{place} was not reached: {status}: {}", worker.finish().log)
        }
    }
    if haste == Haste::WhenStored {
        until(place, || window::of(&scene.look()) == meant);
    }
    assert!(worker.kill().was_killed());
    tally.count(scene, Aim::Stalled);
}

/// Kills a worker at a moment that nobody chose.
fn kill_some_time(scene: &Scene, tally: &mut Tally) {
    let chance = SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_micros();
    let while_ = Duration::from_millis(u64::from(chance % LIFETIME));
    if Worker::start(scene, &[]).kill_after(while_) {
        tally.count(scene, Aim::Running);
    }
}
