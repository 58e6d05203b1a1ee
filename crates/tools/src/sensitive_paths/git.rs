//! Files that git settings name: hooks, includes and programs, wherever they are.
//!
//! `core.hooksPath = .githooks` makes `.githooks` as good as `.git/hooks`, and what `include.path` names is a
//! part of the settings. Changing one of them changes what the next `git status` or `git commit` runs.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use rooftree_process::sandbox::home;

use super::SensitivePath;
use crate::{resolved_path, resolved_path::normalize_lexically};

/// What stands for all of them.
pub(crate) static NAMED_BY_GIT: SensitivePath = SensitivePath {
    name: "what git's settings name",
    by: "git obeys: core.hooksPath, include.path or another setting names it",
    is_walled: false,
};

/// Settings are not longer than this.
const LONGEST: u64 = 256 * 1024;

/// Keys whose value is a path.
const PATHS: [&str; 4] = ["hookspath", "path", "attributesfile", "templatedir"];

/// Keys whose value is a command.
const COMMANDS: [&str; 15] = [
    "fsmonitor",
    "sshcommand",
    "external",
    "textconv",
    "command",
    "clean",
    "smudge",
    "process",
    "driver",
    "editor",
    "pager",
    "helper",
    "program",
    "askpass",
    "cmd",
];

/// Whether a real path is named by the settings of the repository around a directory, or lies below what is.
pub(crate) fn named_by_git(path: &Path, cwd: &Path) -> bool {
    let Some(root) = cwd.ancestors().find(|above| above.join(".git").exists()) else {
        return false;
    };
    let directory = git_directory(&root.join(".git"));
    let user = home().map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
    let own = [directory.join("config"), directory.join("config.worktree")];
    let files = own.into_iter().chain(user.into_iter().flatten());
    files
        .flat_map(|file| named(&file, root))
        .any(|named| path.starts_with(resolved_path::real_path(&named)))
}

/// Where a repository has its settings: a `.git` file leads to a directory, which may lead to a common one.
fn git_directory(git: &Path) -> PathBuf {
    let read = |file: &Path| {
        Some(
            text(file)?
                .trim()
                .trim_start_matches("gitdir:")
                .trim()
                .to_owned(),
        )
    };
    let parent = git.parent().unwrap_or(git);
    let own = if git.is_file() {
        read(git).map(|to| parent.join(to))
    } else {
        None
    };
    let own = own.unwrap_or_else(|| git.to_owned());
    read(&own.join("commondir")).map_or(own.clone(), |common| own.join(common))
}

/// The paths that a file of settings names, seen from the repository and from the file.
fn named(file: &Path, root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let text = text(file).unwrap_or_default().replace("\\\n", "");
    for line in text.lines() {
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        // A section may stand before the first key of its line.
        let key = key
            .rsplit(']')
            .next()
            .unwrap_or(key)
            .trim()
            .to_ascii_lowercase();
        let value = value
            .trim()
            .trim_start_matches('!')
            .replace(['"', '\''], "");
        let words: Vec<&str> = if PATHS.contains(&key.as_str()) {
            vec![value.split(['#', ';']).next().unwrap_or_default().trim()]
        } else if COMMANDS.contains(&key.as_str()) {
            value
                .split_whitespace()
                .filter(|word| word.contains('/'))
                .collect()
        } else {
            continue;
        };
        for word in words.into_iter().filter(|word| !word.is_empty()) {
            found.extend(places(word, file, root));
        }
    }
    found
}

fn places(word: &str, file: &Path, root: &Path) -> Vec<PathBuf> {
    if let Some(rest) = word.strip_prefix("~/") {
        return home()
            .map(|home| normalize_lexically(&home.join(rest)))
            .into_iter()
            .collect();
    }
    let beside = file.parent().unwrap_or(file);
    // The whole repository is not what a setting names.
    let all = [root, beside].map(|base| normalize_lexically(&base.join(word)));
    all.into_iter()
        .filter(|path| !root.starts_with(path))
        .collect()
}

fn text(file: &Path) -> Option<String> {
    let mut text = Vec::new();
    fs::File::open(file)
        .ok()?
        .take(LONGEST)
        .read_to_end(&mut text)
        .ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_a5_what_the_settings_of_a_repository_name_is_obeyed() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join("src")).unwrap();
        let settings = "[core]\n\thooksPath = ci/hooks\n\tattributesFile = \"attr\" ; x\n\
            [core] fsmonitor = ./tools/watch.sh --x\n[include]\n\tpath = ../.gitconfig-shared\n\
            [includeIf \"gitdir:x\"]\n\tpath = inc.conf\n[diff \"x\"]\n\ttextconv = sh scripts/conv.sh\n\
            [alias]\n\tst = status\n[user]\n\tname = src\n";
        fs::write(root.join(".git/config"), settings).unwrap();
        let table = [
            ("ci/hooks/pre-commit", true),
            ("attr", true),
            ("tools/watch.sh", true),
            (".gitconfig-shared", true),
            (".git/inc.conf", true),
            ("scripts/conv.sh", true),
            ("src/main.rs", false),
            ("ci/build.sh", false),
            ("tools/other.sh", false),
        ];
        for (path, is_named) in table {
            for cwd in [root.clone(), root.join("src")] {
                assert_eq!(named_by_git(&root.join(path), &cwd), is_named, "{path}");
            }
        }
    }
}
