//! An agent definition resolved to tools, limits and hooks: built once, cached, and shared by all its sessions.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use rooftree_protocol::{
    AgentDefinition, AgentDialect, Limits, Mandate, Problem, PromptContext, RunBounds, Scope,
    ToolSpec, definition::ToolExposure, event::RunMode,
};
use rooftree_providers::catalog::ModelProfile;
use rooftree_tools::{Toolset, declarations, mcp::Notice, tool_info::ToolOffer};

use crate::{
    ProjectContext,
    exposure::{self, CallSocketConfig, ExposedTools},
    hooks::{self, ConfiguredHook, HookPoint},
};

/// Names of the tools that only such agents have.
fn offered(offer: ToolOffer) -> impl Iterator<Item = String> {
    declarations()
        .filter(move |info| info.offer == offer)
        .map(|info| info.name.to_owned())
}

/// A definition, ready to be worked with.
pub(crate) struct ResolvedAgent {
    pub(crate) definition: Arc<AgentDefinition>,
    pub(crate) name: Arc<str>,
    pub(crate) limits: Limits,
    pub(crate) toolset: Toolset,
    pub(crate) specs: Arc<[ToolSpec]>,
    /// Tools it has as skills with a command line.
    pub(crate) exposed: Option<ExposedTools>,
    /// Hooks of its own.
    pub(crate) hooks: Vec<ConfiguredHook>,
    /// The system prompt that was made last.
    pub(crate) prompt: Mutex<Option<Arc<SystemPrompt>>>,
}

/// A cached system prompt. The same inputs get the same prompt.
pub(crate) struct SystemPrompt {
    pub(crate) from: PromptInputs,
    pub(crate) text: Arc<str>,
    /// The tools its model is told of, with the agents it can ask.
    pub(crate) specs: Arc<[ToolSpec]>,
    /// Estimated tokens, with the tools'.
    pub(crate) estimate: u64,
}

/// Inputs of a system prompt besides the resolved agent itself.
pub(crate) struct PromptInputs {
    pub(crate) project_context: Arc<ProjectContext>,
    /// How much of it is read.
    pub(crate) read: PromptContext,
    /// Which edition of the agents there are.
    pub(crate) agents: u64,
    pub(crate) memory: Option<Arc<str>>,
    pub(crate) cwd: PathBuf,
    /// Whether the model acts with tools of its own.
    pub(crate) own_tools: bool,
    /// How the model that reads it is prompted.
    pub(crate) profile: ModelProfile,
}

impl PromptInputs {
    /// Whether the same comes of these. Skills that are there from the start are read from their files.
    fn make_the_same(&self, others: &Self, definition: &AgentDefinition) -> bool {
        definition.preloaded_skills.is_empty()
            && Arc::ptr_eq(&self.project_context, &others.project_context)
            && (self.read, self.agents, &self.memory, &self.cwd)
                == (others.read, others.agents, &others.memory, &others.cwd)
            && (self.own_tools, self.profile) == (others.own_tools, others.profile)
    }
}

impl ResolvedAgent {
    /// `limits` are the definition's, with what the runtime was told instead.
    ///
    /// Invariant: with a mandate there is never more than it allows.
    pub(crate) fn new(
        definition: Arc<AgentDefinition>,
        limits: Limits,
        tools: &Toolset,
        mandate: Option<&Mandate>,
        place: Option<&CallSocketConfig>,
    ) -> Self {
        // A skill the definition does not allow is no way to a tool either.
        let own = exposure::within(&owned_under(tools, &definition, mandate), &definition);
        let toolset =
            mandate.map_or_else(|| own.clone(), |mandate| mandated(&own, mandate, &limits));
        // A fork is told of the same tools as the session it branched off: what the provider has
        // read already stays good. Those it may not use are refused when it calls them.
        let is_fork = mandate.is_some_and(|mandate| mandate.mode == RunMode::Fork);
        let told = if is_fork { &own } else { &toolset };
        let exposed = place.and_then(|place| ExposedTools::of(told, definition.exposure, place));
        let specs = exposure::functions(told, definition.source.dialect, exposed.as_ref()).into();
        let name = definition.name.as_str().into();
        let hooks = hooks(&definition, mandate);
        Self {
            name,
            specs,
            exposed,
            definition,
            limits,
            toolset,
            hooks,
            prompt: Mutex::default(),
        }
    }

    /// The same with fewer tools and lower limits. What the model was told stays: calls of tools that are gone are
    /// refused.
    pub(crate) fn narrowed(&self, toolset: Toolset, limits: Limits) -> Self {
        Self {
            definition: self.definition.clone(),
            name: self.name.clone(),
            limits,
            toolset,
            specs: self.specs.clone(),
            exposed: self.exposed.clone(),
            hooks: self.hooks.clone(),
            prompt: Mutex::default(),
        }
    }

    /// Whether it has no tool and no limit beyond these bounds.
    pub(crate) fn is_within(&self, bounds: &RunBounds) -> bool {
        let is_named = |name: &str| {
            bounds
                .tools
                .as_ref()
                .is_none_or(|tools| tools.iter().any(|tool| tool == name))
        };
        self.toolset.names().into_iter().all(is_named) && bounds.limit(&self.limits) == self.limits
    }

    /// The prompt that these make, made now if the last one was made from others.
    pub(crate) fn prompt(
        &self,
        from: PromptInputs,
        make: impl FnOnce(&PromptInputs) -> (Arc<str>, Arc<[ToolSpec]>, u64),
    ) -> Arc<SystemPrompt> {
        let mut last = self.prompt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last
            .as_ref()
            .filter(|last| last.from.make_the_same(&from, &self.definition))
        {
            return last.clone();
        }
        let (text, specs, estimate) = make(&from);
        let prompt = Arc::new(SystemPrompt {
            from,
            text,
            specs,
            estimate,
        });
        *last = Some(prompt.clone());
        prompt
    }

    /// A notice if tools were to be exposed as skills and the agent could not call them.
    pub(crate) fn unexposed(&self) -> Option<Notice> {
        let is_wanted = self.definition.exposure != ToolExposure::Tools;
        let has_bash = self.toolset.names().contains(&"Bash");
        (is_wanted && !has_bash).then(|| Notice {
            code: "exposure",
            message: format!(
                "{} has no Bash to use skills with, so its tools stay functions",
                self.name
            ),
            hint: Some("give it Bash, or set exposure to tools".into()),
        })
    }
}

/// These tools without those that reach a chat, unless the definition names them.
pub(crate) fn without_chat(tools: &Toolset, definition: &AgentDefinition) -> Toolset {
    let named = |name: &String| asks_for(definition, name);
    tools.scoped(&Scope {
        allow: None,
        deny: offered(ToolOffer::InChats)
            .filter(|name| !named(name))
            .collect(),
    })
}

/// These tools without those that can do nothing with what is around: they would only be read.
pub(crate) fn useful(tools: &Toolset, project_context: &ProjectContext) -> Toolset {
    let idle = if project_context.skills.is_empty() {
        offered(ToolOffer::WithSkills).collect()
    } else {
        Vec::new()
    };
    tools.scoped(&Scope {
        allow: None,
        deny: idle,
    })
}

/// Whether a definition asks for a tool by its name, or by the manner it is written in.
pub(crate) fn asks_for(definition: &AgentDefinition, name: &str) -> bool {
    let is_named = |names: &Vec<String>| {
        names
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(name))
    };
    definition.tools.allow.as_ref().is_some_and(is_named)
        || definition.source.dialect == AgentDialect::Daycare
}

/// The hooks of a definition. Where another agent asks, its end is that of a sub-agent.
pub(crate) fn hooks(
    definition: &AgentDefinition,
    mandate: Option<&Mandate>,
) -> Vec<ConfiguredHook> {
    let Some(written) = &definition.hooks else {
        return Vec::new();
    };
    let place = definition.source.path.clone().unwrap_or_default();
    let mut hooks = hooks::read(written, definition.source.level, &place).hooks;
    let is_asked = mandate.is_some_and(Mandate::expects_answer);
    for hook in hooks
        .iter_mut()
        .filter(|hook| is_asked && hook.point == HookPoint::Stop)
    {
        hook.point = HookPoint::SubagentStop;
    }
    hooks
}

/// The tools that a definition's scopes of names and capabilities let through. Without a memory there is
/// nothing to remember with.
pub(crate) fn owned(tools: &Toolset, definition: &AgentDefinition) -> Toolset {
    owned_under(tools, definition, None)
}

/// The same under a mandate, which may name tools that are offered to those only who ask for them by name.
fn owned_under(
    tools: &Toolset,
    definition: &AgentDefinition,
    mandate: Option<&Mandate>,
) -> Toolset {
    let mut scope = definition.tools.clone();
    if definition.memory.is_none() {
        scope.deny.extend(offered(ToolOffer::WithMemory));
    }
    let is_mandated = |name: &String| mandate.is_some_and(|mandate| mandate.tools.contains(name));
    let unnamed = offered(ToolOffer::WhenNamed)
        .filter(|name| !asks_for(definition, name) && !is_mandated(name));
    scope.deny.extend(unnamed);
    tools.scoped(&scope).capable(&definition.capabilities)
}

fn mandated(own: &Toolset, mandate: &Mandate, limits: &Limits) -> Toolset {
    let mut scope = Scope::only(mandate.tools.iter().cloned());
    scope.deny.extend(offered(ToolOffer::FirstAgent));
    if mandate.depth() >= limits.depth {
        scope.deny.extend(offered(ToolOffer::AboveDepthLimit));
    }
    own.scoped(&scope)
}

/// Number of unused entries that stay in the cache.
const KEPT: usize = 256;

/// Cache of resolved agents, by definition.
#[derive(Default)]
pub(crate) struct ResolvedAgentCache(Mutex<HashMap<String, Arc<ResolvedAgent>>>);

impl ResolvedAgentCache {
    /// The entry under this name, built now if it is missing.
    pub(crate) fn of(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<ResolvedAgent, Problem>,
    ) -> Result<Arc<ResolvedAgent>, Problem> {
        let mut resolved_agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(resolved) = resolved_agents.get(name) {
            return Ok(resolved.clone());
        }
        let resolved = Arc::new(make()?);
        if resolved_agents.len() >= KEPT {
            // Budgets make every mandate distinct; unused entries are quickly built again.
            resolved_agents.retain(|_, resolved| Arc::strong_count(resolved) > 1);
        }
        resolved_agents.insert(name.to_owned(), resolved.clone());
        Ok(resolved)
    }
}
