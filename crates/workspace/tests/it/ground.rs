//! A directory to work in, with or without a repository, and a place for copies outside of it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use rooftree_workspace::{Workspace, WorkspaceConfig, provision};
use tempfile::TempDir;

pub struct Ground {
    _directory: TempDir,
    pub top: PathBuf,
    pub place: WorkspaceConfig,
}

impl Ground {
    /// An empty directory.
    pub fn bare() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let top = home.join("the project");
        fs::create_dir(&top).unwrap();
        let place = WorkspaceConfig {
            directory: home.join("copies"),
            copy_limit_bytes: 10 << 20,
            copy_limit_files: 2000,
        };
        Self {
            _directory: directory,
            top,
            place,
        }
    }

    /// An empty repository.
    pub fn repository() -> Self {
        let ground = Self::bare();
        ground.git(&["init", "--quiet", "--initial-branch=main"]);
        ground
    }

    /// A repository with these files committed.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let ground = Self::repository();
        files
            .iter()
            .for_each(|(path, text)| ground.write(path, text));
        ground.commit();
        ground
    }

    pub fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "state"]);
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.top, arguments)
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        write(&self.top, path, text);
    }

    pub fn read(&self, path: &str) -> String {
        read(&self.top, path)
    }

    /// What git finds changed, sorted.
    pub fn status(&self) -> Vec<String> {
        let output = self.git(&["status", "--porcelain", "-z", "--untracked-files=all"]);
        let mut lines: Vec<String> = output
            .split('\0')
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    }

    pub async fn copy(&self, agent: &str) -> Workspace {
        provision(&self.top, agent, "01234567", &self.place)
            .await
            .unwrap()
    }

    /// What lies among the copies.
    pub fn copies(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.place.directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.retain(|name| name != "turn");
        names.sort();
        names
    }
}

pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let who = [
        "-c",
        "user.name=Test",
        "-c",
        "user.email=test@localhost",
        "-c",
        "protocol.file.allow=always",
    ];
    let output = Command::new("git")
        .args(who)
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap_or_else(|error| panic!("these tests need git; install the package git ({error})"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "git {arguments:?} in {}: {said}",
        directory.display()
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub fn read(root: &Path, path: &str) -> String {
    String::from_utf8_lossy(&fs::read(root.join(path)).unwrap()).into_owned()
}
