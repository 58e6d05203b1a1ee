//! Packages of the npm registry that steps use: pinned, installed below `target/` when their list changes.
//!
//! Without the registry that cannot be done, and a step that needs them fails: it proves nothing then.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::{
    needs::{self, Need},
    sdk::{succeed, target},
};
use crate::repository::Repository;

const NEEDS: &[Need] = &[
    Need {
        program: "node",
        proof: &["--version"],
        package: "nodejs",
    },
    Need {
        program: "npm",
        proof: &["--version"],
        package: "npm",
    },
];

/// Installs the packages of a list into a folder below `target/`, unless exactly these are there.
pub fn provide(repository: &Repository, list: &str, folder: &str) -> Result<PathBuf> {
    needs::provide_these(NEEDS)?;
    let place = target(repository).join(folder);
    let (packages, installed) = (repository.text(list)?, place.join("installed.json"));
    if fs::read_to_string(&installed).is_ok_and(|text| text == packages) {
        return Ok(place);
    }
    fs::create_dir_all(&place).with_context(|| format!("make {}", place.display()))?;
    write(&place.join("package.json"), &packages)?;
    let lock = list.replace("package.json", "package-lock.json");
    if repository.has(&lock) {
        write(&place.join("package-lock.json"), &repository.text(&lock)?)?;
    }
    let mut install = Command::new("npm");
    install
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts"])
        .current_dir(&place);
    succeed(&mut install)
        .with_context(|| format!("install what {list} names; this step needs the npm registry"))?;
    write(&installed, &packages)?;
    Ok(place)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}
