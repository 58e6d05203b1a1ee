//! What all agents of one definition have in common: made once, shared by every session.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use rooftree_protocol::{AgentDefinition, Limits, Problem, ToolSpec};
use rooftree_tools::Toolset;

/// A definition, ready to be worked with.
pub(crate) struct Kit {
    pub(crate) definition: Arc<AgentDefinition>,
    pub(crate) name: Arc<str>,
    pub(crate) limits: Limits,
    pub(crate) toolset: Toolset,
    pub(crate) specs: Arc<[ToolSpec]>,
}

impl Kit {
    /// `limits` are the definition's, with what the runtime was told instead.
    pub(crate) fn new(definition: Arc<AgentDefinition>, limits: Limits, tools: &Toolset) -> Self {
        let toolset = tools.scoped(&definition.tools);
        Self { name: definition.name.as_str().into(), specs: toolset.specs(), definition, limits, toolset }
    }
}

/// The kits made so far, by definition.
#[derive(Default)]
pub(crate) struct Kits(Mutex<HashMap<String, Arc<Kit>>>);

impl Kits {
    /// The kit for an agent's name, made now if it is the first of its kind.
    pub(crate) fn of(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<Kit, Problem>,
    ) -> Result<Arc<Kit>, Problem> {
        let mut kits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kit) = kits.get(name) {
            return Ok(kit.clone());
        }
        let kit = Arc::new(make()?);
        kits.insert(name.to_owned(), kit.clone());
        Ok(kit)
    }
}
