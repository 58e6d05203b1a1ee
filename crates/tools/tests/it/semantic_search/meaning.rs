//! An embedder adds meaning, and its absence takes nothing away.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::future::BoxFuture;
use rooftree_tools::{
    BackgroundProcesses, Embedder, SemanticSearchTool, Toolset, WebConfig, builtin_with,
};
use serde_json::json;
use tempfile::TempDir;

use crate::desk::{Desk, call};

/// Knows two meanings, by words that have nothing in common.
#[derive(Default)]
struct Fake {
    asked: Mutex<Vec<Vec<String>>>,
    is_broken: AtomicBool,
}

impl Embedder for Fake {
    fn name(&self) -> &str {
        "fake/two"
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, String>> {
        let vector = |text: &String| {
            let is_feline = ["cat", "purr", "kitten"]
                .iter()
                .any(|word| text.contains(word));
            if is_feline {
                vec![1.0, 0.1]
            } else {
                vec![0.1, 1.0]
            }
        };
        let vectors = texts.iter().map(vector).collect();
        self.asked.lock().unwrap().push(texts);
        let is_broken = self.is_broken.load(Ordering::Relaxed);
        Box::pin(async move {
            if is_broken {
                Err("quota used up".to_owned())
            } else {
                Ok(vectors)
            }
        })
    }
}

fn tools(fake: &Arc<Fake>, cache: Option<PathBuf>) -> Toolset {
    builtin_with(
        Arc::new(BackgroundProcesses::new(|| 1)),
        SemanticSearchTool::with_embedder(cache, fake.clone()),
        &WebConfig::default(),
        None,
    )
}

async fn text(tools: &Toolset, desk: &Desk, query: &str) -> String {
    let output = call(
        tools,
        "SemanticSearch",
        json!({"query": query}),
        desk.context.clone(),
    )
    .await;
    assert_eq!(output.failure, None, "{}", output.text());
    output.text()
}

fn zoo() -> Desk {
    let desk = Desk::new();
    desk.put("purr.rs", "fn purr() {\n    rumble();\n}\n");
    desk.put("bark.rs", "fn bark() {\n    woof();\n}\n");
    desk.put("feeding.rs", "fn feed(kitten: &str) {\n    bowl();\n}\n");
    desk
}

#[tokio::test]
async fn what_no_word_finds_is_found_by_meaning() {
    let (desk, fake) = (zoo(), Arc::new(Fake::default()));
    let found = text(&tools(&fake, None), &desk, "a cat").await;
    let places: Vec<&str> = found
        .lines()
        .filter(|line| line.contains(" (score "))
        .collect();
    assert!(
        places[0].starts_with("feeding.rs") && places[1].starts_with("purr.rs"),
        "{found}"
    );
    let both = text(&tools(&fake, None), &desk, "cat feed").await;
    assert!(both.starts_with("feeding.rs:1-3 function feed"), "{both}");
}

#[tokio::test]
async fn a_text_is_embedded_once_wherever_it_goes() {
    let (desk, fake, cache) = (zoo(), Arc::new(Fake::default()), TempDir::new().unwrap());
    let cache = Some(cache.path().to_owned());
    text(&tools(&fake, cache.clone()), &desk, "cat").await;
    std::fs::rename(desk.path("bark.rs"), desk.path("dog.rs")).unwrap();
    desk.put("new.rs", "fn fresh() {}\n");
    text(&tools(&fake, cache), &desk, "cat").await;
    let asked = fake.asked.lock().unwrap();
    let counts: Vec<usize> = asked.iter().map(Vec::len).collect();
    assert_eq!(counts, [1, 3, 1, 1], "{asked:?}");
    assert_eq!(asked[3], ["fn fresh() {}"]);
}

#[tokio::test]
async fn a_broken_embedder_leaves_the_words_and_a_notice() {
    let (desk, fake) = (zoo(), Arc::new(Fake::default()));
    fake.is_broken.store(true, Ordering::Relaxed);
    let tools = tools(&fake, None);
    let found = text(&tools, &desk, "bark").await;
    assert!(found.starts_with("bark.rs:1-3 function bark"), "{found}");
    assert!(
        found.ends_with("[without all meanings, because the embedder failed: quota used up]"),
        "{found}"
    );
    fake.is_broken.store(false, Ordering::Relaxed);
    assert!(
        !text(&tools, &desk, "bark").await.contains("failed"),
        "the next search asks again"
    );
}

#[tokio::test]
async fn a_search_learns_only_so_much_and_says_so() {
    let (desk, fake) = (Desk::new(), Arc::new(Fake::default()));
    for n in 0..300 {
        desk.put(&format!("f{n}.rs"), format!("fn number_{n}() {{}}\n"));
    }
    let tools = tools(&fake, None);
    let first = text(&tools, &desk, "number 7").await;
    assert!(
        first.contains("[the meaning of 256 of 300 pieces is known; each search learns more]"),
        "{first}"
    );
    assert!(
        fake.asked
            .lock()
            .unwrap()
            .iter()
            .all(|texts| texts.len() <= 64)
    );
    assert!(!text(&tools, &desk, "number 7").await.contains("is known"));
}
