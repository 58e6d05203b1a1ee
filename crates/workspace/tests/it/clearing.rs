//! Clearing away never takes work with it.

use std::fs;

use rooftree_workspace::{ApplyOutcome, ConflictStrategy, Workspace, apply, discard, sweep};
use serde_json::{Value, json};

use super::ground::{Ground, git, read, write};

/// Makes the process that made a copy look dead.
fn orphan(workspace: &Workspace, state: &str) {
    let path = format!("{}.json", workspace.root.display());
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    record["owner"]["start"] = json!(1);
    record["state"] = json!(state);
    fs::write(path, record.to_string()).unwrap();
}

#[tokio::test]
async fn work_that_was_not_applied_is_refused_in_every_form() {
    type Work = fn(&Workspace);
    let table: [(&str, Work); 6] = [
        ("dirty", |copy| write(&copy.root, "a.txt", "work\n")),
        ("staged", |copy| {
            write(&copy.root, "a.txt", "work\n");
            git(&copy.root, &["add", "a.txt"]);
        }),
        ("untracked", |copy| write(&copy.root, "new.txt", "work\n")),
        ("committed", |copy| {
            write(&copy.root, "a.txt", "work\n");
            git(
                &copy.root,
                &["commit", "--quiet", "--all", "--message", "work"],
            );
        }),
        ("detached", |copy| {
            git(&copy.root, &["checkout", "--quiet", "--detach"]);
            write(&copy.root, "a.txt", "work\n");
            git(
                &copy.root,
                &["commit", "--quiet", "--all", "--message", "work"],
            );
        }),
        ("unreadable for git", |copy| {
            fs::create_dir(copy.root.join("inner")).unwrap();
            git(&copy.root.join("inner"), &["init", "--quiet"]);
            write(&copy.root, "inner/file", "work\n");
        }),
    ];
    for (what, work) in table {
        let ground = Ground::with(&[("a.txt", "a\n")]);
        let copy = ground.copy("writer").await;
        work(&copy);
        discard(&copy, false).await.expect_err(what);
        assert!(copy.root.exists(), "{what}");
        orphan(&copy, "ready");
        let left = sweep(&ground.place).await;
        assert_eq!(left.len(), 1, "{what}");
        assert!(copy.root.exists(), "{what}");
    }
}

#[tokio::test]
async fn work_done_after_it_was_applied_is_work_again() {
    let ground = Ground::with(&[("a.txt", "a\n")]);
    let copy = ground.copy("writer").await;
    write(&copy.root, "a.txt", "work\n");
    assert!(matches!(
        apply(&copy, ConflictStrategy::Refuse).await.unwrap(),
        ApplyOutcome::Clean(_)
    ));
    write(&copy.root, "a.txt", "more work\n");
    discard(&copy, false).await.unwrap_err();
    let branch = discard(&copy, true).await.unwrap().unwrap();
    assert_eq!(
        ground.git(&["show", &format!("{branch}:a.txt")]),
        "more work\n"
    );
    assert_eq!(
        ground
            .git(&["worktree", "list", "--porcelain"])
            .matches("worktree ")
            .count(),
        1
    );
    assert_eq!(ground.copies(), Vec::<String>::new());
}

#[tokio::test]
async fn leftovers_of_a_crash_are_removed_only_if_nothing_was_done_in_them() {
    let ground = Ground::with(&[("a.txt", "a\n")]);
    let (idle, busy, alive, half) = (
        ground.copy("idle").await,
        ground.copy("busy").await,
        ground.copy("alive").await,
        ground.copy("half").await,
    );
    write(&busy.root, "a.txt", "work\n");
    [&idle, &busy].iter().for_each(|copy| orphan(copy, "ready"));
    // Cut off in the middle of being made: git still holds its lock, files are missing.
    orphan(&half, "making");
    ground.git(&["worktree", "lock", half.root.to_str().unwrap()]);
    fs::remove_file(half.root.join("a.txt")).unwrap();

    let left = sweep(&ground.place).await;
    assert_eq!(
        left.iter()
            .map(|leftover| &leftover.workspace)
            .collect::<Vec<_>>(),
        [&busy]
    );
    assert!(
        left[0]
            .problem
            .cause
            .as_ref()
            .unwrap()
            .contains("rooftree/busy-01234567")
    );
    assert!(!idle.root.exists() && !half.root.exists());
    assert_eq!(
        (
            read(&busy.root, "a.txt").as_str(),
            read(&alive.root, "a.txt").as_str()
        ),
        ("work\n", "a\n")
    );
    let branches = ground.git(&["branch", "--format=%(refname:short)"]);
    assert_eq!(
        branches,
        "main\nrooftree/alive-01234567\nrooftree/busy-01234567\n"
    );
    assert_eq!(sweep(&ground.place).await.len(), 1);
}

#[tokio::test]
async fn leftovers_without_a_repository_are_swept_too() {
    let ground = Ground::bare();
    ground.write("a.txt", "a\n");
    let (idle, busy, half) = (
        ground.copy("idle").await,
        ground.copy("busy").await,
        ground.copy("half").await,
    );
    write(&busy.root, "a.txt", "work\n");
    [&idle, &busy].iter().for_each(|copy| orphan(copy, "ready"));
    orphan(&half, "making");
    fs::remove_file(format!("{}.manifest", half.root.display())).unwrap();
    let left = sweep(&ground.place).await;
    assert_eq!(
        left.iter()
            .map(|leftover| &leftover.workspace)
            .collect::<Vec<_>>(),
        [&busy]
    );
    assert!(!idle.root.exists() && !half.root.exists() && busy.root.exists());
}

#[tokio::test]
async fn a_copy_whose_directory_someone_removed_leaves_its_commits() {
    let ground = Ground::with(&[("a.txt", "a\n")]);
    let copy = ground.copy("writer").await;
    write(&copy.root, "a.txt", "work\n");
    git(
        &copy.root,
        &["commit", "--quiet", "--all", "--message", "work"],
    );
    fs::remove_dir_all(&copy.root).unwrap();
    discard(&copy, false).await.unwrap_err();
    let branch = discard(&copy, true).await.unwrap().unwrap();
    assert_eq!(ground.git(&["show", &format!("{branch}:a.txt")]), "work\n");
    let idle = ground.copy("idle").await;
    fs::remove_dir_all(&idle.root).unwrap();
    assert_eq!(discard(&idle, false).await.unwrap(), None);
}

#[tokio::test]
async fn a_workspace_survives_being_stored() {
    let ground = Ground::with(&[("a.txt", "a\n")]);
    let copy = ground.copy("writer").await;
    let stored = serde_json::to_string(&copy).unwrap();
    let copy: Workspace = serde_json::from_str(&stored).unwrap();
    assert_eq!(discard(&copy, false).await.unwrap(), None);
}
