//! Every script that people are shown is one that can be read.

use std::path::{Path, PathBuf};

use rooftree_providers::scripted::{Scripted, no_wait};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_example_of_the_page_about_scripts_can_be_read() {
    let page = std::fs::read_to_string(root().join("docs/scripted-models.md")).unwrap();
    let examples: Vec<&str> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 5, "the page shows scripts");
    for example in examples {
        if let Err(problem) = Scripted::from_text("docs/scripted-models.md", example, no_wait()) {
            panic!("{problem:?}\n{example}");
        }
    }
}

#[test]
fn every_example_script_can_be_read() {
    let mut count = 0;
    for file in std::fs::read_dir(root().join("examples/scripts")).unwrap() {
        Scripted::from_file(file.unwrap().path(), no_wait()).unwrap();
        count += 1;
    }
    assert!(count > 0);
}
