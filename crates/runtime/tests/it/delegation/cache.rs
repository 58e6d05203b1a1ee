//! The same question to an agent that only looks.

use std::time::Duration;

use rooftree_protocol::{AgentDefinition, Scope};
use rooftree_providers::scripted::{ScriptedCall, call, say};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder};
use rooftree_tools::BackgroundProcesses;
use serde_json::json;

use super::{agent, task};

/// A runtime whose scout reads one file, and is asked about it by every message to the lead.
fn start_runtime() -> TestRuntime {
    house_calling(call("Read", json!({"file_path": "note.txt"})))
}

/// The same with a scout that makes this call.
fn house_calling(looks: ScriptedCall) -> TestRuntime {
    house_with(looks, &["Read", "Grep", "Glob", "List", "SemanticSearch"])
}

/// The same with a scout that has these tools.
fn house_with(looks: ScriptedCall, names: &[&str]) -> TestRuntime {
    let tools = rooftree_tools::builtin(std::sync::Arc::new(BackgroundProcesses::new(|| 1)));
    let script = [
        say("").agent("lead").on("ask").calls([task("scout", "what is in note.txt?")]),
        say("{{ results[0].text | first_line }}{% if 'cached: true' in results[0].text %} again{% endif %}")
            .agent("lead")
            .on("ask"),
        say("").agent("scout").calls([looks]),
        say("it says {{ results[0].text | find('red|blue|pink') | default('nothing') }}").agent("scout"),
    ];
    let scout = AgentDefinition {
        tools: Scope::only(names.iter().copied()),
        ..agent("scout")
    };
    TestRuntimeBuilder::new(script)
        .with_delegation(tools)
        .agent(scout)
        .build()
}

/// Writes a file and lets time pass, so that the clock of the disk has moved on too.
async fn write(runtime: &TestRuntime, text: &str) {
    write_to(runtime, "work/note.txt", text).await;
}

async fn write_to(runtime: &TestRuntime, name: &str, text: &str) {
    let path = runtime.path().join(name);
    std::fs::create_dir_all(runtime.path().join("work")).unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    tokio::time::sleep(Duration::from_millis(60)).await;
}

async fn ask(runtime: &TestRuntime) -> String {
    let new = rooftree_protocol::command::NewSession {
        agent: "lead".into(),
        cwd: runtime.path().join("work"),
        name: None,
        model: None,
    };
    let post = rooftree_protocol::Command::Post {
        to: rooftree_protocol::Address::Create(new),
        parts: vec![rooftree_protocol::Part::text("ask")],
        origin: rooftree_protocol::Origin::User,
        key: None,
        delivery: rooftree_protocol::Delivery::Queue,
        context: None,
    };
    let rooftree_protocol::command::CommandReply::Accepted { session, .. } =
        runtime.command(post).await
    else {
        panic!("the post is accepted")
    };
    let text = runtime.wait_for_run(&session).await.text;
    tokio::time::sleep(Duration::from_millis(60)).await;
    text
}

#[tokio::test]
async fn it_is_answered_once_until_a_file_changes() {
    let runtime = start_runtime();
    write(&runtime, "red").await;
    assert_eq!(ask(&runtime).await, "it says red");
    assert_eq!(ask(&runtime).await, "it says red again");
    write(&runtime, "blue").await;
    assert_eq!(
        ask(&runtime).await,
        "it says blue",
        "an answer is never stale"
    );
    assert_eq!(ask(&runtime).await, "it says blue again");
    // The same length, and the time put back: still another file.
    let path = runtime.path().join("work/note.txt");
    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    std::fs::write(&path, "pink").unwrap();
    std::fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(before)
        .unwrap();
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(ask(&runtime).await, "it says pink");
}

#[tokio::test]
async fn an_agent_that_can_do_more_than_look_at_files_is_asked_every_time() {
    for more in ["BashOutput", "Bash", "Write", "WebSearch"] {
        let looks = call("Read", json!({"file_path": "note.txt"}));
        let runtime = house_with(looks, &["Read", more]);
        write(&runtime, "red").await;
        assert_eq!(ask(&runtime).await, "it says red", "{more}");
        assert_eq!(ask(&runtime).await, "it says red", "{more}");
    }
}

/// Every way a read-only agent can look at something, and the file that decides what it finds.
fn looks_beyond_the_tree() -> Vec<(ScriptedCall, &'static str)> {
    vec![
        (
            call("Read", json!({"file_path": "../outer/note.txt"})),
            "outer/note.txt",
        ),
        (
            call("Grep", json!({"pattern": "red|blue", "path": "../outer"})),
            "outer/note.txt",
        ),
        (
            call("Grep", json!({"pattern": "red|blue", "path": ".."})),
            "outer/note.txt",
        ),
        (
            call("Grep", json!({"pattern": "red|blue", "path": ".git"})),
            "work/.git/description",
        ),
        (
            call("Grep", json!({"pattern": "red|blue", "path": "sub/.git"})),
            "work/sub/.git/description",
        ),
        (
            call("Read", json!({"file_path": ".git/description"})),
            "work/.git/description",
        ),
        (
            call(
                "SemanticSearch",
                json!({"query": "red blue", "path": "../outer"}),
            ),
            "outer/note.txt",
        ),
    ]
}

#[tokio::test]
async fn r1_d3_an_answer_about_files_outside_the_tree_or_in_git_is_never_stale() {
    for (looks, file) in looks_beyond_the_tree() {
        let shown = format!("{looks:?}");
        let runtime = house_calling(looks);
        write_to(&runtime, file, "red").await;
        assert_eq!(ask(&runtime).await, "it says red", "{shown}");
        write_to(&runtime, file, "blue").await;
        assert_eq!(ask(&runtime).await, "it says blue", "{shown}");
    }
}

#[tokio::test]
async fn r1_d3_an_answer_about_names_outside_the_tree_is_never_stale() {
    let looks = [
        call("List", json!({"path": "../outer"})),
        call("Glob", json!({"pattern": "*.txt", "path": "../outer"})),
        call("Glob", json!({"pattern": "../outer/*.txt"})),
        call("List", json!({"path": ".git"})),
    ];
    for looks in looks {
        let (shown, runtime) = (format!("{looks:?}"), house_calling(looks));
        write_to(&runtime, "outer/red.txt", "").await;
        write_to(&runtime, "work/.git/red.txt", "").await;
        assert_eq!(ask(&runtime).await, "it says red", "{shown}");
        for place in ["outer", "work/.git"] {
            let at = |name: &str| runtime.path().join(place).join(name);
            std::fs::rename(at("red.txt"), at("blue.txt")).unwrap();
        }
        assert_eq!(ask(&runtime).await, "it says blue", "{shown}");
    }
}

#[tokio::test]
async fn r1_d3_what_is_below_the_tree_is_cached_for_every_tool_that_looks() {
    let looks = [
        call("Grep", json!({"pattern": "red|blue"})),
        call("Glob", json!({"pattern": "**/*.txt"})),
        call("SemanticSearch", json!({"query": "red blue"})),
        call("Read", json!({"file_path": "sub/../note.txt"})),
    ];
    for looks in looks {
        let (shown, runtime) = (format!("{looks:?}"), house_calling(looks));
        write_to(&runtime, "work/red.txt", "red").await;
        write(&runtime, "red").await;
        assert_eq!(ask(&runtime).await, "it says red", "{shown}");
        assert_eq!(ask(&runtime).await, "it says red again", "{shown}");
    }
}

#[tokio::test]
async fn r1_d3_an_ignore_file_above_the_tree_is_part_of_what_a_search_depends_on() {
    let runtime = house_calling(call("Glob", json!({"pattern": "*.txt"})));
    write_to(&runtime, "work/red.txt", "").await;
    assert_eq!(ask(&runtime).await, "it says red");
    assert_eq!(ask(&runtime).await, "it says red again");
    write_to(&runtime, ".gitignore", "red.txt\n").await;
    assert_eq!(ask(&runtime).await, "it says nothing");
}
