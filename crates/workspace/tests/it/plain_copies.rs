//! Where there is no repository a child gets a plain copy, within bounds.

use std::{fs, os::unix::fs::symlink, path::Path};

use rooftree_workspace::{
    ApplyOutcome, ConflictStrategy, WorkspaceKind, apply, changes, discard, provision,
};

use super::ground::{Ground, read, write};

#[tokio::test]
async fn a_plain_copy_merges_back_and_goes() {
    let ground = Ground::bare();
    ground.write("a.txt", "one\ntwo\nthree\nfour\nfive\n");
    ground.write("deep/line\nend", "odd\n");
    ground.write(".ignore", "heavy\n");
    ground.write("heavy/data", "not copied\n");
    symlink("a.txt", ground.top.join("link")).unwrap();
    let copy = ground.copy("writer").await;
    assert_eq!(
        (copy.kind, copy.branch.as_ref(), copy.cwd == copy.root),
        (WorkspaceKind::Copy, None, true)
    );
    assert!(!copy.root.join("heavy/data").exists());
    assert_eq!(
        fs::read_link(copy.root.join("link")).unwrap(),
        Path::new("a.txt")
    );
    assert_eq!(changes(&copy).await.unwrap().files, []);

    write(&copy.root, "a.txt", "ONE\ntwo\nthree\nfour\nfive\n");
    write(&copy.root, "deep/line\nend", "changed\n");
    write(&copy.root, "new/file.txt", "new\n");
    fs::remove_file(copy.root.join("link")).unwrap();
    ground.write("a.txt", "one\ntwo\nthree\nfour\nFIVE\n");
    let found = changes(&copy).await.unwrap();
    assert!(
        found
            .diffstat
            .ends_with("4 files changed, 3 insertions(+), 2 deletions(-)"),
        "{}",
        found.diffstat
    );
    discard(&copy, false).await.unwrap_err();
    let ApplyOutcome::Clean(landed) = apply(&copy, ConflictStrategy::Refuse).await.unwrap() else {
        panic!()
    };
    assert_eq!(landed.files.len(), 4);
    assert_eq!(ground.read("a.txt"), "ONE\ntwo\nthree\nfour\nFIVE\n");
    assert_eq!(ground.read("deep/line\nend"), "changed\n");
    assert!(!ground.top.join("link").is_symlink());
    write(&copy.root, "a.txt", "ONE\nTWO\nthree\nfour\nfive\n");
    assert!(
        matches!(
            apply(&copy, ConflictStrategy::Refuse).await.unwrap(),
            ApplyOutcome::Clean(_)
        ),
        "more work, more changes"
    );
    assert_eq!(ground.read("a.txt"), "ONE\nTWO\nthree\nfour\nFIVE\n");
    assert_eq!(discard(&copy, false).await.unwrap(), None);
    assert_eq!(ground.copies(), Vec::<String>::new());
    let mut left: Vec<_> = fs::read_dir(&ground.top)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(
        left,
        [".ignore", "a.txt", "deep", "heavy", "new"],
        "nothing of ours is left"
    );
}

#[tokio::test]
async fn a_directory_that_is_too_large_is_refused_with_the_reason() {
    let ground = Ground::bare();
    (0..5).for_each(|number| ground.write(&format!("{number}.txt"), "12345"));
    for (bytes, files) in [(1000, 4), (24, 100)] {
        let mut place = ground.place.clone();
        (place.copy_limit_bytes, place.copy_limit_files) = (bytes, files);
        let problem = provision(&ground.top, "writer", "1", &place)
            .await
            .unwrap_err();
        assert!(
            problem
                .message
                .ends_with("is in no git repository and is too large to copy"),
            "{problem:?}"
        );
        assert!(problem.cause.is_some() && problem.fix.is_some());
        assert_eq!(ground.copies(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn copies_kept_inside_of_the_directory_do_not_contain_each_other() {
    let ground = Ground::bare();
    ground.write("a.txt", "a\n");
    let mut place = ground.place.clone();
    place.directory = ground.top.join("data/copies");
    let first = provision(&ground.top, "writer", "1", &place).await.unwrap();
    let second = provision(&ground.top, "writer", "2", &place).await.unwrap();
    assert_eq!(read(&second.root, "a.txt"), "a\n");
    assert!(first.root.exists() && !second.root.join("data/copies").exists());
}

#[tokio::test]
async fn a_forced_discard_keeps_the_changed_files() {
    let ground = Ground::bare();
    ground.write("a.txt", "a\n");
    ground.write("b.txt", "b\n");
    let copy = ground.copy("writer").await;
    write(&copy.root, "a.txt", "work\n");
    let kept = discard(&copy, true).await.unwrap().unwrap();
    assert_eq!(read(Path::new(&kept), "a.txt"), "work\n");
    assert!(!copy.root.exists() && !Path::new(&kept).join("b.txt").exists());
    let next = ground.copy("writer").await;
    assert_ne!(next.root, copy.root, "what is kept keeps its name");
}
