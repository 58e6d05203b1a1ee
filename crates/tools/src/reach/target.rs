//! The path a call is about, ready to be opened, changed or deleted.

use std::{
    ffi::OsStr,
    fs::{File, Metadata},
    io,
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{OFlags, PROC_SUPER_MAGIC, fstatfs},
    io::Errno,
};

use super::{
    CallReach, OpenDirectory,
    nofollow_open::{LOOK, READ, open},
};
use crate::resolved_path;

/// A path a call was judged by.
#[derive(Clone)]
pub(crate) struct FileTarget {
    /// Links followed.
    pub path: PathBuf,
    /// As the model wrote it.
    pub shown: String,
    reach: CallReach,
    cwd: Arc<Path>,
}

impl FileTarget {
    /// What a model wrote, resolved as `written`, if that is what the call was judged by.
    pub fn new(
        reach: &CallReach,
        cwd: &Arc<Path>,
        written: &Path,
        shown: &str,
    ) -> Result<Self, String> {
        let pinned = reach.pinned().filter(|pinned| pinned.written == written);
        let path = pinned.map(|pinned| pinned.real.clone()).ok_or_else(|| {
            format!("{shown} is not what this call was allowed to touch, so nothing was done.")
        })?;
        Ok(Self {
            path,
            shown: shown.to_owned(),
            reach: reach.clone(),
            cwd: cwd.clone(),
        })
    }

    /// Whether a rule lets it be read.
    pub fn is_readable(&self) -> bool {
        self.reach.admits(&self.path)
    }

    /// Whether the call may read another path, below its own.
    pub(super) fn admits(&self, path: &Path) -> bool {
        self.reach.admits(path)
    }

    /// Opens a regular file to be read; anything else is named.
    ///
    /// Looks before it opens, because opening a device may already do something, and again
    /// afterwards, because it may have become another file in between.
    pub fn open(&self) -> Result<(File, Metadata), String> {
        resolved_path::check_regular_file(self.opened(LOOK, "read")?.1.file_type(), &self.shown)?;
        let (file, metadata) = self.opened(READ, "read")?;
        resolved_path::check_regular_file(metadata.file_type(), &self.shown)?;
        Ok((file, metadata))
    }

    /// What is there, for a search: a regular file or a directory that may be looked into.
    pub fn look(&self, wish: &str) -> Result<Metadata, String> {
        let (file, metadata) = self.opened(LOOK, wish)?;
        if !metadata.is_dir() {
            resolved_path::check_regular_file(metadata.file_type(), &self.shown)?;
        } else if is_process_table(&file) {
            return Err(format!(
                "{} holds what programs are doing, not files; it is not searched.",
                self.shown
            ));
        }
        Ok(metadata)
    }

    /// A directory that may be looked into.
    pub fn directory(&self) -> Result<OpenDirectory, String> {
        if !self.look("look into")?.is_dir() {
            return Err(format!(
                "{} is a file, not a directory. Read shows it.",
                self.shown
            ));
        }
        OpenDirectory::open(&self.path).map_err(|error| self.explain(&error, "look into"))
    }

    /// The size of what would be replaced; none if there is nothing yet.
    pub fn replaced(&self) -> Result<Option<Metadata>, String> {
        match open(&self.path, LOOK) {
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.explain(&error.into(), "write")),
            Ok(found) => {
                let metadata = File::from(found)
                    .metadata()
                    .map_err(|error| self.explain(&error, "write"))?;
                resolved_path::check_regular_file(metadata.file_type(), &self.shown)?;
                Ok(Some(metadata))
            }
        }
    }

    /// Saves it whole or not at all; directories above it are created.
    pub fn save(&self, bytes: &[u8]) -> Result<(), String> {
        let (parent, name) = self.split("write")?;
        let saved = OpenDirectory::make(parent).and_then(|directory| directory.save(name, bytes));
        saved.map_err(|error| self.explain(&error, "write"))
    }

    /// Deletes it: a file, a link or an empty directory.
    pub fn remove(&self) -> Result<(), String> {
        let (parent, name) = self.split("delete")?;
        let removed = OpenDirectory::open(parent).and_then(|directory| directory.remove(name));
        removed.map_err(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty => format!(
                "{} is a directory that is not empty. Give recursive: true to delete all that is in it.",
                self.shown
            ),
            _ => self.explain(&error, "delete"),
        })
    }

    /// Deletes it with all that is in it, unless a rule keeps any of that.
    pub fn remove_all(&self) -> Result<(), String> {
        let (parent, name) = self.split("delete")?;
        let failed = |error: io::Error| self.explain(&error, "delete");
        let directory = OpenDirectory::open(parent).map_err(failed)?;
        if self.reach.is_limited()
            && directory
                .kept_below(name, &self.path, &self.reach)
                .map_err(failed)?
                .is_some()
        {
            return Err(format!(
                "{} holds something that a rule keeps; nothing was deleted.",
                self.shown
            ));
        }
        directory.remove_all(name).map_err(failed)
    }

    fn opened(&self, flags: OFlags, wish: &str) -> Result<(File, Metadata), String> {
        if !self.is_readable() {
            return Err(format!(
                "A rule denies reading {}, so it is not shown.",
                self.shown
            ));
        }
        let failed = |error: io::Error| self.explain(&error, wish);
        let file = File::from(open(&self.path, flags).map_err(|error| failed(error.into()))?);
        if is_of_process(&file, &self.path) {
            return Err(format!(
                "{} belongs to a running program, which may hold secrets; it is not read.",
                self.shown
            ));
        }
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_file() && !self.reach.admits_file(&metadata) {
            return Err(format!(
                "{} is another name of a private file (a hard link); it is not read without a rule for that file.",
                self.shown
            ));
        }
        Ok((file, metadata))
    }

    fn split(&self, wish: &str) -> Result<(&Path, &OsStr), String> {
        let parts = self.path.parent().zip(self.path.file_name());
        parts.ok_or_else(|| format!("There is no permission to {wish} {}.", self.shown))
    }

    /// System error as a helpful message.
    pub fn explain(&self, error: &io::Error, wish: &str) -> String {
        let shown = &self.shown;
        match Errno::from_io_error(error) {
            Some(Errno::NOENT) => self.missing(),
            Some(Errno::ACCESS | Errno::PERM) => {
                format!("There is no permission to {wish} {shown}.")
            }
            Some(Errno::NOTDIR) => {
                format!("{shown} leads through a file as if it were a directory.")
            }
            Some(Errno::LOOP) => format!(
                "The way to {shown} leads through a link that goes in a circle or was put there just now, so nothing was done."
            ),
            Some(Errno::NAMETOOLONG) => {
                format!("Could not {wish} this path: it is longer than the system allows.")
            }
            // A socket cannot be opened at all.
            Some(Errno::NXIO) => format!("{shown} is a socket or a device, not a regular file."),
            _ if shown.contains('\0') => {
                format!("Could not {wish} this path: it has a zero byte in it.")
            }
            _ => format!("Could not {wish} {shown}: {error}."),
        }
    }

    /// Error that nothing is there, with up to three similar names.
    fn missing(&self) -> String {
        let shown = &self.shown;
        if !self.cwd.exists() {
            let cwd = self.cwd.display();
            return format!(
                "{shown} does not exist, because the working directory {cwd} is gone. Make it again first."
            );
        }
        let start = Path::new(shown).parent().unwrap_or(Path::new(""));
        let near = self.near_names().unwrap_or_default();
        let meant: Vec<String> = near
            .iter()
            .map(|name| start.join(name).display().to_string())
            .collect();
        match meant.as_slice() {
            [] => format!("{shown} does not exist."),
            names => format!(
                "{shown} does not exist. Did you mean {}?",
                names.join(" or ")
            ),
        }
    }

    fn near_names(&self) -> Option<Vec<String>> {
        /// Enough for a directory people work in; a huge one is not searched to the end.
        const LOOKED_AT: usize = 5000;
        let (parent, wanted) = (self.path.parent()?, self.path.file_name()?);
        let names = OpenDirectory::open(parent)
            .ok()?
            .names()
            .ok()?
            .take(LOOKED_AT);
        let names: Vec<String> = names
            .filter(|name| self.reach.admits(&parent.join(name)))
            .map(|name| resolved_path::one_line(&name.to_string_lossy()))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let near = similar::get_close_matches::<str>(&wanted.to_string_lossy(), &names, 3, 0.6);
        Some(near.into_iter().map(str::to_owned).collect())
    }
}

fn is_process_table(file: impl AsFd) -> bool {
    fstatfs(file).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC)
}

/// Whether a file tells about one running program: its variables and memory, our own among them.
fn is_of_process(file: impl AsFd, path: &Path) -> bool {
    let is_number = |part: &OsStr| part.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    path.iter().any(is_number) && is_process_table(file)
}
