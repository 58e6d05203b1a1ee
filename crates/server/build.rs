//! Lists the files of the page in `ui/`, so that the program contains them, scripts without their comments.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("ui");
    let mut files = Vec::new();
    collect(&root, &root, &mut files)?;
    files.sort();
    let output = PathBuf::from(env::var("OUT_DIR").unwrap_or_default());
    let mut table = String::from("&[\n");
    for (number, name) in files.iter().enumerate() {
        let mut path = root.join(name);
        if name.ends_with(".js") {
            let text = without_comments(&fs::read_to_string(&path)?);
            path = output.join(format!("ui_{number}.js"));
            fs::write(&path, text)?;
        }
        table += &format!("({name:?}, include_bytes!({path:?})),\n");
    }
    fs::write(output.join("ui_files.rs"), table + "]")?;
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

/// A script without lines that are comments and nothing else, which are a sixth of what a browser would load. Their lines
/// stay, so that errors name the line of the source.
fn without_comments(text: &str) -> String {
    let (mut kept, mut is_inside) = (String::with_capacity(text.len()), false);
    for line in text.lines() {
        let words = line.trim();
        let begins = words.starts_with("/**") && (!words.contains("*/") || words.ends_with("*/"));
        let is_comment = is_inside || begins || words.starts_with("//");
        is_inside = (is_inside || begins) && !words.ends_with("*/");
        if !is_comment {
            kept += line;
        }
        kept.push('\n');
    }
    kept
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
