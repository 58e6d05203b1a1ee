//! A kill right before and right after every single commit of a worker and of a poster.

use crate::{
    audit::{Findings, audit},
    fixture::{QUICK, Scene},
    notebook::Notebook,
    poster,
    tally::print,
    worker::Worker,
};

/// No run has as many commits; only to end a test that does not.
const FAR_TOO_MANY: u32 = 200;

/// What a series of kills came to.
struct Series {
    kills: u32,
    findings: Findings,
}

/// Kills at the first commit, the second, and so on, each in a scene of its own, until the
/// work is done before the kill comes.
fn at_every_commit(point: &str, attempt: impl Fn(&Scene, &str) -> bool) -> Series {
    let mut findings = Findings::default();
    for nth in 1..FAR_TOO_MANY {
        let scene = Scene::new(&QUICK);
        let was_killed = attempt(&scene, &format!("{point}:{nth}"));
        let mut notebook = Notebook::default();
        notebook.mark(&scene, &scene.look());
        poster::post(&scene, "poster", 1..=2, &[]);
        Worker::start(&scene, &[]).finish().assert_success();
        findings.merge(audit(
            &scene,
            &poster::accepted(&scene, "poster"),
            &notebook,
        ));
        if !was_killed {
            return Series {
                kills: nth - 1,
                findings,
            };
        }
    }
    panic!("{point} is reached without end");
}

fn kill_worker(scene: &Scene, order: &str) -> bool {
    poster::post(scene, "poster", 1..=2, &[]);
    let ending = Worker::start(scene, &[("ROOFTREE_FAILPOINT", order)]).finish();
    assert!(ending.was_killed() || ending.status.success(), "{ending:?}");
    ending.was_killed()
}

fn kill_poster(scene: &Scene, order: &str) -> bool {
    let ending = poster::start(scene, "poster", 1..=2, &[("ROOFTREE_FAILPOINT", order)]).finish();
    assert!(ending.was_killed() || ending.status.success(), "{ending:?}");
    ending.was_killed()
}

fn conclude(who: &str, before: Series, after: Series) {
    let mut findings = before.findings;
    findings.merge(after.findings);
    let (kills_before, kills_after) = (before.kills, after.kills);
    print(&format!(
        "killed at every commit of a {who}: {kills_before} before, {kills_after} after; found afterwards:\n{}",
        findings.table()
    ));
    findings.assert_none();
    assert!(kills_before >= 4 && kills_after >= 4);
}

#[test]
fn a_kill_at_any_commit_of_a_worker_is_made_good() {
    let before = at_every_commit("commit.before", kill_worker);
    conclude(
        "worker",
        before,
        at_every_commit("commit.after", kill_worker),
    );
}

#[test]
fn a_kill_at_any_commit_of_a_poster_is_made_good() {
    let before = at_every_commit("commit.before", kill_poster);
    conclude(
        "poster",
        before,
        at_every_commit("commit.after", kill_poster),
    );
}
