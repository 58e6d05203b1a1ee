//! Temporary directory, removed when dropped.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rooftree_protocol::Problem;

use super::{blocking, errors};

/// How its name begins. Where it must lie among the files of others, it is hidden.
pub(super) const PREFIX: &str = ".rooftree-work-";

/// A directory with a random name. Dropping it removes it.
#[derive(Debug)]
pub(super) struct ScratchDir(PathBuf);

impl ScratchDir {
    /// Makes one below `parent`, which is made too.
    pub async fn below(parent: PathBuf) -> Result<Self, Problem> {
        blocking::run(move || {
            let path = parent.join(random_name()?);
            fs::create_dir_all(&path).map_err(errors::at("create", &path))?;
            Ok(Self(path))
        })
        .await
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // A directory that cannot be removed is unreferenced and harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A random, unique name.
pub(super) fn random_name() -> Result<String, Problem> {
    let number = getrandom::u64()
        .map_err(|error| errors::failed("name a directory").cause(error.to_string()))?;
    Ok(format!("{PREFIX}{number:016x}"))
}
