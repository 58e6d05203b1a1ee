//! Shows one agent: its definition, what it may do in the end, or what its model reads.

use clap::{Args, ValueEnum};
use rooftree_protocol::{AgentDefinition, Problem};
use rooftree_providers::{catalog::ModelProfile, lean};
use rooftree_runtime::{
    PromptSections,
    assembly::known_tools,
    definitions::written,
    exposure::{self, ExposedTools},
    memory, skill_tools,
};
use serde_json::json;

use super::{AgentsContext, effective, mode, source};
use crate::{
    environment::Environment, exit::Exit, human_format::place, output,
    server_connection::ServerConnection,
};

/// Options of `agents show`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which agent; builtin/NAME for one that another hides
    #[arg(value_name = "NAME")]
    name: String,
    /// What it may do in the end, and why
    #[arg(long, conflicts_with = "prompt")]
    effective: bool,
    /// Exactly what a model would read
    #[arg(long)]
    prompt: bool,
    /// How to print it
    #[arg(
        short = 'o',
        long = "output-format",
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    format: AgentShowFormat,
}

/// How an agent is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum AgentShowFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object
    Json,
}

impl Arguments {
    /// Whether only the definition is asked for.
    pub fn is_about_definition(&self) -> bool {
        !self.effective && !self.prompt
    }
}

/// Prints it.
pub async fn execute(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    if let Some(server) = ServerConnection::of(environment)? {
        let definition = server.client.agent(&arguments.name).await?;
        output::print(&described(&definition, arguments.format)?)?;
        return Ok(Exit::DONE);
    }
    let here = AgentsContext::look(environment)?;
    let definition = here.project.definitions.find(&arguments.name)?;
    let text = if arguments.prompt {
        let prompt = prompt(&here, &definition, environment).await;
        if arguments.format == AgentShowFormat::Json {
            output::json_page(&json!({ "prompt": prompt }))?
        } else {
            prompt + "\n"
        }
    } else if arguments.effective {
        let effective = effective::of(&here, &definition);
        if arguments.format == AgentShowFormat::Json {
            output::json_page(&effective)?
        } else {
            effective.text()
        }
    } else {
        described(&definition, arguments.format)?
    };
    output::print(&text)?;
    Ok(Exit::DONE)
}

/// The system prompt, in the profile of the model that would read it.
async fn prompt(
    here: &AgentsContext,
    definition: &AgentDefinition,
    environment: &Environment,
) -> String {
    let project = &here.project;
    let profile = profile(here, definition).await;
    let project_context = project.project_context.current();
    let tools = skill_tools::needed(&known_tools(), &project_context);
    let tools = rooftree_runtime::effective_rights::tools(&tools, definition);
    let exposed = ExposedTools::of(&tools, definition.exposure, &environment.calls());
    let specs = exposure::functions(&tools, definition.source.dialect, exposed.as_ref());
    let bytes = definition.limits.memory_bytes;
    let memory = memory::excerpt(definition, &environment.memory(), &environment.cwd, bytes);
    let own_tools =
        effective::model_of(here, definition).is_some_and(|model| model.provider.has_own_tools());
    let sections = PromptSections {
        definition,
        tools: if own_tools { &[] } else { &specs },
        exposed: exposed.as_ref().filter(|_| !own_tools),
        definitions: &project.definitions,
        project_context: &project_context,
        memory,
        cwd: &environment.cwd,
        // The real id is a secret of the installation; this one stands for it.
        mark: &rooftree_runtime::MessageMark::derived(b"shown"),
        denied: rooftree_tools::DeniedPaths::Nothing,
        profile,
    };
    let text = sections.text().to_string();
    match profile {
        ModelProfile::Full => text,
        ModelProfile::Lean => {
            lean::system_prompt(&text, &specs, effective::effective_mode(here, definition))
        }
    }
}

/// The profile of the model that the agent would use; its server may have to be asked.
async fn profile(here: &AgentsContext, definition: &AgentDefinition) -> ModelProfile {
    let Some(choice) = effective::model_choice(here, definition) else {
        return ModelProfile::Full;
    };
    here.models.catalog.prepare(&choice).await;
    let facts = here.models.catalog.facts(&choice);
    facts.map_or(ModelProfile::Full, |facts| facts.effective_profile())
}

fn described(definition: &AgentDefinition, format: AgentShowFormat) -> Result<String, Problem> {
    match format {
        AgentShowFormat::Json => output::json_page(&without_secrets(definition)),
        AgentShowFormat::Text => Ok(page(definition)),
    }
}

fn page(definition: &AgentDefinition) -> String {
    let path = definition
        .source
        .path
        .as_deref()
        .map(|path| format!(" · {}", place(path)))
        .unwrap_or_default();
    let heading = format!(
        "{} · {}{path} · {}\n\n",
        definition.name,
        source(definition),
        mode(definition)
    );
    heading + &written(&without_secrets(definition))
}

/// Redacts environment variables and headers of MCP servers, because they may contain keys.
pub fn without_secrets(definition: &AgentDefinition) -> AgentDefinition {
    let mut shown = definition.clone();
    for server in shown.mcp_servers.values_mut() {
        server
            .env
            .values_mut()
            .chain(server.headers.values_mut())
            .for_each(|value| *value = "…".into());
    }
    shown
}
