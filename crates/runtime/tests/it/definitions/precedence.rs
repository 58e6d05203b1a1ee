//! Who goes before whom, what hides what, and what a folder that nobody trusts may do.

use std::{sync::Arc, time::Duration};

use rooftree_protocol::{AgentDefinition, DefinitionLevel, ErrorCode};
use rooftree_runtime::{
    Definitions, ProjectContext,
    definitions::{LoadedDefinitions, ProjectTrust},
};
use rooftree_testkit::VirtualClock;

use super::folder::Folder;

fn agent(description: &str) -> String {
    format!("---\ndescription: {description}\n---\nYou work.")
}

fn reading(folder: &Folder, trust: ProjectTrust) -> (Definitions, Arc<VirtualClock>) {
    let clock = Arc::new(VirtualClock::seeded(7));
    (
        Definitions::reading(folder.library(trust), clock.clone()),
        clock,
    )
}

#[test]
fn project_goes_before_user_before_built_in_and_what_is_hidden_is_said() {
    let folder = Folder::new()
        .with("user/agents/explore.md", &agent("user"))
        .with("project/.claude/agents/Explore.md", &agent("claude"))
        .with("project/.rooftree/agents/EXPLORE.md", &agent("project"));
    let (definitions, _) = reading(&folder, ProjectTrust::Given);
    assert_eq!(definitions.find("exPlore").unwrap().description, "project");
    assert_eq!(
        definitions.find("builtin/explore").unwrap().source.level,
        DefinitionLevel::Builtin
    );
    let hidden: Vec<String> = definitions
        .hidden()
        .iter()
        .map(|found| found.what.description.clone())
        .collect();
    assert_eq!(hidden.len(), 3, "{hidden:?}");
    assert_eq!(hidden[1..], ["user", "claude"]);
}

#[test]
fn an_untrusted_project_is_not_read_and_what_it_brings_is_named() {
    let folder = Folder::new()
        .with("user/agents/mine.md", &agent("user"))
        .with("project/.rooftree/agents/explore.md", &agent("project"))
        .with("project/.rooftree/rules/r.md", "rule")
        .with("project/AGENTS.md", "do evil");
    let (definitions, _) = reading(&folder, ProjectTrust::Missing);
    assert_eq!(
        definitions.find("explore").unwrap().source.level,
        DefinitionLevel::Builtin
    );
    assert_eq!(definitions.find("mine").unwrap().description, "user");
    let places = folder.places(ProjectTrust::Missing);
    let project_context = ProjectContext::read(&places, 1_000);
    assert!(project_context.rules.is_empty() && project_context.instructions.text.is_empty());
    assert_eq!(
        ProjectContext::untrusted(&places).len()
            + folder.library(ProjectTrust::Missing).untrusted().len(),
        3
    );
    let bare = Folder::new()
        .with("project/agents/data.json", "{}")
        .with("project/README.md", "x");
    assert!(ProjectContext::untrusted(&bare.places(ProjectTrust::Missing)).is_empty());
    assert!(
        bare.library(ProjectTrust::Missing).untrusted().is_empty(),
        "nothing to trust"
    );
}

#[test]
fn whatever_is_listed_can_be_found_and_what_cannot_be_is_said() {
    let folder = Folder::new().with(
        "project/.rooftree/agents/a.md",
        "---\ntools: [Nope]\n---\nx",
    );
    let (definitions, _) = reading(&folder, ProjectTrust::Given);
    for listed in definitions.iter() {
        assert!(Arc::ptr_eq(
            &definitions.find(&listed.name).unwrap(),
            &listed
        ));
    }
    assert_eq!(definitions.find("DEFAULT").unwrap().name, "lead");
    let problem = definitions.find("nobody").unwrap_err();
    assert_eq!(problem.code, ErrorCode::AgentNotFound);
    assert_eq!(
        problem.message,
        "Unknown agent type \"nobody\". Available: bash, explore, lead, plan, research, task, verify"
    );
    assert!(
        definitions
            .find("a")
            .unwrap_err()
            .cause
            .unwrap()
            .contains("unknown tool `Nope`")
    );
    assert_eq!(
        definitions.find("explor").unwrap_err().fix.unwrap(),
        "did you mean `explore`?"
    );
}

#[test]
fn agents_can_be_made_changed_and_taken_away_while_others_work() {
    let definitions = Definitions::builtin();
    let handle = definitions.clone();
    let mut agent = AgentDefinition::new("helper");
    let first = definitions.put(agent.clone());
    assert!(Arc::ptr_eq(&handle.find("helper").unwrap(), &first));
    agent.description = "better".into();
    definitions.put(agent);
    assert_eq!(handle.find("helper").unwrap().description, "better");
    assert_eq!(first.description, "", "who works with it keeps it");
    assert!(handle.remove("Helper").is_some() && definitions.find("helper").is_err());
    assert!(handle.remove("lead").is_none(), "those of the program stay");
}

#[test]
fn a_changed_file_is_seen_by_whoever_looks_a_second_later() {
    let folder = Folder::new()
        .with("project/.rooftree/agents/a.md", &agent("before"))
        .with("project/.rooftree/agents/b.md", &agent("same"));
    let (definitions, clock) = reading(&folder, ProjectTrust::Given);
    let (a, b) = (
        definitions.find("a").unwrap(),
        definitions.find("b").unwrap(),
    );
    folder.write(
        "project/.rooftree/agents/a.md",
        &agent("after it was changed"),
    );
    folder.write("project/.rooftree/agents/c.md", &agent("new"));
    assert_eq!(
        definitions.find("a").unwrap().description,
        "before",
        "it was looked at just now"
    );
    clock.advance(Duration::from_secs(1));
    assert_eq!(
        definitions.find("a").unwrap().description,
        "after it was changed"
    );
    assert!(definitions.find("c").is_ok());
    assert_eq!(a.description, "before");
    assert!(
        Arc::ptr_eq(&definitions.find("b").unwrap(), &b),
        "what did not change is the very same"
    );
}

#[test]
fn one_definition_extends_another_across_levels_and_never_itself() {
    let folder = Folder::new()
        .with(
            "user/agents/reviewer.md",
            "---\ndescription: Reviews\ntools: [Read]\nmax_turns: 5\n---\nBase prompt.",
        )
        .with(
            "project/.rooftree/agents/reviewer.md",
            "---\nextends: reviewer\nmax_turns: 9\n---\n",
        )
        .with(
            "project/.rooftree/agents/strict.md",
            "---\nextends: Reviewer\n---\nStricter prompt.",
        )
        .with(
            "project/.rooftree/agents/scout.md",
            "---\nextends: explore\ndescription: Ours\n---\n",
        )
        .with("project/.rooftree/agents/x.md", "---\nextends: y\n---\n")
        .with("project/.rooftree/agents/y.md", "---\nextends: x\n---\n");
    let loaded: LoadedDefinitions = folder.load();
    let found = |name: &str| {
        loaded
            .definitions
            .iter()
            .rfind(|found| found.name == name)
            .unwrap()
    };
    assert_eq!(
        (
            found("reviewer").prompt.as_str(),
            found("reviewer").max_turns
        ),
        ("Base prompt.", Some(9))
    );
    assert_eq!(
        (found("strict").prompt.as_str(), found("strict").max_turns),
        ("Stricter prompt.", Some(9))
    );
    assert_eq!(found("scout").tools.allow.as_ref().unwrap().len(), 5);
    assert!(
        loaded
            .diagnostics
            .iter()
            .any(|found| found.message.contains("leads back to itself")),
        "{:?}",
        loaded.diagnostics
    );
    assert!(
        !loaded
            .definitions
            .iter()
            .any(|found| found.name == "x" || found.name == "y")
    );
}

#[test]
fn who_can_be_reached_over_http_says_so_itself() {
    let folder = Folder::new()
        .with(
            "user/agents/open.md",
            "---\ndescription: x\napi_exposed: true\n---\nYou work.",
        )
        .with("user/agents/closed.md", "---\nextends: open\n---\n");
    let (definitions, _) = reading(&folder, ProjectTrust::Given);
    assert!(definitions.find("open").unwrap().api_exposed);
    assert!(
        !definitions.find("closed").unwrap().api_exposed,
        "not inherited"
    );
}
