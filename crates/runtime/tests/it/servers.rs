//! Tools of servers in the hands of agents: who has which, what is kept, what is shared.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use rooftree_protocol::{
    AgentDefinition, Command, EventBody, McpServer, PermissionMode, QuestionReply, RunStatus, Scope,
};
use rooftree_providers::scripted::{ScriptEntry, ScriptedCall, call, say};
use rooftree_testkit::{TestRuntime, TestRuntimeBuilder, process_marks::count_alive};
use rooftree_tools::{PermissionRule, Policy, Toolset, mcp::McpSetup};
use serde_json::json;

/// The test server, which leaves its mark in a directory.
fn server(place: &Path, secret: &str) -> McpServer {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/mcp/server.py");
    McpServer {
        command: Some("python3".into()),
        args: [script, "--marks", &place.display().to_string()]
            .map(str::to_owned)
            .to_vec(),
        env: [("SERVER_API_KEY".to_owned(), secret.to_owned())].into(),
        ..McpServer::default()
    }
}

/// A runtime whose servers are set up for everybody.
fn plan(
    entries: impl IntoIterator<Item = ScriptEntry>,
    servers: &[(&str, McpServer)],
) -> TestRuntimeBuilder {
    let mut plan = TestRuntimeBuilder::new(entries)
        .with_delegation(Toolset::default())
        .agent(agent("helper"));
    let configured = servers
        .iter()
        .map(|(name, server)| ((*name).to_owned(), server.clone()))
        .collect();
    plan.servers = McpSetup {
        configured,
        ..McpSetup::default()
    };
    plan
}

fn agent(name: &str) -> AgentDefinition {
    AgentDefinition {
        description: format!("The {name}."),
        ..AgentDefinition::new(name)
    }
}

fn task(agent: &str, prompt: &str) -> ScriptedCall {
    call("Task", json!({"subagent_type": agent, "prompt": prompt}))
}

/// The tools of servers that an agent was told of.
fn told(runtime: &TestRuntime, agent: &str) -> Vec<String> {
    let asked = runtime
        .model
        .requests()
        .into_iter()
        .find(|request| &*request.agent == agent)
        .unwrap();
    let names = asked.tools.iter().map(|tool| tool.name.clone());
    names.filter(|name| name.starts_with("mcp__")).collect()
}

#[tokio::test]
async fn a_tool_of_a_server_is_used_like_any_other_and_no_secret_is_kept() {
    let place = tempfile::tempdir().unwrap();
    let secret = "sk-canary-of-the-server";
    let runtime = plan(
        [
            say("").calls([call("mcp__one__echo", json!({"text": "hello"}))]),
            say("").calls([call("one__environment", json!({}))]),
            say("").calls([call("mcp__one__crash", json!({}))]),
            say("{{ results[0].text }}"),
        ],
        &[("one", server(place.path(), secret))],
    )
    .build();
    assert_eq!(
        count_alive(place.path()),
        0,
        "nothing runs before somebody works"
    );
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(end.status, RunStatus::Completed);
    assert!(end.outside, "what a server says comes from outside");
    assert!(
        end.text
            .contains("Nobody knows whether the call took effect"),
        "{}",
        end.text
    );
    let story = runtime.transcript(&session).await;
    assert!(story.contains("mcp__one__echo"), "{story}");
    let journal = serde_json::to_string(&runtime.events(&session).await).unwrap();
    assert!(
        journal.contains("SERVER_API_KEY=[SERVER_API_KEY]") && !journal.contains(secret),
        "{journal}"
    );
    let directory = runtime.path().to_owned();
    for file in fs::read_dir(&directory)
        .unwrap()
        .flatten()
        .filter(|file| file.path().is_file())
    {
        let bytes = fs::read(file.path()).unwrap();
        let found = bytes
            .windows(secret.len())
            .any(|window| window == secret.as_bytes());
        assert!(!found, "{} holds the secret", file.path().display());
    }
    runtime.close().await;
    assert_eq!(count_alive(place.path()), 0, "nothing is left");
}

#[tokio::test]
async fn fifty_children_share_three_processes_and_none_is_left() {
    let place = tempfile::tempdir().unwrap();
    let servers =
        ["a", "b", "c"].map(|name| (name, server(place.path(), &format!("secret-of-{name}"))));
    let round = || {
        say("")
            .agent("lead")
            .calls((0..10).map(|number| task("helper", &format!("number {number}"))))
    };
    let calls = ["a", "b", "c"].map(|name| call(format!("mcp__{name}__pid"), json!({})));
    let runtime = plan(
        [
            round(),
            round(),
            round(),
            round(),
            round(),
            say("done").agent("lead"),
            say("").agent("helper").calls(calls),
            say("{% for result in results %}{{ result.text }} {% endfor %}").agent("helper"),
        ],
        &servers,
    )
    .build();
    let session = runtime.post("go").await;
    let end = runtime.wait_for_run(&session).await;
    assert_eq!(end.text, "done");
    let children = runtime.children(&session).await;
    assert_eq!(children.len(), 50);
    let mut seen = BTreeSet::new();
    for child in &children {
        let text = runtime.wait_for_run(&child.id).await.text;
        let is_process = |word: &&str| word.chars().all(|letter| letter.is_ascii_digit());
        let processes: Vec<&str> = text.split_whitespace().filter(is_process).collect();
        assert_eq!(processes.len(), 3, "{text}");
        seen.extend(processes.into_iter().map(str::to_owned));
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert_eq!(count_alive(place.path()), 3);
    runtime.close().await;
    assert_eq!(count_alive(place.path()), 0);
}

#[tokio::test]
async fn a_child_has_what_its_parent_has_narrowed_by_its_own_list_and_the_servers_it_brings_along()
{
    let place = tempfile::tempdir().unwrap();
    let scoped = |name: &str, tools: Scope| AgentDefinition {
        tools,
        ..agent(name)
    };
    let lead = scoped(
        "lead",
        Scope {
            allow: None,
            deny: vec!["mcp__one__crash".into(), "mcp__two".into()],
        },
    );
    let echo = scoped(
        "echo",
        Scope::only(["mcp__one__echo", "mcp__one__crash", "mcp__two__echo"]),
    );
    let none = scoped(
        "none",
        Scope {
            allow: None,
            deny: vec!["mcp__*".into()],
        },
    );
    let mut own = scoped("own", Scope::only(["mcp__mine__look", "mcp__two__look"]));
    own.mcp_servers
        .insert("mine".into(), server(place.path(), "secret-of-mine"));
    own.mcp_servers.insert("two".into(), McpServer::default());
    let agents = ["echo", "none", "own", "helper"];
    let mut script: Vec<ScriptEntry> = vec![
        say("")
            .agent("lead")
            .calls(agents.map(|name| task(name, "x"))),
        say("done").agent("lead"),
        say("").agent("echo").calls([
            call("one__pid", json!({})),
            call("MCP__ONE__CRASH", json!({})),
        ]),
    ];
    script.extend(agents.map(|name| say("ok").agent(name)));
    let runtime = plan(
        script,
        &[
            ("one", server(place.path(), "secret-of-one")),
            ("two", server(place.path(), "secret-of-two")),
        ],
    )
    .agent(lead)
    .agent(echo)
    .agent(none)
    .agent(own)
    .build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let leads = told(&runtime, "lead");
    assert!(
        leads.contains(&"mcp__one__echo".into())
            && !leads
                .iter()
                .any(|name| name.contains("crash") || name.contains("two")),
        "{leads:?}"
    );
    assert_eq!(
        told(&runtime, "echo"),
        ["mcp__one__echo"],
        "not more than its parent"
    );
    assert_eq!(told(&runtime, "none"), [""; 0]);
    assert_eq!(
        told(&runtime, "own"),
        ["mcp__mine__look"],
        "what its parent must not touch it cannot bring along"
    );
    assert_eq!(
        told(&runtime, "helper"),
        leads,
        "what is not said comes from the parent"
    );
    let children = runtime.children(&session).await;
    let echo = children.iter().find(|child| child.agent == "echo").unwrap();
    let story = runtime.transcript(&echo.id).await;
    assert_eq!(
        story.matches("failed: tool_not_").count(),
        2,
        "checked at the call, under every name: {story}"
    );
    let mandates = serde_json::to_string(&runtime.events(&echo.id).await).unwrap();
    assert!(
        !mandates.contains("secret-of") && !mandates.contains("server.py"),
        "names and nothing else: {mandates}"
    );
    runtime.close().await;
}

#[tokio::test]
async fn a_server_that_fails_is_a_notice_and_the_run_goes_on_without_it() {
    let place = tempfile::tempdir().unwrap();
    let missing = McpServer {
        command: Some("no-such-program".into()),
        ..McpServer::default()
    };
    let lead = AgentDefinition {
        mcp_servers: [
            ("broken".to_owned(), missing),
            ("nobody".to_owned(), McpServer::default()),
        ]
        .into(),
        ..agent("lead")
    };
    let runtime = plan(
        [say("fine"), say("again")],
        &[("one", server(place.path(), "secret-of-one"))],
    )
    .agent(lead)
    .build();
    let session = runtime.post("go").await;
    assert_eq!(runtime.wait_for_run(&session).await.text, "fine");
    runtime.post_to(&session, "and again").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let events = runtime.events(&session).await;
    let notices: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Notice { message, .. } => Some(message.as_str()),
            _ => None,
        })
        .collect();
    assert!(
        notices
            .iter()
            .any(|notice| notice.contains("`broken` cannot be used")),
        "{notices:?}"
    );
    assert!(
        notices
            .iter()
            .any(|notice| notice.contains("`nobody`, which is not set up")),
        "{notices:?}"
    );
    assert_eq!(
        told(&runtime, "lead"),
        [""; 0],
        "an agent that names servers has those and no others"
    );
    assert_eq!(count_alive(place.path()), 0);
    runtime.close().await;
}

#[tokio::test]
async fn what_a_server_does_is_asked_about_and_denied_where_nobody_can_answer() {
    let place = tempfile::tempdir().unwrap();
    let mut plan = plan(
        [
            say("").calls([call("mcp__one__look", json!({}))]),
            say("{{ results[0].text }}"),
        ],
        &[("one", server(place.path(), "secret-of-one"))],
    );
    plan.rights.policy.mode = PermissionMode::Auto;
    let runtime = plan.build();
    let session = runtime.post("go").await;
    let text = runtime.wait_for_run(&session).await.text;
    assert!(
        text.contains("no user can be asked") && text.contains("acts on something elsewhere"),
        "{text}"
    );
    runtime.close().await;
}

#[tokio::test]
async fn what_is_read_from_a_server_is_judged_as_its_tools_are_and_comes_from_outside() {
    let place = tempfile::tempdir().unwrap();
    let mut one = server(place.path(), "secret-of-one");
    one.args.push("--reading".into());
    let rule = |text: &str| vec![PermissionRule::parse(text).unwrap()];
    let denying = Policy {
        deny: rule("mcp__one__*"),
        ..Policy::default()
    };
    let allowing = Policy {
        allow: rule("mcp__one__ReadMcpResource"),
        ..Policy::default()
    };
    let bypassing = Policy {
        mode: PermissionMode::Bypass,
        ..denying
    };
    let auto = Policy {
        mode: PermissionMode::Auto,
        ..Policy::default()
    };
    for (policy, words, is_read) in [
        (bypassing, "deny rule", false),
        (auto, "no user can be asked", false),
        (allowing, "what note:///first says", true),
    ] {
        let read = call("ReadMcpResource", json!({"uri": "note:///first"}));
        let mut plan = plan(
            [say("").calls([read]), say("{{ results[0].text }}")],
            &[("one", one.clone())],
        );
        plan.rights.policy = policy;
        let runtime = plan.build();
        let session = runtime.post("go").await;
        let end = runtime.wait_for_run(&session).await;
        assert!(end.text.contains(words), "{}", end.text);
        assert_eq!(end.outside, is_read, "{words}");
        runtime.close().await;
    }
}

/// A runtime whose agent lets a server ask something.
fn asking() -> TestRuntimeBuilder {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/mcp/server.py");
    let one = McpServer {
        command: Some("python3".into()),
        args: vec![script.to_owned()],
        ..McpServer::default()
    };
    plan(
        [
            say("").calls([call("mcp__one__ask", json!({}))]),
            say("{{ results[0].text }}"),
        ],
        &[("one", one)],
    )
}

#[tokio::test]
async fn what_a_server_wants_to_know_is_a_question_like_any_other() {
    let runtime = asking().asking(PermissionMode::Bypass).build();
    let session = runtime.post("go").await;
    let event = runtime.wait_for_event(&session, "question.requested").await;
    let EventBody::QuestionRequested { id, questions, .. } = &event.body else {
        panic!()
    };
    assert_eq!(questions[0].text, "The MCP server `one` asks: Who are you?");
    let answers = [("name".to_owned(), vec!["Ada".to_owned()])].into();
    let reply = QuestionReply::Answered { answers };
    runtime
        .command(Command::Reply {
            question: id.clone(),
            reply,
        })
        .await;
    let text = runtime.wait_for_run(&session).await.text;
    assert!(
        text.contains(r#"{"action": "accept", "content": {"name": "Ada"}}"#),
        "{text}"
    );
    runtime.verify().await;
    runtime.close().await;
}

#[tokio::test]
async fn a_server_that_asks_where_nobody_is_has_its_question_declined() {
    let runtime = asking().build();
    let session = runtime.post("go").await;
    let text = runtime.wait_for_run(&session).await.text;
    assert!(text.contains(r#"{"action": "decline"}"#), "{text}");
    runtime.close().await;
}

#[tokio::test]
async fn a_run_is_cancelled_while_its_servers_start() {
    let place = tempfile::tempdir().unwrap();
    let mut mute = server(place.path(), "secret-of-mute");
    mute.args.push("--mute".into());
    for clears in [false, true] {
        let mut plan = plan([say("never said")], &[]);
        let configured = [("mute".to_owned(), mute.clone())].into();
        // Whoever waits until it gives up waits longer than any test.
        let startup = Duration::from_secs(3_600);
        plan.servers = McpSetup {
            configured,
            startup,
            ..McpSetup::default()
        };
        let runtime = plan.build();
        let session = runtime.post("go").await;
        while count_alive(place.path()) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let (cancel, clear) = (
            Command::Cancel {
                session: session.clone(),
                run: None,
            },
            Command::Clear {
                session: session.clone(),
                unless_busy: false,
            },
        );
        runtime.command(if clears { clear } else { cancel }).await;
        assert_eq!(
            runtime.wait_for_run(&session).await.status,
            RunStatus::Cancelled
        );
        runtime.verify().await;
        runtime.close().await;
        assert_eq!(count_alive(place.path()), 0);
    }
}
