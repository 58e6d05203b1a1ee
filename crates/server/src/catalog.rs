//! Catalog of what the program around the server has configured: models, providers, tools, skills, MCP servers, hooks.

use std::path::Path;

use futures::future::BoxFuture;
use rooftree_protocol::{AgentDefinition, ErrorCode, ModelChoice, Problem, SkillNote};
use rooftree_stdx::atomic_file;
use schemars::JsonSchema;
use serde::Serialize;

/// Lists what is configured, writes agents' files, and changes keys and the default model. The server itself knows no
/// settings.
pub trait ServerCatalog: Send + Sync {
    /// The models that can be used.
    fn models(&self) -> Vec<CatalogModel>;
    /// The providers that take a key, and where each one's comes from.
    fn providers(&self) -> Vec<CatalogProvider>;
    /// The default model, if there is one.
    fn default_model(&self) -> Option<String>;
    /// Sets the default model where none is set. It counts at once.
    fn set_default_model(&self, name: &str) -> Result<(), Problem>;
    /// Stores a key; if no default model is set, the provider's usual one is.
    fn store_key(&self, provider: &str, key: &str) -> Result<(), Problem>;
    /// Removes a stored key; says whether there was one.
    fn remove_key(&self, provider: &str) -> Result<bool, Problem>;
    /// The model servers that answer on this machine.
    fn local_servers(&self) -> BoxFuture<'_, Vec<CatalogLocalServer>>;
    /// What a demo is made of, if there is one.
    fn demo(&self) -> Option<CatalogDemo>;
    /// The tools there are, before any agent's scope.
    fn tools(&self) -> Vec<CatalogTool>;
    /// The skills of the user and the project.
    fn skills(&self) -> Vec<CatalogSkill>;
    /// The command files and skills that a person can type behind a slash.
    fn prompts(&self) -> Vec<CatalogPrompt>;
    /// What one of them says with its arguments filled in; else that there is none, with the nearest name.
    fn expand_prompt(&self, name: &str, arguments: &str) -> Result<CatalogPromptText, Problem>;
    /// The MCP servers that are set up.
    fn mcp_servers(&self) -> Vec<CatalogMcpServer>;
    /// The hooks that are set up.
    fn hooks(&self) -> Vec<CatalogHook>;
    /// Tools, model and limits of an agent, each with its reason.
    fn effective(&self, definition: &AgentDefinition) -> EffectiveAgentReport;

    /// Replaces the file of an agent, as the owner said. A reader finds the old text or the new one.
    fn write_agent_file(&self, path: &Path, text: &str) -> Result<(), Problem> {
        atomic_file::replace(path, text.as_bytes()).map_err(|error| {
            let message = format!("cannot write {}", path.display());
            Problem::new(ErrorCode::StoreFailed, message).cause(error.to_string())
        })
    }
}

/// A catalog of nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptyCatalog;

/// A model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatalogModel {
    /// Its name: `provider/model`.
    pub name: String,
    /// Its provider.
    pub provider: String,
    /// Tokens of its context window, if known.
    pub window: Option<u64>,
    /// Whether agents use it that name no other.
    pub is_default: bool,
}

/// A provider that takes a key. The key itself is never told.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatalogProvider {
    /// Its name.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Where its key comes from; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<CatalogKeySource>,
    /// The variables a key may be in.
    pub variables: Vec<String>,
    /// Where to get a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
}

/// Where a key comes from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum CatalogKeySource {
    /// A variable of the server's environment, which wins over a stored key.
    Environment {
        /// Its name.
        variable: String,
    },
    /// The file of stored keys.
    File,
}

/// A model server on this machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatalogLocalServer {
    /// What it is: `ollama`, `llamacpp` …
    pub provider: String,
    /// Where it listens.
    pub base_url: String,
    /// Its models, as sessions name them.
    pub models: Vec<String>,
}

/// What a demo is made of.
#[derive(Clone, Debug)]
pub struct CatalogDemo {
    /// The agent that is asked.
    pub agent: String,
    /// The scripted model.
    pub model: ModelChoice,
    /// What the agent is asked.
    pub message: String,
}

/// A tool.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatalogTool {
    /// Its name.
    pub name: String,
    /// What models are told about it.
    pub description: String,
}

/// A skill.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatalogSkill {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
}

/// A command file or skill that a person can type behind a slash.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatalogPrompt {
    /// Its name, without the slash.
    pub name: String,
    /// What can follow it, in words of its own.
    pub arguments: String,
    /// What it is for.
    pub description: String,
}

/// What a command file or skill says, with its arguments filled in.
#[derive(Clone, Debug, Default)]
pub struct CatalogPromptText {
    /// The text for the agent.
    pub text: String,
    /// The only tools that its run may use, if it says so.
    pub restriction: Option<SkillNote>,
    /// Settings of the file that an open session does not heed, such as `model: fast`.
    pub ignored: Vec<String>,
}

/// An MCP server.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatalogMcpServer {
    /// Its name.
    pub name: String,
    /// `program` or `http`.
    pub transport: String,
    /// Whether it is used.
    pub enabled: bool,
}

/// A hook.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatalogHook {
    /// At which point it is asked.
    pub point: String,
    /// What it is asked about; everything if empty.
    pub matcher: String,
    /// Who set it up: `user`, `project` …
    pub level: String,
}

/// What an agent would be like if it ran now.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct EffectiveAgentReport {
    /// Each tool, and why the agent has it or has it not.
    pub tools: Vec<ToolReason>,
    /// Its model, permission mode and limits, and where each comes from.
    pub values: Vec<SourcedSetting>,
    /// Agents it may delegate to.
    pub asks: Vec<String>,
    /// What its definition names that does not exist.
    pub missing: Vec<String>,
}

/// A tool, and why an agent has it or has it not.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ToolReason {
    /// The tool.
    pub tool: String,
    /// Whether the agent has it.
    pub has: bool,
    /// Why.
    pub because: String,
}

/// A setting of an agent, and where it comes from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SourcedSetting {
    /// Which one.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where it comes from.
    pub from: String,
}

impl ServerCatalog for EmptyCatalog {
    fn models(&self) -> Vec<CatalogModel> {
        Vec::new()
    }

    fn providers(&self) -> Vec<CatalogProvider> {
        Vec::new()
    }

    fn default_model(&self) -> Option<String> {
        None
    }

    fn set_default_model(&self, _: &str) -> Result<(), Problem> {
        Err(nothing_to_change())
    }

    fn store_key(&self, _: &str, _: &str) -> Result<(), Problem> {
        Err(nothing_to_change())
    }

    fn remove_key(&self, _: &str) -> Result<bool, Problem> {
        Err(nothing_to_change())
    }

    fn local_servers(&self) -> BoxFuture<'_, Vec<CatalogLocalServer>> {
        Box::pin(async { Vec::new() })
    }

    fn demo(&self) -> Option<CatalogDemo> {
        None
    }

    fn tools(&self) -> Vec<CatalogTool> {
        Vec::new()
    }

    fn skills(&self) -> Vec<CatalogSkill> {
        Vec::new()
    }

    fn prompts(&self) -> Vec<CatalogPrompt> {
        Vec::new()
    }

    fn expand_prompt(&self, name: &str, _: &str) -> Result<CatalogPromptText, Problem> {
        let message = format!("there is no command or skill `/{name}`");
        Err(Problem::new(ErrorCode::InvalidArguments, message))
    }

    fn mcp_servers(&self) -> Vec<CatalogMcpServer> {
        Vec::new()
    }

    fn hooks(&self) -> Vec<CatalogHook> {
        Vec::new()
    }

    fn effective(&self, _: &AgentDefinition) -> EffectiveAgentReport {
        EffectiveAgentReport::default()
    }
}

fn nothing_to_change() -> Problem {
    Problem::new(
        ErrorCode::InvalidArguments,
        "this server has no settings that could be changed",
    )
}
