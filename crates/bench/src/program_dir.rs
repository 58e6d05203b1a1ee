//! Finds the measured programs: in the directory of this one, built with the same profile.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

/// The directory of the built programs.
pub struct ProgramDir(PathBuf);

impl ProgramDir {
    /// The directory this program was started from.
    pub fn find() -> Result<Self> {
        let own = env::current_exe().context("find the own program")?;
        Ok(Self(own.parent().unwrap_or(Path::new(".")).to_owned()))
    }

    /// One of the programs there.
    pub fn program(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Our program, if it supports this command; else why not.
    pub fn rooftree(&self, ability: &[&str]) -> Result<PathBuf, String> {
        let program = self.program("rooftree");
        let mut asked = Command::new(&program);
        match asked
            .args(ability)
            .env("ROOFTREE_HOME", env::temp_dir())
            .output()
        {
            Ok(output) if output.status.success() => Ok(program),
            Ok(_) => Err(format!(
                "`rooftree {}` does not work yet",
                ability.join(" ")
            )),
            Err(_) => Err("the program is not built".to_owned()),
        }
    }
}
