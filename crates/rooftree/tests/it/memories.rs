//! Agents that remember from session to session, in a directory the program gives.

use rooftree::{
    Agent, ErrorCode, MemoryScope,
    testing::{call, say},
};
use serde_json::json;

use crate::fixture::{script, scripted};

fn keeper() -> Agent {
    Agent::new("keeper")
        .describe("Remembers.")
        .memory(MemoryScope::User)
}

#[tokio::test]
async fn what_one_query_remembers_another_is_reminded_of() {
    let shelf = tempfile::tempdir().unwrap();
    let entries = [
        say("").calls([call("MemoryWrite", json!({"text": "Likes tea."}))]),
        say("").calls([call("MemorySearch", json!({"query": "tea"}))]),
        say("Noted: {{ results[0].text }}"),
    ];
    let asked = scripted("I like tea", entries)
        .agent(keeper())
        .main_agent("keeper")
        .memory(shelf.path());
    let answer = asked.allow("MemoryWrite").await.unwrap();
    assert_eq!(answer.text, "Noted: MEMORY.md:1: Likes tea.");
    assert!(shelf.path().join("keeper/MEMORY.md").exists());

    let model = script([say("Tea?")]);
    let asked = rooftree::query("What do I like?").provider("scripted", model.clone());
    asked
        .agent(keeper())
        .main_agent("keeper")
        .memory(shelf.path())
        .await
        .unwrap();
    let told = model.requests();
    let system = &told.first().unwrap().system;
    assert!(system.contains("Likes tea."), "{system}");
}

#[tokio::test]
async fn a_memory_that_is_nowhere_is_a_mistake_and_others_have_no_tools_for_it() {
    let nowhere = scripted("Hi", [say("Hello.")])
        .agent(keeper())
        .await
        .unwrap_err();
    assert_eq!(nowhere.code(), ErrorCode::InvalidConfig);
    assert!(nowhere.hint().unwrap().contains("memory("), "{nowhere:?}");
    let model = script([say("Hello.")]);
    rooftree::query("Hi")
        .provider("scripted", model.clone())
        .await
        .unwrap();
    let told = model.requests();
    let tools = told
        .first()
        .unwrap()
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect::<Vec<_>>();
    assert!(!tools.contains(&"MemoryWrite"), "{tools:?}");
}
