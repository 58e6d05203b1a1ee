//! Skills that say which tools they use: while one is followed, nothing else can be used.

use std::{fs, sync::Arc};

use rooftree_protocol::{
    AgentDefinition, DefinitionLevel, Effect, Event, EventBody, Outcome,
    event::{ClearReason, Compaction, CompactionKind},
};
use rooftree_providers::scripted::{ScriptEntry, call, say};
use rooftree_runtime::{ContextWatcher, History, ProjectContext, definitions::Skill, skill_tools};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder};
use rooftree_tools::{
    Policy, PolicyLayer, PolicyRequest, PolicyVerdict, SkillRestriction, Toolset,
    toolset::ToolLookup,
};
use serde_json::{Value, json};

fn skill(name: &str, allow: Option<&[&str]>, deny: &[&str]) -> Skill {
    let list = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let directory = std::env::temp_dir();
    Skill {
        name: name.into(),
        description: "For tests.".into(),
        directory,
        allowed_tools: allow.map(list),
        disallowed_tools: list(deny),
        is_listed: true,
        is_for_people: true,
        argument_hint: String::new(),
        level: DefinitionLevel::User,
    }
}

/// Skills whose text is there.
fn furnished(place: &std::path::Path, skills: Vec<Skill>) -> ContextWatcher {
    let skills = skills.into_iter().map(|skill| {
        let directory = place.join(&skill.name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(
            directory.join("SKILL.md"),
            "---\ndescription: x\n---\nDo it on $1.",
        )
        .unwrap();
        Skill { directory, ..skill }
    });
    ContextWatcher::from(ProjectContext {
        skills: skills.collect(),
        ..ProjectContext::default()
    })
}

fn tools() -> Toolset {
    skill_tools::with_tools(&Toolset::new([
        ProbeTool::open("Look", Effect::ReadOnly),
        ProbeTool::open("Change", Effect::LocalMutation),
        ProbeTool::open("Read", Effect::ReadOnly),
        ProbeTool::open("TodoWrite", Effect::ReadOnly),
    ]))
}

fn load(name: &str) -> ScriptEntry {
    say("").calls([call("Skill", json!({"name": name}))])
}

fn uses(tools: &[&str]) -> ScriptEntry {
    say("").calls(tools.iter().map(|tool| call(*tool, json!({"say": "x"}))))
}

fn plan(
    script: impl IntoIterator<Item = ScriptEntry>,
    place: &std::path::Path,
) -> TestRuntimeBuilder {
    let skills = vec![
        skill("narrow", Some(&["Change"]), &[]),
        skill("none", Some(&[]), &[]),
        skill("without", None, &["Change", "Read"]),
        skill("plain", None, &[]),
        Skill {
            is_listed: false,
            ..skill("secret", None, &[])
        },
    ];
    let mut plan = TestRuntimeBuilder::new(script).tools(tools());
    plan.project_context = furnished(place, skills);
    plan
}

/// How the calls ended that are no skills, in order.
async fn ended(
    runtime: &TestRuntime,
    session: &rooftree_protocol::SessionId,
) -> Vec<(String, Outcome)> {
    let records = runtime
        .events(session)
        .await
        .into_iter()
        .filter_map(|event| match event.body {
            EventBody::ToolCompleted(record) if record.tool != "Skill" => {
                Some((record.tool, record.outcome))
            }
            _ => None,
        });
    records.collect()
}

fn wanted(list: &[(&str, Outcome)]) -> Vec<(String, Outcome)> {
    list.iter()
        .map(|(tool, outcome)| ((*tool).to_owned(), *outcome))
        .collect()
}

#[tokio::test]
async fn while_a_skill_is_followed_only_its_tools_can_be_used_and_reading() {
    use Outcome::{Denied, Done};
    let place = tempfile::tempdir().unwrap();
    let all = ["Look", "Change", "Read", "TodoWrite"];
    let script = [
        uses(&["Look"]),
        load("narrow"),
        uses(&all),
        load("none"),
        uses(&["Change", "Read"]),
        load("without"),
        uses(&["Change", "Read", "Look"]),
        load("plain"),
        uses(&["Look", "Change"]),
        load("narrow"),
        say("done"),
        uses(&["Look"]),
        say("the next run is free"),
    ];
    let runtime = plan(script, place.path()).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    runtime.post_to(&session, "again").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let wanted = wanted(&[
        ("Look", Done),
        ("Look", Denied),
        ("Change", Done),
        ("Read", Done),
        ("TodoWrite", Done),
        ("Change", Denied),
        ("Read", Done),
        ("Change", Denied),
        ("Read", Denied),
        ("Look", Done),
        ("Look", Done),
        ("Change", Done),
        ("Look", Done),
    ]);
    assert_eq!(
        ended(&runtime, &session).await,
        wanted,
        "{}",
        runtime.transcript(&session).await
    );
    let story = runtime.transcript(&session).await;
    assert!(
        story.contains("denied: [denied] the skill `narrow` is followed, and it uses only Change;"),
        "{story}"
    );
    assert!(story.contains("its rule `Change` leaves it out"), "{story}");
}

#[tokio::test]
async fn a_skill_is_followed_after_a_restart_and_after_the_context_was_made_smaller() {
    let place = tempfile::tempdir().unwrap();
    let held = || {
        let (probe, keeper) = ProbeTool::gated("Read", Effect::ReadOnly);
        let others = tools()
            .iter()
            .filter(|tool| tool.spec().name != "Read")
            .cloned()
            .collect::<Vec<_>>();
        (Toolset::new(others.into_iter().chain([probe])), keeper)
    };
    let script = || {
        [
            load("narrow"),
            uses(&["Read"]),
            uses(&["Look"]),
            say("done"),
        ]
    };
    let (tools, _keeper) = held();
    let runtime = plan(script(), place.path()).tools(tools).build();
    let session = runtime.post("go").await;
    runtime
        .wait_until(
            &session,
            "Read",
            |event| matches!(&event.body, EventBody::ToolStarted { tool, .. } if tool == "Read"),
        )
        .await;
    let (tools, keeper) = held();
    keeper.open(1);
    let runtime = runtime
        .crash(plan(script(), place.path()).tools(tools))
        .await;
    runtime.recover().await;
    runtime.wait_for_run(&session).await;
    let look = ended(&runtime, &session).await.pop();
    assert_eq!(
        look,
        Some(("Look".into(), Outcome::Denied)),
        "{}",
        runtime.transcript(&session).await
    );

    // Up to where the skill was loaded, and then the context made smaller in each way there is.
    let events = runtime.events(&session).await;
    let loaded = events
        .iter()
        .position(|event| event.body.name() == "tool.completed")
        .unwrap();
    let how = [
        CompactionKind::Summary {
            summary: "A summary.".into(),
        },
        CompactionKind::Trimmed { chars: 10 },
    ];
    let smaller = how.map(|how| {
        let usage = rooftree_protocol::Usage::none();
        EventBody::ContextCompacted(Compaction {
            how,
            kept: 0,
            before: 9,
            after: 1,
            usage,
        })
    });
    let anew = EventBody::SessionCleared {
        reason: ClearReason::Emergency,
    };
    for body in smaller.into_iter().chain([anew]) {
        let mut history = History::default();
        events[..=loaded]
            .iter()
            .for_each(|event| history.apply(event));
        history.apply(&Event {
            body,
            ..events[loaded].clone()
        });
        assert_eq!(
            history.followed().next().map(|skill| skill.name.as_str()),
            Some("narrow")
        );
    }
}

#[tokio::test]
async fn a_skill_never_gives_a_tool_and_a_child_is_as_narrow_as_who_asks() {
    let place = tempfile::tempdir().unwrap();
    let mut child = AgentDefinition::new("child");
    child.description = "Helps.".into();
    let task = call(
        "Task",
        json!({"subagent_type": "child", "prompt": "go", "description": "d"}),
    );
    let script = [
        load("tasks").agent("lead"),
        say("").calls([task]).agent("lead"),
        uses(&["Look", "Change"]).agent("child"),
        say("done").agent("child"),
        say("done").agent("lead"),
    ];
    let mut plan = plan(script, place.path()).agent(child);
    plan.project_context = furnished(
        place.path(),
        vec![skill("tasks", Some(&["Agent(child)", "Change"]), &[])],
    );
    plan.tools = rooftree_runtime::delegation::tools::with_tools(&plan.tools);
    plan.rights.policy.deny = vec![rooftree_tools::PermissionRule::parse("Change").unwrap()];
    let runtime = plan.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let children = runtime.children(&session).await;
    let story = runtime.transcript(&children[0].id).await;
    assert!(
        story.contains("tool     Look denied: [denied] the skill `tasks` is followed"),
        "{story}"
    );
    // Named by the skill, and denied by a rule all the same.
    assert!(
        story.contains("tool     Change denied: [denied] the deny rule"),
        "{story}"
    );
}

#[tokio::test]
async fn a_skill_that_is_not_for_models_is_neither_listed_nor_loaded() {
    let place = tempfile::tempdir().unwrap();
    let script = [
        load("secret"),
        say("").calls([call("ListSkills", json!({}))]),
        say("done"),
    ];
    let runtime = plan(script, place.path()).build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(
        story.contains("tool     Skill failed: Skill `secret` is not for agents to load"),
        "{story}"
    );
    let system = &runtime.model.requests()[0].system;
    assert!(
        system.contains("- narrow:") && !system.contains("secret"),
        "{system}"
    );
}

#[test]
fn what_a_skill_leaves_is_told_as_a_layer_of_the_policy() {
    let tools = rooftree_tools::builtin(Arc::new(rooftree_tools::BackgroundProcesses::new(|| 1)));
    let allow: &[&str] = &[
        "execute_command(git:*)",
        "Bash(python3 *)",
        "Write(docs/**)",
        "mcp__shop",
    ];
    let note = skill("s", Some(allow), &["Bash(git push *)"]).note(&tools);
    assert_eq!(note.allow.as_ref().unwrap()[0], "Bash(git:*)");
    let policy = Policy {
        mode: rooftree_protocol::PermissionMode::Bypass,
        followed: vec![SkillRestriction::of(&note)],
        ..Policy::default()
    };
    assert_eq!(SkillRestriction::of(&note).note(), note);
    let judge = |tool: &str, subject: &str| {
        let effect = match tools.find(tool) {
            ToolLookup::Tool(found) => found.effect(&json!({"command": subject})),
            ToolLookup::Unknown => Effect::RemoteAction,
        };
        let (subject, cwd) = (Some(subject), std::path::Path::new("/work"));
        policy.explain(&PolicyRequest {
            tool,
            subject,
            input: Some(&Value::Null),
            effect,
            cwd,
        })
    };
    let table = [
        ("Bash", "git commit -m x", true),
        ("Bash", "git add . && git commit -m x", true),
        ("Bash", "python3 run.py | head", true),
        ("Bash", "git push origin", false),
        ("Bash", "git status; rm -rf x", false),
        ("Bash", "git log > out", false),
        ("Bash", "$(rm x)", false),
        ("Write", "docs/a.md", true),
        ("Write", "src/a.rs", false),
        ("Edit", "docs/a.md", true),
        ("Delete", "docs/a.md", false),
        ("Read", "src/a.rs", true),
        ("Grep", "src", true),
        ("WebFetch", "https://example.com/", false),
        ("mcp__shop__buy", "", true),
        ("mcp__other__buy", "", false),
        ("Skill", "other", true),
    ];
    for (tool, subject, is_left) in table {
        let told = judge(tool, subject);
        assert_eq!(
            !matches!(told.verdict, PolicyVerdict::Deny(_)),
            is_left,
            "{tool} {subject}: {told}"
        );
        let decides = told
            .steps
            .iter()
            .any(|step| step.layer == PolicyLayer::Skill && step.is_deciding);
        assert_eq!(decides, !is_left, "{tool} {subject}: {told}");
    }
    assert!(
        judge("Bash", "make")
            .to_string()
            .contains("2. skills that are followed (5 rules): decides")
    );
}
