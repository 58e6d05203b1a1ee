//! Six children write in a real source tree at the same time, and nothing is lost.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use rooftree_workspace::{
    ApplyOutcome, ConflictStrategy, Workspace, apply, changes, discard, provision,
};

use super::ground::{Ground, read, write};

const FILES: usize = 250;

/// Sources of a crate with many files, if this machine has one.
fn some_crate() -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")))?;
    let registries = fs::read_dir(home.join("registry/src")).ok()?.flatten();
    let mut crates: Vec<PathBuf> = registries
        .filter_map(|registry| fs::read_dir(registry.path()).ok())
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    crates.sort();
    crates
        .into_iter()
        .find(|path| (200..600).contains(&files_below(path).len()))
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let sort = entry.file_type().unwrap();
        if sort.is_dir() {
            found.extend(files_below(&entry.path()));
        } else if sort.is_file() {
            found.push(entry.path());
        }
    }
    found
}

fn source_tree() -> Ground {
    let ground = Ground::repository();
    match some_crate() {
        Some(from) => {
            for file in files_below(&from) {
                let path = file
                    .strip_prefix(&from)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                ground.write(&path, fs::read(&file).unwrap());
            }
        }
        None => (0..FILES)
            .for_each(|number| ground.write(&format!("src/part_{number}.rs"), "// a file\n")),
    }
    for name in [
        "one", "two", "three", "four", "both", "edited", "staged", "deleted",
    ] {
        ground.write(
            &format!("work/{name}.txt"),
            "first\nsecond\nthird\nfourth\nfifth\nsixth\nseventh\n",
        );
    }
    ground.commit();
    ground
}

fn edit(workspace: &Workspace, path: &str, from: &str, to: &str) {
    let text = read(&workspace.root, path);
    assert!(text.contains(from), "{text}");
    write(&workspace.root, path, text.replace(from, to));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_children_in_four_files_and_two_in_one_line_lose_nothing() {
    let ground = source_tree();
    ground.write("work/edited.txt", "first, edited by the user\nsecond\n");
    ground.write(
        "work/one.txt",
        "first\nsecond\nthird\nfourth\nfifth\nsixth\nseventh, edited by the user\n",
    );
    ground.write("work/staged.txt", "staged by the user\n");
    ground.git(&["add", "work/staged.txt"]);
    ground.git(&["rm", "--quiet", "work/deleted.txt"]);
    ground.write("work/untracked.txt", "not known to git\n");
    let (head, index) = (
        ground.git(&["rev-parse", "HEAD"]),
        ground.git(&["ls-files", "--stage"]),
    );
    let before = ground.status();

    let mut copies = Vec::new();
    for number in 0..6 {
        let unique = format!("child00{number}");
        copies.push(
            provision(&ground.top, "Writer", &unique, &ground.place)
                .await
                .unwrap(),
        );
    }
    for copy in &copies {
        assert_eq!(
            read(&copy.root, "work/edited.txt"),
            "first, edited by the user\nsecond\n"
        );
        assert_eq!(read(&copy.root, "work/untracked.txt"), "not known to git\n");
        assert!(!copy.root.join("work/deleted.txt").exists());
    }
    for (copy, name) in copies.iter().zip(["one", "two", "three", "four"]) {
        edit(
            copy,
            &format!("work/{name}.txt"),
            "first",
            "first, by a child",
        );
    }
    edit(
        &copies[4],
        "work/both.txt",
        "fourth",
        "fourth, by the fifth child",
    );
    edit(
        &copies[5],
        "work/both.txt",
        "fourth",
        "fourth, by the sixth child",
    );
    write(&copies[5].root, "work/more.txt", "work nobody may lose\n");

    let applied = futures::future::join_all(
        copies[..5]
            .iter()
            .map(|copy| apply(copy, ConflictStrategy::Refuse)),
    )
    .await;
    for (applied, name) in applied
        .into_iter()
        .zip(["one", "two", "three", "four", "both"])
    {
        let Ok(ApplyOutcome::Clean(changes)) = applied else {
            panic!("{name}: {applied:?}")
        };
        let path = format!("work/{name}.txt");
        assert_eq!(
            changes
                .files
                .iter()
                .map(|file| &file.path)
                .collect::<Vec<_>>(),
            [Path::new(&path)]
        );
    }
    let refused = apply(&copies[5], ConflictStrategy::Refuse).await.unwrap();
    assert_eq!(
        refused,
        ApplyOutcome::Conflicts {
            files: vec!["work/both.txt".into()],
            applied: vec![]
        }
    );
    assert!(!ground.top.join("work/more.txt").exists());

    assert_eq!(
        ground.read("work/one.txt"),
        "first, by a child\nsecond\nthird\nfourth\nfifth\nsixth\nseventh, edited by the user\n"
    );
    assert_eq!(
        ground.read("work/both.txt").lines().nth(3),
        Some("fourth, by the fifth child")
    );
    assert_eq!(
        ground.read("work/edited.txt"),
        "first, edited by the user\nsecond\n"
    );
    assert_eq!(
        (
            ground.git(&["rev-parse", "HEAD"]),
            ground.git(&["ls-files", "--stage"])
        ),
        (head, index)
    );
    let mut expected = before;
    expected.extend(["two", "three", "four", "both"].map(|name| format!(" M work/{name}.txt")));
    expected.sort();
    assert_eq!(ground.status(), expected);

    for copy in &copies[..5] {
        assert_eq!(discard(copy, false).await.unwrap(), None);
        assert!(!copy.root.exists());
    }
    let problem = discard(&copies[5], false).await.unwrap_err();
    assert!(
        problem
            .cause
            .unwrap()
            .contains("branch rooftree/writer-child005"),
        "it says where the work is"
    );
    let left = changes(&copies[5]).await.unwrap();
    assert_eq!(left.files.len(), 2);
    let branch = copies[5].branch.clone().unwrap();
    assert_eq!(
        ground.git(&["show", &format!("{branch}:work/more.txt")]),
        "work nobody may lose\n"
    );
    assert_eq!(
        ground.git(&["branch", "--format=%(refname:short)"]),
        format!("main\n{branch}\n")
    );
}
