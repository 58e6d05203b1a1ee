//! Assembles a runtime from plain data and starts it with its services: one way for the program, the library, the
//! benchmark and the tests.
//!
//! The caller has read all settings. Assembling reads no file and no variable.

mod tool_parts;

use std::sync::Arc;

use rooftree_store::Store;

pub use self::tool_parts::{BaseTools, BuiltinTools, SessionTools, ToolParts, known_tools};
use crate::{
    AgentRuntime, Clock, MessageMark, SecretRedactor, Service,
    runtime_options::{
        AgentOptions, LimitOverrides, ModelOptions, RightsOptions, RuntimeOptions, RuntimeTools,
    },
};

/// The parts of a runtime, before it is started.
pub struct Assembly {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// Time and chance.
    pub clock: Arc<dyn Clock>,
    /// What must never be kept or told.
    pub secrets: Arc<SecretRedactor>,
    /// What messages of the runtime are marked with, the same in all processes on one store.
    pub mark: MessageMark,
    /// The models agents ask.
    pub models: ModelOptions,
    /// The tools agents call; [`ToolParts::build`] makes them.
    pub tools: RuntimeTools,
    /// The agents, and what they find around them. Their hooks inherit the same variables as the tools.
    pub agents: AgentOptions,
    /// What agents may do.
    pub rights: RightsOptions,
    /// Limits per run.
    pub limits: LimitOverrides,
    /// Services besides those of the runtime itself. They are started before these, and stopped after them.
    pub services: Vec<Service>,
}

impl Assembly {
    /// Starts the runtime and its services. No agent runs until a command comes.
    pub fn start(self) -> AgentRuntime {
        let mut agents = self.agents;
        agents.hooks.inheritance = self.tools.environment.clone();
        let options = RuntimeOptions {
            store: self.store,
            clock: self.clock,
            secrets: self.secrets,
            mark: self.mark,
            models: self.models,
            tools: self.tools,
            agents,
            rights: self.rights,
            limits: self.limits,
        };
        AgentRuntime::start(options, self.services)
    }
}
