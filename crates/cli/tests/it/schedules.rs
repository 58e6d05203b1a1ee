//! `rooftree schedules`: added, listed, looked at before they are saved, switched off and on, removed.

use std::process::{Child, Command};

use serde_json::Value;

use crate::{
    run::fixture::Desk,
    serve::{remote::start, until},
    sessions::fixture::Done,
};

/// `rooftree schedules …` at a desk.
fn schedules(desk: &Desk, arguments: &[&str]) -> Done {
    desk.house.rooftree(&[&["schedules"], arguments].concat())
}

fn json(desk: &Desk, arguments: &[&str]) -> Value {
    schedules(desk, &[arguments, &["-o", "json"]].concat()).json()
}

/// A server, killed with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_schedule_is_added_listed_switched_off_and_on_and_removed() {
    let desk = Desk::with_echo();
    let none = schedules(&desk, &["list"]);
    assert!(none.err.contains("rooftree schedules add"), "{none:?}");
    let plan = ["add", "weekdays at 9", "Summarise my inbox"];
    let options = ["--name", "inbox", "--zone", "Europe/Berlin"];
    let added = schedules(&desk, &[&plan[..], &options].concat());
    assert!(
        added.out.contains("weekdays at 09:00 Europe/Berlin"),
        "{added:?}"
    );
    assert!(added.err.contains("rooftree serve"), "{added:?}");

    let listed = json(&desk, &["list"]);
    let one = &listed[0];
    assert_eq!(
        (&one["name"], &one["agent"]),
        (&"inbox".into(), &"lead".into()),
        "{one}"
    );
    assert_eq!(one["enabled"], true, "{one}");
    let next = one["next"].as_array().unwrap();
    assert!(next.len() == 5 && next[0] == one["next_due"], "{one}");
    let id = one["id"].as_str().unwrap();
    let end = &id[id.len() - 8..];
    let table = schedules(&desk, &["list"]).well();
    assert!(
        table.contains(end) && table.contains("weekdays at 09:00"),
        "{table}"
    );

    let paused = schedules(&desk, &["pause", "inbox"]).well();
    assert_eq!(paused, "inbox is switched off\n");
    let refused = schedules(&desk, &["run", "inbox"]).ended(1);
    assert!(refused.contains("rooftree schedules resume"), "{refused}");
    let resumed = json(&desk, &["resume", end]);
    assert_eq!(resumed["enabled"], true, "{resumed}");
    let shown = schedules(&desk, &["show", id]).well();
    assert!(shown.contains("Summarise my inbox"), "{shown}");
    assert_eq!(json(&desk, &["history", "inbox"]), serde_json::json!([]));

    let removed = schedules(&desk, &["rm", "inbox"]).well();
    assert_eq!(removed, "removed inbox\n");
    let gone = schedules(&desk, &["show", "inbox"]);
    assert!(gone.err.contains("rooftree schedules list"), "{gone:?}");
    assert_ne!(gone.code, 0);
}

#[test]
fn due_times_are_shown_before_anything_is_saved() {
    let desk = Desk::with_echo();
    let preview = json(&desk, &["next", "every day at 8", "--zone", "UTC"]);
    let next = preview["next"].as_array().unwrap();
    assert_eq!(next.len(), 5, "{preview}");
    assert!(
        next.iter()
            .all(|due| due.as_str().unwrap().contains("T08:00:00")),
        "{preview}"
    );
    let page = schedules(&desk, &["next", "every day at 8", "--zone", "UTC"]).well();
    assert_eq!(page.lines().count(), 6, "{page}");
    assert_eq!(json(&desk, &["list"]), serde_json::json!([]));
}

#[test]
fn a_schedule_says_what_it_runs_in_its_own_zone_and_that_no_server_runs() {
    let desk = Desk::with_echo();
    let plan = ["add", "fridays at 17:30 Europe/Berlin", "--zone", "UTC"];
    let options = ["--command", "ls -la", "--name", "week", "--day-tokens", "9"];
    let added = schedules(&desk, &[&plan[..], &options].concat());
    for words in ["command: ls -la", "budget: day_tokens 9", " 17:30 ("] {
        assert!(added.out.contains(words), "{words}: {added:?}");
    }
    assert!(added.err.contains("and none runs now"), "{added:?}");
    let table = schedules(&desk, &["list"]).well();
    assert!(table.contains("(command)"), "{table}");
    let history = schedules(&desk, &["history", "week"]);
    assert!(history.err.contains("has not been due yet"), "{history:?}");
    let event = schedules(&desk, &["next", "on run-ended:explore"]).well();
    assert!(event.contains("no set times"), "{event}");
    for when in ["every 2h", "every 3h"] {
        schedules(&desk, &["add", when, "twins", "--heartbeat"]).well();
    }
    let several = schedules(&desk, &["show", "twins"]).ended(2);
    assert_eq!(several.matches("sch_").count(), 2, "{several}");
}

#[test]
fn a_schedule_that_cannot_be_is_refused_with_what_to_write() {
    let desk = Desk::with_echo();
    for (arguments, words) in [
        (
            &["add", "whenever", "x"][..],
            &["`whenever`", "`every 2h`"][..],
        ),
        (&["add", "every 2h"], &["<PROMPT>"]),
        (
            &["add", "every 2h", "x", "--zone", "Mars/Phobos"],
            &["Mars/Phobos", "Europe/Berlin"],
        ),
        (
            &["add", "every 2h", "x", "--target", "nonsense"],
            &["nonsense", "CONNECTOR:CHAT"],
        ),
        (
            &["add", "every 2h", "x", "--overlap", "maybe"],
            &["maybe", "skip", "queue"],
        ),
        (
            &["add", "every 2h", "x", "--catch-up", "twice"],
            &["twice", "none", "once"],
        ),
        (
            &["add", "every 2h", "x", "--active-hours", "late"],
            &["active hours", "fix:", "08:00-22:00"],
        ),
        (&["next", "whenever"], &["`whenever`", "fix:"]),
        (
            &["add", "every 2h", "x", "--model", "foo/bar"],
            &["provider `foo`", "rooftree models list"],
        ),
    ] {
        let refused = schedules(&desk, arguments).ended(2);
        for word in words {
            assert!(refused.contains(word), "{arguments:?}: {refused}");
        }
    }
    assert_eq!(
        json(&desk, &["list"]),
        serde_json::json!([]),
        "nothing was saved"
    );
}

#[test]
fn a_chat_that_is_not_there_and_a_name_that_is_taken_are_refused() {
    let desk = Desk::with_echo();
    let add = |more: &[&str]| schedules(&desk, &[&["add", "every 2h", "x"], more].concat());
    let nowhere = add(&["--target", "home:77"]);
    assert!(
        nowhere.code != 0 && nowhere.err.contains("rooftree connectors add"),
        "{nowhere:?}"
    );
    // A server may have more agents than are seen here, so that is no error.
    let unknown = add(&["--name", "one", "--agent", "nobody"]);
    assert!(
        unknown.code == 0 && unknown.err.contains("rooftree agents list"),
        "{unknown:?}"
    );
    let taken = add(&["--name", "One"]).ended(1);
    assert!(taken.contains("rooftree schedules rm"), "{taken}");
    let named = json(&desk, &["list"]);
    assert_eq!(named.as_array().unwrap().len(), 1, "{named}");
}

#[test]
fn a_schedule_that_is_run_by_hand_has_its_run_in_its_history() {
    let desk = Desk::with_echo();
    let add = |arguments: &[&str]| {
        let mut command: Command = desk.house.command(&["schedules", "add", "every 2h"]);
        let script = desk.house.path().join("script.toml");
        command.env("ROOFTREE_MODEL", format!("scripted/{}", script.display()));
        assert!(command.args(arguments).output().unwrap().status.success());
    };
    add(&["hello", "--name", "greeting"]);
    add(&["--command", "echo tidy", "--name", "tidying"]);
    let (server, _) = start(&desk, "0");
    let _served = Served(server);
    for (name, answer) in [("greeting", "hello"), ("tidying", "tidy")] {
        schedules(&desk, &["run", name]).well();
        let ended = || json(&desk, &["history", name])[0]["execution"] == "completed";
        until(name, ended);
        let history = json(&desk, &["history", name]);
        assert_eq!(history.as_array().unwrap().len(), 1, "{history}");
        assert!(
            history[0]["answer"].as_str().unwrap().contains(answer),
            "{history}"
        );
    }
}

#[test]
fn an_event_that_names_nothing_known_here_is_remarked_on() {
    let desk = Desk::with_echo();
    for (when, remark) in [
        ("on webhook:nope", "there is no connector `nope` yet"),
        ("on run-ended:nobody", "no agent `nobody` is known here"),
    ] {
        let added = schedules(&desk, &["add", when, "x", "-a", "lead"]);
        assert!(added.code == 0 && added.err.contains(remark), "{added:?}");
    }
    let quiet = schedules(&desk, &["add", "on run-ended:*:failed", "x"]);
    assert!(!quiet.err.contains("no agent"), "{quiet:?}");
}

#[test]
fn failures_are_listed_and_acknowledged_and_the_model_of_now_is_kept() {
    let desk = Desk::with_echo();
    let plan = [
        "add",
        "every 2h",
        "--name",
        "disk",
        "--command",
        "echo gone >&2; exit 3",
    ];
    schedules(&desk, &plan).well();
    let none = schedules(&desk, &["incidents", "disk"]);
    assert!(none.err.contains("has not failed yet"), "{none:?}");
    schedules(&desk, &["acknowledge", "disk"]).ended(8);
    let (server, _) = start(&desk, "0");
    let served = Served(server);
    schedules(&desk, &["run", "disk"]).well();
    until("the failure", || {
        json(&desk, &["incidents", "disk"])[0]["count"] == 1
    });
    drop(served);
    let table = schedules(&desk, &["incidents", "disk"]).well();
    assert!(
        table.contains("detected") && table.contains("gone"),
        "{table}"
    );
    let other = schedules(&desk, &["acknowledge", "disk", "another cause"]);
    assert_ne!(other.code, 0, "{other:?}");
    let known = schedules(&desk, &["acknowledge", "disk", "GONE"]).well();
    assert!(known.contains("you hear no more of"), "{known}");
    assert_eq!(
        json(&desk, &["incidents", "disk"])[0]["state"],
        "acknowledged"
    );

    let script = desk.house.path().join("script.toml");
    let model = format!("scripted/{}", script.display());
    for (name, more, context) in [
        ("day", &[][..], "full"),
        ("beat", &["--heartbeat"], "light"),
    ] {
        let mut add = desk
            .house
            .command(&["schedules", "add", "every 2h", "hello"]);
        add.args(["--name", name])
            .args(more)
            .env("ROOFTREE_MODEL", &model);
        assert!(add.output().unwrap().status.success());
        let shown = json(&desk, &["show", name]);
        let kept = (&shown["model"], &shown["context"]);
        assert_eq!(kept, (&model.clone().into(), &context.into()), "{shown}");
    }
    let odd = schedules(&desk, &["add", "every 2h", "x", "--context", "tiny"]).ended(2);
    assert!(odd.contains("full") && odd.contains("light"), "{odd}");
}
