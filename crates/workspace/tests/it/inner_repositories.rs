//! Repositories inside of a copy: nothing in them is lost, and nothing in them is trusted.

use std::{fs, path::Path};

use rooftree_workspace::{ApplyOutcome, ConflictStrategy, apply, changes, discard, provision};

use super::ground::{Ground, git, read, write};

#[tokio::test]
async fn submodules_break_nothing_and_work_in_them_is_not_lost() {
    let library = Ground::with(&[("lib.txt", "library\n")]);
    let ground = Ground::with(&[("a.txt", "a\n")]);
    ground.git(&[
        "submodule",
        "--quiet",
        "add",
        library.top.to_str().unwrap(),
        "inner",
    ]);
    ground.commit();
    ground.write("inner/lib.txt", "dirty\n");
    let copy = ground.copy("writer").await;
    write(&copy.root, "a.txt", "by the child\n");
    assert!(matches!(
        apply(&copy, ConflictStrategy::Refuse).await.unwrap(),
        ApplyOutcome::Clean(_)
    ));
    assert_eq!(discard(&copy, false).await.unwrap(), None);
    assert_eq!(ground.read("inner/lib.txt"), "dirty\n");

    let copy = ground.copy("writer").await;
    write(&copy.root, "inner/lost.txt", "not part of any snapshot\n");
    assert_eq!(changes(&copy).await.unwrap().files.len(), 1);
    assert!(matches!(
        apply(&copy, ConflictStrategy::Refuse).await.unwrap(),
        ApplyOutcome::Conflicts { .. }
    ));
    for force in [false, true] {
        discard(&copy, force).await.unwrap_err();
    }
    assert_eq!(
        read(&copy.root, "inner/lost.txt"),
        "not part of any snapshot\n"
    );
}

#[tokio::test]
async fn no_program_that_a_child_names_in_settings_is_run() {
    let library = Ground::with(&[("lib.txt", "library\n")]);
    let ground = Ground::with(&[("a.txt", "a\n")]);
    ground.git(&[
        "submodule",
        "--quiet",
        "add",
        library.top.to_str().unwrap(),
        "inner",
    ]);
    ground.commit();
    let plant = |repository: &Path| {
        git(repository, &["init", "--quiet"]);
        write(repository, "file", "one\n");
        git(repository, &["add", "file"]);
        git(repository, &["commit", "--quiet", "--message", "planted"]);
        let trap = format!("touch '{}'; cat", library.top.join("sprung").display());
        git(repository, &["config", "filter.trap.clean", &trap]);
        write(repository, ".git/info/attributes", "* filter=trap\n");
        write(repository, "file", "two\n");
    };
    let copy = ground.copy("writer").await;
    plant(&copy.root.join("inner"));
    write(&copy.root, "a.txt", "by the child\n");
    for _ in 0..2 {
        changes(&copy).await.unwrap();
    }
    assert!(matches!(
        apply(&copy, ConflictStrategy::Refuse).await.unwrap(),
        ApplyOutcome::Clean(_)
    ));
    discard(&copy, false).await.unwrap_err();

    let copy = ground.copy("writer").await;
    fs::remove_file(copy.root.join(".git")).unwrap();
    plant(&copy.root);
    changes(&copy).await.unwrap_err();
    apply(&copy, ConflictStrategy::Markers).await.unwrap_err();
    discard(&copy, true).await.unwrap_err();
    provision(&copy.cwd, "grandchild", "1", &ground.place)
        .await
        .unwrap_err();
    assert!(!library.top.join("sprung").exists());
}

#[tokio::test]
async fn a_repository_that_a_child_made_inside_of_its_copy_is_not_thrown_away() {
    let ground = Ground::with(&[("a.txt", "a\n")]);
    let copy = ground.copy("writer").await;
    fs::create_dir(copy.root.join("made")).unwrap();
    git(&copy.root.join("made"), &["init", "--quiet"]);
    write(&copy.root, "made/file", "work\n");
    git(&copy.root.join("made"), &["add", "file"]);
    git(
        &copy.root.join("made"),
        &["commit", "--quiet", "--message", "work"],
    );
    let ApplyOutcome::Conflicts { files, .. } =
        apply(&copy, ConflictStrategy::Markers).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(files, [Path::new("made")]);
    for force in [false, true] {
        discard(&copy, force).await.unwrap_err();
    }
    assert_eq!(read(&copy.root, "made/file"), "work\n");
}
