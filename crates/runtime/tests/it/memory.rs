//! What an agent remembers from session to session.

use rooftree_protocol::{AgentDefinition, MemoryScope, PermissionMode};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::TestRuntimeBuilder;
use rooftree_tools::Toolset;
use serde_json::json;

fn plan(
    entries: impl IntoIterator<Item = rooftree_providers::scripted::ScriptEntry>,
) -> TestRuntimeBuilder {
    let remembering = AgentDefinition {
        memory: Some(MemoryScope::User),
        ..AgentDefinition::new("lead")
    };
    TestRuntimeBuilder::new(entries)
        .tools(rooftree_runtime::memory_tools::with_tools(
            &Toolset::default(),
        ))
        .agent(remembering)
}

#[tokio::test]
async fn what_is_remembered_in_one_session_is_read_in_the_next_and_is_plain_markdown() {
    let runtime = plan([
        say("").on("learn").calls([
            call("remember", json!({"text": "- the build needs clang"})),
            call(
                "MemoryWrite",
                json!({"name": "people", "text": "Ada likes short answers"}),
            ),
            call("MemoryWrite", json!({"text": "- tests take an hour"})),
        ]),
        say("learnt").on("learn"),
        say("").on("recall").calls([
            call("MemorySearch", json!({"query": "ada SHORT"})),
            call("memory_get", json!({"name": "people"})),
            call("MemoryRead", json!({"name": "../../secret"})),
            call("MemoryRead", json!({"name": "nothing"})),
        ]),
        say("{% for r in results %}{{ r.text | first_line }}\n{% endfor %}").on("recall"),
    ])
    .build();
    let first = runtime.post("learn").await;
    runtime.wait_for_run(&first).await;
    let file = std::fs::read_to_string(runtime.path().join("memory/lead/MEMORY.md")).unwrap();
    assert_eq!(file, "- the build needs clang\n- tests take an hour\n");
    let second = runtime.post("recall").await;
    let text = runtime.wait_for_run(&second).await.text;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "people.md:1: Ada likes short answers");
    assert_eq!(lines[1], "Ada likes short answers");
    assert!(lines[2].contains("is no name for a memory"), "{text}");
    assert_eq!(
        lines[3],
        "There is no memory `nothing`. There are: MEMORY.md, people.md."
    );
    let requests = runtime.model.requests();
    assert!(!requests[0].system.contains("clang"));
    assert!(
        requests
            .last()
            .unwrap()
            .system
            .contains("- the build needs clang"),
        "it is reminded when it wakes"
    );
}

#[tokio::test]
async fn what_an_agent_is_reminded_of_is_bounded() {
    let runtime = plan([say("ok").times(9)]).build();
    let place = runtime.path().join("memory/lead");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("MEMORY.md"), "a line of memory\n".repeat(5_000)).unwrap();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let system = runtime.model.requests()[0].system.clone();
    assert_eq!(system.matches("a line of memory").count(), 200);
    assert!(system.contains("more of it: MemoryRead"));
}

#[tokio::test]
async fn remembering_is_asked_about_like_any_change_and_agents_without_memory_have_no_such_tool() {
    let entries = || {
        [
            say("").calls([call("MemoryWrite", json!({"text": "x"}))]),
            say("{{ results[0].text }}"),
        ]
    };
    let mut careful = plan(entries());
    careful.rights.policy.mode = PermissionMode::Ask;
    let runtime = careful.build();
    let session = runtime.post("go").await;
    assert!(
        runtime
            .wait_for_run(&session)
            .await
            .text
            .contains("[auto-rejected")
    );
    let runtime = plan(entries()).agent(AgentDefinition::new("lead")).build();
    let session = runtime.post("go").await;
    assert!(
        runtime
            .wait_for_run(&session)
            .await
            .text
            .contains("tool_not_allowed")
    );
    assert!(runtime.model.requests()[0].tools.is_empty());
}
