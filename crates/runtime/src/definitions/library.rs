//! Finds and loads all definition files, and detects when they change.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_protocol::{AgentDefinition, AgentDialect, DefinitionLevel, DefinitionSource};

use super::{
    DocumentSyntax, LoadedDefinitions, LoaderContext, ProjectTrust, SearchDirs,
    builtin::builtin,
    diagnostic::{Diagnostic, FileDiagnostics},
    draft::{self, FileDrafts},
    resolve::resolve,
    search_dirs::{DefinitionDir, DirFormats},
};

/// Maximum depth of definition directories.
const DEEPEST: usize = 8;
/// Files that are looked at in one directory and those below it.
const MOST_FILES: usize = 5_000;
/// A definition is not longer than this.
const LONGEST: u64 = 1024 * 1024;

/// A text with definitions that is no file of a directory: settings, or what was typed.
#[derive(Clone, Debug)]
pub struct DefinitionDocument {
    /// The file, or what stands for one in complaints.
    pub path: PathBuf,
    /// The text.
    pub text: String,
    /// How it is written.
    pub syntax: DocumentSyntax,
    /// Who wrote it.
    pub level: DefinitionLevel,
}

/// Sources of definitions, and the inputs needed to load them.
#[derive(Clone, Debug, Default)]
pub struct DefinitionLibrary {
    /// The directories.
    pub places: SearchDirs,
    /// Models, tools and variables.
    pub loader_context: LoaderContext,
    /// What goes before all files.
    pub documents: Vec<DefinitionDocument>,
    /// Says whether the project is still trusted, for files that changed after they were read.
    pub recheck: TrustRecheck,
}

/// Looks again whether a project is trusted; by itself trust stays as it was.
#[derive(Clone, Default)]
pub struct TrustRecheck {
    /// Says whether it is.
    pub ask: Option<Arc<dyn Fn() -> ProjectTrust + Send + Sync>>,
    /// The files that the answer is kept in: it may have changed when one of them has.
    pub files: Vec<PathBuf>,
}

impl std::fmt::Debug for TrustRecheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recheck")
    }
}

impl DefinitionLibrary {
    /// Reads everything there is. A bad file hides no other.
    pub fn load(&self) -> LoadedDefinitions {
        let mut all = FileDrafts::default();
        for directory in self
            .places
            .agents()
            .iter()
            .filter(|directory| self.places.may_use(directory.level))
        {
            for path in files(directory) {
                all.add(read_file(&path, directory.level, directory.dialect));
            }
        }
        for document in self
            .documents
            .iter()
            .filter(|document| self.places.may_use(document.level))
        {
            all.add(read_document(document));
        }
        self.understood(all)
    }

    /// Reads everything again after something changed: what was trusted may not be any more, and what was
    /// not may be.
    pub(super) fn load_again(&self) -> LoadedDefinitions {
        match &self.recheck.ask {
            Some(ask) => Self {
                places: self.places.clone().trusted(ask()),
                ..self.clone()
            }
            .load(),
            None => self.load(),
        }
    }

    /// Reads these files and directories alone, in the manner of where they lie, or in this one.
    pub fn load_files(&self, paths: &[PathBuf], given: Option<AgentDialect>) -> LoadedDefinitions {
        let mut all = FileDrafts::default();
        for path in paths {
            let dialect = given.unwrap_or_else(|| dialect_of(path));
            let directory = DefinitionDir {
                path: path.clone(),
                level: DefinitionLevel::Project,
                dialect,
                holds: DirFormats::Both,
            };
            let inside = if path.is_dir() {
                files(&directory)
            } else {
                vec![path.clone()]
            };
            inside
                .iter()
                .for_each(|file| all.add(read_file(file, DefinitionLevel::Project, dialect)));
        }
        self.understood(all)
    }

    /// Reads the text of one Markdown definition, which is in no file yet.
    pub fn load_text(&self, path: &Path, text: &str, level: DefinitionLevel) -> LoadedDefinitions {
        let source = DefinitionSource {
            level,
            dialect: AgentDialect::Rooftree,
            path: None,
        };
        let mut all = FileDrafts::default();
        all.add(draft::markdown(text, path, &source));
        self.understood(all)
    }

    /// Files of the project that would be read if it were trusted.
    pub fn untrusted(&self) -> Vec<PathBuf> {
        let directories = self.places.agents();
        let project = directories
            .iter()
            .filter(|directory| !self.places.may_use(directory.level));
        let files = project.flat_map(files);
        files
            .filter(|path| path.extension().is_some_and(|end| end == "md") || is_definition(path))
            .collect()
    }

    /// Something that changes when any of the files does.
    pub(super) fn stamp(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        // Whether they may be used can change, too.
        let files = self
            .places
            .agents()
            .into_iter()
            .flat_map(|directory| files(&directory));
        for path in files.chain(self.recheck.files.iter().cloned()) {
            let facts = fs::metadata(&path).ok();
            let changed = facts.as_ref().and_then(|facts| facts.modified().ok());
            (path, changed, facts.map(|facts| facts.len())).hash(&mut hasher);
        }
        hasher.finish()
    }

    pub(super) fn understood(&self, all: FileDrafts) -> LoadedDefinitions {
        let builtin: Vec<AgentDefinition> = builtin()
            .iter()
            .map(|definition| (**definition).clone())
            .collect();
        let mut loaded = resolve(&all.drafts, &builtin, &self.loader_context);
        loaded.diagnostics.splice(0..0, all.diagnostics);
        loaded
            .diagnostics
            .sort_by(|one, other| one.path.cmp(&other.path));
        loaded
    }
}

fn read_document(document: &DefinitionDocument) -> FileDrafts {
    let DefinitionDocument {
        path,
        text,
        syntax,
        level,
    } = document;
    let source = DefinitionSource {
        level: *level,
        dialect: AgentDialect::Assistant,
        path: Some(path.clone()),
    };
    draft::document(text, *syntax, path, &source)
}

pub(super) fn read_file(path: &Path, level: DefinitionLevel, dialect: AgentDialect) -> FileDrafts {
    let text = match text_of(path) {
        Ok(text) => text,
        Err(diagnostics) => {
            return FileDrafts {
                drafts: Vec::new(),
                diagnostics,
            };
        }
    };
    let source = DefinitionSource {
        level,
        dialect,
        path: Some(path.to_owned()),
    };
    match path.extension().and_then(|end| end.to_str()) {
        Some("json") if dialect == AgentDialect::Assistant || path.ends_with("opencode.json") => {
            draft::document(&text, DocumentSyntax::Json, path, &source)
        }
        Some("toml") => draft::document(&text, DocumentSyntax::Toml, path, &source),
        Some("json" | "yaml" | "yml") => draft::json_file(
            &text,
            path,
            &DefinitionSource {
                dialect: json_dialect(dialect),
                ..source
            },
        ),
        _ => draft::markdown(&text, path, &source),
    }
}

/// JSON is koda's way of writing, wherever the file lies.
fn json_dialect(dialect: AgentDialect) -> AgentDialect {
    if dialect == AgentDialect::Rooftree {
        AgentDialect::Koda
    } else {
        dialect
    }
}

fn text_of(path: &Path) -> Result<String, Vec<Diagnostic>> {
    let length = fs::metadata(path).map(|facts| facts.len());
    let read = match length {
        Ok(length) if length > LONGEST => {
            Err(format!("it has {length} bytes, more than {LONGEST}"))
        }
        _ => fs::read_to_string(path).map_err(|error| error.to_string()),
    };
    read.map_err(|why| {
        let mut complaints = FileDiagnostics::about(path, "");
        complaints.error("E0310", None, format!("cannot read it: {why}"), "");
        complaints.list
    })
}

/// In whose manner a file is written, by where it lies.
fn dialect_of(path: &Path) -> AgentDialect {
    let has = |name: &str| path.components().any(|part| part.as_os_str() == name);
    match () {
        () if has(".emdash") => AgentDialect::Emdash,
        () if has(".claude") || has(".agents") => AgentDialect::Fourmis,
        () if path.extension().is_some_and(|end| end == "json") && holds_many(path) => {
            AgentDialect::Assistant
        }
        () if path.extension().is_some_and(|end| end == "json") => AgentDialect::Koda,
        () => AgentDialect::Rooftree,
    }
}

/// Whether a JSON file is a document with many agents, as the assistant has it, and not one agent of koda.
fn holds_many(path: &Path) -> bool {
    let text = text_of(path).unwrap_or_default();
    let parsed: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let is_list = |value: &serde_json::Value| value.is_array() || value.is_object();
    parsed.is_array() || parsed.get("agents").is_some_and(is_list)
}

fn is_definition(path: &Path) -> bool {
    let source = DefinitionSource::default();
    text_of(path).is_ok_and(|text| !draft::json_file(&text, path, &source).drafts.is_empty())
}

/// The files of a directory, by name.
fn files(directory: &DefinitionDir) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let depth = if directory.holds == DirFormats::Both {
        DEEPEST
    } else {
        0
    };
    collect(&directory.path, directory.holds, depth, &mut found);
    found.sort();
    found
}

fn collect(directory: &Path, holds: DirFormats, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        if found.len() >= MOST_FILES {
            return;
        }
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let is_ours =
            name.ends_with(".json") || (holds == DirFormats::Both && name.ends_with(".md"));
        if name.starts_with('.') || name.eq_ignore_ascii_case("README.md") {
            continue;
        }
        if is_ours && path.is_file() {
            found.push(path);
        } else if depth > 0 && path.is_dir() {
            collect(&path, holds, depth - 1, found);
        }
    }
}
