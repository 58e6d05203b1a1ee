//! Kills while one agent works for another: every result arrives, once, and nobody is asked twice.
//!
//! The victim is the real server, which recovers all sessions whenever it is started again. The
//! lead asks in every mode; kills are aimed at each stage of a delegation, and some come at any
//! moment. `stage.rs` reads from the disk which stage a kill really hit.

mod audit;
mod fixture;
mod stage;

use std::{
    thread,
    time::{Duration, SystemTime},
};

use self::{
    audit::audit,
    fixture::{House, Mode},
    stage::{Kills, Stage, stages},
};
use crate::{notebook::Notebook, tally::print, worker::Reached};

/// Rounds per mode.
const ROUNDS: [(Mode, u32); 4] = [
    (Mode::Foreground, 14),
    (Mode::Parallel, 14),
    (Mode::Background, 9),
    (Mode::Fetched, 9),
];
/// Rounds of three kills at any moment, one task in each mode.
const RANDOM_ROUNDS: u32 = 6;
/// Milliseconds a server lives at most before such a kill.
const LIFETIME: u32 = 400;

/// Where to kill: the named place, the n-th time it is reached, and what the disk then shows.
type Place = (&'static str, Stage);

const ASKING: Place = ("task.asking:1", Stage::Asked);
const MODEL: Place = ("model.asked@1:1", Stage::Model);
const SETTLING: Place = ("run.settling@1:1", Stage::Settling);
const TELLING: Place = ("reply.telling@1:1", Stage::Returning);

/// The places of a round, each reached by going on from the one before. A run that is cut off six
/// times is given up, so no run is cut off more often than five times.
fn places(mode: Mode, round: u32) -> Vec<Place> {
    let is_odd = round % 2 == 1;
    let tool = (
        if is_odd {
            "tool.returned@1:1"
        } else {
            "tool.intended@1:1"
        },
        Stage::Tool,
    );
    match mode {
        Mode::Foreground => vec![ASKING, MODEL, tool, SETTLING, TELLING],
        Mode::Parallel => {
            let tool = if is_odd {
                ("tool.returned@1:2", Stage::Tool)
            } else {
                tool
            };
            let second = ("reply.telling@1:2", Stage::Returning);
            let answered = if is_odd {
                "tool.returned:1"
            } else {
                "tool.answered:1"
            };
            let answered = (answered, Stage::Returning);
            vec![
                ("model.asked@1:2", Stage::Model),
                tool,
                SETTLING,
                second,
                answered,
            ]
        }
        Mode::Background => {
            let woken = ("mail.taking:1", Stage::Posted);
            let taking = ("reply.taking:1", Stage::Posted);
            vec![
                MODEL,
                tool,
                SETTLING,
                ("reply.telling@1:1", Stage::Posted),
                woken,
                taking,
            ]
        }
        Mode::Fetched => vec![
            MODEL,
            tool,
            SETTLING,
            TELLING,
            ("tool.returned:1", Stage::Returning),
        ],
    }
}

#[test]
fn kills_at_every_stage_of_a_delegation_lose_no_result_and_tell_none_twice() {
    let mut kills = Kills::default();
    for (mode, rounds) in ROUNDS {
        let house = House::new();
        for round in 0..rounds {
            house.post(round, mode);
            for place in places(mode, round) {
                kill_at(&house, place, round % 3 == 2, &mut kills);
            }
            house.finish(&[]);
        }
        kills.leave(&house);
    }
    let house = House::new();
    for (mode, task) in Mode::ALL.into_iter().cycle().zip(0..RANDOM_ROUNDS * 4) {
        house.post(task, mode);
        if mode == Mode::Fetched {
            (0..3).for_each(|_| kill_some_time(&house, &mut kills));
            house.finish(&[]);
        }
    }
    kills.leave(&house);
    conclude(&kills);
}

fn conclude(kills: &Kills) {
    print(&format!(
        "kill -9 of a server while agents work for others\n{}",
        kills.table()
    ));
    kills.findings.assert_none();
    assert!(kills.total() >= 100, "only {} kills", kills.total());
    for stage in Stage::REQUIRED {
        assert!(
            kills.at(stage) >= 20,
            "only {} kills at {stage:?}",
            kills.at(stage)
        );
    }
}

/// Lets a server go on until it stands still at the place, and kills it there; at once, or when the
/// disk shows the stage that is meant.
fn kill_at(house: &House, (place, meant): Place, at_once: bool, kills: &mut Kills) {
    let mut server = house.serve(&[("ROOFTREE_STALL", place)]);
    // Where a call of the lead looks in the moment the child ends, it may have had its result before the
    // last kill; then there is nothing left that could reach the place.
    match server.reach_stall_while(|| house.is_unfinished()) {
        Some(Reached::Stalled) => {}
        None => return assert!(server.kill().was_killed()),
        Some(Reached::Ended(status)) => {
            panic!("{place} was not reached: {status}: {}", server.finish().log)
        }
    }
    if !at_once {
        wait_for_disk(house, meant);
    }
    assert!(server.kill().was_killed());
    kills.count(house, Some(meant));
}

/// Waits until the disk shows the stage. Another one may be ahead of it, and what counts is what the
/// disk shows in the end, so this gives up soon.
fn wait_for_disk(house: &House, meant: Stage) {
    for _ in 0..100 {
        if stages(house).iter().any(|(_, stage)| *stage == meant) {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Kills a server at a moment that nobody chose.
fn kill_some_time(house: &House, kills: &mut Kills) {
    let chance = SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_micros();
    let while_ = Duration::from_millis(u64::from(chance % LIFETIME));
    if house.serve(&[]).kill_after(while_) {
        kills.count(house, None);
    }
}

#[test]
fn without_the_note_that_a_call_has_told_it_results_arrive_twice() {
    let house = House::new();
    house.post(1, Mode::Foreground);
    house.post(2, Mode::Parallel);
    house.finish(&[("ROOFTREE_WITHOUT", "told")]);
    let findings = audit(&house, &Notebook::default());
    print(&format!(
        "control without the note that a call has told a result:\n{}",
        findings.table()
    ));
    assert_eq!(
        findings.count("results that arrived twice"),
        4,
        "{findings:?}"
    );
}

#[test]
fn a_server_that_is_killed_before_it_tells_the_end_of_a_child_has_stored_the_reply() {
    let house = House::new();
    house.post(1, Mode::Background);
    let mut server = house.serve(&[("ROOFTREE_STALL", "reply.telling@1:1")]);
    assert_eq!(server.reach_stall(), Reached::Stalled);
    assert!(server.kill().was_killed());
    house.finish(&[]);
    audit(&house, &Notebook::default()).assert_none();
}

#[test]
fn without_the_reply_in_the_commit_that_ends_a_child_results_are_lost() {
    let house = House::new();
    house.post(1, Mode::Background);
    let mut server = house.serve(&[
        ("ROOFTREE_STALL", "reply.telling@1:1"),
        ("ROOFTREE_WITHOUT", "settle"),
    ]);
    assert_eq!(server.reach_stall(), Reached::Stalled);
    assert!(server.kill().was_killed());
    house.finish(&[]);
    let findings = audit(&house, &Notebook::default());
    print(&format!(
        "control without the reply in the commit that ends a child:\n{}",
        findings.table()
    ));
    assert_eq!(
        findings.count("results that never arrived"),
        1,
        "{findings:?}"
    );
    assert!(
        findings.count("violations found by verify") > 0,
        "{findings:?}"
    );
}
