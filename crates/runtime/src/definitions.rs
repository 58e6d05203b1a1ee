//! The agents there are, by name. Names compare without case.

use std::{collections::BTreeMap, sync::Arc};

use rooftree_protocol::{AgentDefinition, ErrorCode, Level, Problem, Source};

/// Agent definitions, ready to be looked up.
#[derive(Clone, Debug)]
pub struct Definitions {
    by_name: BTreeMap<String, Arc<AgentDefinition>>,
}

impl Definitions {
    /// The agents that come with the program.
    pub fn builtin() -> Self {
        let lead = AgentDefinition {
            name: "lead".into(),
            description: "The main agent: works on whatever it is asked.".into(),
            prompt: include_str!("definitions/builtin/lead.md").trim().into(),
            source: Source { level: Level::Builtin, ..Source::default() },
            ..AgentDefinition::default()
        };
        Self { by_name: BTreeMap::new() }.with(lead)
    }

    /// Adds a definition; one of the same name is replaced.
    pub fn with(mut self, definition: AgentDefinition) -> Self {
        self.by_name.insert(definition.name.to_lowercase(), Arc::new(definition));
        self
    }

    /// Finds a definition. `default` means `lead`.
    pub fn find(&self, name: &str) -> Result<Arc<AgentDefinition>, Problem> {
        let wanted = name.to_lowercase();
        let wanted = if wanted == "default" { "lead" } else { &wanted };
        self.by_name.get(wanted).cloned().ok_or_else(|| {
            let known: Vec<&str> = self.by_name.values().map(|found| found.name.as_str()).collect();
            Problem::new(ErrorCode::AgentNotFound, format!("there is no agent `{name}`"))
                .fix(format!("agents there are: {}", known.join(", ")))
        })
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<AgentDefinition>> {
        self.by_name.values()
    }
}
