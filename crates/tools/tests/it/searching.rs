//! List, Glob and Grep.

use std::{
    fs,
    fs::FileTimes,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use crate::desk::Desk;

fn project() -> Desk {
    let desk = Desk::new();
    desk.put(".gitignore", "target/\n");
    desk.put(".git/config", "needle");
    desk.put(".github/ci.yml", "needle: ci\n");
    desk.put("target/built.rs", "needle\n");
    desk.put("src/main.rs", "fn main() {\n    needle();\n}\n");
    desk.put(
        "src/deep/lib.rs",
        "// one\n// two\nfn needle() {}\n// four\n// Needle\n",
    );
    desk.put("notes.md", "nothing here\n");
    desk.put("binary", b"needle\0needle\n");
    desk
}

#[tokio::test]
async fn a_directory_is_listed_with_directories_first() {
    let desk = project();
    let text = desk.done("ls", json!({})).await;
    assert_eq!(
        text,
        ".github/\nsrc/\n.gitignore  8 bytes\nbinary  14 bytes\nnotes.md  13 bytes\n[2 more are ignored; all: true shows them]"
    );
    assert!(
        desk.done("List", json!({"path": ".", "all": true}))
            .await
            .starts_with(".git/\n.github/\nsrc/\ntarget/\n")
    );
    fs::create_dir(desk.path("void")).unwrap();
    assert_eq!(
        desk.done("List", json!({"path": "void"})).await,
        "[void is empty]"
    );
    assert!(
        desk.failed("List", json!({"path": "notes.md"}))
            .await
            .contains("is a file, not a directory")
    );
    assert!(
        desk.failed("List", json!({"path": "scr"}))
            .await
            .contains("Did you mean src?")
    );
}

#[tokio::test]
async fn a_large_directory_is_listed_in_part() {
    let desk = Desk::new();
    for n in 0..510 {
        desk.put(&format!("f{n:03}"), "");
    }
    assert!(
        desk.done("List", json!({}))
            .await
            .ends_with("f499  0 bytes\n[… 10 more; Glob narrows it down]")
    );
}

#[tokio::test]
async fn files_are_found_by_name_newest_first() {
    let desk = project();
    let hour_ago = FileTimes::new().set_modified(SystemTime::now() - Duration::from_secs(3600));
    fs::File::options()
        .write(true)
        .open(desk.path("src/main.rs"))
        .unwrap()
        .set_times(hour_ago)
        .unwrap();
    let table = [
        (
            json!({"pattern": "**/*.rs"}),
            "src/deep/lib.rs\nsrc/main.rs",
        ),
        (json!({"pattern": "*.rs", "path": "src"}), "src/main.rs"),
        (json!({"pattern": "src/*.rs"}), "src/main.rs"),
        (
            json!({"pattern": desk.path("src/**/lib.rs")}),
            "src/deep/lib.rs",
        ),
        (json!({"pattern": "notes.md"}), "notes.md"),
        (
            json!({"pattern": "**/*.rs", "limit": 1}),
            "src/deep/lib.rs\n[… 1 more; narrow the pattern or raise limit]",
        ),
        (
            json!({"pattern": "*.py"}),
            "No files match `*.py`. `**/*.py` looks deeper.",
        ),
        (json!({"pattern": "**/*.{yml,toml}"}), ".github/ci.yml"),
    ];
    for (input, expected) in table {
        assert_eq!(desk.done("Glob", input.clone()).await, expected, "{input}");
    }
    assert!(
        desk.failed("Glob", json!({"pattern": "a["}))
            .await
            .contains("not a valid glob")
    );
    assert!(
        desk.failed("Glob", json!({"pattern": "*", "path": "none"}))
            .await
            .contains("does not exist")
    );
}

#[tokio::test]
async fn lines_are_found_by_expression() {
    let desk = project();
    let table: [(Value, &str); 14] = [
        (
            json!({"pattern": "needle"}),
            ".github/ci.yml:1:needle: ci\nsrc/deep/lib.rs:3:fn needle() {}\nsrc/main.rs:2:    needle();",
        ),
        (
            json!({"pattern": "needle", "glob": "*.rs", "output_mode": "files_with_matches"}),
            "src/deep/lib.rs\nsrc/main.rs",
        ),
        (
            json!({"pattern": "needle", "type": "rust", "-i": true, "output_mode": "count"}),
            "src/deep/lib.rs:2\nsrc/main.rs:1",
        ),
        (
            json!({"pattern": "needle", "path": "src/main.rs", "-n": true}),
            "src/main.rs:2:    needle();",
        ),
        (
            json!({"pattern": "fn needle", "-B": 1}),
            "src/deep/lib.rs-2-// two\nsrc/deep/lib.rs:3:fn needle() {}",
        ),
        (
            json!({"pattern": "fn needle", "-A": "1"}),
            "src/deep/lib.rs:3:fn needle() {}\nsrc/deep/lib.rs-4-// four",
        ),
        (
            json!({"pattern": "one|Needle$", "context": 1, "path": "src"}),
            "src/deep/lib.rs:1:// one\nsrc/deep/lib.rs-2-// two\n--\nsrc/deep/lib.rs-4-// four\nsrc/deep/lib.rs:5:// Needle",
        ),
        (
            json!({"pattern": "needle", "head_limit": 1}),
            ".github/ci.yml:1:needle: ci\n[… 2 more; narrow the search or raise head_limit]",
        ),
        (
            json!({"pattern": "\\{\\n.*needle", "multiline": true}),
            "src/main.rs:1:fn main() {\nsrc/main.rs:2:    needle();",
        ),
        (
            json!({"pattern": "needle", "path": "target"}),
            "target/built.rs:1:needle",
        ),
        (
            json!({"pattern": "^fn main", "path": "."}),
            "src/main.rs:1:fn main() {",
        ),
        (
            json!({"pattern": "main|one", "-A": 1, "path": "src"}),
            "src/deep/lib.rs:1:// one\nsrc/deep/lib.rs-2-// two\n--\nsrc/main.rs:1:fn main() {\nsrc/main.rs-2-    needle();",
        ),
        (
            json!({"pattern": "fn main", "-n": false}),
            "src/main.rs:fn main() {",
        ),
        (json!({"pattern": "haystack"}), "No matches for `haystack`."),
    ];
    for (input, expected) in table {
        assert_eq!(desk.done("rg", input.clone()).await, expected, "{input}");
    }
}

#[tokio::test]
async fn a_search_that_cannot_begin_says_why() {
    let desk = project();
    let table = [
        (
            json!({"pattern": "needle("}),
            "To search for exactly that text, escape it: `needle\\(`",
        ),
        (
            json!({"pattern": "a", "path": "none"}),
            "none does not exist",
        ),
        (json!({"pattern": "a", "glob": "a["}), "not a valid glob"),
        (
            json!({"pattern": "a", "type": "klingon"}),
            "not a known file type",
        ),
        (json!({"pattern": "a", "path": "/dev/zero"}), "is a device"),
        (json!({"pattern": "a\nb"}), "needs multiline"),
    ];
    for (input, words) in table {
        let text = desk.failed("Grep", input.clone()).await;
        assert!(text.contains(words), "{input}: {text}");
    }
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let desk = project();
    desk.context.cancel.cancel();
    for (tool, input) in [
        ("Grep", json!({"pattern": "needle"})),
        ("Glob", json!({"pattern": "**"})),
    ] {
        assert_eq!(desk.failed(tool, input).await, "[cancelled]");
    }
}
