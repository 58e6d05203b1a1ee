//! `scripted/PATH` in the catalog.

use rooftree_protocol::{ErrorCode, ModelChoice};
use rooftree_providers::{
    ModelCatalog,
    scripted::{no_wait, opener},
};

fn choice(text: &str) -> ModelChoice {
    text.parse().unwrap()
}

#[test]
fn a_script_is_found_below_the_directory_and_read_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.toml");
    std::fs::write(&path, "[script]\nwindow = 8000\n[[reply]]\ntext = 'hi'").unwrap();
    let catalog = ModelCatalog::default().with("scripted", opener(directory.path(), no_wait()));
    assert_eq!(
        catalog.open(&choice("scripted/a.toml")).unwrap().window,
        Some(8000)
    );
    std::fs::remove_file(&path).unwrap();
    let again = catalog.open(&choice("scripted/a.toml:high")).unwrap();
    assert_eq!(again.choice, choice("scripted/a.toml:high"));
    assert_eq!(again.window, Some(8000));
}

#[test]
fn a_script_that_cannot_be_read_says_where_and_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.toml");
    let catalog = ModelCatalog::default().with("scripted", opener(directory.path(), no_wait()));
    let absolute = format!("scripted/{}", path.display());
    let Err(missing) = catalog.open(&choice(&absolute)) else {
        panic!("there is no such file")
    };
    assert_eq!(
        missing.message,
        format!("cannot read script {}", path.display())
    );
    std::fs::write(&path, "[[reply]]\ntxt = 'hi'").unwrap();
    let Err(flawed) = catalog.open(&choice("scripted/bad.toml")) else {
        panic!("the file is bad")
    };
    assert_eq!(flawed.code, ErrorCode::InvalidConfig);
    assert_eq!(
        flawed.message,
        format!("{}:2:1: unknown key `txt`", path.display())
    );
    assert_eq!(flawed.fix.as_deref(), Some("did you mean `text`?"));
    std::fs::write(&path, "[[reply]]\ntext = 'hi'").unwrap();
    assert!(
        catalog.open(&choice("scripted/bad.toml")).is_ok(),
        "a mended script is read again"
    );
}
