//! A project and a user's directory for one test, and what a library finds in them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_protocol::{DefinitionLevel, ErrorCode, ModelChoice, Problem};
use rooftree_runtime::definitions::{
    DefinitionDocument, DefinitionLibrary, DocumentSyntax, LoadedDefinitions, LoaderContext,
    ProjectTrust, SearchDirs,
};
use tempfile::TempDir;

pub struct Folder {
    pub root: TempDir,
}

impl Folder {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("project/.git")).unwrap();
        Self { root }
    }

    pub fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// Writes a file; paths begin with `project/` or `user/`.
    pub fn with(self, path: &str, text: &str) -> Self {
        self.write(path, text);
        self
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn places(&self, trust: ProjectTrust) -> SearchDirs {
        SearchDirs::around(&self.project(), Some(self.root.path().join("user")), None)
            .trusted(trust)
    }

    pub fn library(&self, trust: ProjectTrust) -> DefinitionLibrary {
        DefinitionLibrary {
            places: self.places(trust),
            loader_context: loader_context(),
            ..DefinitionLibrary::default()
        }
    }

    pub fn load(&self) -> LoadedDefinitions {
        self.library(ProjectTrust::Given).load()
    }
}

/// The usual tools, a few models, one variable.
pub fn loader_context() -> LoaderContext {
    let tools = rooftree_tools::builtin(Arc::new(rooftree_tools::BackgroundProcesses::new(|| 7)));
    let names = |tool: &Arc<dyn rooftree_tools::Tool>| {
        let aliases = tool.aliases().iter().map(|alias| (*alias).to_owned());
        std::iter::once(tool.spec().name.clone())
            .chain(aliases)
            .collect::<Vec<_>>()
    };
    LoaderContext {
        model_resolver: Arc::new(model),
        tools: tools.iter().map(names).collect(),
        variables: Arc::new(|name| (name == "GITHUB_TOKEN").then(|| "secret".to_owned())),
    }
}

fn model(name: &str) -> Result<ModelChoice, Problem> {
    match name {
        "sonnet" => "anthropic/sonnet".parse(),
        "google/standard" => "google/usual".parse(),
        "fast" => Err(Problem::new(
            ErrorCode::Unauthorized,
            "no usable model is called `fast`",
        )),
        name if name.starts_with("claude-") && !name.contains('/') => {
            format!("anthropic/{name}").parse()
        }
        name => name.parse(),
    }
}

pub fn document(text: &str, syntax: DocumentSyntax) -> DefinitionLibrary {
    let document = DefinitionDocument {
        path: Path::new("--agents").into(),
        text: text.into(),
        syntax,
        level: DefinitionLevel::Config,
    };
    DefinitionLibrary {
        loader_context: loader_context(),
        documents: vec![document],
        ..DefinitionLibrary::default()
    }
}

/// The codes of what is wrong, in order.
pub fn codes(loaded: &LoadedDefinitions) -> Vec<&'static str> {
    loaded
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.code)
        .collect()
}
