//! Lists the files of the page in `ui/`, so that the program contains them.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("ui");
    let mut files = Vec::new();
    collect(&root, &root, &mut files)?;
    files.sort();
    let entries = files.iter().map(|name| {
        let path = root.join(name);
        format!("({name:?}, include_bytes!({path:?})),\n")
    });
    let table = format!("&[\n{}]", entries.collect::<String>());
    let target = PathBuf::from(env::var("OUT_DIR").unwrap_or_default()).join("ui_files.rs");
    fs::write(target, table)?;
    println!("cargo:rerun-if-changed=build.rs");
    Ok(())
}

/// Adds the files below a directory, with their paths below the root.
fn collect(root: &Path, directory: &Path, files: &mut Vec<String>) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", directory.display());
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if is_served(&path)
            && let Ok(name) = path.strip_prefix(root)
        {
            files.push(name.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// Types, tests and notes stay outside of the program.
fn is_served(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    !name.ends_with(".d.ts")
        && name != "tree_types.js"
        && matches!(
            extension.as_ref(),
            "html" | "js" | "css" | "svg" | "webmanifest"
        )
}
