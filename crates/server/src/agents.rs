//! The agents that can be asked over HTTP as if they were models.

use std::{path::PathBuf, sync::Arc, time::Duration};

use rooftree_protocol::AgentDefinition;
use rooftree_runtime::{Clock, Definitions, Handle, definitions::is_name};

/// What the name of an agent begins with where models are named.
const PREFIX: &str = "agent:";

/// What asking agents needs.
pub struct ExposedAgents {
    /// The way to them.
    pub handle: Handle,
    /// Those there are. Only those that say `api_exposed` are reached.
    pub definitions: Definitions,
    /// Time, for what is held until somebody answers.
    pub clock: Arc<dyn Clock>,
    /// Where sessions that are opened here work.
    pub cwd: PathBuf,
    /// How long an answer is held when a person must say yes first.
    pub permission_timeout: Duration,
    /// How often a stream on which nothing happens says that it lives.
    pub heartbeat: Duration,
    /// How many requests are answered at the same time.
    pub at_once: usize,
}

impl ExposedAgents {
    /// The agent of this name, if it may be reached. Invariant: only the exact name leads to it, so that no
    /// other spelling finds one that was not meant.
    pub(crate) fn exposed(&self, model: &str) -> Option<Arc<AgentDefinition>> {
        let name = model.strip_prefix(PREFIX).filter(|name| is_name(name))?;
        let found = self.definitions.find(name).ok()?;
        (found.api_exposed && found.name == name).then_some(found)
    }

    /// All that may be reached, as models are named.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self
            .definitions
            .iter()
            .map(|definition| model_name(&definition));
        names.filter(|name| self.exposed(name).is_some()).collect()
    }
}

/// What a client calls an agent.
pub(crate) fn model_name(definition: &AgentDefinition) -> String {
    format!("{PREFIX}{}", definition.name)
}
