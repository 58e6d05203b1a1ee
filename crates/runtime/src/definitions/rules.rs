//! Rules files: Markdown files of a project or the user, found on disk and put into the system prompt of agents.

use std::path::{Path, PathBuf};

use rooftree_protocol::DefinitionLevel;

use super::{
    bounded_read::{markdown_files, read_bounded},
    markdown::split,
    search_dirs::SearchDirs,
    syntax_tree::{SyntaxNode, SyntaxValue, yaml},
};

/// A rule is not longer than this.
const LONGEST: usize = 32 * 1024;

/// One file of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFile {
    /// The file's stem.
    pub name: String,
    /// What it says.
    pub text: String,
    /// The files it is about, as globs; all if there are none.
    pub paths: Vec<String>,
    /// Who wrote it.
    pub level: DefinitionLevel,
    /// The file.
    pub path: PathBuf,
}

/// The rules of the user and of a project that is trusted. Of two with one name the stronger counts.
pub(super) fn read(places: &SearchDirs) -> Vec<RuleFile> {
    let mut rules: Vec<RuleFile> = Vec::new();
    for (directory, level) in places
        .called("rules")
        .into_iter()
        .filter(|(_, level)| places.may_use(*level))
    {
        for path in markdown_files(&directory) {
            let Some(rule) = rule(&path, level) else {
                continue;
            };
            rules.retain(|known| !known.name.eq_ignore_ascii_case(&rule.name));
            rules.push(rule);
        }
    }
    rules
}

fn rule(path: &Path, level: DefinitionLevel) -> Option<RuleFile> {
    let text = read_bounded(path, LONGEST)?;
    let parts = split(&text);
    let front = parts.front.and_then(|front| yaml::read(front, 2).ok());
    let paths = front
        .as_ref()
        .and_then(|front| words(front, "paths"))
        .unwrap_or_default();
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let text = parts.body.trim().to_owned();
    (!text.is_empty()).then(|| RuleFile {
        name,
        text,
        paths,
        level,
        path: path.to_owned(),
    })
}

/// The words of a key, written as a list or between commas.
pub(super) fn words(front: &SyntaxNode, key: &str) -> Option<Vec<String>> {
    let entry = front.entries()?.iter().find(|entry| entry.key == key)?;
    Some(match &entry.node.value {
        SyntaxValue::Text { text, .. } => {
            text.split(',').map(|word| word.trim().to_owned()).collect()
        }
        SyntaxValue::List(items) => items
            .iter()
            .filter_map(|item| item.text().map(str::to_owned))
            .collect(),
        SyntaxValue::Map(_) => Vec::new(),
    })
}
