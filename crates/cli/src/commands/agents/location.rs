//! Output directory of agent files: the project's or the user's.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_runtime::definitions::is_name;
use rooftree_stdx::atomic_file::AtomicFile;

use crate::{environment::Environment, human_format, project_agents};

/// The option of everything that writes an agent's file.
#[derive(Args, Clone, Copy, Debug)]
pub struct AgentFileLocation {
    /// With your own settings, for all projects; the usual place outside of a repository
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// In the project's .rooftree/agents; the usual place inside of one
    #[arg(long)]
    project: bool,
}

impl AgentFileLocation {
    /// The directory.
    pub fn directory(self, environment: &Environment) -> PathBuf {
        let places = project_agents::places(environment);
        let is_repository =
            |root: &&Path| root.join(".git").exists() || root.join(".rooftree").exists();
        let root = places
            .root()
            .filter(|root| !self.user && (self.project || is_repository(root)));
        match root {
            Some(root) => root.join(".rooftree/agents"),
            None => environment.settings.with_file_name("agents"),
        }
    }
}

/// Writes a new file and never another one's.
pub fn write_new(directory: &Path, name: &str, text: &str) -> Result<PathBuf, Problem> {
    if !is_name(name) {
        return Err(Problem::new(
            ErrorCode::InvalidArguments,
            format!("`{name}` cannot be the name of an agent"),
        )
        .fix("letters, digits, `-` and `_`, beginning with a letter or digit, 64 at most"));
    }
    let path = directory.join(format!("{}.md", name.to_lowercase()));
    let write = || -> io::Result<bool> {
        fs::create_dir_all(directory)?;
        let mut file = AtomicFile::create(&path)?;
        file.write_all(text.as_bytes())?;
        file.commit_new()
    };
    let place = human_format::place(&path);
    match write() {
        Ok(true) => Ok(path),
        Ok(false) => Err(Problem::new(
            ErrorCode::InvalidArguments,
            format!("{place} is there already"),
        )
        .fix(format!(
            "rooftree agents edit {name}, or choose another name"
        ))),
        Err(error) => Err(
            Problem::new(ErrorCode::InvalidConfig, format!("cannot write {place}"))
                .cause(error.to_string()),
        ),
    }
}
