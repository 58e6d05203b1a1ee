//! Vectors over the wire, as vendors send them.

use rooftree_providers::{
    Error,
    embeddings::{EmbeddingFormat, EmbeddingModel},
    http::{HttpClient, HttpTimeouts, Secret},
};
use rooftree_testkit::model_server::{ModelServer, ServerAnswer, openai_chat};
use serde_json::{Value, json};

async fn server(status: u16, body: Value) -> ModelServer {
    let body = body.to_string();
    ModelServer::start_with(openai_chat::WIRE, move |_| ServerAnswer::Raw {
        status,
        content_type: "application/json",
        body: body.clone(),
    })
    .await
}

fn embeddings(form: EmbeddingFormat, base_url: String) -> EmbeddingModel {
    let client = HttpClient::new(HttpTimeouts::default()).unwrap();
    EmbeddingModel {
        client,
        form,
        base_url,
        key: Secret::fixed("sk-1"),
        model: "embed-3".into(),
    }
}

fn texts() -> Vec<String> {
    vec!["one".into(), "two".into()]
}

#[tokio::test]
async fn vectors_come_back_in_the_order_of_the_texts() {
    let answer = json!({"data": [{"index": 1, "embedding": [0.5, -1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]});
    let server = server(200, answer).await;
    let vectors = embeddings(EmbeddingFormat::OpenAi, server.url() + "/v1")
        .embed(&texts())
        .await
        .unwrap();
    assert_eq!(vectors, [[1.0, 0.0], [0.5, -1.0]]);
    let asked = server.requests().remove(0);
    assert_eq!(
        (asked.path.as_str(), asked.header("authorization")),
        ("/v1/embeddings", "Bearer sk-1")
    );
    assert_eq!(
        asked.json(),
        json!({"model": "embed-3", "input": ["one", "two"]})
    );
}

#[tokio::test]
async fn gemini_is_asked_in_its_own_form() {
    let server = server(
        200,
        json!({"embeddings": [{"values": [1.0]}, {"values": [2.0]}]}),
    )
    .await;
    let asking = EmbeddingModel {
        model: "gemini embed/../x".into(),
        ..embeddings(EmbeddingFormat::Gemini, server.url())
    };
    assert_eq!(asking.embed(&texts()).await.unwrap(), [[1.0], [2.0]]);
    let asked = server.requests().remove(0);
    assert_eq!(
        asked.path,
        "/v1beta/models/gemini-embed-..-x:batchEmbedContents"
    );
    assert_eq!(asked.header("x-goog-api-key"), "sk-1");
    assert_eq!(
        asked.json()["requests"][1],
        json!({"model": "models/gemini-embed-..-x", "content": {"parts": [{"text": "two"}]}})
    );
}

#[tokio::test]
async fn what_is_no_answer_says_what_one_can_do() {
    let table = [
        (
            401,
            json!({"error": {"message": "bad key"}}),
            Error::Unauthorized("bad key (request req_1)".into()),
        ),
        (
            404,
            json!({"error": "model not found"}),
            Error::Refused("model not found (request req_1)".into()),
        ),
        (429, json!({}), Error::RateLimited { retry_after: None }),
        (
            200,
            json!({"data": [{"embedding": [1.0]}]}),
            Error::Broken("1 vectors came for 2 texts".into()),
        ),
    ];
    for (status, body, expected) in table {
        let server = server(status, body).await;
        assert_eq!(
            embeddings(EmbeddingFormat::OpenAi, server.url())
                .embed(&texts())
                .await,
            Err(expected)
        );
    }
    let server = server(200, json!({"object": "list"})).await;
    let broken = embeddings(EmbeddingFormat::OpenAi, server.url())
        .embed(&texts())
        .await;
    assert!(matches!(broken, Err(Error::Broken(_))), "{broken:?}");
}

#[tokio::test]
async fn no_texts_are_no_question() {
    let nobody = embeddings(EmbeddingFormat::OpenAi, "http://127.0.0.1:1".into());
    assert_eq!(nobody.embed(&[]).await, Ok(Vec::new()));
}
