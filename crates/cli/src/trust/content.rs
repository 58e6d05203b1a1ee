//! Scans a project for files that can act or change how agents work, each with the hash of its content.
//!
//! The files of the project that its hooks run are a part of it, wherever they lie. Instructions and rules
//! are text for models, like every other file of the project: they need a trusted folder to be read, but may
//! change without another prompt.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use rooftree_runtime::{
    ProjectContext,
    definitions::{DefinitionLibrary, ProjectTrust, SearchDirs},
};
use rooftree_tools::fingerprint::fingerprint;
use sha2::{Digest, Sha256};

use crate::hooks;

/// Files with more than agents in them, by where they lie in each directory of a project.
const FILES: [(&str, FileRelevance); 8] = [
    (".mcp.json", FileRelevance::Always),
    (".emdash/mcp.json", FileRelevance::Always),
    (".rooftree/mcp.json", FileRelevance::Always),
    // Its permissions can only narrow, and are used without trust.
    ("opencode.json", FileRelevance::WithKeys(&["mcp"])),
    (".rooftree/hooks.json", FileRelevance::Always),
    (".claude/settings.json", FileRelevance::WithKeys(&["hooks"])),
    (
        ".claude/settings.local.json",
        FileRelevance::WithKeys(&["hooks"]),
    ),
    // The rest of the settings can only narrow, and is used without trust.
    (
        ".rooftree/config.toml",
        FileRelevance::WithKeys(&["agents", "hooks", "mcp"]),
    ),
];

/// What stands for the content of a file that cannot be read.
const UNREADABLE: &str = "unreadable";
/// Files looked at in all.
const MOST_FILES: usize = 20_000;
/// How deep directories of skills go.
const DEEPEST: usize = 12;

/// Whether a file brings anything.
#[derive(Clone, Copy)]
enum FileRelevance {
    Always,
    /// Only if it has one of these keys at its top.
    WithKeys(&'static [&'static str]),
}

/// What a project brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectContent {
    /// What can act, by its path from the project's root, with its hash.
    pub acting: BTreeMap<String, String>,
    /// Text for models: instructions and rules.
    pub text: Vec<String>,
}

/// What is different from what was trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentChange {
    /// From the project's root.
    pub path: String,
    pub is_new: bool,
}

impl ProjectContent {
    /// All of it; none if it is too much to be looked at.
    pub fn of(places: &SearchDirs) -> Option<Self> {
        let root = places.root()?;
        let mut content = Self::default();
        for path in brought(places) {
            let name = from(root, &path);
            if is_text(root, &path) {
                content.text.push(name);
            } else {
                add(&path, root, DEEPEST, &mut content.acting)?;
            }
        }
        content.add_scripts(places, root);
        Some(content)
    }

    /// What the project's hooks name counts where it lies, and where work is done.
    fn add_scripts(&mut self, places: &SearchDirs, root: &Path) {
        let cwd = places.project.last().map_or(root, PathBuf::as_path);
        let named = hooks::of_project(places)
            .into_iter()
            .flat_map(|hook| hook.scripts(root, cwd));
        for script in named {
            if let Some(word) = script.word() {
                self.acting.insert(
                    from(root, &script.path),
                    word.unwrap_or_else(|_| UNREADABLE.into()),
                );
            }
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.acting.is_empty() && self.text.is_empty()
    }

    /// What was not among the content that is known, by path and hash.
    pub fn changes_since(&self, known: &BTreeMap<String, Vec<String>>) -> Vec<ContentChange> {
        let is_known = |path: &String, hash: &String| {
            known.get(path).is_some_and(|hashes| hashes.contains(hash))
        };
        let changed = self
            .acting
            .iter()
            .filter(|(path, hash)| !is_known(path, hash));
        changed
            .map(|(path, _)| ContentChange {
                path: path.clone(),
                is_new: !known.contains_key(path),
            })
            .collect()
    }

    /// One hash over all of it.
    pub fn fingerprint(&self) -> String {
        let mut hasher = Sha256::new();
        for (path, hash) in &self.acting {
            hasher.update(format!("{path}\0{hash}\0"));
        }
        for path in &self.text {
            hasher.update(format!("{path}\0"));
        }
        hex(&hasher.finalize())
    }
}

/// The files and directories of a project that need trust to be used.
pub fn brought(places: &SearchDirs) -> Vec<PathBuf> {
    let places = places.clone().trusted(ProjectTrust::Missing);
    let mut found = ProjectContext::untrusted(&places);
    let settings = places
        .project
        .iter()
        .flat_map(|place| FILES.map(|(name, counts)| (place.join(name), counts)));
    found.extend(
        settings
            .filter(|(path, counts)| counts.are_met(path))
            .map(|(path, _)| path),
    );
    found.extend(
        DefinitionLibrary {
            places,
            ..DefinitionLibrary::default()
        }
        .untrusted(),
    );
    found
}

impl FileRelevance {
    fn are_met(self, path: &Path) -> bool {
        match self {
            Self::Always => path.is_file(),
            Self::WithKeys(words) => {
                // What cannot be read as text cannot be used either.
                fs::read_to_string(path).is_ok_and(|text| has_any(&text, words))
            }
        }
    }
}

/// Whether a file of settings has one of these keys, however they are spelled. One that cannot be
/// understood here may be understood elsewhere, and counts.
fn has_any(text: &str, keys: &[&str]) -> bool {
    if let Ok(table) = text.parse::<toml::Table>() {
        return keys.iter().any(|key| table.contains_key(*key));
    }
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(serde_json::Value::Object(map)) => keys.iter().any(|key| map.contains_key(*key)),
        _ => true,
    }
}

/// Instructions are single files of prose, rules are directories of it.
fn is_text(root: &Path, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    if path.is_dir() {
        return name == "rules";
    }
    let is_prose = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("md"));
    let below = path.strip_prefix(root).unwrap_or(path);
    is_prose && !below.components().any(|part| part.as_os_str() == "agents")
}

/// Adds a file, or all files below a directory; none if they are too many.
fn add(path: &Path, root: &Path, depth: usize, found: &mut BTreeMap<String, String>) -> Option<()> {
    if path.is_file() {
        // A file that cannot be read now may be readable later: then it is another one.
        let hash = fingerprint(path).unwrap_or_else(|_| UNREADABLE.into());
        found.insert(from(root, path), hash);
        return (found.len() <= MOST_FILES).then_some(());
    }
    if depth == 0 {
        return None;
    }
    let Ok(entries) = fs::read_dir(path) else {
        return Some(());
    };
    for entry in entries.flatten() {
        add(&entry.path(), root, depth - 1, found)?;
    }
    Some(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A path as it is told: from the project's root.
pub fn from(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, SearchDirs) {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let places = SearchDirs::around(directory.path(), None, None);
        (directory, places)
    }

    #[test]
    fn what_can_act_is_told_apart_from_what_is_only_read() {
        let (_directory, places) = project(&[
            ("AGENTS.md", "be kind"),
            (".rooftree/rules/style.md", "short"),
            (
                ".rooftree/agents/a.md",
                "---\nname: a\ndescription: d\n---\nx",
            ),
            (
                ".claude/agents/deep/b.md",
                "---\nname: b\ndescription: d\n---\nx",
            ),
            (
                ".rooftree/skills/s/SKILL.md",
                "---\nname: s\ndescription: d\n---\nx",
            ),
            (".rooftree/skills/s/run.sh", "true"),
            (".rooftree/verifiers.json", "{}"),
            (".rooftree/hooks.json", "{}"),
            (".claude/settings.json", "{\"hooks\":{}}"),
            (".claude/settings.local.json", "{\"permissions\":{}}"),
            (".mcp.json", "{}"),
            (".rooftree/config.toml", "[limits]\nmax_turns = 3"),
            ("src/main.rs", "fn main() {}"),
        ]);
        let content = ProjectContent::of(&places).unwrap();
        let acting: Vec<&str> = content.acting.keys().map(String::as_str).collect();
        assert_eq!(
            acting,
            [
                ".claude/agents/deep/b.md",
                ".claude/settings.json",
                ".mcp.json",
                ".rooftree/agents/a.md",
                ".rooftree/hooks.json",
                ".rooftree/skills/s/SKILL.md",
                ".rooftree/skills/s/run.sh",
                ".rooftree/verifiers.json",
            ]
        );
        assert_eq!(content.text, ["AGENTS.md", ".rooftree/rules"]);
    }

    #[test]
    fn a_change_is_noticed_wherever_a_link_leads() {
        let (directory, places) = project(&[("elsewhere/x/SKILL.md", "one")]);
        fs::create_dir_all(directory.path().join(".rooftree")).unwrap();
        let link = directory.path().join(".rooftree/skills");
        std::os::unix::fs::symlink(directory.path().join("elsewhere"), link).unwrap();
        let before = ProjectContent::of(&places).unwrap();
        fs::write(directory.path().join("elsewhere/x/SKILL.md"), "two").unwrap();
        assert_ne!(ProjectContent::of(&places).unwrap(), before);
        // A link that leads back to itself ends, and nothing that deep is trusted.
        std::os::unix::fs::symlink(
            directory.path().join("elsewhere"),
            directory.path().join("elsewhere/loop"),
        )
        .unwrap();
        assert_eq!(ProjectContent::of(&places), None);
    }
}
