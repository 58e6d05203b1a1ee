//! Registry of agent definitions by name: built-in ones, those in files and settings, and those made at run time.
//! Names compare without case.
//!
//! One resolver lists and finds, so that whatever is listed can be used. An agent keeps the definition it was resolved
//! with; a change is seen by the next lookup.

mod bounded_read;
mod build;
mod builtin;
mod context_reload;
mod definition_index;
mod describe;
mod diagnostic;
mod draft;
mod fields;
mod import;
mod instructions;
mod library;
mod loader_context;
mod markdown;
mod names;
mod project_context;
mod prompt_commands;
mod resolve;
mod rules;
mod search_dirs;
mod skills;
mod syntax_tree;
mod to_markdown;
mod verifiers;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use rooftree_protocol::{AgentDefinition, DefinitionLevel, ErrorCode, Problem, Timestamp};

use self::definition_index::{DefinitionIndex, DefinitionOrigin};
pub(crate) use self::skills::resolved_rules;
pub use self::{
    build::compatible_provider,
    builtin::builtin_text,
    context_reload::ContextWatcher,
    definition_index::ShadowedDefinition,
    describe::described,
    diagnostic::{Diagnostic, Severity},
    draft::DocumentSyntax,
    instructions::Instructions,
    library::{DefinitionDocument, DefinitionLibrary, TrustRecheck},
    loader_context::{LoaderContext, ModelNaming, VariableLookup},
    names::{is_name, nearest},
    project_context::ProjectContext,
    prompt_commands::PromptCommand,
    resolve::LoadedDefinitions,
    rules::RuleFile,
    search_dirs::{ProjectTrust, SearchDirs},
    skills::{Skill, skills_in_scope},
    syntax_tree::SourceSpan,
    to_markdown::written,
    verifiers::verifiers_in,
};
use crate::clock::Clock;

/// How long the last check of the files stays valid, in milliseconds.
const FRESH: i64 = 1_000;

/// Agent definitions, ready to be looked up. A clone is the same collection.
#[derive(Clone, Default)]
pub struct Definitions {
    index: Arc<RwLock<DefinitionIndex>>,
    watch: Option<Arc<DefinitionWatch>>,
}

/// Files that are looked at again now and then.
struct DefinitionWatch {
    library: DefinitionLibrary,
    clock: Arc<dyn Clock>,
    seen: Mutex<LibraryStamp>,
}

struct LibraryStamp {
    at: Timestamp,
    stamp: u64,
}

impl Definitions {
    /// The agents that come with the program.
    pub fn builtin() -> Self {
        let definitions = Self::default();
        builtin::builtin()
            .iter()
            .for_each(|definition| definitions.keep(definition.clone(), DefinitionOrigin::Put));
        definitions
    }

    /// With all that a library holds besides. Files that change are read again, at the earliest a
    /// second after they were looked at.
    pub fn reading(library: DefinitionLibrary, clock: Arc<dyn Clock>) -> Self {
        let definitions = Self::builtin();
        let seen = Mutex::new(LibraryStamp {
            at: clock.now(),
            stamp: library.stamp(),
        });
        definitions.take(library.load());
        Self {
            watch: Some(Arc::new(DefinitionWatch {
                library,
                clock,
                seen,
            })),
            ..definitions
        }
    }

    /// Adds a definition; one of the same name and level is replaced.
    pub fn with(self, definition: AgentDefinition) -> Self {
        self.put(definition);
        self
    }

    /// Adds or changes a definition while agents are at work. Those at work keep what they have.
    pub fn put(&self, definition: AgentDefinition) -> Arc<AgentDefinition> {
        let definition = Arc::new(definition);
        self.keep(definition.clone(), DefinitionOrigin::Put);
        definition
    }

    /// Takes a definition away; what it hid counts again. Those of the program stay.
    pub fn remove(&self, name: &str) -> Option<Arc<AgentDefinition>> {
        self.index
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(name)
    }

    /// Takes away the definition of this name that was put there at a level; what it hid counts again.
    pub fn remove_at(&self, name: &str, level: DefinitionLevel) {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.remove_at(name, level);
    }

    /// Parses the text of a Markdown definition as the loader of files does, without keeping it.
    pub fn parse(&self, path: &Path, text: &str, level: DefinitionLevel) -> LoadedDefinitions {
        match &self.watch {
            Some(watch) => watch.library.load_text(path, text, level),
            None => DefinitionLibrary::default().load_text(path, text, level),
        }
    }

    /// Finds a definition. `default` means `lead`; `builtin/NAME` one that another hides.
    pub fn find(&self, name: &str) -> Result<Arc<AgentDefinition>, Problem> {
        self.refresh();
        self.read(|index| index.find(name))
            .ok_or_else(|| self.unknown(name))
    }

    /// Whether there is one of this name.
    pub fn has(&self, name: &str) -> bool {
        self.refresh();
        self.read(|index| index.find(name)).is_some()
    }

    /// Those that can be found, by name.
    pub fn iter(&self) -> impl Iterator<Item = Arc<AgentDefinition>> + use<> {
        self.all().into_iter()
    }

    /// The same as a list.
    pub fn all(&self) -> Vec<Arc<AgentDefinition>> {
        self.refresh();
        self.read(DefinitionIndex::all)
    }

    /// A version number that changes with every change: a caller that has the same number is up to date.
    pub(crate) fn edition(&self) -> u64 {
        self.refresh();
        self.read(|index| index.edition)
    }

    /// Those that others of the same name hide.
    pub fn hidden(&self) -> Vec<ShadowedDefinition> {
        self.read(DefinitionIndex::hidden)
    }

    /// The definition that a project's one of the same name hides: the project's has no more rights than it.
    /// None if this is no project's, or hides nothing.
    pub(crate) fn hidden_by(&self, definition: &AgentDefinition) -> Option<Arc<AgentDefinition>> {
        let is_project = definition.source.level == DefinitionLevel::Project;
        is_project
            .then(|| self.read(|index| index.below_project(&definition.name)))
            .flatten()
    }

    /// Diagnostics of the loaded files.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.read(|index| index.diagnostics.clone())
    }

    fn read<T>(&self, look: impl FnOnce(&DefinitionIndex) -> T) -> T {
        look(&self.index.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn keep(&self, definition: Arc<AgentDefinition>, origin: DefinitionOrigin) {
        self.index
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .put(definition, origin);
    }

    fn take(&self, loaded: LoadedDefinitions) {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.replace_files(loaded.definitions);
        index.diagnostics = loaded.diagnostics;
    }

    /// Reloads files that changed since the last lookup.
    fn refresh(&self) {
        let Some(watch) = &self.watch else { return };
        let mut seen = watch.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = watch.clock.now();
        if now.0 - seen.at.0 < FRESH {
            return;
        }
        seen.at = now;
        let stamp = watch.library.stamp();
        if stamp != seen.stamp {
            seen.stamp = stamp;
            self.take(watch.library.load_again());
        }
    }

    /// The file that would define this agent if its folder were trusted.
    fn untrusted(&self, name: &str) -> Option<PathBuf> {
        let library = &self.watch.as_ref()?.library;
        let trust = library
            .recheck
            .ask
            .as_ref()
            .map_or(library.places.trust, |ask| ask());
        let library = DefinitionLibrary {
            places: library.places.clone().trusted(trust),
            ..library.clone()
        };
        let is_meant = |path: &PathBuf| {
            path.file_stem()
                .is_some_and(|stem| stem.eq_ignore_ascii_case(name))
        };
        library.untrusted().into_iter().find(is_meant)
    }

    fn unknown(&self, name: &str) -> Problem {
        let all = self.read(DefinitionIndex::all);
        let known: Vec<&str> = all
            .iter()
            .filter(|found| !found.hidden)
            .map(|found| found.name.as_str())
            .collect();
        let said = format!(
            "Unknown agent type \"{name}\". Available: {}",
            known.join(", ")
        );
        let problem = Problem::new(ErrorCode::AgentNotFound, said);
        let is_broken = |found: &&Diagnostic| {
            let stem = found
                .path
                .file_stem()
                .is_some_and(|stem| stem.eq_ignore_ascii_case(name));
            stem && found.severity == Severity::Error
        };
        let broken = self.read(|index| index.diagnostics.iter().find(is_broken).cloned());
        if let Some(path) = self.untrusted(name) {
            return problem
                .cause(format!(
                    "it is in {}, and that folder is not trusted",
                    path.display()
                ))
                .fix("rooftree trust --show, then rooftree trust; or --trust for once");
        }
        match broken {
            Some(broken) => problem
                .cause(format!(
                    "{} is not used: {}",
                    broken.path.display(),
                    broken.message
                ))
                .fix("rooftree agents validate"),
            None => match nearest(name, known) {
                Some(meant) => problem.fix(format!("did you mean `{meant}`?")),
                None => problem.fix("rooftree agents list shows what each is for"),
            },
        }
    }
}

impl std::fmt::Debug for Definitions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set()
            .entries(
                self.read(DefinitionIndex::all)
                    .iter()
                    .map(|found| &found.name),
            )
            .finish()
    }
}
