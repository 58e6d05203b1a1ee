//! Makes drafts of what other programs have that is no agent file: recipes of goose, the house of daycare.
//!
//! What they say is put under our names for it, at the place where it stands, and understood by the same
//! code as every other file. What has no name with us is said, with what can be done about it.

mod daycare;
mod goose;

use std::path::{Path, PathBuf};

use rooftree_protocol::{Dialect, Level, Source};

use super::{
    Library, Loaded,
    diagnostic::Complaints,
    draft::Drafts,
    library::read_file,
    names::is_name,
    tree::{Entry, Node, Place, Value},
};

/// How deep directories of recipes go.
const DEEPEST: usize = 4;

impl Library {
    /// Reads recipes of goose: one file, or all below a directory. Agents in Markdown are read besides.
    pub fn import_goose(&self, path: &Path) -> Loaded {
        let mut all = Drafts::default();
        for file in files(path, DEEPEST) {
            let more = match file.extension().and_then(|end| end.to_str()) {
                Some("yaml" | "yml" | "json") => goose::recipe(&file),
                Some("md") => read_file(&file, Level::Project, Dialect::Fourmis),
                _ => continue,
            };
            all.add(more);
        }
        self.understood(all)
    }

    /// Reads the directory of daycare: its prompts, its permanent agents, its tasks.
    pub fn import_daycare(&self, path: &Path) -> Loaded {
        self.understood(daycare::house(path))
    }
}

fn files(path: &Path, depth: usize) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let inside = super::files::entries(path).into_iter();
    let inside = inside.filter(|path| !path.is_dir() || depth > 0);
    inside.flat_map(|path| files(&path, depth.saturating_sub(1))).collect()
}

/// A source for what is imported.
fn source(path: &Path, dialect: Dialect) -> Source {
    Source { level: Level::Project, dialect, path: Some(path.to_owned()) }
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
fn field(key: &str, text: impl Into<String>, at: Place) -> Entry {
    let value = Value::Text { text: text.into(), is_plain: false };
    Entry { key: key.to_owned(), at, node: Node { value, at } }
}

/// A field of ours with words.
fn list(key: &str, words: impl IntoIterator<Item = String>, at: Place) -> Entry {
    let word = |text| Node { value: Value::Text { text, is_plain: false }, at };
    Entry {
        key: key.to_owned(),
        at,
        node: Node { value: Value::List(words.into_iter().map(word).collect()), at },
    }
}

/// A field of ours with fields.
fn map(key: &str, entries: Vec<Entry>, at: Place) -> Entry {
    Entry { key: key.to_owned(), at, node: Node { value: Value::Map(entries), at } }
}

/// The same value under another name.
fn renamed(key: &str, entry: &Entry) -> Entry {
    Entry { key: key.to_owned(), ..entry.clone() }
}

/// The text of a field.
fn text<'a>(entries: &'a [Entry], key: &str) -> Option<&'a str> {
    entries.iter().find(|entry| entry.key == key)?.node.text()
}

/// Says that something is left out, and what to do about it.
fn left_out(complaints: &mut Complaints<'_>, entry: &Entry, help: &str) {
    let what = format!("`{}` is not taken over", entry.key);
    complaints.warning("W0120", Some(entry.at), what, help);
}
