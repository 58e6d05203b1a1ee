//! Working copies where there is no git repository: plain copies within bounds.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use ignore::WalkBuilder;
use rooftree_protocol::{ErrorCode, Problem};

use super::{
    Workspace, WorkspaceConfig, WorkspaceKind, blocking, errors,
    file_entry::{EntryKind, FileEntry},
    manifest::{self, CopyManifest},
    name,
    record::CopyRecord,
    scratch::PREFIX,
};

/// How many names are tried before giving up.
const NAMES: u32 = 20;

/// Copies a directory, if it is small enough.
pub(super) async fn provision(
    cwd: &Path,
    name: &str,
    place: &WorkspaceConfig,
) -> Result<Workspace, Problem> {
    let (from, bounds) = (cwd.to_owned(), place.clone());
    let found = blocking::run(move || list(&from, &bounds)).await?;
    for attempt in 1..=NAMES {
        let root = place.directory.join(name::numbered(name, attempt));
        let origin = cwd.to_owned();
        let workspace = Workspace {
            kind: WorkspaceKind::Copy,
            cwd: root.clone(),
            root,
            origin,
            branch: None,
            base: None,
        };
        if !CopyRecord::reserve(&workspace).await? {
            continue;
        }
        let (origin, root) = (workspace.origin.clone(), workspace.root.clone());
        blocking::run(move || {
            let copied = copy_all(&origin, &root, &found);
            copied.map_err(|(path, error)| errors::at("copy", &origin.join(path))(error))
        })
        .await?;
        CopyRecord::note_ready(&workspace.root).await?;
        return Ok(workspace);
    }
    Err(
        errors::failed(format!("{NAMES} copies are called {name} already"))
            .fix("apply or discard some of them"),
    )
}

/// Everything that is copied: ignore files are honoured, also without a repository.
///
/// What lies above the directory has no say, so that a copy elsewhere is walked the same way.
pub(super) fn walk(root: &Path, without: Option<&Path>) -> ignore::Walk {
    let without = without.map(Path::to_owned);
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(true)
        .hidden(false)
        .require_git(false)
        .follow_links(false);
    builder
        .parents(false)
        .git_global(false)
        .git_exclude(false)
        .sort_by_file_name(Ord::cmp);
    builder.filter_entry(move |entry| {
        let name = entry.file_name();
        let is_ours =
            name.to_string_lossy().starts_with(PREFIX) || without.as_deref() == Some(entry.path());
        entry.depth() == 0 || name != ".git" && !is_ours
    });
    builder.build()
}

/// The paths to copy, relative to the root, or a refusal if they are too many or too large.
fn list(root: &Path, place: &WorkspaceConfig) -> Result<Vec<PathBuf>, Problem> {
    let mut found = Vec::new();
    let (mut files, mut bytes) = (0u64, 0u64);
    // What may not be listed cannot be copied; the child could not read it either.
    for entry in walk(root, Some(&place.directory)).flatten() {
        let Ok(path) = entry.path().strip_prefix(root) else {
            continue;
        };
        if path.as_os_str().is_empty() {
            continue;
        }
        if let Ok(metadata) = entry.metadata()
            && !metadata.is_dir()
        {
            files += 1;
            bytes += metadata.len();
        }
        if files > place.copy_limit_files || bytes > place.copy_limit_bytes {
            return Err(too_large(root, place));
        }
        found.push(path.to_owned());
    }
    Ok(found)
}

fn too_large(root: &Path, place: &WorkspaceConfig) -> Problem {
    let message = format!(
        "{} is in no git repository and is too large to copy",
        root.display()
    );
    Problem::new(ErrorCode::LimitReached, message)
        .cause(format!(
            "a copy may have {} files and {} bytes, and this would have more",
            place.copy_limit_files, place.copy_limit_bytes
        ))
        .fix("run `git init` there, name what is not source in .ignore, or work in the parent's tree")
}

fn copy_all(origin: &Path, root: &Path, paths: &[PathBuf]) -> Result<(), (PathBuf, io::Error)> {
    let mut manifest = CopyManifest::default();
    let own = |error| (PathBuf::new(), error);
    fs::create_dir_all(root)
        .and_then(|()| fs::create_dir_all(manifest::directory(root)))
        .map_err(own)?;
    for path in paths {
        match copy_one(origin, root, path) {
            Ok(Some(entry)) => _ = manifest.0.insert(path.clone(), entry),
            Ok(None) => {}
            // It went while we were looking, or it may not be read.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
                ) => {}
            Err(error) => return Err((path.clone(), error)),
        }
    }
    manifest.write(&manifest::found(root)).map_err(own)
}

/// Copies one path; its entry, unless it is a directory or something without content.
fn copy_one(origin: &Path, root: &Path, path: &Path) -> io::Result<Option<FileEntry>> {
    let (from, to) = (origin.join(path), root.join(path));
    let sort = fs::symlink_metadata(&from)?;
    if sort.is_dir() {
        fs::create_dir_all(&to)?;
        return Ok(None);
    }
    if sort.is_symlink() {
        symlink(fs::read_link(&from)?, &to)?;
    } else if sort.is_file() {
        // Shares the blocks where the disk can do that.
        fs::copy(&from, &to)?;
    } else {
        return Ok(None);
    }
    // Of the copy, not of the original, which may be changed meanwhile.
    let entry = FileEntry::of(&to)?.filter(|entry| entry.sort != EntryKind::Other);
    if let Some(entry) = &entry {
        manifest::keep(root, &to, entry)?;
    }
    Ok(entry)
}
