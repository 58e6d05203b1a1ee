//! `rooftree doctor` and `rooftree doctor verify`.

use std::{fs, process::Stdio};

use serde_json::Value;

use crate::sessions::fixture::{Done, House};

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == name)
        .unwrap()
}

/// A command of someone who can run something.
fn with_key(house: &House, arguments: &[&str]) -> Done {
    let key = ["sk-ant-", "0123456789"].concat();
    let mut command = house.command(arguments);
    let output = command.env("ANTHROPIC_API_KEY", key).output().unwrap();
    Done {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_new_home_is_in_order_and_stays_untouched() {
    let house = House::new();
    let text = with_key(&house, &["doctor"]).well();
    assert!(
        text.starts_with("rooftree ") && text.contains("0 failures"),
        "{text}"
    );
    assert!(
        text.contains("is not there yet; the first run makes it"),
        "{text}"
    );
    assert_eq!(fs::read_dir(house.path()).unwrap().count(), 0);
}

#[test]
fn a_report_for_programs_has_every_check() {
    let house = House::new();
    house.talk(Some("talk"), "Hello", "Hello.");
    let report = with_key(&house, &["doctor", "--json"]).json();
    for name in [
        "system",
        "terminal",
        "bash",
        "git",
        "sandbox",
        "database",
        "space",
        "writing",
        "providers",
        "agents",
        "unfinished",
        "owners",
    ] {
        assert!(check(&report, name)["verdict"].is_string(), "{name}");
    }
    assert!(
        check(&report, "database")["words"]
            .as_str()
            .unwrap()
            .contains("schema")
    );
    assert_eq!(report["failures"], 0);
}

#[test]
fn what_is_wrong_comes_first_with_a_fix_and_exit_code_one() {
    let house = House::new();
    fs::write(house.path().join("config.toml"), "modle = 'x'\n").unwrap();
    house.session(None, |writer| writer.asked("Do something"));
    let done = house.rooftree(&["doctor"]);
    assert_eq!(done.code, 1, "{done:?}");
    let notes = done.out.split("Environment").next().unwrap();
    assert!(
        notes.contains("✗ settings") && notes.contains("⚠ unfinished"),
        "{}",
        done.out
    );
    assert!(notes.contains("rooftree run -s ses_"), "{notes}");
    let report: Value = serde_json::from_str(&house.rooftree(&["doctor", "--json"]).out).unwrap();
    assert_eq!(report["failures"], 1);
    // Where nothing can confine a command, that is another one.
    assert!(
        report["warnings"]
            .as_u64()
            .is_some_and(|warnings| (1..=2).contains(&warnings)),
        "{report}"
    );
}

#[test]
fn a_missing_program_and_a_missing_provider_are_found() {
    let house = House::new();
    let output = house
        .command(&["doctor", "--json"])
        .env("PATH", "")
        .env("ROOFTREE_MODEL", "nobody/x")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(check(&report, "bash")["verdict"], "failure");
    assert_eq!(check(&report, "git")["verdict"], "absent");
    assert_eq!(check(&report, "default")["verdict"], "failure");
}

#[test]
fn a_file_that_is_no_database_is_a_failure_not_a_crash() {
    let house = House::new();
    fs::write(
        house.database(),
        "this is no database at all, only some text that is long enough",
    )
    .unwrap();
    let done = house.rooftree(&["doctor"]);
    assert!(
        done.code == 1 && done.out.contains("✗ database"),
        "{done:?}"
    );
    assert!(
        house
            .rooftree(&["doctor", "verify"])
            .ended(1)
            .contains("error[E0903]")
    );
}

#[test]
fn verify_says_what_it_counted_and_checked() {
    let house = House::new();
    assert!(
        house
            .rooftree(&["doctor", "verify"])
            .ended(1)
            .contains("there is no database")
    );
    house.talk(None, "Hello", "Hello.");
    let text = house.rooftree(&["doctor", "verify"]).well();
    assert!(
        text.contains("1 sessions · 7 events · 1 inbox items") && text.contains("✓ I5"),
        "{text}"
    );
    let report = house.rooftree(&["doctor", "verify", "--json"]).json();
    assert_eq!(report["counted"]["events"], 7);
    assert_eq!(report["violations"], Value::Array(Vec::new()));
}

#[test]
fn verify_finds_what_was_changed_by_hand() {
    let house = House::new();
    let session = house.talk(None, "Hello", "Hello.");
    let database = rusqlite::Connection::open(house.database()).unwrap();
    let change = "UPDATE journal SET data = replace(data, 'Hello', 'Bye') WHERE seq = 3";
    assert_eq!(database.execute(change, []).unwrap(), 1);
    drop(database);
    let done = house.rooftree(&["doctor", "verify"]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(
        done.out.contains("✗ I5") && done.out.contains(&format!("{} event 3", session.id)),
        "{}",
        done.out
    );
    let done = house.rooftree(&["doctor", "verify", "--json"]);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        (done.code, &report["violations"][0]["invariant"]),
        (1, &"I5".into())
    );
}

#[test]
fn a_database_of_an_older_program_is_told_from_a_damaged_one() {
    let house = House::new();
    house.talk(None, "Hello", "Hello.");
    let database = rusqlite::Connection::open(house.database()).unwrap();
    database.pragma_update(None, "user_version", 1).unwrap();
    drop(database);
    let told = house.rooftree(&["doctor", "verify"]).ended(1);
    assert!(
        told.contains("an older rooftree wrote") && told.contains("brings it up to date"),
        "{told}"
    );
    assert!(!told.contains("backup"), "{told}");
}

#[test]
fn verify_works_while_others_write() {
    let house = House::new();
    house.talk(Some("talk"), "Hello", "Hello.");
    let clear = |_| {
        house
            .command(&["sessions", "clear", "talk"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut writers: Vec<_> = (0..4).map(clear).collect();
    house.is_sound();
    for writer in &mut writers {
        assert!(writer.wait().unwrap().success());
    }
    house.is_sound();
}

#[test]
fn agents_are_counted_and_one_that_cannot_be_used_is_a_failure() {
    let house = House::new();
    let agents = house.path().join("agents");
    fs::create_dir_all(&agents).unwrap();
    let report = with_key(&house, &["doctor", "--json"]).json();
    assert!(
        check(&report, "agents")["words"]
            .as_str()
            .unwrap()
            .contains("0 user"),
        "{report}"
    );
    fs::write(
        agents.join("scout.md"),
        "---\ntools: [Grepp]\n---\nYou look.\n",
    )
    .unwrap();
    let done = with_key(&house, &["doctor"]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.out.contains("Grepp"), "{done:?}");
}

#[test]
fn s_b12_what_is_lost_is_named_refused_and_what_is_left_is_salvaged() {
    let house = House::new();
    house.talk(Some("first"), "Hello", "Hello.");
    let older = fs::read(house.database()).unwrap();
    house.talk(Some("second"), "Hello again", "Hello.");
    assert!(
        !house.path().join("rooftree.db-wal").exists(),
        "the file alone is whole"
    );
    fs::write(house.database(), &older).unwrap();
    let done = house.rooftree(&["doctor"]);
    assert!(done.code == 1 && done.out.contains("✗ loss"), "{done:?}");
    let done = house.rooftree(&["doctor", "verify"]);
    let (code, text) = (done.code, done.out);
    assert_eq!(code, 1);
    assert!(
        text.contains("I13 file: less is there than was stored: 1 of 2 sessions"),
        "{text}"
    );
    for command in [
        &["sessions", "list"][..],
        &["sessions", "rename", "first", "other"],
    ] {
        let text = house.rooftree(command).ended(1);
        assert!(
            text.contains("1 of 2 sessions") && text.contains("rooftree doctor salvage"),
            "{text}"
        );
    }
    let done = house.rooftree(&["doctor", "salvage"]);
    let (code, text) = (done.code, done.out);
    assert_eq!(code, 1);
    assert!(
        text.contains("1 sessions · 7 events") && text.contains("saved are 1 of 2 sessions"),
        "{text}"
    );
    assert!(
        house
            .rooftree(&["doctor", "salvage"])
            .ended(1)
            .contains("is there already")
    );
    fs::remove_file(house.path().join("rooftree.db-mark")).unwrap();
    fs::rename(house.path().join("rooftree-salvaged.db"), house.database()).unwrap();
    assert!(
        house
            .rooftree(&["sessions", "list"])
            .well()
            .contains("first")
    );
    house.is_sound();
    let out = house.path().join("copy.db");
    let report = house
        .rooftree(&[
            "doctor",
            "salvage",
            "--json",
            "--out",
            out.to_str().unwrap(),
        ])
        .json();
    assert_eq!(
        (&report["saved"]["sessions"], &report["lost"]),
        (&1.into(), &Value::Array(Vec::new()))
    );
}

#[test]
fn s_b12_an_empty_or_cut_off_database_is_said_to_be_one() {
    let house = House::new();
    house.talk(Some("first"), "Hello", "Hello.");
    let whole = fs::read(house.database()).unwrap();
    for (bytes, words) in [
        (&whole[..0], "is empty"),
        (&whole[..whole.len() - 4_096], "is cut off"),
    ] {
        fs::write(house.database(), bytes).unwrap();
        for command in [
            &["sessions", "list"][..],
            &["doctor", "verify"],
            &["sessions", "show", "first"],
        ] {
            let text = house.rooftree(command).ended(1);
            assert!(
                text.contains(words) && text.contains("doctor salvage"),
                "{command:?}: {text}"
            );
        }
        assert!(
            fs::read(house.database()).unwrap() == bytes,
            "nothing is written over it"
        );
    }
}

/// A file of the fixture that an earlier version wrote.
fn of_earlier_version(name: &str) -> Vec<u8> {
    use std::io::Read;
    let fixture =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/fixtures/fae9945");
    let packed = fs::File::open(fixture.join(format!("{name}.gz"))).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

#[test]
fn a_run_that_was_killed_in_an_earlier_version_goes_on_in_ask_without_network() {
    let desk = crate::run::fixture::Desk::new(
        "[[reply]]\ntext = \"the reply that the earlier version wrote down\"\n\
         [[reply]]\n[[reply.call]]\ntool = \"Write\"\ninput = { file_path = \"made\", content = \"x\" }\n\
         [[reply]]\ntext = \"{{ results[0].text }}\"\n",
    );
    for name in ["rooftree.db", "rooftree.db-wal"] {
        fs::write(desk.house.path().join(name), of_earlier_version(name)).unwrap();
    }
    let script = format!(
        "scripted/{}",
        desk.house.path().join("script.toml").display()
    );
    let wide = [
        "-s",
        "wptnyntd",
        "-m",
        &script,
        "--permission-mode",
        "bypass",
        "--no-input",
    ];
    let done = desk.run(&wide);
    assert!(
        done.err
            .contains("goes on in mode `ask`, without network and with default limits"),
        "{}",
        done.err
    );
    assert!(
        done.out.contains("mode `ask` asks about that"),
        "{}{}",
        done.out,
        done.err
    );
    assert!(!desk.path().join("made").exists());
    desk.house.is_sound();
}

#[test]
fn data_of_an_earlier_version_is_listed_imported_settled_and_verified() {
    let house = House::new();
    for name in ["rooftree.db", "rooftree.db-wal"] {
        fs::write(house.path().join(name), of_earlier_version(name)).unwrap();
    }
    assert!(
        house
            .rooftree(&["sessions", "list"])
            .well()
            .contains("renamed one (2)")
    );
    let tasks = house.rooftree(&["tasks", "list"]).well();
    assert!(
        tasks.contains("✗ failed") && tasks.contains("outcome unknown"),
        "{tasks}"
    );
    assert!(
        !tasks.contains("running") && !tasks.contains("unfinished"),
        "{tasks}"
    );
    // What was asked then has run out of time since.
    house.rooftree(&["permissions", "list"]).well();
    assert!(
        house
            .rooftree(&["permissions", "rules"])
            .well()
            .contains("git log")
    );
    for name in ["plain.jsonl", "blob.jsonl", "delegation.jsonl"] {
        let file = house.path().join(name);
        fs::write(&file, of_earlier_version(name)).unwrap();
        house
            .rooftree(&["sessions", "import", file.to_str().unwrap()])
            .well();
    }
    house
        .rooftree(&["sessions", "export", "renamed one"])
        .well();
    house.is_sound();
}
