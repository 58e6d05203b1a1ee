//! What a model reads: prompt, examples, rules, skills, peers, instructions, environment.

use std::sync::Arc;

use rooftree_protocol::{AgentDefinition, Scope, UseAs};
use rooftree_providers::scripted::{call, say};
use rooftree_runtime::{Definitions, ProjectContext, PromptSections, definitions::ProjectTrust};
use rooftree_testkit::TestRuntimeBuilder;
use rooftree_tools::Toolset;
use serde_json::json;

use super::folder::Folder;

/// The usual tools and those for skills, without Task.
fn tools() -> Toolset {
    let usual = rooftree_tools::builtin(Arc::new(rooftree_tools::BackgroundProcesses::new(|| 7)));
    rooftree_runtime::skill_tools::with_tools(&usual)
}

fn project_context(folder: &Folder) -> ProjectContext {
    ProjectContext::read(&folder.places(ProjectTrust::Given), 32 * 1024)
}

fn prompt(definition: &AgentDefinition, project_context: &ProjectContext) -> String {
    let (specs, definitions) = (
        tools().scoped(&definition.tools).specs(),
        Definitions::builtin(),
    );
    let cwd = std::path::Path::new("/shop");
    PromptSections {
        definition,
        tools: &specs,
        exposed: None,
        definitions: &definitions,
        project_context,
        memory: Some("Likes tea.".into()),
        cwd,
        mark: &rooftree_runtime::MessageMark::derived(b"prompts"),
        denied: rooftree_tools::DeniedPaths::Nothing,
        profile: rooftree_providers::catalog::ModelProfile::Full,
    }
    .text()
    .to_string()
}

fn furnished() -> Folder {
    let skill = "---\nname: pdf\ndescription: Works with PDF files\nallowed-tools: Read Bash(git:*)\n---\nRun ${CLAUDE_SKILL_DIR}/run on $ARGUMENTS.";
    Folder::new()
        .with("user/rules/style.md", "Short sentences.")
        .with("project/.rooftree/rules/tests.md", "Test everything.")
        .with(
            "project/.claude/rules/web.md",
            "---\npaths: [\"web/**\"]\n---\nNo frameworks.",
        )
        .with("project/.claude/skills/pdf/SKILL.md", skill)
        .with("project/.claude/skills/pdf/scripts/run.sh", "")
        .with(
            "project/.agents/skills/secret/SKILL.md",
            "---\nname: secret\ndescription: Hush\ndisable-model-invocation: true\n---\nShh.",
        )
        .with("project/.agents/skills/bad/SKILL.md", "no frontmatter")
        .with("project/AGENTS.md", "Use tabs.")
}

#[test]
fn sections_come_in_order_and_the_environment_last() {
    let folder = furnished();
    let project_context = project_context(&folder);
    let mut definition = AgentDefinition::new("writer");
    definition.prompt = "You write.".into();
    definition.examples = vec![rooftree_protocol::Example {
        user: "Hi".into(),
        agent: "Hello".into(),
    }];
    let text = prompt(&definition, &project_context);
    let parts = [
        "You write.",
        "# Examples",
        "User: Hi",
        "## Rules",
        "Short sentences.",
        "web/**",
        "Test everything.",
        "## Skills",
        "- pdf: Works with PDF files",
        "## Todo list",
        "## Instructions",
        "Use tabs.",
        "# What you remember",
        "Likes tea.",
        "# Environment\n\nWorking directory: /shop",
    ];
    let places: Vec<usize> = parts
        .iter()
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")))
        .collect();
    assert!(places.is_sorted(), "{text}");
    assert!(
        !text.contains("Hush") && !text.contains("## Agents"),
        "{text}"
    );
    assert_eq!(
        text,
        prompt(&definition, &project_context),
        "it is the same every time"
    );
    assert!(
        project_context
            .remarks
            .iter()
            .any(|remark| remark.contains("bad is not used")),
        "{:?}",
        project_context.remarks
    );
}

#[test]
fn a_definition_chooses_its_rules_and_skills() {
    let folder = furnished();
    let project_context = project_context(&folder);
    let mut definition = AgentDefinition::new("writer");
    definition.display_name = Some("The Writer".into());
    definition.description = "Writes.".into();
    definition.rules = Some(vec!["STYLE".into(), "missing".into()]);
    definition.preloaded_skills = vec!["pdf".into()];
    definition.tools = Scope::only(["Read"]);
    let text = prompt(&definition, &project_context);
    assert!(text.starts_with("You are The Writer. Writes."), "{text}");
    assert!(
        text.contains("Short sentences.") && !text.contains("Test everything."),
        "{text}"
    );
    assert!(
        text.contains("/skills/pdf/run on ") && !text.contains("Load one with the Skill tool"),
        "{text}"
    );
    assert!(!text.contains("Todo list"), "{text}");
    assert_eq!(
        project_context.missing(&definition, &Definitions::builtin()),
        ["rule `missing` is not there"]
    );
}

#[test]
fn peers_are_those_one_may_ask() {
    let definitions = Definitions::builtin();
    let mut hidden = AgentDefinition::new("hidden");
    hidden.hidden = true;
    let mut person = AgentDefinition::new("person");
    person.use_as = UseAs::Primary;
    definitions.put(hidden);
    definitions.put(person);
    let names = |definition: &AgentDefinition| {
        let peers = rooftree_runtime::peers(definition, &definitions);
        peers
            .iter()
            .map(|peer| peer.name.clone())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        names(&definitions.find("lead").unwrap()),
        "bash explore plan research task verify"
    );
    let mut narrow = AgentDefinition::new("plan");
    narrow.agents = Scope {
        allow: Some(vec!["*pl*".into(), "bash".into()]),
        deny: vec!["bash".into()],
    };
    assert_eq!(names(&narrow), "explore");
}

#[test]
fn the_first_request_of_the_lead_is_small() {
    let (definitions, project_context) = (Definitions::builtin(), ProjectContext::default());
    let tools = rooftree_runtime::delegation::tools::with_tools(&tools());
    let specs = rooftree_runtime::skill_tools::needed(&tools, &project_context).specs();
    let sections = PromptSections {
        definition: &definitions.find("lead").unwrap(),
        tools: &specs,
        exposed: None,
        definitions: &definitions,
        project_context: &project_context,
        memory: None,
        cwd: std::path::Path::new("/home/somebody/projects/shop"),
        mark: &rooftree_runtime::MessageMark::derived(b"prompts"),
        denied: rooftree_tools::DeniedPaths::Nothing,
        profile: rooftree_providers::catalog::ModelProfile::Full,
    };
    let prompt = sections.text().len();
    let tools: usize = specs
        .iter()
        .map(|spec| serde_json::to_string(spec).unwrap().len())
        .sum();
    assert!(
        prompt + tools <= 13 * 1024,
        "{prompt} bytes of prompt and {tools} of tools"
    );
}

#[tokio::test]
async fn a_skill_is_loaded_on_demand_within_the_scope_of_its_agent() {
    let folder = furnished();
    let load = |name: &str| {
        call(
            "activate_skill",
            json!({"name": name, "arguments": "a.pdf"}),
        )
    };
    let script = [
        say("").calls([load("PDF"), load("nothing"), call("ListSkills", json!({}))]),
        say("done"),
    ];
    let mut plan = TestRuntimeBuilder::new(script).tools(tools());
    plan.project_context = project_context(&folder).into();
    let runtime = plan.build();
    let session = runtime.post("go").await;
    runtime.wait_for_run(&session).await;
    let mut said = Vec::new();
    for event in runtime.events(&session).await {
        if let rooftree_protocol::EventBody::ToolCompleted(record) = event.body {
            said.push(rooftree_protocol::message::text_of(&record.content));
        }
    }
    let all = said.join("\n---\n");
    assert!(all.contains("/skills/pdf/run on a.pdf."), "{all}");
    assert!(
        all.contains("you can use only these tools, besides reading: Read, Bash(git:*)")
            && all.contains("scripts/run.sh"),
        "{all}"
    );
    assert!(
        all.contains("There is no skill `nothing`. Skills there are: pdf"),
        "{all}"
    );
}

#[test]
fn n_27_the_first_request_of_the_lead_to_a_small_model_is_short_and_names_only_its_tools() {
    let (definitions, project_context) = (Definitions::builtin(), ProjectContext::default());
    let tools = rooftree_runtime::delegation::tools::with_tools(&tools());
    let specs = rooftree_runtime::skill_tools::needed(&tools, &project_context).specs();
    let sections = PromptSections {
        definition: &definitions.find("lead").unwrap(),
        tools: &specs,
        exposed: None,
        definitions: &definitions,
        project_context: &project_context,
        memory: None,
        cwd: std::path::Path::new("/home/somebody/projects/shop"),
        mark: &rooftree_runtime::MessageMark::derived(b"prompts"),
        denied: rooftree_tools::DeniedPaths::Nothing,
        profile: rooftree_providers::catalog::ModelProfile::Lean,
    };
    let mode = rooftree_protocol::PermissionMode::Ask;
    let text = rooftree_providers::lean::system_prompt(&sections.text(), &specs, mode);
    assert!(text.len() < 2_000, "{} bytes: {text}", text.len());
    for tool in ["Task", "TodoWrite", "Glob"] {
        assert!(!text.contains(tool), "{tool}: {text}");
    }
    // What differs from session to session is not before what a server has read already.
    let (tools, session) = (text.find("- Bash {"), text.find("id=\""));
    assert!(tools.is_some() && tools < session, "{text}");
    let plan = rooftree_protocol::PermissionMode::Plan;
    let planning = rooftree_providers::lean::offered_tools(&specs, plan);
    assert_eq!(planning, ["Read", "List", "Grep"]);
}
