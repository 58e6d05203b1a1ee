//! The board against killed processes: fifty kills, and it never says that a dead process works.

use std::sync::Arc;

use rooftree_protocol::{Principal, Surface};
use rooftree_runtime::{Handle, SystemClock};
use rooftree_store::SqliteStore;
use rooftree_view::board::{BoardProcess, BoardRow, BoardState};

use crate::{
    fixture::{QUICK, Scene, until},
    poster,
    worker::{Reached, Worker},
};

/// Where a worker stands still before it is killed; every kill is followed by one that finishes the task.
const PLACES: [&str; 5] = [
    "model.asked:1",
    "tool.intended:1",
    "tool.returned:1",
    "model.asked:2",
    "run.settling:1",
];
/// Rounds of five kills.
const ROUNDS: u64 = 10;

/// The row of the scene's session, as another process sees it.
fn row(scene: &Scene) -> BoardRow {
    let store = Arc::new(SqliteStore::open_read_only(scene.database()).unwrap());
    let handle = Handle::without_agents(store, Arc::new(SystemClock));
    let waiting = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let queries = handle.queries(&Principal::local_owner(Surface::Cli));
    let page = waiting.block_on(queries.board(Default::default())).unwrap();
    page.rows.into_iter().next().unwrap()
}

#[test]
fn fifty_kills_and_the_board_never_says_that_a_dead_process_works() {
    let scene = Scene::new(&QUICK);
    let mut kills = 0;
    for task in 1..=ROUNDS * 5 {
        poster::post(&scene, "poster", 1..=task, &[]);
        let shown = row(&scene);
        assert_eq!(
            (shown.state, shown.process),
            (BoardState::Idle, BoardProcess::Asleep)
        );
        let place = PLACES[usize::try_from(task % 5).unwrap()];
        let mut worker = Worker::start(&scene, &[("ROOFTREE_STALL", place)]);
        assert_eq!(worker.reach_stall(), Reached::Stalled, "{place}");
        until("the board says that it works", || {
            let shown = row(&scene);
            shown.state == BoardState::Working && shown.process == BoardProcess::Alive
        });
        assert!(worker.kill().was_killed());
        kills += 1;
        let shown = row(&scene);
        assert_eq!(
            (shown.state, shown.process, shown.owner),
            (BoardState::Idle, BoardProcess::Asleep, None),
            "killed at {place}"
        );
        Worker::start(&scene, &[]).finish().assert_success();
        let shown = row(&scene);
        assert_eq!(
            (shown.state, shown.process),
            (BoardState::Done, BoardProcess::Asleep)
        );
        let report = scene.look().report;
        assert!(report.violations.is_empty(), "{:?}", report.violations);
    }
    assert_eq!(kills, 50);
}
