//! Rows of the audit about delegation: depth, names, ids on every surface, what a result carries.

use std::fs;

use rooftree_protocol::{
    AgentDefinition, AgentDialect, Command, Effect, EventBody, Limits, Scope, SessionId,
    definition::DefinitionSource, event::RunEnd, message::text_of,
};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::{BackgroundProcesses, Toolset};
use serde_json::{Value, json};

use super::{agent, plan, task, task_with};

async fn results(runtime: &TestRuntime, session: &SessionId) -> Vec<String> {
    let events = runtime.events(session).await;
    let texts = events.iter().filter_map(|event| match &event.body {
        EventBody::ToolCompleted(record) => Some(text_of(&record.content)),
        _ => None,
    });
    texts.collect()
}

/// A lead that asks a helper, which asks a scout, and the texts of all results.
async fn chain(lead: u32, helper: u32) -> String {
    let deep = |name: &str, depth| AgentDefinition {
        limits: Limits {
            depth,
            ..Limits::default()
        },
        ..agent(name)
    };
    let runtime = plan([
        say("")
            .agent("lead")
            .calls([task("helper", "ask the scout")]),
        say("{{ results[0].text }}").agent("lead"),
        say("").agent("helper").calls([task("scout", "look")]),
        say("{{ results[0].text }}").agent("helper"),
        say("SEEN").agent("scout").times(9),
    ])
    .agent(deep("lead", lead))
    .agent(deep("helper", helper))
    .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await.text
}

#[tokio::test]
async fn r1_d20_the_depth_of_the_first_agent_holds_for_all_below_it() {
    let text = chain(2, 1).await;
    assert!(text.contains("SEEN"), "{text}");
    let text = chain(1, 2).await;
    assert!(
        text.contains("Task is not available inside a sub-agent."),
        "{text}"
    );
    let text = chain(2, 0).await;
    assert!(!text.contains("SEEN"), "{text}");
}

#[tokio::test]
async fn r1_d20_fan_out_is_set_for_all_agents() {
    let mut plan = plan([
        say("").agent("lead").calls([
            task_with("helper", "a", json!({"run_in_background": true})),
            task_with("scout", "b", json!({"run_in_background": true})),
        ]),
        say("done").agent("lead").times(9),
        say("x")
            .agent("helper")
            .delay(std::time::Duration::from_secs(60)),
        say("x")
            .agent("scout")
            .delay(std::time::Duration::from_secs(60)),
    ]);
    plan.limits.children = Some(1);
    let runtime = plan.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let results = results(&runtime, &session).await;
    let refused = results
        .iter()
        .filter(|text| text.contains("1 agents of this session"));
    assert_eq!(refused.count(), 1, "{results:?}");
}

#[tokio::test]
async fn the_built_in_names_of_claude_code_mean_ours() {
    let runtime = plan([
        say("").agent("lead").calls([
            task("general-purpose", "x"),
            task("Explore", "x"),
            task("Plan", "x"),
        ]),
        say("done").agent("lead"),
        say("ok").times(9),
    ])
    .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let mut agents: Vec<String> = runtime
        .children(&session)
        .await
        .into_iter()
        .map(|child| child.agent)
        .collect();
    agents.sort();
    assert_eq!(agents, ["explore", "plan", "task"]);
}

#[tokio::test]
async fn the_agents_that_can_be_asked_are_values_of_the_schema() {
    let only = AgentDefinition {
        agents: Scope::only(["helper".to_owned(), "scout".to_owned()]),
        ..agent("lead")
    };
    let runtime = plan([say("done").agent("lead").times(9)])
        .agent(only)
        .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let request = runtime.model.requests().remove(0);
    let schema = request.tools.iter().find(|spec| spec.name == "Task");
    let schema = &schema.unwrap().input_schema["properties"];
    assert_eq!(
        schema["subagent_type"]["enum"],
        json!(["helper", "scout", "fork"])
    );
    for argument in [
        "model_tier",
        "max_turns",
        "thoroughness",
        "model",
        "timeout",
    ] {
        let about = schema[argument]["description"].as_str();
        assert!(about.is_some_and(|about| !about.is_empty()), "{argument}");
    }
}

#[tokio::test]
async fn em1_research_reaches_the_web_in_the_mode_of_its_caller() {
    let tools = Toolset::new([ProbeTool::open("WebFetch", Effect::RemoteAction)]);
    let script = [
        say("")
            .agent("lead")
            .calls([task("research", "read the page")]),
        say("{{ results[0].text }}").agent("lead"),
        say("")
            .agent("research")
            .calls([call("WebFetch", json!({"say": "THE PAGE"}))]),
        say("it says {{ results[0].text }}").agent("research"),
    ];
    let allowed = TestRuntimeBuilder::new(script.clone())
        .with_delegation(tools.clone())
        .build();
    let session = allowed.post("go").await;
    let text = allowed.wait_for_run(&session).await.text;
    assert!(text.contains("it says THE PAGE"), "{text}");
    let mut careful = TestRuntimeBuilder::new(script).with_delegation(tools);
    careful.rights.policy.mode = rooftree_protocol::PermissionMode::Ask;
    let careful = careful.build();
    let session = careful.post("go").await;
    let text = careful.wait_for_run(&session).await.text;
    assert!(text.contains("it says [auto-rejected:"), "{text}");
}

#[tokio::test]
async fn em1_a_definition_that_keeps_its_mode_is_named_in_the_refusal() {
    let tools = Toolset::new([ProbeTool::open("WebFetch", Effect::RemoteAction)]);
    let careful = AgentDefinition {
        permission_mode: Some(rooftree_protocol::PermissionMode::Ask),
        ..agent("lead")
    };
    let runtime = TestRuntimeBuilder::new([
        say("").calls([call("WebFetch", json!({"say": "x"}))]),
        say("{{ results[0].text }}"),
    ])
    .tools(tools)
    .agent(careful)
    .build();
    let session = runtime.post("go").await;
    let text = runtime.wait_for_run(&session).await.text;
    assert!(
        text.contains("The definition of `lead` keeps it in mode `ask`"),
        "{text}"
    );
}

/// The end of the run that a lead's first delegation started.
async fn end_of_child(runtime: &TestRuntime, lead: &SessionId) -> RunEnd {
    let child = runtime.children(lead).await.remove(0);
    let events = runtime.events(&child.id).await;
    let end = events.into_iter().find_map(|event| match event.body {
        EventBody::RunCompleted(end) => Some(end),
        _ => None,
    });
    end.unwrap()
}

#[tokio::test]
async fn em5_a_result_carries_task_findings_and_the_files_that_searches_named() {
    let tools = rooftree_tools::builtin(std::sync::Arc::new(BackgroundProcesses::new(|| 1)));
    let runtime = TestRuntimeBuilder::new([
        say("").agent("lead").calls([task_with(
            "scout",
            "where is the needle?",
            json!({"description": "find the needle"}),
        )]),
        say("done").agent("lead"),
        say("").agent("scout").calls([
            call("Grep", json!({"pattern": "needle"})),
            call("Glob", json!({"pattern": "*.md"})),
            call("Read", json!({"file_path": "c.txt"})),
        ]),
        say("Here:\n- a.txt:1 — the needle\n").agent("scout"),
    ])
    .with_delegation(tools)
    .agent(agent("scout"))
    .build();
    for (name, text) in [("a.txt", "needle\n"), ("b.md", "hay\n"), ("c.txt", "hay\n")] {
        fs::write(runtime.path().join(name), text).unwrap();
    }
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let end = end_of_child(&runtime, &session).await;
    assert_eq!(end.task, "find the needle");
    let mut explored: Vec<String> = end
        .explored
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    explored.sort();
    assert_eq!(explored, ["a.txt", "b.md", "c.txt"]);
    let found: Vec<String> = end.findings.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["a.txt:1 the needle"]);
    assert!(end.files.is_empty(), "looking changes nothing");
}

#[tokio::test]
async fn r1_d16_every_id_of_a_session_works_on_every_surface() {
    let id = "{{ user.text | find('^by (.*)') }}";
    let runtime = plan([
        say("")
            .agent("lead")
            .on("^start")
            .calls([task("helper", "x")]),
        say("").agent("lead").on("^by ").calls([
            call("TaskOutput", json!({"task_id": id})),
            call("TaskStop", json!({"task_id": id})),
            call(
                "SendMessage",
                json!({"to": id, "text": "note", "silent": true}),
            ),
        ]),
        say("").agent("lead").on("^by ").calls([task_with(
            "helper",
            "again",
            json!({"resume": id}),
        )]),
        say("done").agent("lead").times(99),
        say("the answer").agent("helper").times(99),
    ])
    .build();
    let session = runtime.post("start").await;
    runtime.wait_for_run(&session).await;
    let child = runtime.children(&session).await.remove(0);
    let rename = Command::Rename {
        session: child.id.clone(),
        name: Some("the helper's".into()),
    };
    runtime.command(rename).await;
    let run = rooftree_protocol::RunId::derived_from(
        child.id.as_str().trim_start_matches(SessionId::PREFIX),
    );
    let names = [child.id.as_str(), run.as_str(), "the helper's"];
    for (turn, id) in (2..).zip(names) {
        let before = results(&runtime, &session).await.len();
        runtime.post_to(&session, &format!("by {id}")).await;
        runtime.wait_for_nth_run(&session, turn).await;
        let told = results(&runtime, &session).await.split_off(before);
        assert_eq!(told.len(), 4, "{id}: {told:?}");
        // The first three run at the same time and end in any order.
        let says = |what: &[&str]| {
            let fits = |text: &&String| what.iter().all(|word| text.contains(word));
            assert!(
                told.iter().any(|text| fits(&text)),
                "{id} {what:?}: {told:?}"
            );
        };
        assert!(
            told.iter().all(|text| !text.contains("not found")),
            "{id}: {told:?}"
        );
        says(&["is already completed"]);
        says(&["System message sent.", child.id.as_str()]);
        says(&["the answer", child.id.as_str()]);
    }
    let end = &child.id.as_str()[child.id.as_str().len() - 1..];
    let before = results(&runtime, &session).await.len();
    runtime.post_to(&session, &format!("by {end}")).await;
    runtime.wait_for_nth_run(&session, 5).await;
    for told in results(&runtime, &session).await.split_off(before) {
        assert!(
            !told.contains(child.id.as_str()),
            "the end of an id names no session: {told}"
        );
    }
    assert_eq!(runtime.children(&session).await.len(), 1);
}

#[tokio::test]
async fn r1_small_a_message_to_an_agents_name_reaches_ones_own_child() {
    let runtime = plan([
        say("").agent("lead").turn(1).calls([task("helper", "x")]),
        say("").agent("lead").turn(2).calls([call(
            "SendMessage",
            json!({"to": "helper", "text": "note", "silent": true}),
        )]),
        say("{{ results[0].text }}").agent("lead").times(9),
        say("ok").agent("helper").times(9),
    ])
    .build();
    let session = runtime.post("go").await;
    let text = runtime.wait_for_run(&session).await.text;
    let child = runtime.children(&session).await.remove(0);
    assert!(text.contains(child.id.as_str()), "{text}");
}

#[tokio::test]
async fn ko1_list_agents_shows_sources_and_where_a_prompt_was_cut() {
    let long = AgentDefinition {
        prompt: "word ".repeat(200),
        ..agent("helper")
    };
    let runtime = plan([
        say("").agent("lead").calls([
            call("ListAgents", json!({"detail": true})),
            task("nosuch", "x"),
        ]),
        say("done").agent("lead"),
    ])
    .agent(long)
    .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let told = results(&runtime, &session).await;
    assert!(
        told[0].contains("- helper: The helper. [program]"),
        "{}",
        told[0]
    );
    assert!(told[0].contains("[built-in]"), "{}", told[0]);
    assert!(told[0].contains("\n[...truncated]"), "{}", told[0]);
    assert!(
        told[1].contains("Available: ") && !told[1].contains("lead"),
        "{}",
        told[1]
    );
}

#[tokio::test]
async fn em2_no_turns_at_all_are_refused() {
    let runtime = plan([
        say("")
            .agent("lead")
            .calls([task_with("helper", "x", json!({"max_turns": 0}))]),
        say("{{ results[0].text }}").agent("lead"),
    ])
    .build();
    let session = runtime.post("go").await;
    let text = runtime.wait_for_run(&session).await.text;
    assert!(text.contains("`max_turns` must be at least 1"), "{text}");
}

#[tokio::test]
async fn r2_d12_an_agent_of_the_daycare_dialect_knows_its_own_tools() {
    let tools = rooftree_runtime::people_tools::with_tools(&Toolset::default());
    let daycare = AgentDefinition {
        source: DefinitionSource {
            dialect: AgentDialect::Daycare,
            ..DefinitionSource::default()
        },
        ..agent("lead")
    };
    let runtime = TestRuntimeBuilder::new([say("done").times(9)])
        .with_delegation(tools)
        .agent(daycare)
        .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let request = runtime.model.requests().remove(0);
    let names: Vec<Value> = request.tools.iter().map(|spec| json!(spec.name)).collect();
    for name in [
        "send_agent_message",
        "start_background_agent",
        "request_permission",
    ] {
        assert!(names.contains(&json!(name)), "{name}: {names:?}");
    }
}

/// The texts of the messages of a request, one per message.
fn texts(request: &rooftree_providers::ModelRequest) -> Vec<String> {
    request
        .messages
        .iter()
        .map(|message| serde_json::to_string(&format!("{message:?}")).unwrap())
        .collect()
}

#[tokio::test]
async fn the_day_is_told_in_the_conversation_once_and_leaves_the_prefix_alone() {
    let day = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(1));
    let seen = day.clone();
    let mut plan = plan([
        say("")
            .agent("lead")
            .on("^first")
            .calls([task("fork", "branch")]),
        say("ok").agent("lead").times(99),
    ]);
    plan.surroundings = Some(std::sync::Arc::new(move |_, _| {
        format!("DAY {}", seen.load(std::sync::atomic::Ordering::SeqCst))
    }));
    let runtime = plan.build();
    let session = runtime.post("first").await;
    runtime.wait_for_run(&session).await;
    runtime.post_to(&session, "second").await;
    runtime.wait_for_nth_run(&session, 2).await;
    day.store(2, std::sync::atomic::Ordering::SeqCst);
    runtime.post_to(&session, "third").await;
    runtime.wait_for_nth_run(&session, 3).await;
    let requests = runtime.model.requests();
    let own: Vec<_> = requests
        .iter()
        .filter(|request| request.session == session)
        .collect();
    for pair in own.windows(2) {
        assert_eq!(pair[0].system, pair[1].system);
        assert_eq!(pair[0].tools, pair[1].tools);
        let (before, after) = (texts(pair[0]), texts(pair[1]));
        assert_eq!(before[..], after[..before.len()], "the prefix stays");
    }
    let all = texts(own.last().unwrap()).join("\n");
    let count = |what: &str| all.matches(what).count();
    assert_eq!((count("DAY 1"), count("DAY 2")), (1, 1), "{all}");
    let fork = requests.iter().find(|request| request.session != session);
    let fork = texts(fork.unwrap()).join("\n");
    assert_eq!(fork.matches("DAY").count(), 1, "{fork}");
}
