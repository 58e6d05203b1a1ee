//! Index of definitions by name and level; the one with the highest precedence counts.

use std::{collections::BTreeMap, sync::Arc};

use rooftree_protocol::{AgentDefinition, DefinitionLevel};

use super::diagnostic::Diagnostic;

/// A definition that another one of the same name hides.
#[derive(Clone, Debug, PartialEq)]
pub struct ShadowedDefinition {
    /// The one that counts.
    pub by: Arc<AgentDefinition>,
    /// The one that does not.
    pub what: Arc<AgentDefinition>,
}

/// Whether a definition comes from files, which may be read again, or was put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefinitionOrigin {
    Files,
    Put,
}

#[derive(Clone, Debug, Default)]
pub(super) struct DefinitionIndex {
    /// By name in lower case, the weakest first.
    by_name: BTreeMap<String, Vec<(DefinitionOrigin, Arc<AgentDefinition>)>>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Counts changes.
    pub(super) edition: u64,
}

impl DefinitionIndex {
    /// Adds one. Of the same name and level only one can have been put there.
    pub(super) fn put(&mut self, definition: Arc<AgentDefinition>, origin: DefinitionOrigin) {
        self.edition += 1;
        let (name, level) = (definition.name.to_lowercase(), definition.source.level);
        let same = self.by_name.entry(name).or_default();
        if origin == DefinitionOrigin::Put {
            same.retain(|(_, known)| known.source.level != level);
        }
        let place = same.partition_point(|(_, known)| known.source.level <= level);
        same.insert(place, (origin, definition));
    }

    /// Takes away the strongest of a name, unless it comes with the program.
    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<AgentDefinition>> {
        self.edition += 1;
        let same = self.by_name.get_mut(&name.to_lowercase())?;
        same.pop_if(|(_, known)| known.source.level != DefinitionLevel::Builtin)
            .map(|(_, removed)| removed)
    }

    /// Takes away the one of this name that was put there at a level.
    pub(super) fn remove_at(&mut self, name: &str, level: DefinitionLevel) {
        self.edition += 1;
        if let Some(same) = self.by_name.get_mut(&name.to_lowercase()) {
            same.retain(|(origin, known)| {
                *origin != DefinitionOrigin::Put || known.source.level != level
            });
        }
    }

    /// Replaces the definitions that come from files. Those that did not change stay the same `Arc`, so that a
    /// comparison sees no difference.
    pub(super) fn replace_files(&mut self, definitions: Vec<AgentDefinition>) {
        self.edition += 1;
        let mut old: Vec<Arc<AgentDefinition>> = Vec::new();
        for same in self.by_name.values_mut() {
            let from_files = same.extract_if(.., |(origin, _)| *origin == DefinitionOrigin::Files);
            old.extend(from_files.map(|(_, definition)| definition));
        }
        for definition in definitions {
            let known = old.iter().find(|known| ***known == definition).cloned();
            self.put(
                known.unwrap_or_else(|| Arc::new(definition)),
                DefinitionOrigin::Files,
            );
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<AgentDefinition>> {
        let name = name.to_lowercase();
        if let Some(name) = name.strip_prefix("builtin/") {
            let same = self.by_name.get(counterpart(name).unwrap_or(meant(name)))?;
            return same
                .iter()
                .find(|(_, known)| known.source.level == DefinitionLevel::Builtin)
                .map(|(_, known)| known.clone());
        }
        let same = self.by_name.get(meant(&name));
        same.or_else(|| self.by_name.get(counterpart(&name)?))?
            .last()
            .map(|(_, known)| known.clone())
    }

    /// The one of this name that counts without those of the project.
    pub(super) fn below_project(&self, name: &str) -> Option<Arc<AgentDefinition>> {
        let same = self.by_name.get(&name.to_lowercase())?;
        let weaker = same
            .iter()
            .rev()
            .find(|(_, known)| known.source.level < DefinitionLevel::Project);
        weaker.map(|(_, known)| known.clone())
    }

    /// Those that count, by name.
    pub(super) fn all(&self) -> Vec<Arc<AgentDefinition>> {
        self.by_name
            .values()
            .filter_map(|same| same.last())
            .map(|(_, known)| known.clone())
            .collect()
    }

    /// Those that do not.
    pub(super) fn hidden(&self) -> Vec<ShadowedDefinition> {
        let mut hidden = Vec::new();
        for same in self.by_name.values() {
            let Some(((_, by), weaker)) = same.split_last() else {
                continue;
            };
            hidden.extend(weaker.iter().map(|(_, what)| ShadowedDefinition {
                by: by.clone(),
                what: what.clone(),
            }));
        }
        hidden
    }
}

/// `default` is another word for `lead`.
fn meant(name: &str) -> &str {
    if name == "default" { "lead" } else { name }
}

/// The built-in agent that another program's built-in one is, where no agent has that name itself.
fn counterpart(name: &str) -> Option<&'static str> {
    (name == "general-purpose").then_some("task")
}
