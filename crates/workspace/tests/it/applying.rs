//! Changes come back by a three-way merge, and what cannot be merged is told.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rooftree_workspace::{ApplyOutcome, ConflictStrategy, FileChangeKind, apply, changes, discard};

use super::ground::{Ground, git, write};

const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

fn conflicts(applied: &ApplyOutcome) -> (Vec<&Path>, Vec<&Path>) {
    let ApplyOutcome::Conflicts { files, applied } = applied else {
        panic!("{applied:?}")
    };
    (
        files.iter().map(PathBuf::as_path).collect(),
        applied.iter().map(PathBuf::as_path).collect(),
    )
}

#[tokio::test]
async fn what_a_child_did_is_counted_and_committed_to_its_branch() {
    let ground = Ground::with(&[("a.txt", LINES), ("b.txt", "b\n")]);
    let copy = ground.copy("writer").await;
    write(&copy.root, "a.txt", LINES.replace("two", "2\n2.5"));
    write(&copy.root, "new.txt", "new\n");
    fs::remove_file(copy.root.join("b.txt")).unwrap();
    let found = changes(&copy).await.unwrap();
    let told: Vec<_> = found
        .files
        .iter()
        .map(|file| {
            (
                file.path.to_str().unwrap(),
                file.action,
                file.added,
                file.removed,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("a.txt", FileChangeKind::Changed, 2, 1),
            ("b.txt", FileChangeKind::Deleted, 0, 1),
            ("new.txt", FileChangeKind::Added, 1, 0)
        ]
    );
    assert!(
        found
            .diffstat
            .ends_with("3 files changed, 3 insertions(+), 2 deletions(-)"),
        "{}",
        found.diffstat
    );
    let commit = found.commit.clone().unwrap();
    assert_eq!(
        ground
            .git(&["rev-parse", copy.branch.as_deref().unwrap()])
            .trim(),
        commit
    );
    assert_eq!(
        git(&copy.root, &["status", "--porcelain"]),
        "",
        "the child's own git agrees"
    );
    assert_eq!(
        changes(&copy).await.unwrap(),
        found,
        "asking again changes nothing"
    );
    assert_eq!(ground.status(), Vec::<String>::new());
}

#[tokio::test]
async fn commits_resets_and_other_branches_of_a_child_are_followed() {
    let ground = Ground::with(&[("a.txt", "a\n")]);
    ground.write("a.txt", "uncommitted\n");
    let copy = ground.copy("writer").await;
    git(
        &copy.root,
        &["checkout", "--quiet", "-b", "feature", "main"],
    );
    write(&copy.root, "a.txt", "uncommitted\nby the child\n");
    git(
        &copy.root,
        &["commit", "--quiet", "--all", "--message", "work"],
    );
    write(&copy.root, "b.txt", "left over\n");
    let ApplyOutcome::Clean(_) = apply(&copy, ConflictStrategy::Refuse).await.unwrap() else {
        panic!()
    };
    assert_eq!(
        (ground.read("a.txt").as_str(), ground.read("b.txt").as_str()),
        ("uncommitted\nby the child\n", "left over\n")
    );
    assert_eq!(discard(&copy, false).await.unwrap(), None);
    assert_eq!(
        ground.git(&["branch", "--format=%(refname:short)"]),
        "feature\nmain\n"
    );
}

#[tokio::test]
async fn edits_in_other_places_of_one_file_are_merged_and_doing_it_twice_is_harmless() {
    let ground = Ground::with(&[("a.txt", LINES)]);
    let copy = ground.copy("writer").await;
    write(&copy.root, "a.txt", LINES.replace("one", "ONE"));
    ground.write("a.txt", LINES.replace("seven", "SEVEN"));
    ground.git(&["mv", "a.txt", "moved.txt"]);
    let ApplyOutcome::Clean(changes) = apply(&copy, ConflictStrategy::Refuse).await.unwrap() else {
        panic!()
    };
    assert_eq!(
        changes.files[0].path,
        Path::new("moved.txt"),
        "a rename of the parent is followed"
    );
    assert_eq!(
        ground.read("moved.txt"),
        LINES.replace("one", "ONE").replace("seven", "SEVEN")
    );
    assert_eq!(
        apply(&copy, ConflictStrategy::Refuse).await.unwrap(),
        ApplyOutcome::Nothing
    );
    write(
        &copy.root,
        "a.txt",
        LINES.replace("one", "ONE").replace("two", "TWO"),
    );
    assert!(
        matches!(
            apply(&copy, ConflictStrategy::Refuse).await.unwrap(),
            ApplyOutcome::Clean(_)
        ),
        "more work, more changes"
    );
    assert_eq!(ground.read("moved.txt").lines().nth(1), Some("TWO"));
}

/// A file on both sides: what it was, what the parent made of it, what the child did.
type Row = (
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    Option<&'static str>,
);

const CLASHES: [Row; 6] = [
    (
        "text.txt",
        Some(LINES),
        Some("1\n2\n3\n"),
        Some("eins\nzwei\n"),
    ),
    ("binary.bin", Some("\0a"), Some("\0b"), Some("\0c")),
    ("edited-deleted.txt", Some("base\n"), Some("parent\n"), None),
    ("deleted-edited.txt", Some("base\n"), None, Some("child\n")),
    ("created.txt", None, Some("parent\n"), Some("child\n")),
    ("created.bin", None, Some("\0parent"), Some("\0child")),
];

fn set(root: &Path, path: &str, text: Option<&str>) {
    match text {
        Some(text) => write(root, path, text),
        None => drop(fs::remove_file(root.join(path))),
    }
}

/// Both sides change everything in the table; the same must come of it with git and without.
async fn clash(ground: &Ground) {
    for (path, base, ..) in CLASHES {
        set(&ground.top, path, base);
    }
    ground.write("same.txt", "base\n");
    ground.write("clean.txt", "base\n");
    if ground.top.join(".git").exists() {
        ground.commit();
    }
    let copy = ground.copy("writer").await;
    for (path, _, parent, child) in CLASHES {
        set(&ground.top, path, parent);
        set(&copy.root, path, child);
    }
    for root in [&ground.top, &copy.root] {
        write(root, "same.txt", "both did this\n");
        write(root, "same-new.bin", "\0both");
    }
    write(&copy.root, "clean.txt", "child\n");

    let mut expected: Vec<&Path> = CLASHES.iter().map(|row| Path::new(row.0)).collect();
    expected.sort();
    let refused = apply(&copy, ConflictStrategy::Refuse).await.unwrap();
    assert_eq!(conflicts(&refused), (expected.clone(), vec![]));
    for (path, _, parent, _) in CLASHES {
        let now = fs::read_to_string(ground.top.join(path)).ok();
        assert_eq!(now.as_deref(), parent, "{path} is untouched by a refusal");
    }
    assert_eq!(ground.read("clean.txt"), "base\n", "all or nothing");

    let marked = apply(&copy, ConflictStrategy::Markers).await.unwrap();
    assert_eq!(conflicts(&marked), (expected, vec![Path::new("clean.txt")]));
    for path in ["text.txt", "created.txt"] {
        let text = ground.read(path);
        assert!(
            text.contains("<<<<<<<") && text.contains(">>>>>>>"),
            "{text}"
        );
    }
    assert!(ground.read("text.txt").contains("zwei") && ground.read("text.txt").contains("2\n"));
    assert_eq!(ground.read("binary.bin"), "\0b");
    assert_eq!(ground.read("binary.bin.writer-01234567"), "\0c");
    assert_eq!(ground.read("created.bin.writer-01234567"), "\0child");
    assert_eq!(ground.read("edited-deleted.txt"), "parent\n");
    assert_eq!(ground.read("deleted-edited.txt"), "child\n");
    assert_eq!(ground.read("clean.txt"), "child\n");
    assert_eq!(
        discard(&copy, false).await.unwrap(),
        None,
        "both versions are in the parent's tree now"
    );
}

#[tokio::test]
async fn every_kind_of_clash_is_told_and_loses_neither_side_in_a_repository() {
    clash(&Ground::repository()).await;
}

#[tokio::test]
async fn every_kind_of_clash_is_told_and_loses_neither_side_in_a_plain_copy() {
    clash(&Ground::bare()).await;
}

#[tokio::test]
async fn files_become_directories_and_ignored_files_of_the_parent_stay() {
    let ground = Ground::with(&[
        ("thing/a.txt", "a\n"),
        ("thing/b.txt", "b\n"),
        ("flat", "flat\n"),
    ]);
    let copy = ground.copy("writer").await;
    fs::remove_dir_all(copy.root.join("thing")).unwrap();
    write(&copy.root, "thing", "a file now\n");
    fs::remove_file(copy.root.join("flat")).unwrap();
    write(&copy.root, "flat/deep.txt", "a directory now\n");
    assert!(matches!(
        apply(&copy, ConflictStrategy::Refuse).await.unwrap(),
        ApplyOutcome::Clean(_)
    ));
    assert_eq!(
        (
            ground.read("thing").as_str(),
            ground.read("flat/deep.txt").as_str()
        ),
        ("a file now\n", "a directory now\n")
    );

    let copy = ground.copy("writer").await;
    ground.write(".git/info/exclude", "secret\n");
    ground.write("secret", "the parent's own\n");
    write(&copy.root, "secret", "the child's\n");
    git(&copy.root, &["add", "--force", "secret"]);
    write(&copy.root, "aaa.txt", "new\n");
    let refused = apply(&copy, ConflictStrategy::Refuse).await.unwrap();
    assert_eq!(conflicts(&refused), (vec![Path::new("secret")], vec![]));
    assert_eq!(ground.read("secret"), "the parent's own\n");
    assert!(!ground.top.join("aaa.txt").exists(), "all or nothing");
    apply(&copy, ConflictStrategy::Markers).await.unwrap();
    assert_eq!(ground.read("secret"), "the parent's own\n");
    assert_eq!(ground.read("secret.writer-01234567-2"), "the child's\n");
}
