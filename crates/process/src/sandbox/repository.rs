//! The repository a directory belongs to: what git has to write there, and what a program could
//! change there to be run later, by somebody who is not confined.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What holds in a repository.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Repository {
    pub(super) writable: Vec<PathBuf>,
    pub(super) protected: Vec<PathBuf>,
    pub(super) unwanted: Vec<PathBuf>,
}

/// Names in a repository's directory that decide which programs git runs.
const DECIDING: [&str; 4] = ["config", "config.worktree", "hooks", "commondir"];

/// The repository around a directory; nothing if there is none. A home is no project.
pub(super) fn around(workspace: &Path, home: Option<&Path>) -> Repository {
    let is_project = |place: &&Path| *place == workspace || Some(*place) != home;
    let mut places = workspace.ancestors().take_while(is_project);
    let Some(link) = places.find_map(|place| Some(place.join(".git")).filter(|git| git.exists())) else {
        return Repository::default();
    };
    // Of a link nobody knows who made it.
    match fs::symlink_metadata(&link) {
        Ok(found) if found.is_dir() && is_repository(&link) => whole(&link),
        Ok(found) if found.is_file() => worktree(&link).unwrap_or_default(),
        _ => Repository::default(),
    }
}

fn is_repository(place: &Path) -> bool {
    place.join("HEAD").is_file() && place.join("objects").is_dir() && place.join("refs").is_dir()
}

/// A repository's own directory.
fn whole(git: &Path) -> Repository {
    let hooks = git.join("hooks");
    if !hooks.exists() {
        // So that there is something to protect; if it cannot be made, nobody else can make it either.
        let _ = fs::create_dir(&hooks);
    }
    let mut protected: Vec<PathBuf> = DECIDING.iter().map(|name| git.join(name)).collect();
    for module in entries(&git.join("modules")) {
        protected.extend(["config", "hooks"].map(|name| module.join(name)));
    }
    for worktree in entries(&git.join("worktrees")) {
        protected.extend(["commondir", "gitdir", "config.worktree"].map(|name| worktree.join(name)));
    }
    // With it, git would take its settings from elsewhere. In a repository's own directory it has no use.
    let unwanted = [git.join("commondir")].into_iter().filter(|path| fs::symlink_metadata(path).is_err());
    Repository { writable: vec![git.to_owned()], protected, unwanted: unwanted.collect() }
}

/// A second place to work, whose repository is elsewhere.
///
/// Invariant: a file in the workspace does not decide what becomes writable. The place it names has
/// to name it too, and there a confined program cannot write.
fn worktree(link: &Path) -> Option<Repository> {
    let own = named(link, "gitdir: ")?;
    let common = named(&own.join("commondir"), "")?;
    let is_mutual = named(&own.join("gitdir"), "")? == fs::canonicalize(link).ok()?;
    let is_inside = own.parent()? == common.join("worktrees");
    (is_mutual && is_inside && is_repository(&common)).then(|| {
        let mut repository = whole(&common);
        repository.protected.push(link.to_owned());
        repository
    })
}

/// The path a file of git's names, in full.
fn named(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let path = text.strip_prefix(prefix)?.trim_end_matches(['\n', '\r']);
    fs::canonicalize(file.parent()?.join(path)).ok()
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
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
            assert_eq!(found.unwanted, [git.join("commondir")]);
        }
        assert_eq!(around(&place.path().join("src"), Some(place.path())), Repository::default());
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
        fs::write(root.join("side/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert_eq!(around(&root.join("side"), None), Repository::default());
        fs::write(own.join("gitdir"), format!("{}\n", root.join("side/.git").display())).unwrap();
        let found = around(&root.join("side"), None);
        assert_eq!(found.writable, [root.join("main/.git")]);
        assert!(
            found.protected.contains(&root.join("side/.git"))
                && found.protected.contains(&own.join("gitdir"))
        );
    }
}
