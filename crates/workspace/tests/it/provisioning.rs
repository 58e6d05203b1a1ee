//! A copy holds the tree as it is, whatever that is.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    time::{Duration, SystemTime},
};

use rooftree_workspace::{
    ApplyOutcome, ConflictStrategy, WorkspaceKind, apply, changes, discard, provision,
};

use super::ground::{Ground, git, read, write};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_copies_at_once_get_eight_worktrees_that_see_uncommitted_files() {
    let ground = Ground::with(&[("a.txt", "a\n"), ("deep/b.txt", "b\n")]);
    ground.git(&["update-index", "--split-index"]);
    ground.write("a.txt", "changed\n");
    let copies = (0..8).map(|number| {
        let (top, place) = (ground.top.join("deep"), ground.place.clone());
        tokio::spawn(async move { provision(&top, "same", &format!("{number}"), &place).await })
    });
    let copies: Vec<_> = futures::future::join_all(copies)
        .await
        .into_iter()
        .map(|copy| copy.unwrap().unwrap())
        .collect();
    for copy in &copies {
        assert_eq!(read(&copy.root, "a.txt"), "changed\n");
        assert_eq!(copy.cwd, copy.root.join("deep"));
        assert_eq!(read(&copy.cwd, "b.txt"), "b\n");
        assert_eq!(git(&copy.root, &["status", "--porcelain"]), "");
        assert_eq!(changes(copy).await.unwrap().files, []);
    }
    let mut roots: Vec<_> = copies.iter().map(|copy| &copy.root).collect();
    roots.dedup();
    assert_eq!(roots.len(), 8);
    assert_eq!(ground.status(), [" M a.txt"]);
}

#[tokio::test]
async fn the_same_name_twice_gives_two_copies() {
    let ground = Ground::with(&[("a.txt", "a\n")]);
    let (first, second) = (ground.copy("twin").await, ground.copy("twin").await);
    assert_eq!(first.branch.as_deref(), Some("rooftree/twin-01234567"));
    assert_eq!(second.branch.as_deref(), Some("rooftree/twin-01234567-2"));
    discard(&first, false).await.unwrap();
    discard(&second, false).await.unwrap();
    // A branch that someone kept is not taken over.
    ground.git(&["branch", "rooftree/twin-01234567"]);
    assert_eq!(
        ground.copy("twin").await.branch.as_deref(),
        Some("rooftree/twin-01234567-2")
    );
}

#[tokio::test]
async fn a_repository_without_commits_can_be_copied_and_applied_to() {
    let ground = Ground::repository();
    ground.write("first.txt", "one\n");
    let copy = ground.copy("writer").await;
    assert_eq!(copy.kind, WorkspaceKind::Worktree);
    write(&copy.root, "first.txt", "one\ntwo\n");
    write(&copy.root, "second.txt", "new\n");
    let ApplyOutcome::Clean(changes) = apply(&copy, ConflictStrategy::Refuse).await.unwrap() else {
        panic!()
    };
    assert_eq!(changes.files.len(), 2);
    assert_eq!(ground.read("first.txt"), "one\ntwo\n");
    assert_eq!(ground.status(), ["?? first.txt", "?? second.txt"]);
    assert_eq!(discard(&copy, false).await.unwrap(), None);
}

#[tokio::test]
async fn a_repository_without_any_file_and_a_bare_one_can_be_copied() {
    let ground = Ground::repository();
    let copy = ground.copy("writer").await;
    write(&copy.root, "new.txt", "new\n");
    assert!(matches!(
        apply(&copy, ConflictStrategy::Refuse).await.unwrap(),
        ApplyOutcome::Clean(_)
    ));
    assert_eq!(ground.status(), ["?? new.txt"]);

    let bare = Ground::bare();
    bare.git(&["init", "--quiet", "--bare"]);
    assert_eq!(bare.copy("writer").await.kind, WorkspaceKind::Copy);
}

#[tokio::test]
async fn odd_names_links_modes_and_binary_files_arrive_and_come_back() {
    let names = [
        "a b",
        "line\nend",
        "tab\there",
        "täglich/日本",
        "-rf",
        "quo\"te",
        "a*[b]?",
    ];
    let ground = Ground::repository();
    for name in names {
        ground.write(name, "tracked\n");
        ground.write(&format!("{name}.new"), "x");
    }
    ground.write("tool.sh", "#!/bin/sh\n");
    ground.write("picture.bin", b"\0\x01\xff");
    symlink("a b", ground.top.join("link")).unwrap();
    ground.commit();
    ground.write("new\nfile", "untracked\n");
    fs::set_permissions(
        ground.top.join("tool.sh"),
        fs::Permissions::from_mode(0o700),
    )
    .unwrap();
    fs::rename(ground.top.join("a b.new"), ground.top.join("renamed")).unwrap();

    let copy = ground.copy("writer").await;
    assert_eq!(read(&copy.root, "new\nfile"), "untracked\n");
    assert_eq!(read(&copy.root, "renamed"), "x");
    assert!(!copy.root.join("a b.new").exists());
    assert_eq!(
        fs::read_link(copy.root.join("link")).unwrap().to_str(),
        Some("a b")
    );
    assert_ne!(
        fs::metadata(copy.root.join("tool.sh"))
            .unwrap()
            .permissions()
            .mode()
            & 0o100,
        0
    );
    for name in names {
        write(&copy.root, name, "by the child\n");
    }
    write(&copy.root, "tool.sh", "#!/bin/bash\n");
    write(&copy.root, "picture.bin", b"\0\x02\xff");
    fs::remove_file(copy.root.join("link")).unwrap();
    symlink("tool.sh", copy.root.join("link")).unwrap();
    let ApplyOutcome::Clean(changes) = apply(&copy, ConflictStrategy::Refuse).await.unwrap() else {
        panic!()
    };
    assert_eq!(changes.files.len(), names.len() + 3);
    for name in names {
        assert_eq!(ground.read(name), "by the child\n");
    }
    assert_eq!(
        fs::read(ground.top.join("picture.bin")).unwrap(),
        b"\0\x02\xff"
    );
    assert_eq!(
        fs::read_link(ground.top.join("link")).unwrap().to_str(),
        Some("tool.sh")
    );
    assert_eq!(
        fs::metadata(ground.top.join("tool.sh"))
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o700
    );
    assert_eq!(discard(&copy, false).await.unwrap(), None);
}

#[tokio::test]
async fn an_edit_in_the_tick_in_which_the_index_was_written_is_seen() {
    let ground = Ground::repository();
    ground.git(&["config", "core.trustctime", "false"]);
    let tick = SystemTime::now() - Duration::from_secs(1000);
    let stamp = |path: &str| {
        let file = fs::File::options()
            .append(true)
            .open(ground.top.join(path))
            .unwrap();
        file.set_modified(tick).unwrap();
    };
    ground.write("a.txt", "aaaa\n");
    stamp("a.txt");
    ground.commit();
    stamp(".git/index");
    // Same length, same time: only that the index is not younger gives it away.
    ground.write("a.txt", "bbbb\n");
    stamp("a.txt");
    let copy = ground.copy("writer").await;
    assert_eq!(read(&copy.root, "a.txt"), "bbbb\n");
}

#[tokio::test]
async fn a_worktree_as_parent_gives_its_own_state_to_the_child() {
    let ground = Ground::with(&[("a.txt", "a\n")]);
    let parent = ground.copy("parent").await;
    write(&parent.root, "a.txt", "by the parent\n");
    let child = provision(&parent.cwd, "child", "c", &ground.place)
        .await
        .unwrap();
    assert_eq!(read(&child.root, "a.txt"), "by the parent\n");
    write(&child.root, "b.txt", "by the child\n");
    assert!(matches!(
        apply(&child, ConflictStrategy::Refuse).await.unwrap(),
        ApplyOutcome::Clean(_)
    ));
    assert_eq!(read(&parent.root, "b.txt"), "by the child\n");
    assert_eq!(ground.status(), Vec::<String>::new());
}

#[tokio::test]
async fn large_file_pointers_and_hooks_of_the_user_are_left_alone() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    let ground = Ground::with(&[("big.bin", pointer)]);
    ground.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    ground.git(&["config", "filter.lfs.required", "true"]);
    ground.git(&["config", "filter.lfs.smudge", "false"]);
    ground.git(&["config", "filter.lfs.clean", "false"]);
    for hook in [
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ] {
        ground.write(
            &format!(".git/hooks/{hook}"),
            "#!/bin/sh\necho ran >> ../hook-ran\nexit 1\n",
        );
        fs::set_permissions(
            ground.top.join(".git/hooks").join(hook),
            fs::Permissions::from_mode(0o755),
        )
        .unwrap();
    }
    let copy = ground.copy("writer").await;
    assert_eq!(read(&copy.root, "big.bin"), pointer);
    write(&copy.root, "small.txt", "text\n");
    assert!(matches!(
        apply(&copy, ConflictStrategy::Refuse).await.unwrap(),
        ApplyOutcome::Clean(_)
    ));
    assert_eq!(discard(&copy, false).await.unwrap(), None);
    assert!(!ground.top.join("../hook-ran").exists() && !ground.top.join("hook-ran").exists());
}

#[tokio::test]
async fn a_merge_in_progress_and_a_sparse_checkout_can_be_copied() {
    let ground = Ground::with(&[
        ("a.txt", "base\n"),
        ("kept/b.txt", "b\n"),
        ("hidden/c.txt", "c\n"),
    ]);
    ground.git(&["checkout", "--quiet", "-b", "other"]);
    ground.write("a.txt", "other\n");
    ground.commit();
    ground.git(&["checkout", "--quiet", "main"]);
    ground.write("a.txt", "main\n");
    ground.commit();
    ground.git(&["sparse-checkout", "set", "kept"]);
    let who = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
    let merge = ["merge", "-q", "other"];
    let merged = std::process::Command::new("git")
        .args(who)
        .args(merge)
        .current_dir(&ground.top)
        .output()
        .unwrap();
    assert!(
        !merged.status.success() && ground.read("a.txt").contains("<<<<<<<"),
        "{merged:?}"
    );
    ground.write("elsewhere/new.txt", "outside of the cone\n");
    let (before, index) = (ground.status(), ground.git(&["ls-files", "--stage"]));
    let copy = ground.copy("writer").await;
    assert!(read(&copy.root, "a.txt").contains("<<<<<<<"));
    assert_eq!(git(&copy.root, &["show", "HEAD:hidden/c.txt"]), "c\n");
    assert_eq!(
        git(&copy.root, &["show", "HEAD:elsewhere/new.txt"]),
        "outside of the cone\n"
    );
    write(&copy.root, "kept/b.txt", "by the child\n");
    assert!(matches!(
        apply(&copy, ConflictStrategy::Refuse).await.unwrap(),
        ApplyOutcome::Clean(_)
    ));
    let mut expected = before;
    expected.push(" M kept/b.txt".to_owned());
    expected.sort();
    assert_eq!(
        (ground.status(), ground.git(&["ls-files", "--stage"])),
        (expected, index)
    );
}

#[tokio::test]
async fn a_heap_of_untracked_files_and_a_place_inside_are_refused_with_a_reason() {
    let ground = Ground::with(&[("a.txt", "a\n")]);
    (0..5).for_each(|number| ground.write(&format!("data/{number}"), "x"));
    let mut place = ground.place.clone();
    place.copy_limit_files = 4;
    let problem = provision(&ground.top, "writer", "1", &place)
        .await
        .unwrap_err();
    assert!(
        problem.message.contains("too many untracked files"),
        "{problem:?}"
    );
    ground.write(".gitignore", "data\n");
    provision(&ground.top, "writer", "1", &place).await.unwrap();
    place.directory = ground.top.join(".copies");
    let problem = provision(&ground.top, "writer", "1", &place)
        .await
        .unwrap_err();
    assert!(
        problem.message.contains("inside of the repository"),
        "{problem:?}"
    );
}

#[tokio::test]
async fn no_program_runs_that_the_settings_of_a_repository_name() {
    let ground = Ground::with(&[("a.txt", "one\n")]);
    let ran = ground.top.join("ran");
    let filter = format!("touch '{}'; cat", ran.display());
    for kind in ["clean", "smudge"] {
        ground.git(&["config", &format!("filter.x.{kind}"), &filter]);
    }
    ground.write(".gitattributes", "* filter=x\n");
    ground.write(".git/info/attributes", "* filter=x\n");
    ground.write("a.txt", "two\n");
    let copy = ground.copy("writer").await;
    assert_eq!(read(&copy.root, "a.txt"), "two\n");
    assert!(!ran.exists(), "a filter ran");
}
