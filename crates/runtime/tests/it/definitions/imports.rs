//! What other programs have that is no agent file: every field becomes something or is said.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use rooftree_protocol::{AgentDefinition, Network};
use rooftree_runtime::definitions::{
    DefinitionLibrary, LoadedDefinitions, LoaderContext, ProjectTrust, Severity, written,
};

use super::folder::{Folder, loader_context};

fn seeds(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/definitions/seeds")
        .join(name)
}

fn library() -> DefinitionLibrary {
    let variables = Arc::new(|name: &str| Some(format!("${{{name}}}")));
    let model_resolver = Arc::new(|name: &str| name.parse());
    let loader_context = LoaderContext {
        variables,
        model_resolver,
        ..loader_context()
    };
    DefinitionLibrary {
        loader_context,
        ..Folder::new().library(ProjectTrust::Given)
    }
}

fn by_name(loaded: &LoadedDefinitions) -> BTreeMap<&str, &AgentDefinition> {
    loaded
        .definitions
        .iter()
        .map(|definition| (definition.name.as_str(), definition))
        .collect()
}

fn said(loaded: &LoadedDefinitions) -> String {
    loaded
        .diagnostics
        .iter()
        .map(|one| format!("{}: {}\n", one.code, one.message))
        .collect()
}

#[test]
fn a_recipe_of_goose_is_taken_over_field_by_field() {
    let loaded = library().import_goose(&seeds("goose"));
    let said = said(&loaded);
    let agents = by_name(&loaded);
    assert_eq!(
        agents.keys().copied().collect::<Vec<_>>(),
        ["changelog", "find-breaking"],
        "{said}"
    );
    let agent = agents["changelog"];
    assert_eq!(agent.display_name.as_deref(), Some("Changelog Writer"));
    assert_eq!(
        agent.description,
        "Writes the changelog of a release from its commits"
    );
    assert_eq!(
        agent.model.as_ref().map(ToString::to_string).as_deref(),
        Some("anthropic/claude-sonnet-4-5")
    );
    assert_eq!((agent.max_turns, agent.memory.is_some()), (Some(25), true));
    assert_eq!(
        agent.initial_prompt.as_deref(),
        Some("Write the changelog since v1.0.")
    );
    assert!(
        agent.prompt.contains("Begin with v1.0 and"),
        "a default is filled in: {}",
        agent.prompt
    );
    assert!(
        agent
            .prompt
            .contains("- audience: For whom it is written. Ask for it"),
        "{}",
        agent.prompt
    );
    assert!(
        agent.prompt.contains(r#""required":["sections"]"#),
        "{}",
        agent.prompt
    );
    assert_eq!(
        agent.agents.allow.as_deref(),
        Some(&["find-breaking".to_owned()][..])
    );
    let tools = agent.tools.allow.clone().unwrap();
    for tool in [
        "Bash",
        "Edit",
        "Task",
        "mcp__github__list_issues",
        "mcp__github__get_issue",
        "mcp__docs__*",
    ] {
        assert!(tools.iter().any(|known| known == tool), "{tool}: {tools:?}");
    }
    assert!(
        !tools.iter().any(|tool| tool == "WebFetch"),
        "only what its extensions stand for: {tools:?}"
    );
    let server = &agent.mcp_servers["github"];
    assert_eq!(
        (
            server.command.as_deref(),
            server.args.len(),
            server.timeout_secs
        ),
        (Some("npx"), 2, Some(60))
    );
    assert_eq!(
        server.env["GITHUB_TOKEN"], "${GITHUB_TOKEN}",
        "a key is named, not copied"
    );
    assert_eq!(server.env["GITHUB_HOST"], "github.example");
    assert_eq!(
        agent.mcp_servers["docs"].url.as_deref(),
        Some("https://docs.example/mcp")
    );
    assert_eq!(
        agents["find-breaking"].tools.allow.as_deref(),
        Some(&[][..]),
        "no extensions, no tools"
    );

    for left_out in [
        "temperature",
        "retry",
        "computercontroller",
        "`old` of the kind `sse`",
        "values",
        "nonsense",
    ] {
        assert!(said.contains(left_out), "{left_out}:\n{said}");
    }
    assert!(
        said.contains("`instructions` has places that are not filled in"),
        "{said}"
    );
    let errors: Vec<_> = loaded
        .diagnostics
        .iter()
        .filter(|one| one.severity == Severity::Error)
        .collect();
    assert!(
        errors.len() == 1 && errors[0].path.ends_with("broken.yaml"),
        "{errors:?}"
    );
}

#[test]
fn the_house_of_daycare_is_taken_over_agent_by_agent() {
    let loaded = library().import_daycare(&seeds("daycare"));
    let said = said(&loaded);
    let agents = by_name(&loaded);
    let names: Vec<&str> = agents.keys().copied().collect();
    assert_eq!(
        names,
        ["daycare", "disk", "garden-keeper", "morning-digest"],
        "{said}"
    );
    let assistant = agents["daycare"];
    assert!(assistant.prompt.contains("calm and precise") && assistant.prompt.contains("Berlin"));
    let model = assistant.model.as_ref().map(ToString::to_string);
    assert_eq!(
        model.as_deref(),
        Some("anthropic/claude-sonnet-4-5"),
        "that of the first provider that is on"
    );
    let keeper = agents["garden-keeper"];
    assert_eq!(keeper.prompt, "You keep the plan of the garden.");
    assert_eq!(
        (keeper.display_name.as_deref(), &keeper.network),
        (Some("Garden Keeper"), &Some(Network::Off))
    );
    let digest = agents["morning-digest"];
    assert!(digest.prompt.starts_with("Summarise what came in") && digest.initial_prompt.is_some());
    assert_eq!(agents["disk"].display_name.as_deref(), Some("Disk space"));
    for left_out in [
        "`plugins`",
        "`engine`",
        "emergencyContextLimit",
        "workspaceDir",
        "writeDirs",
        "providerId",
        "deleteAfterRun",
        "MEMORY.md",
        "a conversation (user)",
    ] {
        assert!(said.contains(left_out), "{left_out}:\n{said}");
    }
    assert!(
        loaded
            .diagnostics
            .iter()
            .all(|one| one.severity == Severity::Warning && one.help.is_some()),
        "{said}"
    );
}

#[test]
fn the_tasks_of_daycare_become_schedules_of_their_agents() {
    let drafts = library().import_daycare_schedules(&seeds("daycare"));
    let [digest, disk] = drafts.as_slice() else {
        panic!("{drafts:?}")
    };
    let told = |text: &str| Some(text.to_owned());
    assert_eq!(
        (&digest.name, &digest.agent, &digest.when, &digest.gate),
        (
            &told("morning-digest"),
            &told("morning-digest"),
            &told("0 7 * * *"),
            &told("test -s inbox.txt")
        )
    );
    assert_eq!((&digest.kind, digest.enabled), (&None, None));
    assert_eq!(
        (&disk.agent, &disk.kind, &disk.when),
        (&told("disk"), &told("heartbeat"), &None)
    );
}

#[test]
fn what_was_imported_is_read_again_as_the_same() {
    let goose = library().import_goose(&seeds("goose")).definitions;
    let daycare = library().import_daycare(&seeds("daycare")).definitions;
    for definition in goose.into_iter().chain(daycare) {
        let folder = Folder::new();
        folder.write(
            &format!("project/.rooftree/agents/{}.md", definition.name),
            &written(&definition),
        );
        let mut library = library();
        library.places = folder.places(ProjectTrust::Given);
        let mut read = library.load();
        let again = read
            .definitions
            .pop()
            .unwrap_or_else(|| panic!("{}: {}", definition.name, said(&read)));
        let source = again.source.clone();
        assert_eq!(
            again,
            AgentDefinition {
                source,
                ..definition
            }
        );
    }
}
