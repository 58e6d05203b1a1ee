//! Parses git settings of a repository for programs that git would run and files of the user's that it reads.

use std::{
    env,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// What is asked for: every setting, with whose it is and where it stands.
pub(super) const ASKED: [&str; 5] = [
    "config",
    "--null",
    "--list",
    "--show-scope",
    "--show-origin",
];

/// Files that settings name and git reads.
const FILES: [&str; 2] = ["core.excludesfile", "core.attributesfile"];

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GitSettings {
    /// Names of settings that name a program which git runs for files and merges.
    pub programs: Vec<String>,
    /// Files the user's own settings stand in, or name.
    pub files: Vec<PathBuf>,
}

impl GitSettings {
    /// Reads what git answered.
    ///
    /// Invariant: only what the user or the machine says makes a file readable. The repository's own
    /// settings may be the work of a command that must not see it.
    pub fn of(answer: &[u8], home: Option<&Path>) -> Self {
        let mut found = Self::default();
        let mut pieces = answer.split(|byte| *byte == 0);
        while let (Some(scope), Some(origin), Some(setting)) =
            (pieces.next(), pieces.next(), pieces.next())
        {
            let end = setting
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(setting.len());
            let (name, value) = setting.split_at_checked(end).unwrap_or((setting, b""));
            let name = String::from_utf8_lossy(name).into_owned();
            if matches!(scope, b"global" | b"system") {
                found.files.extend(origin.strip_prefix(b"file:").map(path));
                let value = value.get(1..).unwrap_or_default();
                found
                    .files
                    .extend(expanded(value, home).filter(|_| FILES.contains(&name.as_str())));
            }
            if names_program(&name) {
                found.programs.push(name);
            }
        }
        found.files.retain(|file| file.is_absolute());
        found.files.sort();
        found.files.dedup();
        found.programs.sort();
        found.programs.dedup();
        found
    }
}

fn names_program(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default();
    let is_filter = name.starts_with("filter.")
        && matches!(ending, "clean" | "smudge" | "process" | "required");
    is_filter || (name.starts_with("merge.") && ending == "driver")
}

fn path(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}

/// As git reads paths: in the user's home.
fn expanded(value: &[u8], home: Option<&Path>) -> Option<PathBuf> {
    match value.strip_prefix(b"~/") {
        Some(rest) => Some(home?.join(path(rest))),
        None => Some(path(value)),
    }
}

/// The home settings are looked for in.
pub(super) fn home() -> Option<PathBuf> {
    env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_everywhere_and_files_only_where_the_user_says_so() {
        let answer = b"system\0file:/etc/gitconfig\0filter.lfs.clean\ngit-lfs clean -- %f\0\
            global\0file:/home/me/.gitconfig\0core.excludesfile\n~/.ignored\0\
            global\0file:/home/me/more.inc\0user.name\nMe\nYou\0\
            local\0file:.git/config\0core.attributesfile\n/home/me/.ssh/id_rsa\0\
            local\0file:/home/me/.netrc\0merge.x.driver\nevil\0\
            local\0file:.git/config\0merge.x.driverless\nevil\0\
            command\0command line:\0core.pager\0";
        let found = GitSettings::of(answer, Some(Path::new("/home/me")));
        assert_eq!(found.programs, ["filter.lfs.clean", "merge.x.driver"]);
        let files = [
            "/etc/gitconfig",
            "/home/me/.gitconfig",
            "/home/me/.ignored",
            "/home/me/more.inc",
        ];
        assert_eq!(found.files, files.map(PathBuf::from));
        assert_eq!(GitSettings::of(b"", None), GitSettings::default());
    }
}
