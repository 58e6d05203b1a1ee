//! Rules, skills, instructions and verifiers that change while agents live.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use rooftree_protocol::{AgentDefinition, Effect, EventBody, SessionId};
use rooftree_providers::scripted::{ScriptEntry, call, say};
use rooftree_runtime::{
    ContextWatcher, Definitions,
    definitions::{DefinitionLibrary, ProjectTrust, TrustRecheck},
    skill_tools,
};
use rooftree_testkit::{ProbeTool, TestRuntime, TestRuntimeBuilder, VirtualClock};
use rooftree_tools::Toolset;
use serde_json::json;

use super::folder::Folder;

/// Somebody who looks, and the clock that says when to look again.
fn lookout(folder: &Folder, recheck: TrustRecheck) -> (ContextWatcher, Arc<VirtualClock>) {
    let clock = Arc::new(VirtualClock::seeded(1));
    (
        ContextWatcher::watching(
            folder.places(ProjectTrust::Given),
            recheck,
            32 * 1024,
            clock.clone(),
        ),
        clock,
    )
}

const A_WHILE: Duration = Duration::from_millis(100);

fn start_runtime(
    entries: impl IntoIterator<Item = ScriptEntry>,
    lookout: ContextWatcher,
) -> TestRuntime {
    let tools = Toolset::new([ProbeTool::open("Look", Effect::ReadOnly)]);
    let mut plan = TestRuntimeBuilder::new(entries).tools(skill_tools::with_tools(&tools));
    plan.project_context = lookout;
    plan.build()
}

/// The system prompts the model has read, in order.
fn prompts(runtime: &TestRuntime) -> Vec<Arc<str>> {
    runtime
        .model
        .requests()
        .iter()
        .map(|request| request.system.clone())
        .collect()
}

async fn notices(runtime: &TestRuntime, session: &SessionId) -> Vec<String> {
    let notice = |event: rooftree_protocol::Event| match event.body {
        EventBody::Notice { code, message, .. } if code == "surroundings" => Some(message),
        _ => None,
    };
    runtime
        .events(session)
        .await
        .into_iter()
        .filter_map(notice)
        .collect()
}

#[tokio::test]
async fn a_run_keeps_what_it_began_with_and_the_next_one_begins_with_what_is_there_then() {
    let folder = Folder::new().with("project/AGENTS.md", "Be kind.");
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let looks = call("Look", json!({}));
    let mut plan = TestRuntimeBuilder::new([say("").calls([looks]), say("done").times(9)]);
    plan.tools = Toolset::new([look]);
    let (lookout, clock) = lookout(&folder, TrustRecheck::default());
    plan.project_context = lookout;
    let runtime = plan.build();
    let session = runtime.post("go").await;
    while keeper.started() < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // As long as the file was: only its time tells.
    folder.write("project/AGENTS.md", "Be nice.");
    folder.write("project/.rooftree/rules/style.md", "Short sentences.");
    keeper.open(1);
    runtime.wait_for_run(&session).await;
    clock.advance(A_WHILE);
    runtime.post_to(&session, "again").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let prompts = prompts(&runtime);
    assert!(
        prompts[0].contains("Be kind.") && prompts[0] == prompts[1],
        "{}",
        prompts[1]
    );
    assert!(
        prompts[2].contains("Be nice.") && prompts[2].contains("Short sentences."),
        "{}",
        prompts[2]
    );
}

#[test]
fn whatever_appears_changes_or_goes_is_seen_and_a_bad_file_hides_no_other() {
    let folder = Folder::new().with("project/AGENTS.md", "one\n@more.md\n");
    let (lookout, _clock) = lookout(&folder, TrustRecheck::default());
    let told = || lookout.afresh().instructions.text.clone();
    folder.write("project/more.md", "imported");
    assert!(told().contains("imported"), "an import that was not there");
    folder.write("project/more.md", "changed!");
    assert!(told().contains("changed!"), "{}", told());
    folder.write("project/.claude/rules/a.md", "a rule");
    assert_eq!(lookout.afresh().rules.len(), 1);
    folder.write(
        "project/.rooftree/skills/good/SKILL.md",
        "---\nname: good\ndescription: helps\n---\nbody",
    );
    folder.write("project/.rooftree/skills/bad/SKILL.md", "no frontmatter");
    folder.write("user/verifiers.json", r#"{"tests": {"command": "true"}}"#);
    let now = lookout.afresh();
    assert_eq!(
        now.skills
            .iter()
            .map(|skill| skill.name.as_str())
            .collect::<Vec<_>>(),
        ["good"]
    );
    assert_eq!(now.verifiers.len(), 1);
    assert!(
        now.news
            .iter()
            .any(|news| news.contains("skills/bad is not used")),
        "{:?}",
        now.news
    );
    folder.write(
        "project/.rooftree/skills/bad/SKILL.md",
        "---\nname: bad\ndescription: d\n---\nbody",
    );
    assert_eq!(
        (lookout.afresh().skills.len(), lookout.afresh().news.len()),
        (2, 0)
    );
    fs::remove_dir_all(folder.project().join(".claude")).unwrap();
    fs::remove_file(folder.project().join("AGENTS.md")).unwrap();
    assert!(lookout.afresh().rules.is_empty() && told().is_empty());
}

#[test]
fn what_did_not_change_stays_the_very_same() {
    let folder = Folder::new().with("project/AGENTS.md", "one");
    let (lookout, _clock) = lookout(&folder, TrustRecheck::default());
    let before = lookout.afresh();
    folder.write("project/AGENTS.md", "one");
    assert!(
        Arc::ptr_eq(&before, &lookout.afresh()),
        "written again, with the same words"
    );
}

#[test]
fn nobody_looks_twice_within_a_tenth_of_a_second() {
    let folder = Folder::new().with("project/AGENTS.md", "one");
    let (lookout, clock) = lookout(&folder, TrustRecheck::default());
    folder.write("project/AGENTS.md", "two");
    assert!(lookout.now().instructions.text.contains("one"));
    clock.advance(A_WHILE);
    assert!(lookout.now().instructions.text.contains("two"));
    folder.write("project/AGENTS.md", "ten");
    assert!(lookout.now().instructions.text.contains("two"));
}

#[tokio::test]
async fn what_loses_trust_is_ignored_with_a_notice_until_it_is_given_again() {
    let skill = "---\nname: deploy\ndescription: ships it\n---\nrun deploy.sh";
    let folder = Folder::new()
        .with("project/.rooftree/skills/deploy/SKILL.md", skill)
        .with("project/AGENTS.md", "Be kind.")
        .with("user/AGENTS.md", "Mine.");
    folder.write("ledger", "");
    let trusted = Arc::new(AtomicBool::new(true));
    let asked = trusted.clone();
    let recheck = TrustRecheck {
        ask: Some(Arc::new(move || {
            if asked.load(SeqCst) {
                ProjectTrust::Given
            } else {
                ProjectTrust::Missing
            }
        })),
        files: vec![folder.root.path().join("ledger")],
    };
    let (lookout, clock) = lookout(&folder, recheck);
    let runtime = start_runtime([say("one"), say("two"), say("three")], lookout);
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;

    trusted.store(false, SeqCst);
    folder.write(
        "project/.rooftree/skills/deploy/SKILL.md",
        &skill.replace("deploy.sh", "evil.sh"),
    );
    clock.advance(A_WHILE);
    runtime.post_to(&session, "again").await;
    runtime.wait_for_nth_run(&session, 2).await;
    let second = prompts(&runtime)[1].clone();
    assert!(
        second.contains("Mine.") && !second.contains("Be kind.") && !second.contains("deploy"),
        "{second}"
    );
    let notices = notices(&runtime, &session).await;
    assert!(
        notices.len() == 1
            && notices[0].contains("AGENTS.md")
            && notices[0].contains("rooftree trust"),
        "{notices:?}"
    );

    trusted.store(true, SeqCst);
    folder.write("ledger", "trusted");
    clock.advance(A_WHILE);
    runtime.post_to(&session, "and again").await;
    runtime.wait_for_nth_run(&session, 3).await;
    assert!(prompts(&runtime)[2].contains("Be kind."), "trusted again");
}

#[tokio::test]
async fn a_skill_that_loses_trust_while_a_run_goes_on_is_not_loaded() {
    let skill = "---\nname: deploy\ndescription: ships it\n---\nrun deploy.sh";
    let folder = Folder::new().with("project/.rooftree/skills/deploy/SKILL.md", skill);
    let trusted = Arc::new(AtomicBool::new(true));
    let asked = trusted.clone();
    let ask = move || {
        if asked.load(SeqCst) {
            ProjectTrust::Given
        } else {
            ProjectTrust::Missing
        }
    };
    let recheck = TrustRecheck {
        ask: Some(Arc::new(ask)),
        files: Vec::new(),
    };
    let (lookout, _clock) = lookout(&folder, recheck);
    let (look, keeper) = ProbeTool::gated("Look", Effect::ReadOnly);
    let load = || say("").calls([call("Skill", json!({"name": "deploy"}))]);
    let mut plan = TestRuntimeBuilder::new([
        load(),
        say("").calls([call("Look", json!({}))]),
        load(),
        say("done"),
    ]);
    plan.tools = skill_tools::with_tools(&Toolset::new([look]));
    plan.project_context = lookout;
    let runtime = plan.agent(AgentDefinition::new("lead")).build();
    let session = runtime.post("go").await;
    while keeper.started() < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    trusted.store(false, SeqCst);
    folder.write(
        "project/.rooftree/skills/deploy/SKILL.md",
        &skill.replace("deploy.sh", "evil.sh"),
    );
    keeper.open(1);
    runtime.wait_for_run(&session).await;
    let read = format!("{:?}", runtime.model.requests().last().unwrap().messages);
    assert!(
        read.contains("deploy.sh") && !read.contains("evil.sh"),
        "{read}"
    );
    assert!(read.contains("There is no skill `deploy`"), "{read}");
}

#[tokio::test]
async fn inv30_an_agent_of_a_project_that_loses_trust_has_no_rights_at_its_next_turn() {
    let folder = Folder::new().with(
        "project/.rooftree/agents/worker.md",
        "---\ndescription: x\n---\nYou work.",
    );
    folder.write("ledger", "");
    let trusted = Arc::new(AtomicBool::new(true));
    let asked = trusted.clone();
    let recheck = TrustRecheck {
        ask: Some(Arc::new(move || {
            if asked.load(SeqCst) {
                ProjectTrust::Given
            } else {
                ProjectTrust::Missing
            }
        })),
        files: vec![folder.root.path().join("ledger")],
    };
    let library = DefinitionLibrary {
        recheck,
        ..folder.library(ProjectTrust::Given)
    };
    let clock = Arc::new(VirtualClock::seeded(1));
    let (held, gate) = ProbeTool::gated("Held", Effect::ReadOnly);
    let tools = Toolset::new([held, ProbeTool::open("Change", Effect::LocalMutation)]);
    let script = [
        say("").calls([call("Held", json!({}))]),
        say("").calls([call("Change", json!({"say": "x"}))]),
        say("done"),
    ];
    let mut plan = TestRuntimeBuilder::new(script).tools(tools);
    plan.definitions = Definitions::reading(library, clock.clone());
    let runtime = plan.build();
    let session = runtime.post_as("worker", "go").await;
    while gate.started() == 0 {
        tokio::task::yield_now().await;
    }
    trusted.store(false, SeqCst);
    folder.write("ledger", "not any more");
    clock.advance(Duration::from_secs(1));
    gate.open(1);
    runtime.wait_for_run(&session).await;
    let story = runtime.transcript(&session).await;
    assert!(
        story.contains("tool     Change failed: tool_not_allowed"),
        "{story}"
    );
}
