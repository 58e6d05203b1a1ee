//! Going on: with a named session, with the latest, with what is unfinished, beside another process.

use super::fixture::Desk;

#[test]
fn a_session_is_found_by_its_id_by_the_end_of_it_and_by_its_name() {
    let desk = Desk::with_echo();
    let id = desk.run(&["-o", "json", "one"]).json()["session"]
        .as_str()
        .unwrap()
        .to_owned();
    desk.house
        .rooftree(&["sessions", "rename", &id, "Errands"])
        .well();
    for name in [id.as_str(), id.get(id.len() - 6..).unwrap(), "errands"] {
        let result = desk.run(&["-o", "json", "-s", name, "more"]).json();
        assert_eq!(
            (result["session"].as_str().unwrap(), &result["text"]),
            (id.as_str(), &"heard: more".into())
        );
    }
}

#[test]
fn continue_means_the_latest_session_of_this_directory() {
    let (desk, other) = (Desk::with_echo(), tempfile::tempdir().unwrap());
    let here = desk.run(&["-o", "json", "one"]).json()["session"].clone();
    let there = other.path().to_str().unwrap();
    let elsewhere = desk.run(&["-o", "json", "-C", there, "two"]).json()["session"].clone();
    assert_eq!(
        desk.run(&["-o", "json", "--continue", "three"]).json()["session"],
        here
    );
    assert_eq!(
        desk.run(&["-o", "json", "-C", there, "--continue", "four"])
            .json()["session"],
        elsewhere
    );
}

#[test]
fn a_session_keeps_its_model_until_it_is_told_another() {
    let desk = Desk::with_echo();
    let session = desk.run(&["-o", "json", "one"]).json()["session"]
        .as_str()
        .unwrap()
        .to_owned();
    desk.write("other.toml", "[[reply]]\ntimes = 100\ntext = \"the other\"");
    let without = |arguments: &[&str]| {
        let mut command = desk.command(arguments);
        super::fixture::finished(command.env_remove("ROOFTREE_MODEL").spawn().unwrap())
    };
    assert_eq!(without(&["-s", &session, "two"]).well(), "heard: two\n");
    assert_eq!(
        without(&["-s", &session, "-m", "scripted/other.toml", "three"]).well(),
        "the other\n"
    );
    assert_eq!(
        without(&["-C", "/", "-s", &session, "four"]).well(),
        "the other\n"
    );
}

#[test]
fn with_nothing_to_say_and_nothing_unfinished_it_says_so() {
    let desk = Desk::with_echo();
    let session = desk.run(&["-o", "json", "one"]).json()["session"]
        .as_str()
        .unwrap()
        .to_owned();
    let done = desk.run(&["-s", &session]);
    assert_eq!((done.code, done.out.as_str()), (0, ""));
    assert!(done.err.contains("nothing is unfinished"), "{}", done.err);
}

#[test]
fn two_processes_on_one_session_take_turns() {
    let script = "[[reply]]\nmatch = \"first\"\ntext = \"I wait.\"\n[[reply.call]]\ntool = \"Bash\"\n\
                  input = { command = \"while [ ! -e go ]; do sleep 0.05; done\" }\n\
                  [[reply]]\ntimes = 100\ntext = \"after: {{ user.text }}\"";
    let desk = Desk::new(script);
    let mut first = desk.watch(&["--permission-mode", "bypass", "first"]);
    let session = first.until("tool.started")["session"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut second = desk.watch(&["-s", &session, "second"]);
    // It is in the inbox: only now may the first one go on.
    second.until("session.opened");
    second.until("inbox.queued");
    desk.write("go", "");
    let (first, second) = (first.done(), second.done());
    assert_eq!((first.code, second.code), (0, 0), "{first:?} {second:?}");
    assert!(
        second
            .err
            .contains("is at work on this session; what you say is queued"),
        "{}",
        second.err
    );
    let result = |out: &str| {
        serde_json::from_str::<serde_json::Value>(out.lines().last().unwrap()).unwrap()["text"]
            .clone()
    };
    assert_eq!(
        (result(&first.out), result(&second.out)),
        ("after: first".into(), "after: second".into())
    );
    desk.house.is_sound();
}
