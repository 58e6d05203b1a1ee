//! What others write is understood as they mean it: emdash, koda, assistant, fourmis, Claude.

use rooftree_protocol::{
    AgentDialect, DefinitionLevel, Isolation, MemoryScope, PermissionMode, Scope,
    definition::ToolExposure,
};
use rooftree_runtime::definitions::DocumentSyntax;
use rooftree_tools::declared;

use super::folder::{Folder, codes, document};

const EMDASH: &str = include_str!("seeds/.emdash/agents/github.md");
const KODA: &str = include_str!("seeds/agents/reviewer.json");
const ASSISTANT: &str = include_str!("seeds/assistant.json");
const FOURMIS: &str = include_str!("seeds/fourmis.json");

#[test]
fn the_emdash_agent_file_is_read_as_it_stands_in_the_seed() {
    let folder = Folder::new().with("project/.emdash/agents/github.md", EMDASH);
    let loaded = folder.load();
    let github = &loaded.definitions[0];
    assert_eq!(
        (github.name.as_str(), github.description.as_str()),
        ("github", "GitHub integration agent")
    );
    assert_eq!(
        github.model.as_ref().unwrap().to_string(),
        "anthropic/claude-sonnet-4-20250514"
    );
    assert_eq!(github.tools, Scope::only(["Grep", "Glob", "Read"]));
    assert_eq!(
        github.rules.as_deref().unwrap(),
        ["rule_name_1", "rule_name_2"]
    );
    assert_eq!(
        (
            github.preloaded_skills.as_slice(),
            github.verifiers.as_slice()
        ),
        (
            &["skill_name_1".to_owned()][..],
            &["verifier_name".to_owned()][..]
        )
    );
    let server = &github.mcp_servers["github"];
    assert_eq!(
        (
            server.command.as_deref(),
            server.timeout_secs,
            server.enabled
        ),
        (Some("github-mcp-server"), Some(30), true)
    );
    assert_eq!(server.env["GITHUB_TOKEN"], "secret");
    assert!(
        github.prompt.starts_with("# System Prompt")
            && github
                .prompt
                .ends_with("Your specific instructions here...")
    );
    assert_eq!(github.examples[0].user, "Find GitHub PRs");
    assert_eq!(
        github.examples[0].agent,
        "I'll search for pull request patterns..."
    );
    assert_eq!(
        (github.source.dialect, github.source.level),
        (AgentDialect::Emdash, DefinitionLevel::Project)
    );
    assert_eq!(codes(&loaded), ["W0107"], "{:?}", loaded.diagnostics);
}

#[test]
fn an_emdash_agent_without_tools_only_looks_and_others_have_what_their_parent_has() {
    let text = "---\ndescription: x\n---\nYou look.";
    let folder = Folder::new()
        .with("project/.emdash/agents/a.md", text)
        .with("project/.rooftree/agents/b.md", text);
    let loaded = folder.load();
    let reading = ["Glob", "Grep", "Read", "List", "SemanticSearch"];
    assert_eq!(loaded.definitions[0].tools, Scope::only(reading));
    assert!(reading.iter().all(|name| declared(name).only_reads_files()));
    assert_eq!(loaded.definitions[1].tools, Scope::default());
    let none = Folder::new().with(
        "project/.emdash/agents/a.md",
        "---\ntools: []\n---\nYou talk.",
    );
    assert_eq!(
        none.load().definitions[0].tools.allow,
        Some(Vec::new()),
        "an empty list is not an absent one"
    );
}

#[test]
fn the_koda_reviewer_is_read_and_described_by_its_prompt() {
    let folder = Folder::new()
        .with("project/agents/reviewer.json", KODA)
        .with("project/agents/default.json", KODA)
        .with("project/agents/package.json", "{\"name\": \"no agent\"}");
    let loaded = folder.load();
    assert_eq!(
        (loaded.definitions.len(), codes(&loaded).len()),
        (1, 0),
        "{:?}",
        loaded.diagnostics
    );
    let reviewer = &loaded.definitions[0];
    assert_eq!(
        (reviewer.name.as_str(), reviewer.description.as_str()),
        ("reviewer", "Do project-specific reviews")
    );
    assert_eq!(
        (reviewer.source.level, reviewer.source.dialect),
        (DefinitionLevel::Project, AgentDialect::Koda)
    );
}

#[test]
fn the_assistant_configuration_is_read_with_every_field() {
    let loaded = document(ASSISTANT, DocumentSyntax::Json).load();
    let names: Vec<&str> = loaded
        .definitions
        .iter()
        .map(|found| found.name.as_str())
        .collect();
    assert_eq!(names, ["reading-list", "todo", "journal", "general"]);
    let reading = &loaded.definitions[0];
    assert_eq!(
        reading.display_name.as_deref(),
        Some("Reading List Manager")
    );
    assert_eq!(reading.tools.allow.as_deref().unwrap(), ["reading_list_*"]);
    assert_eq!(
        (reading.tools.deny.as_slice(), reading.exposure),
        (&["reading_list_delete".to_owned()][..], ToolExposure::Mixed)
    );
    assert_eq!(reading.skills.allow.as_deref().unwrap(), ["notes"]);
    assert_eq!(
        (
            reading.capabilities.allow.as_deref().unwrap(),
            reading.capabilities.deny.as_slice()
        ),
        (&["lists.*".to_owned()][..], &["lists.write".to_owned()][..])
    );
    assert_eq!(
        reading.agents.allow.as_deref().unwrap(),
        ["todo", "journal"]
    );
    assert!(!reading.hidden && !reading.api_exposed);
    assert_eq!(loaded.definitions[3].tools.allow, None, "`null` is all");
    assert_eq!(reading.source.level, DefinitionLevel::Config);
    let said: Vec<&str> = loaded
        .diagnostics
        .iter()
        .map(|found| found.message.as_str())
        .collect();
    assert!(
        said.contains(&"agents[0] (reading-list): `reading_list_*` matches no tool"),
        "{said:?}"
    );
}

#[test]
fn providers_of_the_assistant_and_toml_are_understood() {
    let text = "[[agents]]\nagentId = 'helper'\ndescription = 'x'\nuiVisible = false\n[agents.chat]\nprovider = 'claude-cli'\n\
                [[agents]]\nagentId = 'far'\ntype = 'external'\ndescription = 'y'\n";
    let loaded = document(text, DocumentSyntax::Toml).load();
    let models: Vec<String> = loaded
        .definitions
        .iter()
        .map(|found| found.model.as_ref().unwrap().to_string())
        .collect();
    assert_eq!(models, ["claude-cli/default", "external/far"]);
    assert!(loaded.definitions[0].hidden);
}

#[test]
fn the_fourmis_agents_each_keep_their_provider() {
    let loaded = document(FOURMIS, DocumentSyntax::Json).load();
    let models: Vec<String> = loaded
        .definitions
        .iter()
        .map(|found| found.model.as_ref().unwrap().to_string())
        .collect();
    assert_eq!(
        models,
        [
            "openai/gpt-5.2-mini",
            "anthropic/claude-sonnet-4-5-20250929",
            "google/gemini-2.5-flash"
        ]
    );
    assert_eq!(
        loaded
            .definitions
            .iter()
            .map(|found| found.max_turns)
            .collect::<Vec<_>>(),
        [Some(10), Some(15), Some(8)]
    );
    assert_eq!(
        loaded.definitions[0].tools,
        Scope::only(["Read", "Glob", "Grep"])
    );
}

#[test]
fn all_sixteen_fields_of_claude_are_honoured_or_answered() {
    let text = "---\nname: my-agent\ndescription: Use this agent when: reviewing <example>user: hi</example>\n\
        tools: Read, Grep, Agent(explore, plan), Bash(git:*)\ndisallowedTools: Write, mcp__x\nmodel: sonnet\n\
        permissionMode: acceptEdits\nmaxTurns: 7\nskills:\n  - pdf\nmcpServers:\n  - github\n  - local:\n      command: srv\n\
        hooks:\n  Stop: []\nmemory: project\nbackground: true\neffort: xhigh\nisolation: worktree\ncolor: red\n\
        initialPrompt: Begin.\n---\nYou review.";
    let folder = Folder::new().with("project/.claude/agents/sub/other.md", text);
    let loaded = folder.load();
    let agent = loaded
        .definitions
        .first()
        .unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    assert_eq!(agent.name, "my-agent", "they say their name themselves");
    assert!(
        agent
            .description
            .starts_with("Use this agent when: reviewing")
    );
    assert_eq!(
        agent.tools.allow.as_deref().unwrap(),
        ["Read", "Grep", "Task"]
    );
    assert_eq!(agent.tools.deny, ["Write", "mcp__x"]);
    assert_eq!(agent.agents.allow.as_deref().unwrap(), ["explore", "plan"]);
    assert_eq!(
        agent.model.as_ref().unwrap().to_string(),
        "anthropic/sonnet:high"
    );
    assert_eq!(
        (agent.permission_mode, agent.max_turns),
        (Some(PermissionMode::AcceptEdits), Some(7))
    );
    assert_eq!(
        (agent.preloaded_skills.as_slice(), agent.mcp_servers.len()),
        (&["pdf".to_owned()][..], 2)
    );
    assert_eq!(
        (agent.memory, agent.background, agent.isolation),
        (Some(MemoryScope::Project), true, Isolation::Worktree)
    );
    assert_eq!(
        (
            agent.look["color"].as_str(),
            agent.initial_prompt.as_deref()
        ),
        (Some("red"), Some("Begin."))
    );
    let mut codes = codes(&loaded);
    codes.sort_unstable();
    assert_eq!(
        codes,
        ["W0115", "W0116", "W0117", "W0127"],
        "{:#?}",
        loaded.diagnostics
    );
}

/// An agent of our own manner with these fields.
fn with_fields(fields: &str) -> rooftree_runtime::definitions::LoadedDefinitions {
    let text = format!("---\ndescription: d\n{fields}\n---\nYou work.\n");
    Folder::new()
        .with("project/.rooftree/agents/one.md", &text)
        .load()
}

#[test]
fn r1_d12_a_provider_without_a_model_means_its_usual_one() {
    let loaded = with_fields("provider: google");
    assert_eq!(codes(&loaded), [""; 0]);
    let model = loaded.definitions[0].model.as_ref();
    assert_eq!(model.unwrap().to_string(), "google/usual");
    let loaded = with_fields("provider: nowhere");
    assert_eq!(codes(&loaded), ["W0118"]);
    assert_eq!(loaded.definitions[0].model, None);
}

#[test]
fn r1_d21_effort_counts_for_a_model_from_elsewhere_and_no_attempts_are_said() {
    let loaded = with_fields("effort: high");
    assert_eq!(codes(&loaded), [""; 0]);
    let effort = loaded.definitions[0].effort;
    assert_eq!(effort, Some(rooftree_protocol::Effort::High));
    let loaded = with_fields("limits: {verify_attempts: 0}");
    assert_eq!(codes(&loaded), ["W0128"]);
}

#[test]
fn r2_d12_a_definition_says_whose_names_it_knows() {
    let loaded = with_fields("dialect: daycare");
    assert_eq!(codes(&loaded), [""; 0]);
    let one = &loaded.definitions[0];
    assert_eq!(one.source.dialect, AgentDialect::Daycare);
    assert_eq!(
        one.tools,
        Scope::default(),
        "only .emdash/agents only looks"
    );
    assert!(rooftree_runtime::definitions::written(one).contains("dialect: daycare\n"));
    let claude = with_fields("dialect: claude");
    assert_eq!(claude.definitions[0].source.dialect, AgentDialect::Fourmis);
    assert_eq!(codes(&with_fields("dialect: klingon")), ["E0314"]);
    let settings = "[[agents]]\nagentId = 'x'\ndescription = 'd'\ndialect = 'daycare'\n";
    let loaded = document(settings, DocumentSyntax::Toml).load();
    assert_eq!(loaded.definitions[0].source.dialect, AgentDialect::Daycare);
}
