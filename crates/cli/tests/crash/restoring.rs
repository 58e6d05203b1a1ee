//! Kills in the middle of a backup or a restore: the old database or the new one is there, whole.

use rooftree_store::{SqliteStore, prelude::*};

use crate::{
    fixture::{QUICK, Scene, wait},
    poster,
    worker::{Ending, Worker, program},
};

fn ended(scene: &Scene, arguments: &[&str], failpoint: Option<&str>) -> Ending {
    let mut command = program(scene, arguments);
    command.envs(failpoint.map(|place| ("ROOFTREE_FAILPOINT", place)));
    Worker::spawn(command).finish()
}

/// How many messages wait in the session, in a database that is whole and can be written.
fn waiting(scene: &Scene) -> usize {
    let sight = scene.look();
    assert!(sight.report.violations.is_empty(), "{:?}", sight.report);
    let store = SqliteStore::open(scene.database()).unwrap();
    assert!(wait(store.session(&scene.session)).unwrap().is_some());
    sight.waiting.len()
}

#[test]
fn a_killed_restore_leaves_the_old_database_or_the_new_one() {
    for (place, is_new) in [
        ("restore.copying:1", false),
        ("restore.copied:1", false),
        ("restore.verified:1", false),
        ("restore.kept:1", false),
        ("restore.noted:1", false),
        ("restore.placed:1", true),
    ] {
        let scene = Scene::new(&QUICK);
        poster::post(&scene, "poster", 1..=1, &[]);
        ended(&scene, &["backup", "copy.db"], None).assert_success();
        poster::post(&scene, "poster", 2..=3, &[]);
        let killed = ended(&scene, &["restore", "copy.db"], Some(place));
        assert!(killed.was_killed(), "{place}: {killed:?}");
        assert_eq!(waiting(&scene), if is_new { 1 } else { 3 }, "{place}");
        // The next attempt does it, whatever the killed one left.
        ended(&scene, &["restore", "copy.db"], None).assert_success();
        assert_eq!(waiting(&scene), 1, "{place}");
    }
}

#[test]
fn a_killed_backup_leaves_no_file_with_the_name_of_a_whole_one() {
    let scene = Scene::new(&QUICK);
    poster::post(&scene, "poster", 1..=1, &[]);
    for place in ["backup.copied:1", "backup.verified:1"] {
        let killed = ended(&scene, &["backup", "copy.db"], Some(place));
        assert!(killed.was_killed(), "{place}: {killed:?}");
        assert!(!scene.work().join("copy.db").exists(), "{place}");
    }
    ended(&scene, &["backup", "copy.db"], None).assert_success();
    assert!(scene.work().join("copy.db").exists());
    assert_eq!(waiting(&scene), 1);
}
