//! Embeddings: vectors for texts, from the vendors' endpoints.
//!
//! One request, one response, no stream. OpenAI's format is also used by all compatible servers, such as
//! Ollama; Gemini has its own. Anthropic has none.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Error,
    http::{
        HttpClient, HttpPost, Secret, error_response::ErrorResponse, full_response::PostOutcome,
        join,
    },
};

/// Maximum size of a response: 64 vectors of 4,096 numbers, with room to spare.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// API format of an embeddings endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingFormat {
    /// `POST /v1/embeddings`.
    OpenAi,
    /// `POST /v1beta/models/MODEL:batchEmbedContents`.
    Gemini,
}

/// An embedding model and how to reach it.
#[derive(Clone, Debug)]
pub struct EmbeddingModel {
    /// HTTP client with its timeouts.
    pub client: HttpClient,
    /// The API format.
    pub form: EmbeddingFormat,
    /// Base URL, as for chat models.
    pub base_url: String,
    /// Its key, if it needs one.
    pub key: Secret,
    /// Its name.
    pub model: String,
}

#[derive(Deserialize)]
struct OpenAiEmbeddingReply {
    data: Vec<OpenAiEmbedding>,
}

#[derive(Deserialize)]
struct OpenAiEmbedding {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct GeminiEmbeddingReply {
    embeddings: Vec<GeminiEmbedding>,
}

#[derive(Deserialize)]
struct GeminiEmbedding {
    values: Vec<f32>,
}

impl EmbeddingModel {
    /// Embeds these texts; the vectors are in the same order. Sends no request if there are none.
    pub async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let body = match self
            .client
            .post_and_read(self.post(texts), ANSWER_BYTES)
            .await?
        {
            PostOutcome::Yes(whole) => whole.body,
            PostOutcome::No(refusal) => return Err(refused(&refusal)),
        };
        let vectors = match self.form {
            EmbeddingFormat::OpenAi => serde_json::from_slice(&body).map(in_order),
            EmbeddingFormat::Gemini => {
                serde_json::from_slice(&body).map(|answer: GeminiEmbeddingReply| {
                    answer
                        .embeddings
                        .into_iter()
                        .map(|vector| vector.values)
                        .collect()
                })
            }
        };
        let vectors: Vec<Vec<f32>> = vectors
            .map_err(|error| Error::Broken(format!("the vectors cannot be read: {error}")))?;
        if vectors.len() != texts.len() {
            let counts = format!("{} vectors came for {} texts", vectors.len(), texts.len());
            return Err(Error::Broken(counts));
        }
        Ok(vectors)
    }

    fn post(&self, texts: &[String]) -> HttpPost {
        let (path, body) = match self.form {
            EmbeddingFormat::OpenAi => (
                "embeddings".to_owned(),
                json!({"model": self.model, "input": texts}),
            ),
            EmbeddingFormat::Gemini => {
                let model = gemini_model(&self.model);
                let one =
                    |text: &String| json!({"model": model, "content": {"parts": [{"text": text}]}});
                let requests: Vec<Value> = texts.iter().map(one).collect();
                (
                    format!("/v1beta/{model}:batchEmbedContents"),
                    json!({"requests": requests}),
                )
            }
        };
        let post = HttpPost::json(join(&self.base_url, &path), body.to_string().into_bytes());
        match (self.key.reveal(), self.form) {
            (None, _) => post,
            (Some(key), EmbeddingFormat::OpenAi) => {
                post.secret("authorization", format!("Bearer {key}"))
            }
            (Some(key), EmbeddingFormat::Gemini) => post.secret("x-goog-api-key", key),
        }
    }
}

/// Sorts by index: the vendor may return vectors in any order.
fn in_order(mut answer: OpenAiEmbeddingReply) -> Vec<Vec<f32>> {
    answer.data.sort_by_key(|vector| vector.index);
    answer
        .data
        .into_iter()
        .map(|vector| vector.embedding)
        .collect()
}

/// Sanitizes a model name so that it stays one segment of the path.
fn gemini_model(name: &str) -> String {
    let name = name.strip_prefix("models/").unwrap_or(name);
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let plain: String = name
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '-' })
        .collect();
    format!("models/{plain}")
}

fn refused(refusal: &ErrorResponse) -> Error {
    let body: Value = refusal.json().unwrap_or_default();
    let said = body
        .pointer("/error/message")
        .or(body.get("error"))
        .and_then(Value::as_str);
    refusal.classify_status(said.unwrap_or_default())
}
