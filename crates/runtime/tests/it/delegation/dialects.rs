//! Agents written for other programs are told, in those programs' words, whom they can ask and how.

use rooftree_protocol::{
    AgentDefinition, AgentDialect, EventBody, definition::DefinitionSource, message::text_of,
};
use rooftree_providers::scripted::{call, say};
use serde_json::json;

use super::{agent, plan};

fn written_for(dialect: AgentDialect) -> AgentDefinition {
    AgentDefinition {
        source: DefinitionSource {
            dialect,
            ..DefinitionSource::default()
        },
        ..agent("lead")
    }
}

#[tokio::test]
async fn r2_d3_every_dialect_is_told_whom_it_can_ask_in_its_own_words() {
    let words = [
        (
            AgentDialect::Rooftree,
            "with the Task tool, by `subagent_type`",
        ),
        (
            AgentDialect::Fourmis,
            "with the Task tool, by `subagent_type`",
        ),
        (
            AgentDialect::Emdash,
            "with the task tool, by `subagent_type`",
        ),
        (
            AgentDialect::Assistant,
            "with the agents_message tool, by `agentId`",
        ),
        (
            AgentDialect::Koda,
            "with the InvokeAgent tool, by `agent_name`",
        ),
    ];
    for (dialect, words) in words {
        let runtime = plan([say("done").agent("lead")])
            .agent(written_for(dialect))
            .build();
        let lead = runtime.post("go").await;
        runtime.wait_for_run(&lead).await;
        let request = runtime.model.requests().remove(0);
        assert!(
            request.system.contains("## Agents"),
            "{dialect:?}: {}",
            request.system
        );
        assert!(
            request.system.contains(words),
            "{dialect:?}: {}",
            request.system
        );
        assert!(request.system.contains("- helper:"), "{dialect:?}");
    }
}

#[tokio::test]
async fn r1_d15_the_tool_of_a_dialect_is_described_in_its_own_words() {
    let runtime = plan([say("done").agent("lead")])
        .agent(written_for(AgentDialect::Koda))
        .build();
    let lead = runtime.post("go").await;
    runtime.wait_for_run(&lead).await;
    let request = runtime.model.requests().remove(0);
    let told = request
        .tools
        .iter()
        .find(|spec| spec.name == "InvokeAgent")
        .unwrap();
    for word in [
        "Sequential foreground",
        "Parallel foreground",
        "InvokeAgent calls",
        "background=true",
        "Forked context",
        "agent_name='fork'",
        "cache",
        "[ERROR: sub-agent",
        "cannot spawn other sub-agents",
    ] {
        assert!(
            told.description.contains(word),
            "{word}: {}",
            told.description
        );
    }
    let background = &told.input_schema["properties"]["background"]["description"];
    assert!(background.as_str().unwrap().contains("next iteration"));
    for word in ["Task calls", "run_in_background"] {
        assert!(
            !told.description.contains(word),
            "{word}: {}",
            told.description
        );
    }
}

#[tokio::test]
async fn r1_d15_a_sub_agent_of_emdash_has_ten_turns() {
    let runtime = plan([
        say("").agent("lead").calls([call(
            "task",
            json!({"subagent_type": "helper", "prompt": "x"}),
        )]),
        say("done").agent("lead"),
        say("")
            .agent("helper")
            .calls([call("Look", json!({"say": "{{ turn }}"}))])
            .times(60),
    ])
    .agent(written_for(AgentDialect::Emdash))
    .build();
    let lead = runtime.post("go").await;
    runtime.wait_for_run(&lead).await;
    let child = runtime.children(&lead).await.remove(0);
    let events = runtime.events(&child.id).await;
    let looked = events
        .iter()
        .filter(|event| matches!(event.body, EventBody::ToolStarted { .. }))
        .count();
    assert_eq!(looked, 10);
}

#[tokio::test]
async fn r1_d6_research_may_use_the_web_where_its_caller_may() {
    let research = rooftree_runtime::Definitions::builtin()
        .find("research")
        .unwrap();
    assert_eq!(
        research.permission_mode, None,
        "the mode of the caller counts"
    );
}

#[tokio::test]
async fn r1_d14_a_fork_is_followed_up_as_a_fork() {
    let resume = "{{ results[0].text | find('ses_[a-z0-9]+') }}";
    let runtime = plan([
        say("")
            .agent("lead")
            .turn(1)
            .calls([super::task("fork", "branch")]),
        say("I am the branch").agent("lead").on("^branch"),
        say("I am still it").agent("lead").on("^again"),
        say("").agent("lead").turn(2).calls([super::task_with(
            "fork",
            "again",
            json!({"resume": resume}),
        )]),
        say("done").agent("lead"),
    ])
    .build();
    let lead = runtime.post("go").await;
    runtime.wait_for_run(&lead).await;
    let events = runtime.events(&lead).await;
    let results: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::ToolCompleted(record) => Some(text_of(&record.content)),
            _ => None,
        })
        .collect();
    assert!(
        !results
            .iter()
            .any(|text| text.contains("Unknown agent type")),
        "{results:?}"
    );
    assert_eq!(runtime.children(&lead).await.len(), 1, "{results:?}");
}

#[tokio::test]
async fn r1_d7_a_fork_in_background_has_the_prefix_of_its_parent() {
    let fork = super::task_with("fork", "branch", json!({"run_in_background": true}));
    let runtime = plan([
        say("").agent("lead").turn(1).calls([fork]),
        say("done").agent("lead").times(20),
    ])
    .build();
    let lead = runtime.post("go").await;
    runtime.wait_for_run(&lead).await;
    let child = runtime.children(&lead).await.remove(0);
    runtime.wait_for_run(&child.id).await;
    let requests = runtime.model.requests();
    let own = requests
        .iter()
        .find(|request| request.session == lead)
        .unwrap();
    let forks = requests
        .iter()
        .find(|request| request.session == child.id)
        .unwrap();
    assert_eq!(own.system, forks.system);
    assert_eq!(own.tools, forks.tools);
    assert_eq!(own.messages.first(), forks.messages.first());
}
