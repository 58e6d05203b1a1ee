//! Judges one file of a plain copy: what the child found, what it left, what the parent has now.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use rooftree_protocol::Problem;

use super::{
    Workspace,
    copied::TouchedPath,
    errors,
    file_entry::{EntryKind, FileEntry, text},
    git::GitCommand,
    manifest,
};

/// Outcome of merging one file.
pub(super) enum FileMergeOutcome {
    /// The parent has it already.
    Same,
    /// This version is to be landed; none: the file is to be deleted.
    Land(Option<PathBuf>),
    /// Both changed it; this is the text of both, with markers.
    Marked(PathBuf),
    /// Both changed it, and it cannot be merged.
    Clash,
}

/// One file that the child changed, and what the parent has there.
pub(super) struct FileMerge<'a> {
    pub workspace: &'a Workspace,
    pub touched: &'a TouchedPath,
    pub own: Option<&'a FileEntry>,
    /// Where a new version can be laid out.
    pub draft: &'a Path,
}

impl FileMerge<'_> {
    /// Compares three versions, and merges them if need be.
    pub async fn judge(&self) -> Result<FileMergeOutcome, Problem> {
        let (found, left) = (self.touched.found.as_ref(), self.touched.left.as_ref());
        if self.own == left {
            return Ok(FileMergeOutcome::Same);
        }
        if self.own == found {
            return Ok(FileMergeOutcome::Land(
                left.map(|_| self.lay_out()).transpose()?,
            ));
        }
        match (self.own, left) {
            (Some(own), Some(left)) if own.is_file() && left.is_file() => {
                self.merge(own, left).await
            }
            _ => Ok(FileMergeOutcome::Clash),
        }
    }

    /// Merges three texts. Without git, or if one is no text, that cannot be done.
    async fn merge(&self, own: &FileEntry, left: &FileEntry) -> Result<FileMergeOutcome, Problem> {
        let root = &self.workspace.root;
        let target = self.workspace.origin.join(&self.touched.path);
        let base = match &self.touched.found {
            Some(found) => text(&manifest::kept(root, found)),
            None => Some(String::new()),
        };
        let (Some(base), Some(parents), Some(childs)) =
            (base, text(&target), text(&root.join(&self.touched.path)))
        else {
            return Ok(FileMergeOutcome::Clash);
        };
        let directory = self.draft.with_extension("merge");
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let write = || {
            fs::create_dir_all(&directory)?;
            let texts = [("parent", &parents), ("base", &base), ("child", &childs)];
            texts
                .iter()
                .try_for_each(|(name, text)| fs::write(directory.join(name), text))
        };
        write().map_err(errors::at("write", &directory))?;
        let command = GitCommand::at(&directory).args([
            "merge-file",
            "-p",
            "-L",
            "parent",
            "-L",
            "base",
            "-L",
            &name,
        ]);
        let Ok(answer) = command.args(["parent", "base", "child"]).start().await else {
            return Ok(FileMergeOutcome::Clash);
        };
        let sort = if self
            .touched
            .found
            .as_ref()
            .is_some_and(|found| found.sort == left.sort)
        {
            own.sort
        } else {
            left.sort
        };
        match answer.code {
            Some(0) => self
                .write(&answer.output, sort)
                .map(|()| FileMergeOutcome::Land(Some(self.draft.to_owned()))),
            Some(1..=127) => self
                .write(&answer.output, sort)
                .map(|()| FileMergeOutcome::Marked(self.draft.to_owned())),
            _ => Ok(FileMergeOutcome::Clash),
        }
    }

    fn write(&self, bytes: &[u8], sort: EntryKind) -> Result<(), Problem> {
        let mode = if sort == EntryKind::Program {
            0o755
        } else {
            0o644
        };
        let write = || {
            fs::write(self.draft, bytes)?;
            fs::set_permissions(self.draft, fs::Permissions::from_mode(mode))
        };
        write().map_err(errors::at("write", self.draft))
    }

    /// Copies the child's version to where it can be landed from.
    pub fn lay_out(&self) -> Result<PathBuf, Problem> {
        let from = self.workspace.root.join(&self.touched.path);
        let copy = || match &self.touched.left {
            Some(left) if left.sort == EntryKind::Link => {
                symlink(fs::read_link(&from)?, self.draft)
            }
            _ => fs::copy(&from, self.draft).map(|_| ()),
        };
        copy().map_err(errors::at("copy", &from))?;
        Ok(self.draft.to_owned())
    }

    /// The path beside the parent's file.
    pub fn beside(&self) -> PathBuf {
        let mut path = self.touched.path.clone().into_os_string();
        path.push(".");
        path.push(self.workspace.root.file_name().unwrap_or_default());
        path.into()
    }
}
