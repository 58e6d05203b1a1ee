//! Finds what the settings and hooks of a repository name inside its working tree: files that git reads as
//! settings, and programs that git runs.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::git_config::{self as config, GitSetting};

/// How many files of settings are read: they can include each other.
const FILES: usize = 32;

/// What was found, by canonical path. Not all of it lies in the working tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GitNamedFiles {
    /// Files that are included as settings.
    pub(super) settings: Vec<PathBuf>,
    /// Programs, and directories of hooks.
    pub(super) programs: Vec<PathBuf>,
}

/// Everything that is named and lies in a directory, to be protected.
pub(super) fn named_files_within(git: &Path, tree: &Path, within: &Path) -> Vec<PathBuf> {
    let GitNamedFiles { settings, programs } = named_files(git, tree);
    let is_inside =
        |path: &PathBuf| path.starts_with(within) && !git.starts_with(path) && path != within;
    settings
        .into_iter()
        .chain(programs)
        .filter(is_inside)
        .collect()
}

/// Everything that the settings of a repository, and those of the user, name.
pub(super) fn named_files(git: &Path, tree: &Path) -> GitNamedFiles {
    let mut named = GitNamedFiles::default();
    let mut next: Vec<PathBuf> = ["config", "config.worktree"]
        .iter()
        .map(|name| git.join(name))
        .collect();
    next.extend(of_user());
    let mut read = 0;
    while let Some(file) = next.pop().filter(|_| read < FILES) {
        read += 1;
        let settings = fs::read(&file)
            .ok()
            .and_then(|bytes| config::settings(&bytes))
            .unwrap_or_default();
        for setting in settings.iter().filter(|setting| !setting.is_harmless()) {
            if is_include(setting) {
                let included = file
                    .parent()
                    .and_then(|place| real(&place.join(expanded(&setting.value))))
                    .filter(|path| !named.settings.contains(path));
                next.extend(included.clone());
                named.settings.extend(included);
            } else {
                named.programs.extend(programs(setting, tree));
            }
        }
    }
    named.programs.extend(linked(&git.join("hooks")));
    named.programs.sort();
    named.programs.dedup();
    named
}

fn is_include(setting: &GitSetting) -> bool {
    setting.name == "include.path"
        || setting.name.starts_with("includeif.") && setting.key() == "path"
}

/// Files of the user's own settings.
fn of_user() -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from);
    let config = env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or(home.as_ref().map(|home| home.join(".config")));
    [
        home.map(|home| home.join(".gitconfig")),
        config.map(|config| config.join("git/config")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What a setting has git run. Of a command line, every word that is a path.
fn programs(setting: &GitSetting, tree: &Path) -> Vec<PathBuf> {
    if setting.name == "core.hookspath" {
        let hooks = expanded(&setting.value);
        // husky keeps stubs there that run what is in the directory above.
        let above = hooks
            .file_name()
            .filter(|name| *name == "_")
            .and(hooks.parent());
        let places = above
            .into_iter()
            .chain([hooks.as_path()])
            .map(|place| tree.join(place));
        return places.filter_map(|place| real(&place)).collect();
    }
    let is_boundary = |char: char| char.is_whitespace() || "\"'`;|&()<>=!$".contains(char);
    let words = setting
        .value
        .split(is_boundary)
        .filter(|word| word.contains('/'));
    words
        .filter_map(|word| real(&tree.join(expanded(word))))
        .filter(|path| path.is_file())
        .collect()
}

/// Where links among hooks lead.
fn linked(hooks: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(hooks)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_link = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    entries
        .chain([hooks.to_owned()])
        .filter(is_link)
        .filter_map(|path| real(&path))
        .collect()
}

fn real(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

fn expanded(value: &str) -> PathBuf {
    let home = value.strip_prefix("~/").zip(env::var_os("HOME"));
    home.map_or_else(
        || value.into(),
        |(rest, home)| PathBuf::from(home).join(rest),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_includes_and_programs_inside_the_working_tree_are_found() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        let put = |name: &str, text: &str| {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        };
        put("scripts/clean.sh", "");
        put("scripts/more.sh", "");
        put("scripts/hook.sh", "");
        put("plain", "");
        put(".husky/_/pre-commit", "");
        put(
            "shared.gitconfig",
            "[core]\n\tfsmonitor = scripts/more.sh\n",
        );
        put(
            ".git/config",
            "[core]\n\thooksPath = .husky/_\n[include]\n\tpath = ../shared.gitconfig\n[filter \"x\"]\n\tclean = sh scripts/clean.sh plain /etc/passwd\n",
        );
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::os::unix::fs::symlink("../../scripts/hook.sh", root.join(".git/hooks/pre-push"))
            .unwrap();
        let mut found = named_files_within(&root.join(".git"), &root, &root);
        found.sort();
        let wanted = [
            ".husky",
            ".husky/_",
            "scripts/clean.sh",
            "scripts/hook.sh",
            "scripts/more.sh",
            "shared.gitconfig",
        ];
        assert_eq!(found, wanted.map(|name| root.join(name)));
    }
}
