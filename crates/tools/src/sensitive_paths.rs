//! Paths that other programs execute or trust (git hooks, editor tasks). Changing them always needs confirmation.
//!
//! The programs meant here start by themselves, or the user starts them for another reason: git, an editor that opens
//! the project, an agent. Files that run only when the user builds or tests the project are its source; no list could
//! tell them apart.

mod git;
mod names;

use std::path::Path;

use crate::reach::is_plain;

pub(crate) use git::{NAMED_BY_GIT, named_by_git};
pub(crate) use names::OBEYED;

/// A name, and who obeys it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SensitivePath {
    /// One part of a path, or several; `*` at its beginning stands for any beginning.
    pub name: &'static str,
    /// Who, and how, in words that follow "which".
    pub by: &'static str,
    /// Whether commands in the sandbox cannot change it either.
    pub is_walled: bool,
}

const fn walled(name: &'static str, by: &'static str) -> SensitivePath {
    SensitivePath {
        name,
        by,
        is_walled: true,
    }
}

/// Changed by programs that people run for other reasons, so a wall would break these.
const fn asked(name: &'static str, by: &'static str) -> SensitivePath {
    SensitivePath {
        name,
        by,
        is_walled: false,
    }
}

/// Everything in a path that is obeyed. A name that is not text may be any of them.
pub(crate) fn sensitive_in_path(path: &Path) -> Vec<&'static SensitivePath> {
    let parts: Vec<Option<&str>> = path
        .components()
        .map(|part| part.as_os_str().to_str())
        .collect();
    let is_there = |obeyed: &&SensitivePath| holds(&parts, obeyed.name, |part| part.is_none());
    OBEYED.iter().filter(is_there).collect()
}

/// Whether a glob contains a name literally. A name matched only by a wildcard does not count.
pub(crate) fn is_named(glob: &str, obeyed: &SensitivePath) -> bool {
    // It has no name of its own: the rule must name the very file.
    if std::ptr::eq(obeyed, &NAMED_BY_GIT) {
        return is_plain(glob) && glob != "*";
    }
    let mut depth = 0_usize;
    let parts = glob.split('/').map(|part| {
        let is_choice = depth > 0;
        depth = (depth + part.matches('{').count()).saturating_sub(part.matches('}').count());
        Some(part).filter(|part| !is_choice && is_plain(part))
    });
    holds(&parts.collect::<Vec<_>>(), obeyed.name, |_| false)
}

/// Whether the parts of a name follow each other among others, whatever their case.
fn holds(parts: &[Option<&str>], name: &str, is_any: impl Fn(&Option<&str>) -> bool) -> bool {
    let wanted: Vec<&str> = name.split('/').collect();
    let is_it = |(part, wanted): (&Option<&str>, &&str)| {
        is_any(part) || part.is_some_and(|part| is_same(part, wanted))
    };
    parts
        .windows(wanted.len())
        .any(|window| window.iter().zip(&wanted).all(is_it))
}

fn is_same(part: &str, wanted: &str) -> bool {
    match wanted.strip_prefix('*') {
        Some(ending) => part.to_ascii_lowercase().ends_with(ending),
        None => part.eq_ignore_ascii_case(wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(glob: &str, name: &str) -> bool {
        is_named(
            glob,
            OBEYED.iter().find(|obeyed| obeyed.name == name).unwrap(),
        )
    }

    #[test]
    fn a_name_is_said_only_as_it_stands() {
        let table = [
            (".git/config", ".git", true),
            ("sub/.GIT/**", ".git", true),
            ("**/.git/hooks/*", ".git", true),
            ("/srv/desk/.claude/settings*.json", ".claude", true),
            (".cargo/config.toml", ".cargo/config.toml", true),
            ("**", ".git", false),
            (".*/config", ".git", false),
            (".g?t/config", ".git", false),
            ("[.]git/config", ".git", false),
            ("{.git,src}/config", ".git", false),
            ("{a/.git/b,**}", ".git", false),
            (".cargo/**", ".cargo/config.toml", false),
            (".github/**", ".git", false),
        ];
        for (glob, name, is_said) in table {
            assert_eq!(named(glob, name), is_said, "{glob} {name}");
        }
    }

    #[test]
    fn what_is_obeyed_is_found_anywhere_in_a_path() {
        let table = [
            ("src/main.rs", vec![]),
            ("a/.Git/hooks/x", vec![".git"]),
            (".claude/.git/x", vec![".git", ".claude"]),
            (".cargo/config.toml", vec![".cargo/config.toml"]),
            (".cargo/registry", vec![]),
            ("shop.Code-Workspace", vec!["*.code-workspace"]),
            (".config/git/config", vec![".config/git"]),
            ("home/.bashrc", vec![".bashrc"]),
            ("bashrc", vec![]),
            (".github/workflows/a.yml", vec![]),
        ];
        for (path, wanted) in table {
            let found: Vec<&str> = sensitive_in_path(Path::new(path))
                .iter()
                .map(|obeyed| obeyed.name)
                .collect();
            assert_eq!(found, wanted, "{path}");
        }
    }
}
