//! The git repository around a directory: paths that git has to write, and paths that must be protected because git
//! runs what they name, later and outside the sandbox.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::git_named_files::named_files_within as named_by_settings;

/// Paths of a repository that stay writable, and those that are protected.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RepositoryPaths {
    pub(super) writable: Vec<PathBuf>,
    pub(super) protected: Vec<PathBuf>,
}

/// Names in a repository's directory that decide which programs git runs, and what it takes for its own.
const DECIDING: [&str; 8] = [
    "config",
    "config.worktree",
    "hooks",
    "info",
    "commondir",
    "objects/info/alternates",
    "remotes",
    "branches",
];

/// The same in the directory of an additional worktree.
const DECIDING_WORKTREE: [&str; 3] = ["commondir", "gitdir", "config.worktree"];

/// How deep names of submodules are looked into, and how many of these are protected.
const MODULE_DEPTH: usize = 6;
const MODULES: usize = 256;

/// The repository around a directory; nothing if there is none. A home is no project.
pub(super) fn around(workspace: &Path, home: Option<&Path>) -> RepositoryPaths {
    let is_project = |place: &&Path| *place == workspace || Some(*place) != home;
    let mut places = workspace.ancestors().take_while(is_project);
    let Some(link) = places.find_map(|place| Some(place.join(".git")).filter(|git| git.exists()))
    else {
        return RepositoryPaths::default();
    };
    // A symbolic link is not followed: a confined program may have made it.
    let mut repository = match fs::symlink_metadata(&link) {
        Ok(found) if found.is_dir() && is_repository(&link) => whole(&link),
        Ok(found) if found.is_file() => worktree(&link)
            .or_else(|| submodule(&link))
            .unwrap_or_default(),
        _ => RepositoryPaths::default(),
    };
    for git in repository.writable.clone() {
        repository.protect_named(&git, link.parent().unwrap_or(workspace), workspace);
    }
    repository
}

pub(super) fn is_repository(place: &Path) -> bool {
    place.join("HEAD").is_file() && place.join("objects").is_dir() && place.join("refs").is_dir()
}

/// A repository's own directory, with those of its submodules.
pub(super) fn whole(git: &Path) -> RepositoryPaths {
    let mut repository = RepositoryPaths {
        writable: vec![git.to_owned()],
        ..RepositoryPaths::default()
    };
    repository.protect(git);
    for module in modules(git) {
        repository.protect(&module);
    }
    repository
}

impl RepositoryPaths {
    /// Keeps what decides in one repository's directory as it is.
    fn protect(&mut self, git: &Path) {
        for name in ["hooks", "info"]
            .map(|name| git.join(name))
            .iter()
            .filter(|path| !path.exists())
        {
            // Create it, so that there is something to protect; if that fails, the confined program cannot create it
            // either.
            let _ = fs::create_dir(name);
        }
        put_aside(&git.join("commondir"));
        let worktrees: Vec<PathBuf> = entries(&git.join("worktrees")).collect();
        if has_own_settings(git) {
            // With nothing in it, it says nothing; and then it is there to be protected.
            for place in worktrees.iter().map(PathBuf::as_path).chain([git]) {
                let _ = fs::File::options()
                    .write(true)
                    .create_new(true)
                    .open(place.join("config.worktree"));
            }
        }
        self.protected.extend(DECIDING.map(|name| git.join(name)));
        self.protected.extend(
            worktrees
                .iter()
                .flat_map(|place| DECIDING_WORKTREE.map(|name| place.join(name))),
        );
    }

    /// Keeps what settings and hooks name as they are, as far as it lies in a directory.
    pub(super) fn protect_named(&mut self, git: &Path, tree: &Path, within: &Path) {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        self.protected
            .extend(named_by_settings(&real(git), &real(tree), &real(within)));
    }
}

/// Whether each place to work has settings of its own. Git reads that from this file and no other.
fn has_own_settings(git: &Path) -> bool {
    let settings = fs::read(git.join("config")).unwrap_or_default();
    String::from_utf8_lossy(&settings)
        .to_ascii_lowercase()
        .contains("worktreeconfig")
}

/// Renames a leftover `commondir`. A repository's own directory has none; the file was left by a program that was
/// killed together with the process that would have removed it.
fn put_aside(commondir: &Path) {
    let git = commondir.parent().filter(|git| is_repository(git));
    if git.is_some() && fs::symlink_metadata(commondir).is_ok() {
        let _ = fs::rename(commondir, commondir.with_extension("found"));
    }
}

/// The repositories of submodules. Their names may have several parts, and they may have submodules.
pub(super) fn modules(git: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next: Vec<(PathBuf, usize)> = vec![(git.join("modules"), 0)];
    while let Some((place, depth)) = next.pop().filter(|_| found.len() < MODULES) {
        for path in entries(&place).filter(|path| is_directory(path)) {
            if is_repository(&path) {
                next.push((path.join("modules"), depth + 1));
                found.push(path);
            } else if depth < MODULE_DEPTH {
                next.push((path, depth + 1));
            }
        }
    }
    found
}

/// Whether it is a directory itself, not a link to one.
pub(super) fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// A submodule's place to work, whose repository lies in that of the project around it.
///
/// Invariant: as for a worktree, the place it names has to name it too.
fn submodule(link: &Path) -> Option<RepositoryPaths> {
    let own = path_in_file(link, "gitdir: ")?;
    let settings = fs::read_to_string(own.join("config")).ok()?;
    let mut places = settings
        .lines()
        .filter_map(|line| line.trim().strip_prefix("worktree"));
    let place = places.find_map(|rest| rest.trim_start().strip_prefix('='))?;
    let is_mutual =
        fs::canonicalize(own.join(place.trim())).ok()? == fs::canonicalize(link.parent()?).ok()?;
    (is_mutual && is_repository(&own)).then(|| {
        let mut repository = whole(&own);
        repository.protected.push(link.to_owned());
        repository
    })
}

/// A second place to work, whose repository is elsewhere.
///
/// Invariant: a file in the workspace does not decide what becomes writable. The place it names has
/// to name it too, and there a confined program cannot write.
fn worktree(link: &Path) -> Option<RepositoryPaths> {
    let own = path_in_file(link, "gitdir: ")?;
    let common = path_in_file(&own.join("commondir"), "")?;
    let is_mutual = path_in_file(&own.join("gitdir"), "")? == fs::canonicalize(link).ok()?;
    let is_inside = own.parent()? == common.join("worktrees");
    (is_mutual && is_inside && is_repository(&common)).then(|| {
        let mut repository = whole(&common);
        repository.protected.push(link.to_owned());
        repository
    })
}

/// The path a file of git's names, in full.
pub(super) fn path_in_file(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let path = text.strip_prefix(prefix)?.trim_end_matches(['\n', '\r']);
    fs::canonicalize(file.parent()?.join(path)).ok()
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(place: &Path) {
        for directory in ["objects", "refs"] {
            fs::create_dir_all(place.join(directory)).unwrap();
        }
        fs::write(place.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn hooks_and_settings_are_protected_even_where_there_are_none_yet() {
        let place = tempfile::tempdir().unwrap();
        repository(&place.path().join(".git"));
        fs::create_dir(place.path().join("src")).unwrap();
        let git = place.path().join(".git");
        for workspace in [place.path().to_owned(), place.path().join("src")] {
            let found = around(&workspace, None);
            assert_eq!(found.writable, std::slice::from_ref(&git));
            assert!(found.protected.contains(&git.join("hooks")) && git.join("hooks").is_dir());
            assert!(found.protected.contains(&git.join("info")) && git.join("info").is_dir());
        }
        assert_eq!(
            around(&place.path().join("src"), Some(place.path())),
            RepositoryPaths::default()
        );
    }

    #[test]
    fn what_a_killed_program_left_behind_is_put_aside() {
        let place = tempfile::tempdir().unwrap();
        let git = place.path().join(".git");
        repository(&git);
        fs::write(git.join("commondir"), "../evil\n").unwrap();
        around(place.path(), None);
        assert!(!git.join("commondir").exists());
        assert_eq!(
            fs::read_to_string(git.join("commondir.found")).unwrap(),
            "../evil\n"
        );
    }

    #[test]
    fn settings_of_a_place_to_work_are_there_before_anybody_else_makes_them() {
        let place = tempfile::tempdir().unwrap();
        let git = place.path().join(".git");
        repository(&git);
        fs::create_dir_all(git.join("worktrees/side")).unwrap();
        around(place.path(), None);
        assert!(!git.join("config.worktree").exists());
        fs::write(
            git.join("config"),
            "[extensions]\n\tworktreeConfig = true\n",
        )
        .unwrap();
        around(place.path(), None);
        assert_eq!(fs::read(git.join("config.worktree")).unwrap(), b"");
        assert_eq!(
            fs::read(git.join("worktrees/side/config.worktree")).unwrap(),
            b""
        );
    }

    #[test]
    fn submodules_are_found_whatever_they_are_called_and_however_deep_they_are() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        let git = root.join(".git");
        repository(&git);
        for name in ["plain", "libs/inner", "plain/modules/below"] {
            repository(&git.join("modules").join(name));
            let found = around(&root, None);
            let hooks = git.join("modules").join(name).join("hooks");
            assert!(found.protected.contains(&hooks) && hooks.is_dir(), "{name}");
        }
        // Who works in a submodule can commit there, if that knows the place.
        fs::create_dir_all(root.join("plain")).unwrap();
        let own = git.join("modules/plain");
        fs::write(root.join("plain/.git"), "gitdir: ../.git/modules/plain\n").unwrap();
        fs::write(
            own.join("config"),
            "[core]\n\tworktree = ../../../elsewhere\n",
        )
        .unwrap();
        assert_eq!(
            around(&root.join("plain"), None),
            RepositoryPaths::default()
        );
        fs::write(own.join("config"), "[core]\n\tworktree = ../../../plain\n").unwrap();
        let found = around(&root.join("plain"), None);
        assert_eq!(found.writable, std::slice::from_ref(&own));
        assert!(found.protected.contains(&own.join("config")));
    }

    #[test]
    fn a_worktree_brings_its_repository_only_if_that_knows_it() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        repository(&root.join("main/.git"));
        let own = root.join("main/.git/worktrees/side");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir(root.join("side")).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(
            root.join("side/.git"),
            format!("gitdir: {}\n", own.display()),
        )
        .unwrap();
        assert_eq!(around(&root.join("side"), None), RepositoryPaths::default());
        fs::write(
            own.join("gitdir"),
            format!("{}\n", root.join("side/.git").display()),
        )
        .unwrap();
        let found = around(&root.join("side"), None);
        assert_eq!(found.writable, [root.join("main/.git")]);
        assert!(
            found.protected.contains(&root.join("side/.git"))
                && found.protected.contains(&own.join("gitdir"))
        );
    }
}
