//! What is no secret stays: hashes, ids, images, lock files, and all the code of this repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rooftree_secrets::SecretRedactor;

#[test]
fn what_only_looks_a_little_like_a_secret_stays() {
    let secrets = SecretRedactor::default();
    for line in include_str!("../corpora/benign_secrets.txt").lines() {
        assert_eq!(secrets.clean(line), None, "{line}");
    }
}

#[test]
fn nothing_in_the_files_of_this_repository_is_taken_for_a_secret() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let secrets = SecretRedactor::default();
    let (mut looked_at, mut wrong) = (0, Vec::new());
    for path in files(&root) {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        looked_at += 1;
        for line in text.lines() {
            if let Some(clean) = secrets.clean(line) {
                wrong.push(format!(
                    "{}: {}",
                    path.display(),
                    clean.chars().take(300).collect::<String>()
                ));
            }
        }
        assert!(
            !wrong.is_empty() || secrets.clean(&text).is_none(),
            "{}",
            path.display()
        );
    }
    assert!(looked_at > 500, "only {looked_at} files were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Everything that is written by hand or kept under version control; no build output.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![
        root.join("Cargo.lock"),
        root.join("README.md"),
        root.join("ARCHITECTURE.md"),
    ];
    let mut open = vec![root.join("crates"), root.join("docs"), root.join("xtask")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap().flatten() {
            let path = entry.path();
            let is_generated = entry
                .file_name()
                .to_str()
                .is_some_and(|name| name == "target" || name.starts_with('.'));
            // One says how secrets are made, the other has addresses with passwords in them.
            let name = entry.file_name();
            let is_template = name == "secret_shapes.txt" || name == "urls.txt";
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !is_generated => open.push(path),
                Ok(kind) if kind.is_file() && !is_template => found.push(path),
                _ => {}
            }
        }
    }
    found
}
