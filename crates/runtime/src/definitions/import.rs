//! Imports definitions from other programs' formats: recipes of goose, the directory of daycare.
//!
//! What they say is put under our names for it, at the place where it stands, and understood by the same
//! code as every other file. What has no name with us is said, with what can be done about it.

mod daycare;
mod daycare_tasks;
mod goose;

use std::path::{Path, PathBuf};

use rooftree_protocol::{AgentDialect, DefinitionLevel, DefinitionSource, ScheduleDraft};

use super::{
    DefinitionLibrary, LoadedDefinitions,
    diagnostic::FileDiagnostics,
    draft::FileDrafts,
    library::read_file,
    names::is_name,
    syntax_tree::{SourceSpan, SyntaxEntry, SyntaxNode, SyntaxValue},
};

/// Maximum depth of recipe directories.
const DEEPEST: usize = 4;

impl DefinitionLibrary {
    /// Reads recipes of goose: one file, or all below a directory. Agents in Markdown are read besides.
    pub fn import_goose(&self, path: &Path) -> LoadedDefinitions {
        let mut all = FileDrafts::default();
        for file in files(path, DEEPEST) {
            let more = match file.extension().and_then(|end| end.to_str()) {
                Some("yaml" | "yml" | "json") => goose::recipe(&file),
                Some("md") => read_file(&file, DefinitionLevel::Project, AgentDialect::Fourmis),
                _ => continue,
            };
            all.add(more);
        }
        self.understood(all)
    }

    /// Reads the directory of daycare: its prompts, its permanent agents, its tasks.
    pub fn import_daycare(&self, path: &Path) -> LoadedDefinitions {
        self.understood(daycare::house(path))
    }

    /// When the tasks of the directory of daycare are due, each for the agent that it becomes.
    pub fn import_daycare_schedules(&self, path: &Path) -> Vec<ScheduleDraft> {
        daycare_tasks::schedules(path)
    }
}

fn files(path: &Path, depth: usize) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let inside = super::bounded_read::entries(path).into_iter();
    let inside = inside.filter(|path| !path.is_dir() || depth > 0);
    inside
        .flat_map(|path| files(&path, depth.saturating_sub(1)))
        .collect()
}

/// A source for what is imported.
fn source(path: &Path, dialect: AgentDialect) -> DefinitionSource {
    DefinitionSource {
        level: DefinitionLevel::Project,
        dialect,
        path: Some(path.to_owned()),
    }
}

/// A name for an agent, made of words.
fn named(words: &str) -> Option<String> {
    let letters = words.trim().to_lowercase();
    let parts = letters.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let name: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let name: String = name.join("-").chars().take(64).collect();
    is_name(&name).then_some(name)
}

/// A field of ours with a text.
fn field(key: &str, text: impl Into<String>, at: SourceSpan) -> SyntaxEntry {
    let value = SyntaxValue::Text {
        text: text.into(),
        is_plain: false,
    };
    SyntaxEntry {
        key: key.to_owned(),
        at,
        node: SyntaxNode { value, at },
    }
}

/// A field of ours with words.
fn list(key: &str, words: impl IntoIterator<Item = String>, at: SourceSpan) -> SyntaxEntry {
    let word = |text| SyntaxNode {
        value: SyntaxValue::Text {
            text,
            is_plain: false,
        },
        at,
    };
    SyntaxEntry {
        key: key.to_owned(),
        at,
        node: SyntaxNode {
            value: SyntaxValue::List(words.into_iter().map(word).collect()),
            at,
        },
    }
}

/// A field of ours with fields.
fn map(key: &str, entries: Vec<SyntaxEntry>, at: SourceSpan) -> SyntaxEntry {
    SyntaxEntry {
        key: key.to_owned(),
        at,
        node: SyntaxNode {
            value: SyntaxValue::Map(entries),
            at,
        },
    }
}

/// The same value under another name.
fn renamed(key: &str, entry: &SyntaxEntry) -> SyntaxEntry {
    SyntaxEntry {
        key: key.to_owned(),
        ..entry.clone()
    }
}

/// The text of a field.
fn text<'a>(entries: &'a [SyntaxEntry], key: &str) -> Option<&'a str> {
    entries.iter().find(|entry| entry.key == key)?.node.text()
}

/// Says that something is left out, and what to do about it.
fn left_out(complaints: &mut FileDiagnostics<'_>, entry: &SyntaxEntry, help: &str) {
    let what = format!("`{}` is not taken over", entry.key);
    complaints.warning("W0120", Some(entry.at), what, help);
}
