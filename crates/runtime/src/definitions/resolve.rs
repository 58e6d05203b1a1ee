//! Resolves drafts to definitions, each with the fields of the one it extends.

use rooftree_protocol::AgentDefinition;

use super::{
    LoaderContext,
    build::fill,
    diagnostic::{Diagnostic, FileDiagnostics},
    draft::DefinitionDraft,
};

/// Definitions and what is wrong with them.
#[derive(Clone, Debug, Default)]
pub struct LoadedDefinitions {
    /// Those that can be used, the weakest first.
    pub definitions: Vec<AgentDefinition>,
    /// Complaints, about those and about the others.
    pub diagnostics: Vec<Diagnostic>,
}

/// Understands all drafts. They come in order, the weakest first; `builtin` are weaker still.
pub(super) fn resolve(
    drafts: &[DefinitionDraft],
    builtin: &[AgentDefinition],
    loader_context: &LoaderContext,
) -> LoadedDefinitions {
    let mut resolver = DefinitionResolver {
        drafts,
        builtin,
        loader_context,
        done: vec![None; drafts.len()],
        loaded: LoadedDefinitions::default(),
    };
    for index in 0..drafts.len() {
        resolver.definition(index, &mut Vec::new());
    }
    let DefinitionResolver {
        done, mut loaded, ..
    } = resolver;
    loaded.definitions = done.into_iter().flatten().flatten().collect();
    loaded
}

struct DefinitionResolver<'a> {
    drafts: &'a [DefinitionDraft],
    builtin: &'a [AgentDefinition],
    loader_context: &'a LoaderContext,
    /// Not looked at yet; looked at and of no use; a definition.
    done: Vec<Option<Option<AgentDefinition>>>,
    loaded: LoadedDefinitions,
}

impl DefinitionResolver<'_> {
    fn definition(&mut self, index: usize, above: &mut Vec<usize>) -> Option<AgentDefinition> {
        if let Some(Some(done)) = self.done.get(index) {
            return done.clone();
        }
        let draft = self.drafts.get(index)?;
        let base = match draft.extends() {
            None => Ok(None),
            Some((name, _)) => self.base(index, name, above).map(Some),
        };
        let definition = match base {
            Ok(base) => {
                let filled = fill(draft, base.as_ref(), self.loader_context);
                self.loaded.diagnostics.extend(filled.diagnostics);
                filled.definition
            }
            Err(what) => {
                let mut complaints = FileDiagnostics::about(&draft.path, &draft.text);
                complaints.error("E0317", draft.extends().map(|(_, at)| at), what, "");
                self.loaded.diagnostics.extend(complaints.list);
                None
            }
        };
        if let Some(place) = self.done.get_mut(index) {
            *place = Some(definition.clone());
        }
        definition
    }

    /// What a draft extends: the strongest of that name, or the next weaker one of its own name.
    fn base(
        &mut self,
        index: usize,
        name: &str,
        above: &mut Vec<usize>,
    ) -> Result<AgentDefinition, String> {
        let is_own = self
            .drafts
            .get(index)
            .is_some_and(|draft| draft.name.eq_ignore_ascii_case(name));
        let end = if is_own { index } else { self.drafts.len() };
        let wanted = name.strip_prefix("builtin/");
        let found = self
            .drafts
            .iter()
            .take(end)
            .rposition(|draft| draft.name.eq_ignore_ascii_case(name));
        if let Some(found) = found.filter(|_| wanted.is_none()) {
            above.push(index);
            if above.contains(&found) {
                let names = above
                    .iter()
                    .filter_map(|at| self.drafts.get(*at))
                    .map(|draft| draft.name.as_str());
                return Err(format!(
                    "`extends` leads back to itself: {} → {name}",
                    names.collect::<Vec<_>>().join(" → ")
                ));
            }
            let base = self.definition(found, above);
            above.pop();
            return base.ok_or_else(|| format!("`{name}`, which it extends, cannot be used"));
        }
        let builtin = self
            .builtin
            .iter()
            .find(|known| known.name.eq_ignore_ascii_case(wanted.unwrap_or(name)));
        builtin
            .cloned()
            .ok_or_else(|| format!("there is no agent `{name}` to extend"))
    }
}
