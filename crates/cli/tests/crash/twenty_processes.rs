//! Twenty processes on one database at once: nothing is lost and nobody sees a lock.

use rooftree_store::{SqliteStore, prelude::*};

use crate::{
    audit::audit,
    fixture::{QUICK, Scene, wait},
    notebook::Notebook,
    poster,
    tally::print,
    worker::{Ending, Worker, program},
};

/// Tasks of one poster; its first one is ten times its number.
const EACH: u64 = 4;

#[test]
fn twenty_processes_use_one_database_while_a_worker_works() {
    let scene = Scene::new(&QUICK);
    poster::post(&scene, "first", 1..=1, &[]);
    let worker = Worker::start(&scene, &[]);
    let posters: Vec<Worker> = (1..=10)
        .map(|number| start_poster(&scene, number))
        .collect();
    let runs: Vec<Worker> = (1..=10).map(|number| start_run(&scene, number)).collect();
    let mut endings: Vec<Ending> = posters
        .into_iter()
        .chain(runs)
        .map(Worker::finish)
        .collect();
    endings.push(worker.finish());
    endings.push(Worker::start(&scene, &[]).finish());
    for ending in &endings {
        ending.assert_success();
        let said = ending.log.to_lowercase();
        assert!(!said.contains("locked") && !said.contains("busy"), "{said}");
    }
    conclude(&scene);
}

fn start_poster(scene: &Scene, number: u64) -> Worker {
    poster::start(
        scene,
        &format!("poster-{number}"),
        number * 10..=number * 10 + EACH - 1,
        &[],
    )
}

/// The program itself, with a message of its own for a session of its own.
fn start_run(scene: &Scene, number: u64) -> Worker {
    let (model, task) = (
        format!("scripted/{}", scene.script().display()),
        format!("task {}", 1_000 + number),
    );
    Worker::spawn(program(
        scene,
        &["run", "-m", &model, "--permission-mode", "bypass", &task],
    ))
}

fn conclude(scene: &Scene) {
    let lists = (1..=10)
        .map(|number| format!("poster-{number}"))
        .chain(["first".into()]);
    let accepted: Vec<_> = lists
        .flat_map(|name| poster::accepted(scene, &name))
        .collect();
    assert_eq!(accepted.len() as u64, 2 * (10 * EACH + 1));
    let findings = audit(scene, &accepted, &Notebook::default());
    print(&format!(
        "ten posters, ten runs and a worker at once:\n{}",
        findings.table()
    ));
    findings.assert_none();
    let store = SqliteStore::open(scene.database()).unwrap();
    assert_eq!(wait(store.sessions(Default::default())).unwrap().len(), 11);
    let runs = scene
        .effects()
        .iter()
        .filter(|line| line.starts_with("10") && line.split(' ').next().unwrap().len() == 4)
        .count();
    assert_eq!(runs, 10, "each run of its own left its line");
}
