//! The same question to an agent that only looks.

use std::time::Duration;

use rooftree_protocol::{AgentDefinition, Scope};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{House, Plan};
use rooftree_tools::Processes;
use serde_json::json;

use super::{agent, task};

/// A house whose scout reads one file, and is asked about it by every message to the lead.
fn house() -> House {
    let tools = rooftree_tools::builtin(std::sync::Arc::new(Processes::new(|| 1)));
    let script = [
        say("").agent("lead").on("ask").calls([task("scout", "what is in note.txt?")]),
        say("{{ results[0].text | first_line }}{% if 'cached: true' in results[0].text %} again{% endif %}")
            .agent("lead")
            .on("ask"),
        say("").agent("scout").calls([call("Read", json!({"file_path": "note.txt"}))]),
        say("it says {{ results[0].text | find('[a-z]+') }}").agent("scout"),
    ];
    let scout = AgentDefinition { tools: Scope::only(["Read", "Grep"]), ..agent("scout") };
    Plan::new(script).delegating(tools).agent(scout).build()
}

/// Writes a file and lets time pass, so that the clock of the disk has moved on too.
async fn write(house: &House, text: &str) {
    let directory = house.path().join("work");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("note.txt"), text).unwrap();
    tokio::time::sleep(Duration::from_millis(60)).await;
}

async fn ask(house: &House) -> String {
    let new = rooftree_protocol::command::NewSession {
        agent: "lead".into(),
        cwd: house.path().join("work"),
        name: None,
        model: None,
    };
    let post = rooftree_protocol::Command::Post {
        to: rooftree_protocol::Address::Create(new),
        parts: vec![rooftree_protocol::Part::text("ask")],
        origin: rooftree_protocol::Origin::User,
        key: None,
        delivery: rooftree_protocol::Delivery::Queue,
    };
    let rooftree_protocol::command::Reply::Accepted { session, .. } = house.command(post).await else {
        panic!("the post is accepted")
    };
    let text = house.finished(&session).await.text;
    tokio::time::sleep(Duration::from_millis(60)).await;
    text
}

#[tokio::test]
async fn it_is_answered_once_until_a_file_changes() {
    let house = house();
    write(&house, "red").await;
    assert_eq!(ask(&house).await, "it says red");
    assert_eq!(ask(&house).await, "it says red again");
    write(&house, "blue").await;
    assert_eq!(ask(&house).await, "it says blue", "an answer is never stale");
    assert_eq!(ask(&house).await, "it says blue again");
    // The same length, and the time put back: still another file.
    let path = house.path().join("work/note.txt");
    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    std::fs::write(&path, "pink").unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(ask(&house).await, "it says pink");
}
