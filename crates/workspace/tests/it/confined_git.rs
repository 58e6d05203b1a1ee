//! Our own git on repositories that others prepared: what it is made to run has no rights beyond them.

use std::{env, path::Path, process::Command};

use rooftree_process::sandbox_probe::available_backend;
use rooftree_workspace::{ApplyOutcome, ConflictStrategy, apply, changes, discard};

use super::ground::{Ground, git, read, write};

/// Whether something here can confine git. Without it there is nothing to be seen.
async fn is_possible() -> bool {
    let found = available_backend().await;
    found
        .inspect_err(|reason| eprintln!("left out: {reason}"))
        .is_ok()
}

/// Has git fetch an object that is missing, by a program. No setting that we empty names it.
fn smuggle(ground: &Ground, marks: &[&Path]) {
    let touched: Vec<String> = marks
        .iter()
        .map(|mark| format!("touch '{}'", mark.display()))
        .collect();
    ground.write("fetch.sh", touched.join("\n"));
    let script = ground
        .top
        .join("fetch.sh")
        .display()
        .to_string()
        .replace(' ', "% ");
    for (name, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "evil"),
        ("remote.evil.promisor", "true"),
        ("remote.evil.partialCloneFilter", "blob:none"),
        ("remote.evil.url", &format!("ext::sh {script}")),
        ("protocol.ext.allow", "always"),
    ] {
        ground.git(&["config", name, value]);
    }
    // Taken for unchanged, so that it is not made again from the file.
    ground.git(&["update-index", "--assume-unchanged", "a.txt"]);
    let blob = ground.git(&["rev-parse", "HEAD:a.txt"]);
    let (start, rest) = blob.trim().split_at(2);
    std::fs::remove_file(ground.top.join(".git/objects").join(start).join(rest)).unwrap();
}

#[tokio::test]
async fn what_git_is_made_to_run_gets_at_nothing_outside() {
    if !is_possible().await {
        return;
    }
    let ground = Ground::with(&[("a.txt", "one\n")]);
    let outside = ground.place.directory.parent().unwrap().join("ran");
    let inside = ground.top.join("ran");
    let hook = ground.top.join(".git/hooks/post-checkout");
    smuggle(&ground, &[&outside, &inside, &hook]);
    let copied =
        rooftree_workspace::provision(&ground.top, "writer", "12345678", &ground.place).await;
    assert!(
        copied.is_err(),
        "what is missing cannot be fetched: {copied:?}"
    );
    assert!(
        inside.exists(),
        "it does run, so what follows shows something: {copied:?}"
    );
    assert!(!outside.exists() && !hook.exists(), "it got out");
    // The same by a git that is not confined.
    let mut bare = Command::new("git");
    bare.args(["worktree", "add", "--quiet", "--detach", "../bare"])
        .current_dir(&ground.top);
    assert!(!bare.status().unwrap().success());
    assert!(
        outside.exists() && hook.exists(),
        "without walls it would have"
    );
}

#[tokio::test]
async fn a_repository_whose_parts_lie_elsewhere_can_be_copied_and_applied_to() {
    // A directory of git's own elsewhere, objects borrowed from another repository, a submodule.
    let ground = Ground::with(&[("a.txt", "one\n")]);
    let around = ground.top.parent().unwrap().to_owned();
    git(
        &around,
        &[
            "clone",
            "--quiet",
            "--shared",
            "--separate-git-dir=apart.git",
            "the project",
            "shared",
        ],
    );
    git(
        &around,
        &["init", "--quiet", "--initial-branch=main", "super"],
    );
    let super_project = around.join("super");
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../the project",
        "libs/inner",
    ];
    git(&super_project, &add);
    for top in [around.join("shared"), super_project.join("libs/inner")] {
        let copy = rooftree_workspace::provision(&top, "writer", "12345678", &ground.place).await;
        let copy = copy.unwrap_or_else(|problem| panic!("{}: {problem:?}", top.display()));
        write(&copy.root, "a.txt", "two\n");
        assert_eq!(changes(&copy).await.unwrap().files.len(), 1);
        assert!(matches!(
            apply(&copy, ConflictStrategy::Refuse).await.unwrap(),
            ApplyOutcome::Clean(_)
        ));
        assert_eq!(read(&top, "a.txt"), "two\n");
        discard(&copy, false).await.unwrap();
        assert!(
            !git(&top, &["worktree", "list"]).contains("writer"),
            "{}",
            top.display()
        );
        assert!(
            !git(&top, &["branch", "--list", "rooftree/*"]).contains("writer"),
            "{}",
            top.display()
        );
    }
}

#[test]
fn where_nothing_can_confine_git_works_as_it_would() {
    const AGAIN: &str = "ROOFTREE_TEST_BARE_GIT";
    // A test cannot change its own PATH, so it runs itself once more with one where there is no bubblewrap.
    if env::var_os(AGAIN).is_some() {
        return tokio::runtime::Runtime::new().unwrap().block_on(async {
            assert!(available_backend().await.is_err());
            let ground = Ground::with(&[("a.txt", "one\n")]);
            let copy = ground.copy("writer").await;
            write(&copy.root, "a.txt", "two\n");
            assert!(matches!(
                apply(&copy, ConflictStrategy::Refuse).await.unwrap(),
                ApplyOutcome::Clean(_)
            ));
            discard(&copy, false).await.unwrap();
        });
    }
    let place = tempfile::tempdir().unwrap();
    let path = env::var_os("PATH").unwrap();
    let found = env::split_paths(&path)
        .map(|place| place.join("git"))
        .find(|file| file.is_file())
        .unwrap();
    std::os::unix::fs::symlink(found, place.path().join("git")).unwrap();
    let name = "confined_git::where_nothing_can_confine_git_works_as_it_would";
    let mut again = Command::new(env::current_exe().unwrap());
    let status = again
        .args(["--exact", name])
        .env(AGAIN, "1")
        .env("PATH", place.path())
        .status();
    assert!(status.unwrap().success());
}
