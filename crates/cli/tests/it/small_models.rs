//! Guards around small models, with scripted models in the lean profile.

use std::fs;

use crate::sessions::fixture::{Done, House};

/// A home whose default model is this script, in the lean profile.
fn small(script: &str) -> House {
    let house = House::new();
    let path = house.path().canonicalize().unwrap().join("small.toml");
    fs::write(&path, script).unwrap();
    let id = format!("scripted/{}", path.display());
    fs::write(
        house.path().join("models.toml"),
        format!("[[model]]\nid = '{id}'\nprofile = 'lean'\n"),
    )
    .unwrap();
    fs::write(
        house.path().join("config.toml"),
        format!("model = '{id}'\n"),
    )
    .unwrap();
    fs::write(house.path().join("notes.txt"), "Buy milk.\n").unwrap();
    house
}

fn run(house: &House, arguments: &[&str]) -> Done {
    house.rooftree(&[&["run", "--permission-mode", "auto"], arguments].concat())
}

const READ: &str =
    r#"```json\n{\"tool\": \"Read\", \"input\": {\"file_path\": \"notes.txt\"}}\n```"#;

#[test]
fn n_7_an_invented_result_is_sent_back_and_the_tool_is_called() {
    let house = small(&format!(
        "[[reply]]\ntext = \"<result of=\\\"Read\\\">\\nBuy bread.\\n</result>\"\n\
         [[reply]]\nmatch = \"Do not write the result of a tool yourself\"\ntext = \"{READ}\"\n\
         [[reply]]\nmatch = \"Buy milk\"\ntext = \"It says: Buy milk.\"\n"
    ));
    let done = run(&house, &["What does notes.txt say?"]);
    assert_eq!(done.out, "It says: Buy milk.\n", "{done:?}");
    assert!(!done.err.contains("bread"), "{}", done.err);
}

#[test]
fn n_7_an_announcement_without_a_call_is_sent_back_twice_and_then_people_are_told() {
    let house = small(&format!(
        "[[reply]]\ntext = \"I will read the file.\"\n[[reply]]\nmatch = \"nothing is done without a tool\"\n\
         text = \"{READ}\"\n[[reply]]\nmatch = \"result of\"\ntext = \"Buy milk.\"\n"
    ));
    assert_eq!(run(&house, &["Read notes.txt"]).well(), "Buy milk.\n");
    let stubborn = small(
        "[[reply]]\ntext = \"I will read the file.\"\n\
         [[reply]]\nmatch = \"nothing is done\"\ntimes = 2\ntext = \"I will read it soon.\"\n",
    );
    let done = run(&stubborn, &["Read notes.txt"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "I will read it soon.\n"),
        "{done:?}"
    );
    assert!(done.err.contains("no tool was used"), "{}", done.err);
}

#[test]
fn n_7_small_talk_is_answered_without_a_tool() {
    let house = small("[[reply]]\ntext = \"Four.\"\n");
    let done = run(&house, &["What is 2+2?"]);
    assert_eq!(done.out, "Four.\n", "{done:?}");
    assert!(!done.err.contains("no tool was used"), "{}", done.err);
}

#[test]
fn n_28_a_small_model_is_told_only_of_the_tools_it_was_given() {
    let house = small(
        "[[reply]]\ntext = '{\"tool\": \"Plan\", \"input\": {}}'\n\
         [[reply]]\nturn = 2\nmatch = \"there is no tool `Plan`. There are: Read, Write, Edit, List, Grep, Bash\\n\"\n\
         text = \"Done.\"\n",
    );
    assert_eq!(run(&house, &["Fix it"]).well(), "Done.\n");
}

#[test]
fn n_16_alternating_calls_that_bring_nothing_new_end_the_run() {
    let call = |tool: &str, input: &str| {
        format!("[[reply]]\n[[reply.call]]\ntool = \"{tool}\"\ninput = {input}\n")
    };
    let pair = [
        call("Read", "{ file_path = \"notes.txt\" }"),
        call("List", "{ path = \"folder\" }"),
    ]
    .concat();
    let house = House::new();
    fs::write(house.path().join("notes.txt"), "Buy milk.\n").unwrap();
    fs::create_dir(house.path().join("folder")).unwrap();
    fs::write(house.path().join("folder/a.txt"), "a").unwrap();
    fs::write(house.path().join("loop.toml"), pair.repeat(20)).unwrap();
    let run = |extra: &[&str]| {
        let fixed = ["run", "-o", "json", "-m", "scripted/loop.toml"];
        house.rooftree(&[&fixed, extra, &["go"]].concat())
    };
    let turns = |done: &Done| {
        let result: serde_json::Value = serde_json::from_str(&done.out).unwrap();
        result["turns"].as_u64().unwrap()
    };
    let usual = run(&[]);
    assert_eq!((usual.code, turns(&usual)), (7, 13), "{usual:?}");
    assert!(
        usual.err.contains("brought nothing new")
            && usual.err.contains("-c limits.identical_calls=10"),
        "{}",
        usual.err
    );
    let fewer = run(&["-c", "limits.identical_calls=2"]);
    assert_eq!((fewer.code, turns(&fewer)), (7, 7), "{fewer:?}");
    fs::write(
        house.path().join("config.toml"),
        "[limits]\nidentical_calls = 3\n",
    )
    .unwrap();
    assert_eq!(
        turns(&run(&[])),
        9,
        "the key is accepted in config.toml too"
    );
}

#[test]
fn n_16_the_same_refusal_again_and_again_ends_the_run_and_new_results_do_not() {
    let house = House::new();
    let refused: String = (0..30)
        .map(|number| {
            format!(
                "[[reply]]\n[[reply.call]]\ntool = \"Write\"\ninput = {{ file_path = \"f{number}\", content = \"x\" }}\n"
            )
        })
        .collect();
    fs::write(house.path().join("refused.toml"), refused).unwrap();
    let done = house.rooftree(&[
        "run",
        "-m",
        "scripted/refused.toml",
        "--permission-mode",
        "plan",
        "go",
    ]);
    assert_eq!(done.code, 7, "{done:?}");
    assert!(done.err.contains("brought nothing new"), "{}", done.err);
    let new: String = (0..30)
        .map(|number| {
            format!("[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = {{ command = \"echo {number}; false\" }}\n")
        })
        .chain(["[[reply]]\ntext = \"Done.\"\n".to_owned()])
        .collect();
    fs::write(house.path().join("new.toml"), new).unwrap();
    let done = house.rooftree(&[
        "run",
        "-m",
        "scripted/new.toml",
        "--permission-mode",
        "auto",
        "go",
    ]);
    assert_eq!(done.well(), "Done.\n");
}
