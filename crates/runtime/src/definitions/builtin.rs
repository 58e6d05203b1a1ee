//! The built-in agents: Markdown files in the same format as the user's.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use rooftree_protocol::{AgentDefinition, DefinitionLevel, DefinitionSource};

use super::{LoaderContext, draft, names, resolve::resolve};

const FILES: [(&str, &str); 7] = [
    ("lead", include_str!("builtin/lead.md")),
    ("explore", include_str!("builtin/explore.md")),
    ("plan", include_str!("builtin/plan.md")),
    ("bash", include_str!("builtin/bash.md")),
    ("research", include_str!("builtin/research.md")),
    ("task", include_str!("builtin/task.md")),
    ("verify", include_str!("builtin/verify.md")),
];

/// All of them, read once per process.
pub(super) fn builtin() -> &'static [Arc<AgentDefinition>] {
    static READ: OnceLock<Vec<Arc<AgentDefinition>>> = OnceLock::new();
    READ.get_or_init(|| {
        // Whether a tool is there is for the toolset to say: what is not is simply not offered.
        let loader_context = LoaderContext {
            tools: names::tools().map(|name| vec![name.to_owned()]).collect(),
            ..LoaderContext::default()
        };
        let source = DefinitionSource {
            level: DefinitionLevel::Builtin,
            ..DefinitionSource::default()
        };
        let drafts: Vec<_> = FILES
            .iter()
            .flat_map(|(name, text)| {
                draft::markdown(text, Path::new(&format!("{name}.md")), &source).drafts
            })
            .collect();
        resolve(&drafts, &[], &loader_context)
            .definitions
            .into_iter()
            .map(Arc::new)
            .collect()
    })
}

/// The text of one, to begin a new file with.
pub fn builtin_text(name: &str) -> Option<&'static str> {
    FILES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use rooftree_tools::declared;

    use super::*;

    #[test]
    fn every_file_is_read_without_complaint() {
        assert_eq!(builtin().len(), FILES.len());
        for definition in builtin() {
            assert!(
                !definition.description.is_empty() && !definition.prompt.is_empty(),
                "{}",
                definition.name
            );
        }
        let tools = |name: &str| {
            builtin()
                .iter()
                .find(|found| found.name == name)
                .unwrap()
                .tools
                .allow
                .clone()
        };
        for reader in ["explore", "plan"] {
            let names = tools(reader).unwrap();
            assert!(names.iter().all(|name| declared(name).only_reads_files()));
            assert_eq!(names.len(), 5);
        }
        assert_eq!((tools("lead"), tools("task")), (None, None));
    }
}
