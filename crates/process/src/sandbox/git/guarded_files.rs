//! Reads the files that decide what git runs, in all repositories a confined program could have changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use super::index::gitlinks;
use crate::sandbox::{
    git_config::{self as config, GitSetting},
    git_named_files::{GitNamedFiles, named_files},
    nested_repositories, repository,
};

/// How many repositories are read.
const REPOSITORIES: usize = 512;

/// How much of a file is read, and how many files of one directory.
const FILE_BYTES: u64 = 1024 * 1024;
const FILES: usize = 256;

/// Lists of steps that git goes through when the user says `--continue`.
const TODO: [&str; 2] = ["rebase-merge/git-rebase-todo", "sequencer/todo"];

/// Where repositories are looked for. All paths are canonical.
#[derive(Debug)]
pub(super) struct GitSearchPaths {
    /// What the program could write to.
    pub(super) roots: Vec<PathBuf>,
    pub(super) workspaces: Vec<PathBuf>,
    pub(super) directories: Vec<PathBuf>,
    pub(super) allowed: Vec<PathBuf>,
}

/// How a file decides what git runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GitFileRole {
    /// Settings of git.
    Settings,
    /// A hook.
    Hook,
    /// What settings or hooks name as a program.
    Program,
    /// A remote in the old style.
    Remote,
    /// Steps of a rebase.
    Todo,
    /// Says where settings are, or objects.
    Leads,
}

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GuardedContent {
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Link(PathBuf),
    /// Too large to be kept: its device, number, time of change and length.
    Large(u64, u64, (i64, i64), u64),
}

/// A file that decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GuardedFile {
    pub(super) role: GitFileRole,
    pub(super) content: GuardedContent,
    /// Settings behind a link, as git reads them.
    pub(super) settings: Option<Vec<u8>>,
}

/// All of them, by path.
#[derive(Debug, Default)]
pub(super) struct GuardedFiles {
    pub(super) files: BTreeMap<PathBuf, GuardedFile>,
}

impl GuardedFiles {
    pub(super) fn at(places: &GitSearchPaths) -> Self {
        let mut walk = RepositoryWalk {
            places,
            seen: BTreeSet::new(),
            next: Vec::new(),
            look: Self::default(),
        };
        for git in &places.directories {
            walk.meet(git, git.parent());
            walk.add(&git.join("objects/info/alternates"), GitFileRole::Leads);
        }
        for place in &places.workspaces {
            walk.enter(place);
            nested_repositories::repository_places(place)
                .iter()
                .for_each(|place| walk.enter(place));
        }
        while let Some((git, tree)) = walk.next.pop() {
            walk.repository(&git, tree.as_deref());
        }
        walk.look
    }
}

/// A repository's directory, and its working tree if that is known.
type FoundRepository = (PathBuf, Option<PathBuf>);

struct RepositoryWalk<'a> {
    places: &'a GitSearchPaths,
    seen: BTreeSet<PathBuf>,
    next: Vec<FoundRepository>,
    look: GuardedFiles,
}

impl RepositoryWalk<'_> {
    /// Whatever repository git would find in a directory.
    fn enter(&mut self, place: &Path) {
        let link = place.join(".git");
        match fs::metadata(&link) {
            Ok(found) if found.is_dir() => self.meet(&link, Some(place)),
            Ok(_) => {
                let named = repository::path_in_file(&link, "gitdir: ");
                named.iter().for_each(|git| self.meet(git, Some(place)));
            }
            Err(_) if repository::is_repository(place) => self.meet(place, Some(place)),
            Err(_) => {}
        }
    }

    /// To be read, if the program could have written to it and the user has not allowed that.
    fn meet(&mut self, git: &Path, tree: Option<&Path>) {
        let Ok(git) = fs::canonicalize(git) else {
            return;
        };
        let is_below = |places: &[PathBuf]| places.iter().any(|place| git.starts_with(place));
        let is_new = is_below(&self.places.roots)
            && !is_below(&self.places.allowed)
            && self.seen.len() < REPOSITORIES;
        if is_new && self.seen.insert(git.clone()) {
            self.next.push((git, tree.map(Path::to_owned)));
        }
    }

    fn repository(&mut self, git: &Path, tree: Option<&Path>) {
        let settings = self.settings(&git.join("config"));
        self.settings(&git.join("config.worktree"));
        self.below(&git.join("hooks"), GitFileRole::Hook);
        self.below(&git.join("remotes"), GitFileRole::Remote);
        self.below(&git.join("branches"), GitFileRole::Remote);
        TODO.iter()
            .for_each(|name| self.add(&git.join(name), GitFileRole::Todo));
        self.commondir(git);
        self.worktrees(git);
        repository::modules(git)
            .iter()
            .for_each(|module| self.meet(module, None));
        let tree = settings
            .iter()
            .find(|one| one.name == "core.worktree")
            .map(|one| git.join(&one.value))
            .or(tree.map(Path::to_owned));
        for place in settings.iter().filter_map(GitSetting::local_repository) {
            let place = tree.as_deref().unwrap_or(git).join(place);
            self.enter(&place);
            self.enter(&place.with_added_extension("git"));
        }
        if let Some(tree) = tree {
            let is_long = settings
                .iter()
                .any(|one| one.name == "extensions.objectformat" && one.value == "sha256");
            let links = gitlinks(git, if is_long { 32 } else { 20 });
            links.iter().for_each(|link| self.enter(&tree.join(link)));
            self.named(git, &tree);
        }
    }

    /// What settings name, and where links among the hooks lead.
    fn named(&mut self, git: &Path, tree: &Path) {
        let GitNamedFiles { settings, programs } = named_files(git, tree);
        for path in settings {
            self.settings(&path);
        }
        for path in programs {
            if path.is_dir() {
                self.below(&path, GitFileRole::Program)
            } else {
                self.add(&path, GitFileRole::Program)
            }
        }
    }

    /// A file of settings; gives what could be read of it.
    fn settings(&mut self, path: &Path) -> Vec<GitSetting> {
        self.add(path, GitFileRole::Settings);
        let bytes = fs::read(path).unwrap_or_default();
        if let Some(guarded) = self
            .look
            .files
            .get_mut(path)
            .filter(|one| matches!(one.content, GuardedContent::Link(_)))
        {
            guarded.settings = Some(bytes.clone());
        }
        config::settings(&bytes).unwrap_or_default()
    }

    /// A file that takes git to other settings. Of a place to work it is known where it has to lead.
    fn commondir(&mut self, git: &Path) {
        let file = git.join("commondir");
        let target = repository::path_in_file(&file, "");
        let is_place = git
            .parent()
            .is_some_and(|parent| parent.ends_with("worktrees"));
        let is_own = is_place && target.as_deref() == git.parent().and_then(Path::parent);
        match target {
            Some(target) if is_own => self.meet(&target, None),
            _ => self.add(&file, GitFileRole::Leads),
        }
    }

    fn worktrees(&mut self, git: &Path) {
        let places = fs::read_dir(git.join("worktrees"))
            .into_iter()
            .flatten()
            .flatten();
        for place in places.map(|entry| entry.path()).take(FILES) {
            self.settings(&place.join("config.worktree"));
            TODO.iter()
                .for_each(|name| self.add(&place.join(name), GitFileRole::Todo));
            self.commondir(&place);
        }
    }

    /// All files of a directory and of those in it.
    fn below(&mut self, directory: &Path, role: GitFileRole) {
        if fs::symlink_metadata(directory).is_ok_and(|found| !found.is_dir()) {
            return self.add(directory, role);
        }
        let mut next = vec![directory.to_owned()];
        let mut left = FILES;
        while let Some(place) = next.pop() {
            for entry in fs::read_dir(place).into_iter().flatten().flatten() {
                let path = entry.path();
                let is_sample = role == GitFileRole::Hook
                    && path.extension().is_some_and(|name| name == "sample");
                let Some(fewer) = left.checked_sub(1) else {
                    return;
                };
                left = fewer;
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => next.push(path),
                    _ if is_sample => {}
                    _ => self.add(&path, role),
                }
            }
        }
    }

    /// A file, if it is there. Where a directory on the way to it is a link, that is what counts.
    fn add(&mut self, path: &Path, role: GitFileRole) {
        let Some(root) = self
            .places
            .roots
            .iter()
            .filter(|root| path.starts_with(root))
            .min_by_key(|root| root.as_os_str().len())
        else {
            return;
        };
        let parts = path
            .strip_prefix(root)
            .map(|rest| rest.components().count())
            .unwrap_or(0);
        let steps: Vec<&Path> = path.ancestors().take(parts).collect();
        let is_link =
            |path: &&&Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        let first = steps.iter().rev().find(is_link).map_or(path, |link| link);
        if let Some(content) = content(first) {
            self.look
                .files
                .entry(first.to_owned())
                .or_insert(GuardedFile {
                    role,
                    content,
                    settings: None,
                });
        }
    }
}

fn content(path: &Path) -> Option<GuardedContent> {
    let found = fs::symlink_metadata(path).ok()?;
    if found.is_symlink() {
        return fs::read_link(path).ok().map(GuardedContent::Link);
    }
    let large = || {
        GuardedContent::Large(
            found.dev(),
            found.ino(),
            (found.ctime(), found.ctime_nsec()),
            found.len(),
        )
    };
    let small = || {
        fs::read(path).ok().map(|bytes| GuardedContent::File {
            bytes,
            mode: found.permissions().mode() & 0o777,
        })
    };
    match found.is_file() {
        true if found.len() <= FILE_BYTES => Some(small().unwrap_or_else(large)),
        true => Some(large()),
        false => None,
    }
}
