//! The repository as the checks see it: a root directory and the files below it.
//!
//! Files are found by walking, not by asking git, so that a new file is checked
//! before it is committed and the checks can be tried on a planted directory.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

/// A root and all files below it, as sorted paths relative to it, with `/` between parts.
pub struct Repository {
    root: PathBuf,
    files: Vec<String>,
}

impl Repository {
    /// The repository that a directory lies in.
    pub fn around(directory: &Path) -> Result<Self> {
        let is_root =
            |path: &&Path| path.join("xtask/Cargo.toml").is_file() && path.join("crates").is_dir();
        match directory.ancestors().find(is_root) {
            Some(root) => Self::open(root),
            None => bail!(
                "{} is not inside the repository; go there first",
                directory.display()
            ),
        }
    }

    /// The repository with this root.
    pub fn open(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        collect(root, "", &mut files)?;
        files.sort();
        Ok(Self {
            root: root.to_owned(),
            files,
        })
    }

    /// Where it lies.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// All files with this extension.
    pub fn files_ending(&self, extension: &str) -> impl Iterator<Item = &str> {
        self.files().filter(move |path| {
            path.rsplit_once('.')
                .is_some_and(|(_, end)| end == extension)
        })
    }

    /// All files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// The folders below `crates/` that hold a package.
    pub fn crates(&self) -> impl Iterator<Item = &str> {
        self.files().filter_map(|path| {
            let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            (!name.contains('/')).then_some(name)
        })
    }

    /// Whether a file or directory is there, hidden ones included.
    pub fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// What a file says.
    pub fn text(&self, path: &str) -> Result<String> {
        fs::read_to_string(self.root.join(path)).with_context(|| format!("read {path}"))
    }
}

/// Hidden directories, build output and links hold nothing of ours.
fn collect(root: &Path, below: &str, files: &mut Vec<String>) -> Result<()> {
    let directory = root.join(below);
    for entry in
        fs::read_dir(&directory).with_context(|| format!("list {}", directory.display()))?
    {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() {
            name.clone()
        } else {
            format!("{below}/{name}")
        };
        let kind = entry.file_type()?;
        if kind.is_file() {
            files.push(path);
        } else if kind.is_dir() && !name.starts_with('.') && name != "target" {
            collect(root, &path, files)?;
        }
    }
    Ok(())
}
