//! Following links: whatever is written is pinned to one plain path, the one the kernel would take.

use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::{Component, Path, PathBuf},
    sync::OnceLock,
};

use proptest::prelude::*;
use rooftree_tools::resolved_path::{LastLink, ResolvedPath};
use tempfile::TempDir;

/// A tree with links of every kind; nothing in it changes.
fn tree() -> &'static Path {
    static TREE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let make = || {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/file"), "").unwrap();
        fs::write(root.join("a/b/file"), "").unwrap();
        let links = [
            ("to-a", "a"),
            ("a/up", ".."),
            ("a/b/top", "../../to-a"),
            ("chain", "a/b/top"),
            ("to-file", "chain/file"),
            ("gone", "none"),
            ("a/gone-up", "../none/../a/file"),
            ("loop", "a/loop-back"),
            ("a/loop-back", "../loop"),
            ("root", "/"),
        ];
        links
            .iter()
            .for_each(|(name, target)| symlink(target, root.join(name)).unwrap());
        (directory, root)
    };
    &TREE.get_or_init(make).1
}

fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

const NAMES: [&str; 17] = [
    "a",
    "b",
    "file",
    "to-a",
    "up",
    "top",
    "chain",
    "to-file",
    "gone",
    "gone-up",
    "loop",
    "loop-back",
    "root",
    "none",
    "..",
    ".",
    "",
];

fn paths() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&NAMES[..]), 0..8).prop_map(|parts| parts.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_path_is_pinned_to_what_the_kernel_would_open(path in paths()) {
        let pinned = ResolvedPath::of(Path::new(&path), tree(), LastLink::Followed);
        prop_assert!(is_plain(&pinned.real) && is_plain(&pinned.written), "{:?}", pinned);
        // Where the kernel finds nothing, what is pinned is a place without links all the same.
        if let Ok(there) = fs::metadata(&pinned.written) {
            let opened = fs::symlink_metadata(&pinned.real).unwrap();
            prop_assert_eq!((there.dev(), there.ino()), (opened.dev(), opened.ino()));
            prop_assert_eq!(fs::canonicalize(&pinned.real).unwrap(), pinned.real.clone());
        }
        let again = ResolvedPath::of(&pinned.real, tree(), LastLink::Followed);
        prop_assert_eq!(again.real, pinned.real, "following links twice leads no further");
    }

    #[test]
    fn any_bytes_are_pinned_to_a_plain_path(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for last in [LastLink::Followed, LastLink::Kept] {
            let pinned = ResolvedPath::of_bytes(&bytes, tree(), last);
            prop_assert!(is_plain(&pinned.real) && is_plain(&pinned.written), "{:?}", pinned);
        }
    }

    #[test]
    fn a_link_to_be_deleted_stays_in_its_directory(path in paths()) {
        let pinned = ResolvedPath::of(Path::new(&path), tree(), LastLink::Kept);
        prop_assert!(is_plain(&pinned.real), "{:?}", pinned);
        if let (Some(parent), Ok(_)) = (pinned.written.parent(), fs::symlink_metadata(&pinned.written)) {
            prop_assert_eq!(pinned.real.parent().unwrap(), fs::canonicalize(parent).unwrap());
            prop_assert_eq!(pinned.real.file_name(), pinned.written.file_name());
        }
    }
}
