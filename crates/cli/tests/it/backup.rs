//! `rooftree backup` and `rooftree restore` beside a server that works.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::{
    run::fixture::Desk,
    serve::{remote::start, terminate},
    sessions::fixture::House,
};

#[test]
fn a_backup_under_load_restores_and_verifies() {
    let desk = Desk::with_echo();
    let house = &desk.house;
    house.talk(Some("first"), "Hello", "Hello.");
    let (mut server, _) = start(&desk, "0");
    let is_over = AtomicBool::new(false);
    let made = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    house.talk(None, "More", "More.");
                }
            });
        }
        let made: Vec<_> = (0..3)
            .map(|number| {
                let file = format!("copy-{number}.db");
                house.rooftree(&["backup", &file, "-o", "json"]).json()
            })
            .collect();
        is_over.store(true, Ordering::Relaxed);
        made
    });
    let counted = |page: &serde_json::Value| page["counted"]["sessions"].as_u64().unwrap();
    assert!(made.iter().all(|page| page["verified"] == true), "{made:?}");
    assert!(counted(&made[0]) <= counted(&made[2]), "{made:?}");
    // A database that a server uses is not exchanged.
    let before = fs::read(house.database()).unwrap();
    let told = house.rooftree(&["restore", "copy-0.db"]).ended(9);
    assert!(
        told.contains("uses it") && told.contains("systemctl --user stop rooftree"),
        "{told}"
    );
    assert!(before == fs::read(house.database()).unwrap());
    terminate(&server);
    assert!(server.wait().unwrap().success());
    let restored = house
        .rooftree(&["restore", "copy-0.db", "-o", "json"])
        .json();
    assert_eq!(counted(&restored), counted(&made[0]));
    house.is_sound();
    assert!(
        house
            .rooftree(&["sessions", "show", "first"])
            .well()
            .contains("Hello")
    );
    let kept = restored["kept"].as_str().unwrap();
    assert!(kept.ends_with("rooftree-before-restore.db"), "{kept}");
    let audit = house.rooftree(&["audit", "-o", "json"]).well();
    assert!(audit.contains("store.restore"), "{audit}");
    // What was kept can be put back in the same way, and then has a name of its own.
    let back = house.rooftree(&["restore", kept]).well();
    assert!(back.contains("rooftree-before-restore-2.db"), "{back}");
    house.is_sound();
}

#[test]
fn a_backup_replaces_nothing_and_a_file_that_is_none_is_refused() {
    let house = House::new();
    assert!(
        house
            .rooftree(&["backup", "copy.db"])
            .ended(1)
            .contains("there is no database")
    );
    house.talk(Some("talk"), "Hello", "Hello.");
    let said = house.rooftree(&["backup", "copy.db"]).well();
    assert!(
        said.contains("1 session ·") && said.contains("verified"),
        "{said}"
    );
    let told = house.rooftree(&["backup", "copy.db"]).ended(2);
    assert!(told.contains("is there already"), "{told}");
    let told = house.rooftree(&["backup", "none/copy.db"]);
    assert_ne!(told.code, 0, "{told:?}");
    for (bytes, cause) in [
        (
            Some("just words, and enough of them"),
            "is not a rooftree database",
        ),
        (None, "cannot be read"),
    ] {
        match bytes {
            Some(bytes) => fs::write(house.path().join("copy.db"), bytes).unwrap(),
            None => fs::remove_file(house.path().join("copy.db")).unwrap(),
        }
        let told = house.rooftree(&["restore", "copy.db"]).ended(1);
        assert!(
            told.contains(cause) && told.contains("nothing was changed"),
            "{told}"
        );
    }
    let told = house.rooftree(&["restore", "rooftree.db"]).ended(1);
    assert!(told.contains("is the database itself"), "{told}");
    house.is_sound();
}
