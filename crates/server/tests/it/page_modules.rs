//! Pure modules of the page (diffs, front matter, traces, sums of usage), tested with Node's own test runner.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use tempfile::TempDir;

/// A folder with the page's scripts and their tests, as Node finds them.
fn scripts() -> TempDir {
    let folder = TempDir::new().unwrap();
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    copy(&crate_folder.join("ui/js"), &folder.path().join("js"));
    let tests = fs::read_dir(crate_folder.join("tests/node")).unwrap();
    for test in tests.map(|entry| entry.unwrap()) {
        if test.file_name().to_string_lossy().ends_with(".test.js") {
            fs::copy(test.path(), folder.path().join(test.file_name())).unwrap();
        }
    }
    fs::write(folder.path().join("package.json"), r#"{"type": "module"}"#).unwrap();
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if file.extension().is_some_and(|end| end == "js") {
            fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
        }
    }
}

fn tested(folder: &Path) -> Output {
    Command::new("node")
        .arg("--test")
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("node cannot be started ({error}); this test needs Node 18 or newer: apt-get install nodejs"))
}

#[test]
fn pure_modules_of_the_page_pass_their_tests() {
    let folder = scripts();
    let output = tested(folder.path());
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(!told.contains("# tests 0"), "{told}");
    // The tests notice a module that does nothing.
    let broken = "export const diffLines = () => []; export const unifiedDiff = () => '';";
    fs::write(folder.path().join("js/line_diff.js"), broken).unwrap();
    assert!(!tested(folder.path()).status.success());
}
