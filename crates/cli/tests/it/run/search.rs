//! Searching in a run: by words, with meanings, and never with meanings a project asked for.

use std::fs;

use rooftree_testkit::model_server::{ModelServer, ServerAnswer, openai_chat::WIRE};
use serde_json::json;

use super::fixture::Desk;

const SEARCHES: &str = "[[reply]]\n[[reply.call]]\ntool = \"SemanticSearch\"\ninput = { query = \"retry later\" }\n\
                        [[reply]]\ntext = \"{{ results[0].text }}\"";

fn desk() -> Desk {
    let desk = Desk::new(SEARCHES);
    desk.write("src/a.rs", "fn retry_later() {}\n");
    desk
}

/// Gives each text the same vector.
async fn embedder() -> ModelServer {
    ModelServer::start_with(WIRE, |asked| {
        let count = asked.json()["input"].as_array().map_or(0, Vec::len);
        let vectors: Vec<_> = (0..count)
            .map(|index| json!({"index": index, "embedding": [1.0, 0.5]}))
            .collect();
        ServerAnswer::Raw {
            status: 200,
            content_type: "application/json",
            body: json!({"data": vectors}).to_string(),
        }
    })
    .await
}

#[test]
fn an_agent_finds_by_words_and_the_index_is_kept_apart_from_the_project() {
    let desk = desk();
    let said = desk.run(&["Go"]).well();
    assert!(
        said.starts_with("src/a.rs:1-1 function retry_later (score "),
        "{said}"
    );
    let kept: Vec<_> = fs::read_dir(desk.house.path().join("search"))
        .unwrap()
        .collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(
        fs::read_dir(desk.path()).unwrap().count(),
        1,
        "nothing is written into the project"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_of_the_users_choice_adds_meanings() {
    let (desk, server) = (desk(), embedder().await);
    let settings = format!(
        "[providers.mine]\nbase_url = \"{}/v1\"\n[search]\nembeddings = \"mine/embed:small\"",
        server.url()
    );
    fs::write(desk.house.path().join("config.toml"), settings).unwrap();
    let said = desk.run(&["Go"]).well();
    assert!(
        said.starts_with("src/a.rs:1-1 function retry_later (score "),
        "{said}"
    );
    let asked: Vec<_> = server
        .requests()
        .iter()
        .map(|asked| (asked.path.clone(), asked.json()))
        .collect();
    let expected = ["retry later", "fn retry_later() {}"].map(|text| {
        (
            "/v1/embeddings".to_owned(),
            json!({"model": "embed:small", "input": [text]}),
        )
    });
    assert_eq!(asked, expected);
    let tape = desk.path().join("tape.jsonl");
    assert!(
        desk.run(&["--record", tape.to_str().unwrap(), "Go"])
            .well()
            .starts_with("src/a.rs:1-1")
    );
    assert_eq!(
        server.requests().len(),
        2,
        "what is recorded goes by words alone"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_cannot_decide_who_reads_the_files() {
    let (desk, server) = (desk(), embedder().await);
    let settings = format!("[providers.mine]\nbase_url = \"{}/v1\"", server.url());
    fs::write(desk.house.path().join("config.toml"), settings).unwrap();
    desk.write(
        ".rooftree/config.toml",
        "[search]\nembeddings = \"mine/embed\"",
    );
    let done = desk.run(&["Go"]);
    assert!(done.err.contains("search.embeddings in "), "{}", done.err);
    assert!(done.well().contains("src/a.rs:1-1 function retry_later"));
    assert!(server.requests().is_empty());
}

#[test]
fn who_cannot_embed_is_named_before_anything_happens() {
    let desk = desk();
    let table = [
        ("nomic", 3, "it names no provider"),
        ("nobody/x", 3, "no such provider is known"),
        ("anthropic/x", 3, "that provider has no embeddings"),
        ("openai/x", 4, "there is no key for"),
    ];
    for (name, code, words) in table {
        let settings = format!("[search]\nembeddings = \"{name}\"");
        fs::write(desk.house.path().join("config.toml"), settings).unwrap();
        let said = desk.run(&["Go"]).ended(code);
        assert!(said.contains(words), "{name}: {said}");
    }
}
