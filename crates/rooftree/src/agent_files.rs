//! Loads agent definitions from files, for programs that keep theirs beside the code.

use std::{path::PathBuf, sync::Arc};

use rooftree_protocol::{AgentDefinition, DefinitionLevel, ErrorCode};
use rooftree_runtime::definitions::{DefinitionLibrary, LoaderContext, Severity};
use rooftree_tools::{Tool, Toolset};

use crate::{Error, Result, models::ModelRegistry};

/// Reads the agents of some files and directories. An invalid one is an error: the program that embeds it
/// ships it, and should fail at once.
pub(crate) fn read(
    paths: &[PathBuf],
    models: &Arc<ModelRegistry>,
    tools: &Toolset,
) -> Result<Vec<AgentDefinition>> {
    if let Some(missing) = paths.iter().find(|path| !path.exists()) {
        let message = format!(
            "there is nothing at {} to read agents from",
            missing.display()
        );
        return Err(Error::new(ErrorCode::InvalidConfig, message));
    }
    let model_resolver = models.clone();
    let loader_context = LoaderContext {
        model_resolver: Arc::new(move |name| model_resolver.resolve(name)),
        tools: tools.iter().map(names).collect(),
        variables: Arc::new(|name| std::env::var(name).ok()),
    };
    let loaded = DefinitionLibrary {
        loader_context,
        ..DefinitionLibrary::default()
    }
    .load_files(paths, None);
    if let Some(wrong) = loaded
        .diagnostics
        .iter()
        .find(|found| found.severity == Severity::Error)
    {
        return Err(Error::new(ErrorCode::InvalidConfig, wrong.to_string()));
    }
    let ours = |mut definition: AgentDefinition| {
        // Definitions the program brings itself need no trust of the user.
        definition.source.level = DefinitionLevel::Code;
        definition
    };
    Ok(loaded.definitions.into_iter().map(ours).collect())
}

fn names(tool: &Arc<dyn Tool>) -> Vec<String> {
    let aliases = tool.aliases().iter().map(|alias| (*alias).to_owned());
    std::iter::once(tool.spec().name.clone())
        .chain(aliases)
        .collect()
}
