//! The agents that are exposed over HTTP as models.

use std::{path::PathBuf, sync::Arc, time::Duration};

use rooftree_protocol::{AgentDefinition, Principal};
use rooftree_runtime::{Clock, Definitions, Handle, definitions::is_name};

/// Prefix of an agent's name where models are named.
const PREFIX: &str = "agent:";

/// What the routes of agents need.
pub struct ExposedAgents {
    /// The way to the runtime.
    pub handle: Handle,
    /// All definitions. Only those with `api_exposed` can be reached.
    pub definitions: Definitions,
    /// Clock for the timeout of pending permission requests and questions.
    pub clock: Arc<dyn Clock>,
    /// Working directory of sessions that are opened here.
    pub cwd: PathBuf,
    /// How long an answer is held while a permission request is open.
    pub permission_timeout: Duration,
    /// Heartbeat interval of an idle stream.
    pub heartbeat: Duration,
    /// Maximum number of concurrent requests.
    pub at_once: usize,
    /// How long a request beyond that number waits for its turn before it is refused.
    pub queue_timeout: Duration,
}

impl ExposedAgents {
    /// The agent of this name, if this principal may reach it. Invariant: only the exact name leads to it, so that no
    /// other spelling finds one that was not meant.
    pub(crate) fn exposed(&self, who: &Principal, model: &str) -> Option<Arc<AgentDefinition>> {
        let name = model.strip_prefix(PREFIX).filter(|name| is_name(name))?;
        let found = self.definitions.find(name).ok()?;
        let is_exposed = found.api_exposed && found.name == name && who.may_use(name);
        is_exposed.then_some(found)
    }

    /// Names of all exposed agents that this principal may reach, as models are named.
    pub(crate) fn names(&self, who: &Principal) -> Vec<String> {
        let names = self
            .definitions
            .iter()
            .map(|definition| model_name(&definition));
        names
            .filter(|name| self.exposed(who, name).is_some())
            .collect()
    }
}

/// The model name of an agent.
pub(crate) fn model_name(definition: &AgentDefinition) -> String {
    format!("{PREFIX}{}", definition.name)
}
