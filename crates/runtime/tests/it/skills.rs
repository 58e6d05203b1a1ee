//! Skills that say which tools they use: while one is followed, nothing else can be used.

use std::{fs, sync::Arc};

use rooftree_protocol::{
    AgentDefinition, Effect, Event, EventBody, Level, Outcome,
    event::{ClearReason, Compaction, Shrinking},
};
use rooftree_providers::scripted::{Entry, call, say};
use rooftree_runtime::{History, Lookout, Surroundings, definitions::Skill, skill_tools};
use rooftree_testkit::{House, Plan, Probe};
use rooftree_tools::{Followed, Judged, Layer, Policy, Toolset, Verdict, toolset::Found};
use serde_json::{Value, json};

fn skill(name: &str, allow: Option<&[&str]>, deny: &[&str]) -> Skill {
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let directory = std::env::temp_dir();
    Skill {
        name: name.into(),
        description: "For tests.".into(),
        directory,
        allowed_tools: allow.map(list),
        disallowed_tools: list(deny),
        is_listed: true,
        level: Level::User,
    }
}

/// Skills whose text is there.
fn furnished(place: &std::path::Path, skills: Vec<Skill>) -> Lookout {
    let skills = skills.into_iter().map(|skill| {
        let directory = place.join(&skill.name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("SKILL.md"), "---\ndescription: x\n---\nDo it on $1.").unwrap();
        Skill { directory, ..skill }
    });
    Lookout::from(Surroundings { skills: skills.collect(), ..Surroundings::default() })
}

fn tools() -> Toolset {
    skill_tools::added_to(&Toolset::new([
        Probe::open("Look", Effect::ReadOnly),
        Probe::open("Change", Effect::LocalMutation),
        Probe::open("Read", Effect::ReadOnly),
        Probe::open("TodoWrite", Effect::ReadOnly),
    ]))
}

fn load(name: &str) -> Entry {
    say("").calls([call("Skill", json!({"name": name}))])
}

fn uses(tools: &[&str]) -> Entry {
    say("").calls(tools.iter().map(|tool| call(*tool, json!({"say": "x"}))))
}

fn plan(script: impl IntoIterator<Item = Entry>, place: &std::path::Path) -> Plan {
    let skills = vec![
        skill("narrow", Some(&["Change"]), &[]),
        skill("none", Some(&[]), &[]),
        skill("without", None, &["Change", "Read"]),
        skill("plain", None, &[]),
        Skill { is_listed: false, ..skill("secret", None, &[]) },
    ];
    let mut plan = Plan::new(script).tools(tools());
    plan.surroundings = furnished(place, skills);
    plan
}

/// How the calls ended that are no skills, in order.
async fn ended(house: &House, session: &rooftree_protocol::SessionId) -> Vec<(String, Outcome)> {
    let records = house.events(session).await.into_iter().filter_map(|event| match event.body {
        EventBody::ToolCompleted(record) if record.tool != "Skill" => Some((record.tool, record.outcome)),
        _ => None,
    });
    records.collect()
}

fn wanted(list: &[(&str, Outcome)]) -> Vec<(String, Outcome)> {
    list.iter().map(|(tool, outcome)| ((*tool).to_owned(), *outcome)).collect()
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
    let house = plan(script, place.path()).build();
    let session = house.post("go").await;
    house.finished(&session).await;
    house.post_to(&session, "again").await;
    house.finished_runs(&session, 2).await;
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
    assert_eq!(ended(&house, &session).await, wanted, "{}", house.story(&session).await);
    let story = house.story(&session).await;
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
        let (probe, keeper) = Probe::gated("Read", Effect::ReadOnly);
        let others = tools().iter().filter(|tool| tool.spec().name != "Read").cloned().collect::<Vec<_>>();
        (Toolset::new(others.into_iter().chain([probe])), keeper)
    };
    let script = || [load("narrow"), uses(&["Read"]), uses(&["Look"]), say("done")];
    let (tools, _keeper) = held();
    let house = plan(script(), place.path()).tools(tools).build();
    let session = house.post("go").await;
    house
        .until(
            &session,
            "Read",
            |event| matches!(&event.body, EventBody::ToolStarted { tool, .. } if tool == "Read"),
        )
        .await;
    let (tools, keeper) = held();
    keeper.open(1);
    let house = house.crash(plan(script(), place.path()).tools(tools)).await;
    house.recover().await;
    house.finished(&session).await;
    let look = ended(&house, &session).await.pop();
    assert_eq!(look, Some(("Look".into(), Outcome::Denied)), "{}", house.story(&session).await);

    // Up to where the skill was loaded, and then the context made smaller in each way there is.
    let events = house.events(&session).await;
    let loaded = events.iter().position(|event| event.body.name() == "tool.completed").unwrap();
    let how = [Shrinking::Summary { summary: "A summary.".into() }, Shrinking::Trimmed { chars: 10 }];
    let smaller = how.map(|how| {
        let usage = rooftree_protocol::Usage::none();
        EventBody::ContextCompacted(Compaction { how, kept: 0, before: 9, after: 1, usage })
    });
    let anew = EventBody::SessionCleared { reason: ClearReason::Emergency };
    for body in smaller.into_iter().chain([anew]) {
        let mut history = History::default();
        events[..=loaded].iter().for_each(|event| history.apply(event));
        history.apply(&Event { body, ..events[loaded].clone() });
        assert_eq!(history.skill().map(|skill| skill.name.as_str()), Some("narrow"));
    }
}

#[tokio::test]
async fn a_skill_never_gives_a_tool_and_a_child_is_as_narrow_as_who_asks() {
    let place = tempfile::tempdir().unwrap();
    let mut child = AgentDefinition::new("child");
    child.description = "Helps.".into();
    let task = call("Task", json!({"subagent_type": "child", "prompt": "go", "description": "d"}));
    let script = [
        load("tasks").agent("lead"),
        say("").calls([task]).agent("lead"),
        uses(&["Look", "Change"]).agent("child"),
        say("done").agent("child"),
        say("done").agent("lead"),
    ];
    let mut plan = plan(script, place.path()).agent(child);
    plan.surroundings = furnished(place.path(), vec![skill("tasks", Some(&["Agent(child)", "Change"]), &[])]);
    plan.tools = rooftree_runtime::delegation::tools::added_to(&plan.tools);
    plan.policy.deny = vec![rooftree_tools::Rule::parse("Change").unwrap()];
    let house = plan.build();
    let session = house.post("go").await;
    house.finished(&session).await;
    let children = house.children(&session).await;
    let story = house.story(&children[0].id).await;
    assert!(story.contains("tool     Look denied: [denied] the skill `tasks` is followed"), "{story}");
    // Named by the skill, and denied by a rule all the same.
    assert!(story.contains("tool     Change denied: [denied] the deny rule"), "{story}");
}

#[tokio::test]
async fn a_skill_that_is_not_for_models_is_neither_listed_nor_loaded() {
    let place = tempfile::tempdir().unwrap();
    let script = [load("secret"), say("").calls([call("ListSkills", json!({}))]), say("done")];
    let house = plan(script, place.path()).build();
    let session = house.post("go").await;
    house.finished(&session).await;
    let story = house.story(&session).await;
    assert!(story.contains("tool     Skill failed: Skill `secret` is not for agents to load"), "{story}");
    let system = &house.model.requests()[0].system;
    assert!(system.contains("- narrow:") && !system.contains("secret"), "{system}");
}

#[test]
fn what_a_skill_leaves_is_told_as_a_layer_of_the_policy() {
    let tools = rooftree_tools::builtin(Arc::new(rooftree_tools::Processes::new(|| 1)));
    let allow: &[&str] = &["execute_command(git:*)", "Bash(python3 *)", "Write(docs/**)", "mcp__shop"];
    let note = skill("s", Some(allow), &["Bash(git push *)"]).note(&tools);
    assert_eq!(note.allow.as_ref().unwrap()[0], "Bash(git:*)");
    let policy = Policy {
        mode: rooftree_protocol::PermissionMode::Bypass,
        followed: vec![Followed::of(&note)],
        ..Policy::default()
    };
    assert_eq!(Followed::of(&note).note(), note);
    let judge = |tool: &str, subject: &str| {
        let effect = match tools.find(tool) {
            Found::Tool(found) => found.effect(&json!({"command": subject})),
            Found::Unknown => Effect::RemoteAction,
        };
        let (subject, cwd) = (Some(subject), std::path::Path::new("/work"));
        policy.explain(&Judged { tool, subject, input: Some(&Value::Null), effect, cwd })
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
        assert_eq!(!matches!(told.verdict, Verdict::Deny(_)), is_left, "{tool} {subject}: {told}");
        let decides = told.steps.iter().any(|step| step.layer == Layer::Skill && step.is_deciding);
        assert_eq!(decides, !is_left, "{tool} {subject}: {told}");
    }
    assert!(judge("Bash", "make").to_string().contains("2. skills that are followed (5 rules): decides"));
}
