//! An agent written in Rust: everything a file could say about it, as a builder.

use rooftree_protocol::{
    AgentDefinition, ErrorCode, McpServer, MemoryScope, Network, PermissionMode, SandboxMode, Scope,
};
use rooftree_tools::{HAS_WEB, Toolset};

use crate::{
    error::{Error, Result},
    models::ModelRegistry,
};

/// An agent that others can delegate to, or that a query starts with.
///
/// What is left out is inherited from the agent that delegates to it: its model, its tools, its permissions.
///
/// ```
/// use rooftree::Agent;
///
/// let reviewer = Agent::new("reviewer")
///     .describe("Reviews diffs for mistakes")
///     .prompt("You review code. Name file and line for each finding.")
///     .model("openai/gpt-5-mini")
///     .tools(["Read", "Grep"])
///     .max_turns(10);
/// # let _ = reviewer;
/// ```
#[derive(Clone, Debug)]
pub struct Agent {
    definition: AgentDefinition,
    model: Option<String>,
    provider: Option<String>,
}

impl Agent {
    /// An agent of this name: small letters, digits, `-` and `_`.
    pub fn new(name: impl Into<String>) -> Self {
        AgentDefinition::new(name).into()
    }

    /// When to use it, for other agents.
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.definition.description = description.into();
        self
    }

    /// Its system prompt.
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.definition.prompt = prompt.into();
        self
    }

    /// The model it thinks with: `provider/model`, a short name, or a model's own name.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The provider of its model, if that is not part of the model's name.
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// The only tools it may use, out of those its caller may use. `*` stands for anything.
    pub fn tools<S: Into<String>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        self.definition.tools.allow = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Brings a server along whose tools it has, as `mcp__name__tool`. An agent that brings one has only those.
    pub fn mcp_server(mut self, name: impl Into<String>, server: McpServer) -> Self {
        self.definition.mcp_servers.insert(name.into(), server);
        self
    }

    /// Tools it may not use.
    pub fn deny_tools<S: Into<String>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        self.definition
            .tools
            .deny
            .extend(tools.into_iter().map(Into::into));
        self
    }

    /// The only agents it may ask.
    pub fn agents<S: Into<String>>(mut self, agents: impl IntoIterator<Item = S>) -> Self {
        self.definition.agents = Scope::only(agents);
        self
    }

    /// Model replies per run, at most.
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.definition.max_turns = Some(turns);
        self
    }

    /// US dollars per run, at most, as far as prices are known.
    pub fn max_cost(mut self, dollars: f64) -> Self {
        self.definition.limits.max_cost_usd = Some(dollars);
        self
    }

    /// How much may happen without asking, at most.
    pub fn permission_mode(mut self, mode: PermissionMode) -> Self {
        self.definition.permission_mode = Some(mode);
        self
    }

    /// Where it remembers things from session to session, in Markdown people can read. It then has
    /// MemoryRead, MemoryWrite and MemorySearch, and is reminded of `MEMORY.md` when it wakes.
    /// [`MemoryScope::User`] is the directory given with `memory`, the others are in the project it works in.
    pub fn memory(mut self, memory: MemoryScope) -> Self {
        self.definition.memory = Some(memory);
        self
    }

    /// What checks its work when it says it is done, by name: verifiers the query or runtime knows.
    pub fn verified_by<S: Into<String>>(mut self, verifiers: impl IntoIterator<Item = S>) -> Self {
        self.definition
            .verifiers
            .extend(verifiers.into_iter().map(Into::into));
        self
    }

    /// Whether its commands run in the sandbox; never more loosely than everything else does.
    pub fn sandbox(mut self, mode: SandboxMode) -> Self {
        self.definition.sandbox = Some(mode);
        self
    }

    /// The hosts its sandboxed programs can reach; never more than everything else can.
    pub fn network(mut self, network: Network) -> Self {
        self.definition.network = Some(network);
        self
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The definition it amounts to, with its model understood.
    pub(crate) fn into_definition(
        self,
        models: &ModelRegistry,
        tools: &Toolset,
    ) -> Result<AgentDefinition> {
        let Self {
            mut definition,
            model,
            provider,
        } = self;
        check_name(&definition.name)?;
        check_tools(&definition, tools)?;
        if let Some(name) = qualified_model(model, provider, models)? {
            definition.model = Some(models.resolve(&name)?);
        }
        Ok(definition)
    }
}

impl From<AgentDefinition> for Agent {
    fn from(definition: AgentDefinition) -> Self {
        Self {
            definition,
            model: None,
            provider: None,
        }
    }
}

/// The model's name with its provider, if either was given.
fn qualified_model(
    model: Option<String>,
    provider: Option<String>,
    models: &ModelRegistry,
) -> Result<Option<String>> {
    Ok(match (model, provider) {
        (Some(model), Some(provider)) if !model.starts_with(&format!("{provider}/")) => {
            Some(format!("{provider}/{model}"))
        }
        (None, Some(provider)) => Some(models.default_model_of(&provider)?),
        (model, _) => model,
    })
}

fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if begins_well && name.len() <= 64 && name.chars().all(is_plain) {
        return Ok(());
    }
    let message =
        format!("`{name}` is no name for an agent: use small letters, digits, `-` and `_`");
    Err(Error::new(ErrorCode::InvalidConfig, message))
}

/// The hint for an unknown tool.
fn missing_tool_hint(name: &str, tools: &Toolset) -> String {
    if name == "WebFetch" && !HAS_WEB {
        return "this program was built without reading web pages: build it with the feature `web` of rooftree".into();
    }
    format!("tools there are: {}", tools.names().join(", "))
}

/// Validates tool names: a misspelt one would silently be one tool less.
fn check_tools(definition: &AgentDefinition, tools: &Toolset) -> Result<()> {
    let named = definition
        .tools
        .allow
        .iter()
        .flatten()
        .chain(&definition.tools.deny);
    for name in named {
        if tools
            .scoped(&Scope::only([name.as_str()]))
            .iter()
            .next()
            .is_none()
        {
            let problem = rooftree_protocol::Problem::new(
                ErrorCode::InvalidConfig,
                format!(
                    "agent `{}` names the tool `{name}`, which there is not",
                    definition.name
                ),
            );
            return Err(problem.fix(missing_tool_hint(name, tools)).into());
        }
    }
    Ok(())
}
