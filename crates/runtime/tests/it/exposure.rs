//! Tools as skills with a command line: what models are told, and how commands call.

mod attacks;
mod people;
mod shell;
mod unfinished;

use rooftree_protocol::{
    AgentDefinition, Effect, EventBody, Outcome, Scope, definition::ToolExposure, message::text_of,
};
use rooftree_providers::scripted::{call, say};
use rooftree_testkit::{ProbeTool, TestRuntimeBuilder};
use rooftree_tools::{CallSocketEnv, Toolset};
use serde_json::json;

use self::shell::{Shell, ask, called};

/// An agent whose tools are skills.
pub fn agent(exposure: ToolExposure) -> AgentDefinition {
    let mut agent = AgentDefinition::new("clerk");
    (agent.prompt, agent.exposure) = ("You are a clerk.".into(), exposure);
    agent
}

/// A plan in which the clerk runs one command, which does what the shell was told to.
pub fn plan(shell: Shell, exposure: ToolExposure) -> TestRuntimeBuilder {
    let tools = Toolset::new([
        shell.tool(),
        ProbeTool::open("Look", Effect::ReadOnly),
        ProbeTool::open("Change", Effect::LocalMutation),
    ]);
    let script = [say("").calls([call("Bash", json!({}))]), say("done")];
    TestRuntimeBuilder::new(script)
        .tools(tools)
        .agent(agent(exposure))
}

#[tokio::test]
async fn a_command_calls_a_tool_and_the_journal_says_inside_of_what() {
    let shell = Shell::new(|way: CallSocketEnv| async move {
        called(&way, "Look", json!({"say": "hello"})).await
    });
    let runtime = plan(shell, ToolExposure::Skills).build();
    let session = runtime.post_as("clerk", "go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(
        (end.calls, end.tools.as_slice()),
        (2, &["Look".to_owned(), "Bash".to_owned()][..])
    );
    let (mut bash, mut begun, mut ended) = (None, None, None);
    for event in runtime.events(&session).await {
        match event.body {
            EventBody::ToolStarted {
                call,
                tool,
                inside: None,
                ..
            } if tool == "Bash" => bash = Some(call),
            EventBody::ToolStarted {
                tool,
                inside,
                permitted,
                ..
            } if tool == "Look" => {
                begun = inside;
                assert!(!permitted.is_empty());
            }
            EventBody::ToolCompleted(record) if record.tool == "Look" => {
                assert_eq!(record.outcome, Outcome::Done);
                ended = record.inside;
            }
            _ => {}
        }
    }
    assert!(
        bash.is_some() && begun == bash && ended == bash,
        "{bash:?} {begun:?} {ended:?}"
    );
    // The model reads one result: that of the command.
    let last = runtime.model.requests().pop().unwrap();
    let read = format!("{:?}", last.messages);
    assert!(read.contains("Done: hello"), "{read}");
    assert_eq!(read.matches("ToolResult {").count(), 1, "{read}");
    runtime.verify().await;
}

#[tokio::test]
async fn skills_are_told_in_the_prompt_and_described_in_files_and_mixed_gives_both() {
    for (exposure, is_function, is_skill) in [
        (ToolExposure::Tools, true, false),
        (ToolExposure::Skills, false, true),
        (ToolExposure::Mixed, true, true),
    ] {
        let runtime = plan(Shell::maybe(|_| async { "x".to_owned() }), exposure).build();
        let session = runtime.post_as("clerk", "go").await;
        runtime.wait_for_run(&session).await;
        let requests = runtime.model.requests();
        let names: Vec<&str> = requests[0]
            .tools
            .iter()
            .map(|spec| spec.name.as_str())
            .collect();
        assert!(names.contains(&"Bash"), "{names:?}");
        assert_eq!(names.contains(&"Look"), is_function, "{exposure:?}");
        let system = &requests[0].system;
        assert_eq!(
            system.contains("## Command line skills"),
            is_skill,
            "{system}"
        );
        // What a provider has read of it stays good from turn to turn.
        assert!(
            requests
                .iter()
                .all(|request| request.system == *system && request.tools == requests[0].tools)
        );
        if is_skill {
            let path = system
                .lines()
                .find_map(|line| line.trim().strip_prefix("SKILL.md: "))
                .unwrap();
            let page = std::fs::read_to_string(path).unwrap();
            assert!(path.starts_with(runtime.path().to_str().unwrap()), "{path}");
            assert!(
                page.contains("name: program") && page.contains("rooftree call Look"),
                "{page}"
            );
        }
    }
}

#[tokio::test]
async fn without_bash_tools_stay_functions_and_that_is_said() {
    let mut agent = agent(ToolExposure::Skills);
    agent.tools = Scope::only(["Look".to_owned()]);
    let runtime = TestRuntimeBuilder::new([say("done")])
        .tools(Toolset::new([
            Shell::new(|_| async { String::new() }).tool(),
            ProbeTool::open("Look", Effect::ReadOnly),
        ]))
        .agent(agent)
        .build();
    let session = runtime.post_as("clerk", "go").await;
    runtime.wait_for_run(&session).await;
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("notice   exposure")
    );
    let requests = runtime.model.requests();
    assert_eq!(
        requests[0]
            .tools
            .iter()
            .map(|spec| spec.name.as_str())
            .collect::<Vec<_>>(),
        ["Look"]
    );
    assert!(!requests[0].system.contains("Command line skills"));
}

#[tokio::test]
async fn an_agent_whose_tools_are_functions_lets_no_command_in() {
    let shell = Shell::maybe(|way| async move { format!("{:?}", way.is_some()) });
    let runtime = plan(shell, ToolExposure::Tools).build();
    let session = runtime.post_as("clerk", "go").await;
    runtime.wait_for_run(&session).await;
    assert!(
        runtime
            .transcript(&session)
            .await
            .contains("tool     Bash done: false")
    );
}

#[tokio::test]
async fn what_is_cut_for_the_journal_is_whole_for_the_command_and_never_shows_the_token() {
    let shell = Shell::new(|way: CallSocketEnv| async move {
        let long = "x".repeat(40_000) + "END";
        let reply = ask(
            &way,
            &json!({"token": way.token, "tool": "Look", "input": {"say": long}}),
        )
        .await;
        format!(
            "{} {} {}",
            reply.text.len(),
            reply.text.ends_with("END"),
            way.token
        )
    });
    let runtime = plan(shell, ToolExposure::Skills).build();
    let session = runtime.post_as("clerk", "go").await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(
        story.contains("Bash done: 40003 true [redacted: rooftree call token]"),
        "{story}"
    );
    let events = runtime.events(&session).await;
    assert!(
        !serde_json::to_string(&events).unwrap().contains("rtcall_"),
        "the token is in the journal"
    );
    let kept = events.iter().find_map(|event| match &event.body {
        EventBody::ToolCompleted(record) if record.tool == "Look" => Some(record),
        _ => None,
    });
    let kept = kept.unwrap();
    assert!(text_of(&kept.content).len() < 35_000 && kept.full.is_some());
}

#[tokio::test]
async fn r2_d13_lists_of_skills_hold_for_tools_that_are_skills() {
    let names = |allow: Option<&[&str]>, deny: &[&str]| {
        let list = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let mut agent = agent(ToolExposure::Skills);
        agent.skills = Scope {
            allow: allow.map(list),
            deny: list(deny),
        };
        let tools = Toolset::new([
            ProbeTool::open("Bash", Effect::ReadOnly),
            ProbeTool::open("WebFetch", Effect::ReadOnly),
            ProbeTool::open("Look", Effect::ReadOnly),
        ]);
        rooftree_runtime::exposure::within(&tools, &agent)
            .names()
            .join(" ")
    };
    assert_eq!(names(None, &[]), "Bash WebFetch Look");
    assert_eq!(names(None, &["web"]), "Bash Look");
    assert_eq!(names(Some(&["web"]), &[]), "Bash WebFetch");
    assert_eq!(names(Some(&[]), &[]), "Bash", "functions stay");
}

#[tokio::test]
async fn r2_d28_an_agent_without_bash_is_told_that_and_nothing_about_the_sandbox() {
    let mut clerk = agent(ToolExposure::Mixed);
    clerk.tools = Scope::only(["Look"]);
    let mut plan = TestRuntimeBuilder::new([say("done")])
        .tools(Toolset::new([
            ProbeTool::open("Bash", Effect::ReadOnly),
            ProbeTool::open("Look", Effect::ReadOnly),
        ]))
        .agent(clerk);
    plan.rights.sandbox = rooftree_tools::SandboxConfig::default();
    let runtime = plan.build();
    let session = runtime.post_as("clerk", "go").await;
    runtime.wait_for_run(&session).await;
    let events = runtime.events(&session).await;
    let notices: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Notice { code, message, .. } if code == "exposure" => Some(message.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        notices,
        ["clerk has no Bash to use skills with, so its tools stay functions"]
    );
}
