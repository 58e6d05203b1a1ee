//! The git repository a directory lies in.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use rooftree_protocol::Problem;

use super::{
    errors,
    git::{self, GitCommand},
};

/// A repository with a working tree, seen from a directory inside that tree.
#[derive(Clone, Debug)]
pub(super) struct GitRepository {
    /// The root of the working tree.
    pub top: PathBuf,
    /// What all working trees of it have in common.
    pub common: PathBuf,
    /// The commit that is checked out; none before the first.
    pub head: Option<String>,
}

impl GitRepository {
    /// The repository around a directory; none without one, or without git.
    ///
    /// A repository that git refuses to read is a problem, not a reason to copy it.
    pub async fn around(directory: &Path) -> Result<Option<Self>, Problem> {
        // The common directory may contain line ends, so it stands between lines of known number.
        let asked = [
            "--is-inside-work-tree",
            "--show-cdup",
            "--git-common-dir",
            "HEAD",
        ];
        let command = GitCommand::rev_parse(directory)
            .arg("--path-format=absolute")
            .args(asked);
        let answer = match command.start().await {
            Ok(answer) => answer,
            Err(error) if git::is_missing(&error) => return Ok(None),
            Err(error) => return Err(git::not_started(error)),
        };
        if let Some(found) = parse(directory, &answer.output) {
            return Ok(found);
        }
        match directory
            .ancestors()
            .find(|ancestor| ancestor.join(".git").exists())
        {
            None => Ok(None),
            Some(top) => Err(errors::failed(format!(
                "git cannot read the repository {}",
                top.display()
            ))
            .cause(git::words(&answer))
            .fix("make `git status` work there")),
        }
    }

    /// The repository around a directory, which must be there.
    pub async fn of(directory: &Path) -> Result<Self, Problem> {
        let found = Self::around(directory).await?;
        found.ok_or_else(|| {
            errors::failed(format!(
                "{} is in no git repository any more",
                directory.display()
            ))
        })
    }

    /// Where work of the moment is laid: on the same disk, and seen by no `git status`.
    pub fn workshop(&self) -> PathBuf {
        self.common.join("rooftree")
    }
}

/// The outer none: git did not answer; the inner: there is no working tree here.
fn parse(directory: &Path, output: &[u8]) -> Option<Option<GitRepository>> {
    let output = output.strip_suffix(b"\n")?;
    let mut lines = output.splitn(3, |byte| *byte == b'\n');
    let is_inside = lines.next()? == b"true";
    if !is_inside {
        return Some(None);
    }
    let up = lines.next()?;
    let rest = lines.next()?;
    let end = rest.iter().rposition(|byte| *byte == b'\n')?;
    let (common, head) = rest.split_at_checked(end)?;
    let steps = up.iter().filter(|byte| **byte == b'/').count();
    let head = String::from_utf8_lossy(head).trim().to_owned();
    Some(Some(GitRepository {
        top: directory.ancestors().nth(steps)?.to_owned(),
        common: OsStr::from_bytes(common).into(),
        head: is_object(&head).then_some(head),
    }))
}

fn is_object(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_directory_with_line_ends_is_read_whole() {
        let head = "d0af314068e9c4315cc8a01f6148f15d3863eeb6";
        let said = format!("true\n../../\n/a\nb/.git\n{head}\n");
        let found = parse(Path::new("/a\nb/c/d"), said.as_bytes())
            .unwrap()
            .unwrap();
        assert_eq!(
            (found.top.as_path(), found.common.as_path()),
            (Path::new("/a\nb"), Path::new("/a\nb/.git"))
        );
        assert_eq!(found.head.as_deref(), Some(head));
    }

    /// These are not confined.
    #[tokio::test]
    async fn asking_for_names_and_settings_runs_nothing_whatever_the_settings_say() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let git = |arguments: &[&str]| {
            std::process::Command::new("git")
                .args(arguments)
                .current_dir(&top)
                .output()
                .unwrap()
        };
        assert!(git(&["init", "--quiet"]).status.success());
        std::fs::write(top.join("a"), "x").unwrap();
        let ran = top.join("ran");
        let program = format!("touch '{}'; false", ran.display());
        for name in [
            "core.fsmonitor",
            "core.pager",
            "pager.config",
            "pager.rev-parse",
            "core.sshCommand",
            "core.editor",
            "diff.external",
            "filter.x.clean",
            "filter.x.process",
            "alias.rev-parse",
            "alias.config",
            "core.alternateRefsCommand",
            "credential.helper",
        ] {
            assert!(git(&["config", name, &program]).status.success(), "{name}");
        }
        std::fs::write(top.join(".gitattributes"), "* filter=x diff=x\n").unwrap();
        GitRepository::around(&top).await.unwrap().unwrap();
        let asked = GitCommand::config(&top)
            .args(["--list"])
            .answer()
            .await
            .unwrap();
        assert_eq!(asked.code, Some(0));
        assert!(!ran.exists(), "it ran something");
        git(&["status"]);
        assert!(ran.exists(), "another command does");
    }

    #[test]
    fn no_commit_no_working_tree_and_no_answer_are_told_apart() {
        assert_eq!(
            parse(Path::new("/a"), b"true\n\n/a/.git\nHEAD\n")
                .unwrap()
                .unwrap()
                .head,
            None
        );
        assert!(
            parse(Path::new("/a"), b"false\n/a\nHEAD\n")
                .unwrap()
                .is_none()
        );
        assert!(parse(Path::new("/a"), b"").is_none());
    }
}
