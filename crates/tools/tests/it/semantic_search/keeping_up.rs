//! The index follows the disk, and what is kept of it is never trusted too far.

use std::{fs, path::Path, process::Command, sync::Arc};

use rooftree_tools::{
    BackgroundProcesses, SemanticSearchTool, ToolOutput, Toolset, WebConfig, builtin_with,
};
use serde_json::json;
use tempfile::TempDir;

use super::found;
use crate::desk::{Desk, call};

/// Tools as another process would have them: the same cache, nothing in memory.
fn tools(cache: &Path) -> Toolset {
    builtin_with(
        Arc::new(BackgroundProcesses::new(|| 1)),
        SemanticSearchTool::new(Some(cache.to_owned())),
        &WebConfig::default(),
        None,
    )
}

async fn searched(tools: &Toolset, desk: &Desk, query: &str) -> ToolOutput {
    call(
        tools,
        "SemanticSearch",
        json!({"query": query}),
        desk.context.clone(),
    )
    .await
}

fn cached(cache: &TempDir) -> Vec<std::path::PathBuf> {
    fs::read_dir(cache.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect()
}

#[tokio::test]
async fn edits_deletions_and_new_names_are_seen_at_once() {
    let desk = Desk::new();
    desk.put("a.rs", "fn apple() {}\n");
    desk.put("b.rs", "fn banana() {}\n");
    assert_eq!(found(&desk, "apple").await, ["a.rs apple"]);
    // The same length at the same moment: only the content tells.
    desk.put("a.rs", "fn grape() {}\n");
    assert_eq!(found(&desk, "apple").await, Vec::<String>::new());
    assert_eq!(found(&desk, "grape").await, ["a.rs grape"]);
    fs::rename(desk.path("b.rs"), desk.path("c.rs")).unwrap();
    assert_eq!(found(&desk, "banana").await, ["c.rs banana"]);
    fs::remove_file(desk.path("c.rs")).unwrap();
    assert_eq!(found(&desk, "banana").await, Vec::<String>::new());
    desk.put(".gitignore", "a.rs\n");
    assert_eq!(found(&desk, "grape").await, Vec::<String>::new());
}

#[tokio::test]
async fn another_branch_is_another_content() {
    let desk = Desk::new();
    let git = |words: &[&str]| {
        let author = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let done = Command::new("git")
            .args(author)
            .args(words)
            .current_dir(&*desk.context.cwd)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    };
    desk.put("a.rs", "fn apple() {}\n");
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    git(&["checkout", "-qb", "other"]);
    desk.put("a.rs", "fn grape() {}\n");
    desk.put("b.rs", "fn banana() {}\n");
    git(&["add", "."]);
    git(&["commit", "-qm", "two"]);
    for (branch, apples, grapes) in [("main", 1, 0), ("other", 0, 1), ("main", 1, 0)] {
        git(&["checkout", "-q", branch]);
        assert_eq!(found(&desk, "apple").await.len(), apples, "{branch}");
        assert_eq!(found(&desk, "grape").await.len(), grapes, "{branch}");
        assert_eq!(found(&desk, "banana").await.len(), grapes, "{branch}");
    }
}

#[tokio::test]
async fn an_index_is_kept_and_used_by_the_next_process() {
    let (desk, cache) = (Desk::new(), TempDir::new().unwrap());
    desk.put("a.rs", "fn apple() {}\n");
    let first = searched(&tools(cache.path()), &desk, "apple").await.text();
    assert!(first.starts_with("a.rs:1-1 function apple"), "{first}");
    assert_eq!(cached(&cache).len(), 1);
    let kept = fs::read(&cached(&cache)[0]).unwrap();
    assert!(
        !kept.windows(5).any(|bytes| bytes == b"apple"),
        "no text is kept"
    );
    desk.put("b.rs", "fn banana() {}\n");
    let second = tools(cache.path());
    assert!(
        searched(&second, &desk, "apple")
            .await
            .text()
            .starts_with("a.rs:1-1 function apple")
    );
    assert!(
        searched(&second, &desk, "banana")
            .await
            .text()
            .starts_with("b.rs:1-1")
    );
}

#[tokio::test]
async fn a_broken_cache_is_made_again_without_a_word() {
    let (desk, cache) = (Desk::new(), TempDir::new().unwrap());
    desk.put("a.rs", "fn apple() {}\n");
    let expected = searched(&tools(cache.path()), &desk, "apple").await.text();
    let file = cached(&cache).remove(0);
    let good = fs::read(&file).unwrap();
    let other_version = [b"rooftree search index 0\n", &good[24..]].concat();
    for broken in [
        b"junk".to_vec(),
        Vec::new(),
        good[..good.len() / 2].to_vec(),
        other_version,
    ] {
        fs::write(&file, &broken).unwrap();
        assert_eq!(
            searched(&tools(cache.path()), &desk, "apple").await.text(),
            expected
        );
        assert_eq!(
            fs::read(&file).unwrap().len(),
            good.len(),
            "it is whole again"
        );
    }
}

#[tokio::test]
async fn a_cache_that_cannot_be_written_is_done_without() {
    let (desk, cache) = (Desk::new(), TempDir::new().unwrap());
    desk.put("a.rs", "fn apple() {}\n");
    fs::write(cache.path().join("file"), "").unwrap();
    let text = searched(&tools(&cache.path().join("file")), &desk, "apple")
        .await
        .text();
    assert!(text.starts_with("a.rs:1-1"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_on_one_cache_all_find_it() {
    let (desk, cache) = (Desk::new(), TempDir::new().unwrap());
    for n in 0..60 {
        desk.put(
            &format!("f{n}.rs"),
            format!("fn fruit_{n}() {{}}\nfn apple_{n}() {{}}\n"),
        );
    }
    let toolsets: Vec<Toolset> = (0..4).map(|_| tools(cache.path())).collect();
    for round in 0..5 {
        desk.put("changing.rs", format!("fn banana_{round}() {{}}\n"));
        let searches = toolsets
            .iter()
            .flat_map(|tools| [tools, tools])
            .map(|tools| searched(tools, &desk, "banana"));
        for output in futures::future::join_all(searches).await {
            assert!(
                output
                    .text()
                    .starts_with("changing.rs:1-1 function banana_"),
                "{}",
                output.text()
            );
        }
    }
    assert_eq!(cached(&cache).len(), 1, "no half-written file is left");
    assert!(
        searched(&tools(cache.path()), &desk, "fruit 7")
            .await
            .text()
            .contains("f7.rs")
    );
}
