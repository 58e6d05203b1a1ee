//! Builds the toolset of a runtime from its parts, with the background processes and MCP servers the tools use.

use std::sync::Arc;

use rooftree_process::EnvironmentFilter;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_tools::{
    BackgroundProcesses, SandboxConfig, SearchService, SemanticSearchTool, Tool, Toolset,
    WebConfig, builtin_with,
    mcp::{McpServerPool, McpSetup},
    toolset::ToolLookup,
};

use crate::{
    Clock, SystemClock, delegation, exposure::CallSocketConfig, memory_tools, people_tools,
    runtime_options::RuntimeTools, schedule_tools, skill_tools,
};

/// Tools that are there without a session.
pub enum BaseTools {
    /// The built-in tools.
    Builtin(Box<BuiltinTools>),
    /// These alone.
    Given(Toolset),
}

impl BaseTools {
    /// The built-in tools, made with these.
    pub fn builtin(parts: BuiltinTools) -> Self {
        Self::Builtin(Box::new(parts))
    }
}

/// What the built-in tools need.
pub struct BuiltinTools {
    /// The semantic search.
    pub search: SemanticSearchTool,
    /// How the web is reached.
    pub web: WebConfig,
    /// Who searches the web; absent: the web is not searched.
    pub service: Option<SearchService>,
}

impl Default for BuiltinTools {
    fn default() -> Self {
        Self {
            search: SemanticSearchTool::new(None),
            web: WebConfig::default(),
            service: None,
        }
    }
}

/// A group of tools that need a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionTools {
    /// Asking other agents.
    Delegation,
    /// Remembering from session to session.
    Memory,
    /// Loading skills.
    Skills,
    /// Schedules: making and changing them, and what their runs need.
    Schedules,
    /// Turning to people: questions, plans, permissions.
    People,
    /// The same without questions, if there is no client that answers them.
    PeopleWithoutQuestions,
}

impl SessionTools {
    /// All groups, in the order in which models are told of them.
    pub const ALL: [Self; 5] = [
        Self::Delegation,
        Self::Memory,
        Self::Skills,
        Self::People,
        Self::Schedules,
    ];

    fn added_to(self, tools: &Toolset) -> Toolset {
        match self {
            Self::Delegation => delegation::tools::with_tools(tools),
            Self::Memory => memory_tools::with_tools(tools),
            Self::Skills => skill_tools::with_tools(tools),
            Self::Schedules => schedule_tools::with_tools(tools),
            Self::People => people_tools::with_tools(tools),
            Self::PeopleWithoutQuestions => {
                people_tools::without_questions(&people_tools::with_tools(tools))
            }
        }
    }
}

/// Parts that the tools of a runtime are built from.
pub struct ToolParts {
    /// Tools that are there without a session.
    pub base: BaseTools,
    /// Groups that need one; their order is part of cached prompts.
    pub groups: Vec<SessionTools>,
    /// Tools of the program around, none of which may hide another.
    pub own: Vec<Arc<dyn Tool>>,
    /// Variables that programs started for agents inherit: commands, hooks and servers.
    pub environment: Arc<EnvironmentFilter>,
    /// The MCP servers.
    pub servers: McpSetup,
    /// Where commands of agents whose tools are skills find their way back; none: tools stay functions.
    pub call_socket: Option<CallSocketConfig>,
}

impl Default for ToolParts {
    fn default() -> Self {
        Self {
            base: BaseTools::Builtin(Box::default()),
            groups: SessionTools::ALL.to_vec(),
            own: Vec::new(),
            environment: Arc::default(),
            servers: McpSetup::default(),
            call_socket: None,
        }
    }
}

impl ToolParts {
    /// Builds them. Nothing is started: programs and servers are when a tool needs them.
    pub fn build(
        self,
        clock: &Arc<dyn Clock>,
        sandbox: &SandboxConfig,
    ) -> Result<RuntimeTools, Problem> {
        let entropy = clock.clone();
        let processes = BackgroundProcesses::new(move || entropy.entropy());
        let processes = Arc::new(processes.inheriting(self.environment.clone()));
        let base = match self.base {
            BaseTools::Given(tools) => tools,
            BaseTools::Builtin(parts) => {
                builtin_with(processes.clone(), parts.search, &parts.web, parts.service)
            }
        };
        let all = self
            .groups
            .iter()
            .fold(base, |tools, group| group.added_to(&tools));
        Ok(RuntimeTools {
            all: with_own(all, self.own)?,
            processes,
            servers: Arc::new(McpServerPool::new(McpSetup {
                confining: sandbox.clone(),
                ..self.servers
            })),
            environment: self.environment,
            call_socket: self.call_socket,
        })
    }
}

fn with_own(mut tools: Toolset, own: Vec<Arc<dyn Tool>>) -> Result<Toolset, Problem> {
    for tool in own {
        let name = tool.spec().name.as_str();
        if let ToolLookup::Tool(other) = tools.find(name) {
            let message = format!(
                "there is a tool `{}` already, which `{name}` would hide",
                other.spec().name
            );
            return Err(Problem::new(ErrorCode::InvalidConfig, message));
        }
        tools = Toolset::new(tools.iter().cloned().chain([tool]));
    }
    Ok(tools)
}

/// The built-in tools and all groups, to be listed and judged and not called.
pub fn known_tools() -> Toolset {
    let processes = Arc::new(BackgroundProcesses::new(|| SystemClock.entropy()));
    let base = rooftree_tools::builtin(processes);
    SessionTools::ALL
        .iter()
        .fold(base, |tools, group| group.added_to(&tools))
}
