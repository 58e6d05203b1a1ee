//! Which folders the person trusts to bring agents, rules and instructions of their own.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_runtime::definitions::{Places, Trust};

use crate::environment::Environment;

/// Whether the project around a directory is trusted: it was said on the command line, or once before.
pub fn of(environment: &Environment, places: &Places) -> Trust {
    let is_known = |root: &Path| folders(environment).iter().any(|folder| folder == root);
    if environment.everywhere.trust || places.root().is_some_and(is_known) {
        Trust::Given
    } else {
        Trust::Missing
    }
}

/// The folders that are trusted.
pub fn folders(environment: &Environment) -> Vec<PathBuf> {
    let text = fs::read_to_string(file(environment)).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect()
}

/// Trusts a folder from now on, or no longer.
pub fn set(environment: &Environment, root: &Path, trust: Trust) -> Result<(), Problem> {
    let mut folders = folders(environment);
    folders.retain(|folder| folder != root);
    if trust == Trust::Given {
        folders.push(root.to_owned());
    }
    let text: String = folders.iter().map(|folder| format!("{}\n", folder.display())).collect();
    let path = file(environment);
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(&draft, text)?;
        fs::rename(&draft, &path)
    };
    write().map_err(|error: std::io::Error| {
        Problem::new(ErrorCode::InvalidConfig, format!("cannot write {}", path.display()))
            .cause(error.to_string())
    })
}

fn file(environment: &Environment) -> PathBuf {
    environment.database.with_file_name("trusted-folders")
}
