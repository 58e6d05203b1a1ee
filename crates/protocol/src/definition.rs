//! Agent definition: prompt, model, tools, limits.
//!
//! One type for every format a definition can have: Markdown, JSON, settings or code. Loaders
//! fill it in and report what they cannot parse.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Effort, Limits, ModelChoice, Network, PermissionMode, SandboxMode, Scope};

/// An agent as it is defined, before anything runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentDefinition {
    /// Unique without regard to case.
    pub name: String,
    /// What people see instead of the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// When to use it, for people and for other agents.
    pub description: String,
    /// Its system prompt, without rules, skills and surroundings.
    pub prompt: String,
    /// The model it thinks with; whoever asks brings one, or there is a default, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChoice>,
    /// How hard it thinks, where its model comes from elsewhere and does not say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Which tools it may use.
    pub tools: Scope,
    /// Which capabilities of tools it may use.
    pub capabilities: Scope,
    /// Which agents it may ask.
    pub agents: Scope,
    /// Which skills it is told about.
    pub skills: Scope,
    /// Skills whose whole text it starts with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preloaded_skills: Vec<String>,
    /// Rules it follows, by file stem; all there are if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<String>>,
    /// What checks its work, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verifiers: Vec<String>,
    /// Hooks that are asked while it works, as hook files write them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Value>,
    /// Servers whose tools it has, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// Conversations that show how it should answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
    /// Model replies per run, if it says how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// How much may happen without asking, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<PermissionMode>,
    /// How strictly what it runs is confined, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxMode>,
    /// Whom what it runs can reach, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Whether it works in background unless the call says otherwise.
    pub background: bool,
    /// Whether it gets a working copy of its own.
    pub isolation: Isolation,
    /// Where it remembers things from session to session, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryScope>,
    /// The first message when it is the main agent and nobody says anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_prompt: Option<String>,
    /// How tools reach it: as tools, as skills with a command line, or both.
    pub exposure: ToolExposure,
    /// Whether people may choose it, other agents may ask it, or both.
    pub use_as: UseAs,
    /// Whether it is left out of lists for people.
    pub hidden: bool,
    /// Whether it can be reached over HTTP.
    pub api_exposed: bool,
    /// Whether it refuses to start when something in here cannot be enforced.
    pub strict: bool,
    /// What it is drawn with: `color`, `icon`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub look: Map<String, Value>,
    /// Where it ends.
    pub limits: Limits,
    /// Where it is written.
    pub source: DefinitionSource,
}

impl AgentDefinition {
    /// An agent of this name with defaults; the caller supplies everything else.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

/// A question and how it should be answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Example {
    /// What somebody says.
    pub user: String,
    /// What the agent answers.
    pub agent: String,
}

/// A server whose tools an agent has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct McpServer {
    /// The program to start, for a server on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, with `${VAR}` already replaced.
    pub env: BTreeMap<String, String>,
    /// Where it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Its address, for a server elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What is sent along to that address.
    pub headers: BTreeMap<String, String>,
    /// Whether it is used.
    pub enabled: bool,
    /// Seconds a call may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_secs: Option<u64>,
    /// Whether it is believed when it says that a tool only looks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trust_hints: bool,
    /// How its program is confined, if otherwise than programs are here. Only people who set it up for
    /// themselves can say that it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxMode>,
    /// Whom its confined program can reach; everybody if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// What its confined program may change besides the directory it runs in. Only people who set it
    /// up for themselves can say so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<PathBuf>,
}

impl McpServer {
    /// A program on this machine, with its arguments.
    pub fn program<S: Into<String>>(
        command: impl Into<String>,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self {
            command: Some(command.into()),
            args,
            ..Self::default()
        }
    }

    /// A remote server at this URL.
    pub fn http(url: impl Into<String>) -> Self {
        Self {
            url: Some(url.into()),
            ..Self::default()
        }
    }

    /// Whether it only refers to a server that is configured elsewhere.
    pub fn is_reference(&self) -> bool {
        self.command.is_none() && self.url.is_none()
    }
}

impl Default for McpServer {
    fn default() -> Self {
        Self {
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            url: None,
            headers: BTreeMap::new(),
            enabled: true,
            timeout_secs: None,
            cwd: None,
            trust_hints: false,
            sandbox: None,
            network: None,
            writable: Vec::new(),
        }
    }
}

/// One way to check an agent's work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Verifier {
    /// A command that says it with its exit code.
    Command {
        /// What is run by the shell.
        command: String,
        /// Seconds it may take.
        timeout_secs: u64,
        /// Whether zero means that the work is good; otherwise anything else does.
        pass_on_exit_0: bool,
    },
    /// A model that judges.
    Judge {
        /// What it is asked.
        prompt: String,
    },
    /// An agent that looks for itself, with its own tools and model.
    Agent {
        /// Which one.
        agent: String,
        /// What to look at especially.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// Seconds it may take.
        timeout_secs: u64,
        /// Replies it may have, instead of what its definition says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_turns: Option<u32>,
    },
}

/// Default timeout of a verifier's command, in seconds.
pub const VERIFIER_SECS: u64 = 120;

impl Verifier {
    /// A command that passes if it exits with zero.
    pub fn command(command: impl Into<String>) -> Self {
        Self::Command {
            command: command.into(),
            timeout_secs: VERIFIER_SECS,
            pass_on_exit_0: true,
        }
    }

    /// A model that judges the work by this prompt.
    pub fn judge(prompt: impl Into<String>) -> Self {
        Self::Judge {
            prompt: prompt.into(),
        }
    }
}

/// Whether an agent gets a working copy of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// If it can write and others work at the same time.
    #[default]
    Auto,
    /// Never.
    None,
    /// Always.
    Worktree,
}

/// Where an agent remembers things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    /// With the user's settings: in all projects.
    User,
    /// With the project, shared with others.
    Project,
    /// With the project, not shared.
    Local,
}

/// How tools reach an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolExposure {
    /// As tools.
    #[default]
    Tools,
    /// As skills with a command line.
    Skills,
    /// Both.
    Mixed,
}

/// Who may use an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UseAs {
    /// People and other agents.
    #[default]
    Both,
    /// People.
    Primary,
    /// Other agents.
    Subagent,
}

/// Where a definition is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DefinitionSource {
    /// Who wrote it, which decides what goes before what.
    pub level: DefinitionLevel,
    /// In whose manner it is written, which decides what absent fields mean.
    pub dialect: AgentDialect,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

/// Who wrote a definition, from the weakest to the strongest.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionLevel {
    /// It comes with the program.
    Builtin,
    /// The user, for all projects.
    User,
    /// The HTTP API; it is kept in the store.
    Api,
    /// The project.
    Project,
    /// Settings or `--agents`.
    Config,
    /// A program that embeds this one.
    #[default]
    Code,
}

/// In whose manner something is written or said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentDialect {
    /// Our own.
    #[default]
    Rooftree,
    /// `.emdash/agents`.
    Emdash,
    /// `start_background_agent` and the like.
    Daycare,
    /// `agents[]` of the assistant.
    Assistant,
    /// `.claude/agents`, and the library that takes after it.
    #[serde(alias = "claude")]
    Fourmis,
    /// `agents/*.json`, `InvokeAgent`.
    Koda,
}
