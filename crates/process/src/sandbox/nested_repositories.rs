//! Finds git repositories nested inside a working directory (clones, submodules) by a bounded scan.
//!
//! Git runs what the settings of the nearest repository name. So the settings of clones and submodules below a project
//! are protected too, as far as they existed at the time of the scan.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    Sandbox,
    repository::{RepositoryPaths, is_directory, is_repository, whole},
};

/// How deep below the directory, and how many directories, are looked at.
const DEPTH: usize = 3;
const DIRECTORIES: usize = 2_000;

/// How many repositories are protected. Each costs some mounts whenever a program is started.
const REPOSITORIES: usize = 32;

/// Directories of so much that others wrote that the look would end there.
const HEAPS: [&str; 5] = [".git", "node_modules", "target", ".venv", "__pycache__"];

/// The `.git` of each repository below a directory, not that of the directory itself.
pub fn repositories_below(directory: &Path) -> Vec<PathBuf> {
    let found = below(directory)
        .into_iter()
        .map(|place| place.join(".git"))
        .filter(|git| is_one(git));
    found.take(REPOSITORIES).collect()
}

/// The directories below one in which git would find a repository: in their `.git`, whatever that is, or
/// because they are one themselves.
pub(super) fn repository_places(directory: &Path) -> Vec<PathBuf> {
    let is_place =
        |place: &PathBuf| fs::symlink_metadata(place.join(".git")).is_ok() || is_repository(place);
    below(directory).into_iter().filter(is_place).collect()
}

/// Directories below one, the nearest first.
fn below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut level = vec![directory.to_owned()];
    for _ in 0..DEPTH {
        let inner = level
            .iter()
            .flat_map(|place| directories(place))
            .take(DIRECTORIES - found.len());
        level = inner.collect();
        found.extend(level.iter().cloned());
    }
    found
}

/// The directory of a repository, or a file that says where that is.
fn is_one(git: &Path) -> bool {
    let is_file = || fs::symlink_metadata(git).is_ok_and(|found| found.is_file());
    (is_directory(git) && is_repository(git)) || is_file()
}

fn directories(place: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    // A link leads to what has its own place, or to what is not in this directory.
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories
        .filter(|entry| !HEAPS.iter().any(|heap| entry.file_name() == *heap))
        .map(|entry| entry.path())
}

impl Sandbox {
    /// Keeps a repository's hooks and settings as they are, and the repository where it is.
    pub fn protect_repository(&mut self, git: &Path) {
        if is_directory(git) {
            let mut repository = whole(git);
            let tree = git.parent().unwrap_or(git);
            repository.protect_named(git, tree, tree);
            self.keep(repository);
        } else {
            self.protected.push(git.to_owned());
        }
    }

    /// Lets git write to a repository that lies elsewhere, but for its hooks and settings.
    pub fn open_repository(&mut self, git: &Path) {
        let repository = whole(git);
        self.writable.extend(repository.writable.iter().cloned());
        self.git
            .directories
            .extend(repository.writable.iter().cloned());
        self.keep(repository);
    }

    fn keep(&mut self, repository: RepositoryPaths) {
        self.protected.extend(repository.protected);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_and_submodules_are_found_and_heaps_are_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let clone = |name: &str| {
            let git = place.path().join(name).join(".git");
            for directory in ["objects", "refs"] {
                fs::create_dir_all(git.join(directory)).unwrap();
            }
            fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        };
        for name in [".", "clone", "a/b/c", "a/b/c/d", "node_modules/x"] {
            clone(name);
        }
        fs::create_dir_all(place.path().join("module")).unwrap();
        fs::write(
            place.path().join("module/.git"),
            "gitdir: ../.git/modules/module\n",
        )
        .unwrap();
        fs::create_dir_all(place.path().join("empty/.git")).unwrap();
        let mut found = repositories_below(place.path());
        found.sort();
        let wanted = ["a/b/c", "clone", "module"].map(|name| place.path().join(name).join(".git"));
        assert_eq!(found, wanted);
        let mut sandbox = Sandbox::default();
        found.iter().for_each(|git| sandbox.protect_repository(git));
        assert!(
            sandbox
                .protected
                .contains(&place.path().join("clone/.git/config"))
        );
        assert!(
            sandbox
                .protected
                .contains(&place.path().join("module/.git"))
        );
        assert_eq!(
            sandbox.writable,
            Vec::<PathBuf>::new(),
            "it is writable as far as what is around it is"
        );
    }
}
