//! Graph of the modules of a crate: parses from its files which module uses which.
//!
//! `crate::…` and `super::…` paths are followed through folders and through
//! what a module brings in with `use`. A parent and its child may use each other; what is recorded are
//! the edges between siblings, on every level of the tree.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::source::{production, test_modules};
use crate::repository::Repository;

/// A module's place in its crate; empty for the crate itself.
pub type ModulePath = Vec<String>;

/// One sibling uses another, first seen at `place`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub parent: ModulePath,
    pub from: String,
    pub to: String,
    pub place: String,
}

/// The modules of one crate.
pub struct Modules {
    files: Vec<(String, ModulePath, String)>,
    known: BTreeSet<ModulePath>,
    exports: BTreeMap<ModulePath, BTreeMap<String, ModulePath>>,
}

impl Modules {
    /// Reads the modules below a `src` directory.
    pub fn read(repository: &Repository, src: &str) -> Result<Self> {
        let mut files = Vec::new();
        let mut only_tests = Vec::new();
        for path in repository.files_ending("rs") {
            let Some(inner) = path
                .strip_prefix(src)
                .and_then(|rest| rest.strip_prefix('/'))
            else {
                continue;
            };
            let (text, module) = (repository.text(path)?, module_path(inner));
            only_tests.extend(
                test_modules(&text)
                    .into_iter()
                    .map(|name| [module.as_slice(), &[name]].concat()),
            );
            if !inner.starts_with("bin/") {
                files.push((path.to_owned(), module, production(&text)));
            }
        }
        files.retain(|(_, module, _)| !only_tests.iter().any(|tests| module.starts_with(tests)));
        let known = files.iter().map(|(_, module, _)| module.clone()).collect();
        let mut modules = Self {
            files,
            known,
            exports: BTreeMap::new(),
        };
        modules.exports = modules.exports();
        Ok(modules)
    }

    /// The modules directly below the crate, with their files.
    pub fn top_level(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .filter_map(|(path, module, _)| match module.as_slice() {
                [name] => Some((name.as_str(), path.as_str())),
                _ => None,
            })
    }

    /// All edges between siblings, each once.
    pub fn edges(&self) -> Vec<Edge> {
        let mut edges: BTreeMap<(ModulePath, String, String), String> = BTreeMap::new();
        for (path, module, code) in &self.files {
            for (line, text) in paths_in(code) {
                let Some(target) = self.resolve(module, &text) else {
                    continue;
                };
                if let Some((parent, from, to)) = siblings(module, &target) {
                    edges
                        .entry((parent, from, to))
                        .or_insert_with(|| format!("{path}:{line}"));
                }
            }
        }
        edges
            .into_iter()
            .map(|((parent, from, to), place)| Edge {
                parent,
                from,
                to,
                place,
            })
            .collect()
    }

    /// What each module offers under its own name though it lives elsewhere.
    fn exports(&self) -> BTreeMap<ModulePath, BTreeMap<String, ModulePath>> {
        let mut exports: BTreeMap<ModulePath, BTreeMap<String, ModulePath>> = BTreeMap::new();
        for (_, module, code) in &self.files {
            for names in brought_in(code) {
                let target = self.descend(module.clone(), &names);
                if let (Some(name), false) = (names.last(), target == *module) {
                    exports
                        .entry(module.clone())
                        .or_default()
                        .insert(name.clone(), target);
                }
            }
        }
        exports
    }

    /// The module a path leads to; none if it does not start at a module.
    fn resolve(&self, from: &ModulePath, names: &[String]) -> Option<ModulePath> {
        let (first, mut rest) = names.split_first()?;
        let mut base = if first == "crate" {
            ModulePath::new()
        } else {
            parent(from)?
        };
        while let Some(("super", after)) = rest
            .split_first()
            .map(|(name, after)| (name.as_str(), after))
        {
            base = parent(&base)?;
            rest = after;
        }
        Some(self.descend(base, rest))
    }

    fn descend(&self, mut at: ModulePath, names: &[String]) -> ModulePath {
        for name in names {
            let mut below = at.clone();
            below.push(name.clone());
            if self.known.contains(&below) {
                at = below;
            } else {
                return self
                    .exports
                    .get(&at)
                    .and_then(|names| names.get(name))
                    .cloned()
                    .unwrap_or(at);
            }
        }
        at
    }
}

fn parent(module: &[String]) -> Option<ModulePath> {
    module.split_last().map(|(_, parent)| parent.to_vec())
}

fn module_path(inner: &str) -> ModulePath {
    let path = inner.trim_end_matches(".rs");
    if path == "lib" || path == "main" {
        Vec::new()
    } else {
        path.split('/').map(str::to_owned).collect()
    }
}

/// Where two modules part; none if one contains the other.
fn siblings(from: &[String], to: &[String]) -> Option<(ModulePath, String, String)> {
    let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    Some((
        from.get(..common)?.to_vec(),
        from.get(common)?.clone(),
        to.get(common)?.clone(),
    ))
}

/// Every `crate::…` and `super::…` path with its line, groups taken apart.
fn paths_in(code: &str) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let (before, rest) = code.split_at(at);
            let continues =
                before.ends_with(|last: char| last.is_alphanumeric() || last == '_' || last == ':');
            if !continues {
                let line = before.matches('\n').count() + 1;
                found.extend(use_tree(rest).into_iter().map(|names| (line, names)));
            }
        }
    }
    found
}

/// The paths a module brings in with `use`, which its children see as its own.
fn brought_in(code: &str) -> impl Iterator<Item = Vec<String>> {
    let statements = code.match_indices("use ").filter_map(|(at, word)| {
        let (before, rest) = code.split_at(at);
        let in_word = before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        (!in_word).then(|| rest.trim_start_matches(word))
    });
    statements.flat_map(use_tree)
}

/// The paths at the start of a text: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn use_tree(text: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    tree(text, &mut Vec::new(), &mut paths);
    paths
}

/// Reads one tree and returns what follows it.
fn tree<'a>(text: &'a str, prefix: &mut Vec<String>, paths: &mut Vec<Vec<String>>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = tree(rest, &mut prefix.clone(), paths).trim_start();
            match rest.strip_prefix(',') {
                Some(next) => rest = next,
                None => return rest.strip_prefix('}').unwrap_or(rest),
            }
        }
    }
    let end = text
        .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if !name.is_empty() && name != "self" {
        prefix.push(name.to_owned());
    }
    match rest.strip_prefix("::") {
        Some(rest) if !name.is_empty() && !rest.starts_with('<') => tree(rest, prefix, paths),
        _ => {
            paths.push(prefix.clone());
            after_alias(rest)
        }
    }
}

/// Skips ` as name` and `*` in a group.
fn after_alias(rest: &str) -> &str {
    let rest = rest.strip_prefix('*').unwrap_or(rest);
    rest.trim_start().strip_prefix("as ").map_or(rest, |alias| {
        alias.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let planted = files.iter().fold(Planted::new(), |planted, (path, text)| {
            planted.with(&format!("c/src/{path}"), text)
        });
        let modules = Modules::read(&planted.repository(), "c/src").unwrap();
        let spell = |edge: Edge| format!("{}:{}→{}", edge.parent.join("/"), edge.from, edge.to);
        modules.edges().into_iter().map(spell).collect()
    }

    #[test]
    fn groups_nested_groups_and_paths_in_code_are_followed() {
        let code = "use crate::{b::{self, X}, c::Y as Z, d::*};\nfn f() { crate::e::g::<u8>(); crate::h::i(); }";
        let rest = ["b.rs", "c.rs", "d.rs", "e.rs", "h.rs", "unused.rs"].map(|path| (path, ""));
        assert_eq!(
            edges(&[&[("a.rs", code)], rest.as_slice()].concat()),
            [":a→b", ":a→c", ":a→d", ":a→e", ":a→h"]
        );
    }

    #[test]
    fn names_passed_on_by_the_crate_lead_to_the_module_they_come_from() {
        let files = [
            ("lib.rs", "pub use error::{Error, Kind};\n"),
            ("error.rs", ""),
            ("a.rs", "use crate::Error;"),
        ];
        assert_eq!(edges(&files), [":a→error"]);
    }

    #[test]
    fn siblings_below_a_module_are_seen_and_parents_do_not_count() {
        let files = [
            (
                "agent.rs",
                "mod run; #[cfg(test)] mod testing; use history::History; use crate::bus::Bus;",
            ),
            (
                "agent/run.rs",
                "use super::{Agent, act::act}; use crate::agent::decide;",
            ),
            ("agent/limits.rs", "use super::History;"),
            ("agent/history.rs", ""),
            ("agent/testing.rs", "use super::run;"),
            ("agent/act.rs", "use super::super::bus::Bus;"),
            (
                "agent/decide.rs",
                "// crate::bus\n#[cfg(test)]\nmod tests { use crate::bus; }",
            ),
            ("bus.rs", ""),
        ];
        assert_eq!(
            edges(&files),
            [
                ":agent→bus",
                "agent:limits→history",
                "agent:run→act",
                "agent:run→decide"
            ]
        );
    }
}
