//! Vectors for texts, from the endpoints vendors have for that.
//!
//! One question, one whole answer. OpenAI's form is spoken by all who imitate it, Ollama and other
//! local servers among them; Gemini has its own. Anthropic has none.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Error,
    http::{
        HttpClient, HttpPost, Secret, error_response::ErrorResponse, full_response::PostOutcome,
        join,
    },
};

/// Bytes of an answer: 64 vectors of 4,096 numbers, generously spelled.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// How an endpoint is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingFormat {
    /// `POST /v1/embeddings`.
    OpenAi,
    /// `POST /v1beta/models/MODEL:batchEmbedContents`.
    Gemini,
}

/// A model that embeds, and how to reach it.
#[derive(Clone, Debug)]
pub struct EmbeddingModel {
    /// Connections and waits.
    pub client: HttpClient,
    /// How it is spoken to.
    pub form: EmbeddingFormat,
    /// Where it is, as for models that chat.
    pub base_url: String,
    /// Its key, if it wants one.
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
    /// The vectors of these texts, in their order. Nothing is asked if there are none.
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

/// The order of the answer is the vendor's; the numbers in it are ours.
fn in_order(mut answer: OpenAiEmbeddingReply) -> Vec<Vec<f32>> {
    answer.data.sort_by_key(|vector| vector.index);
    answer
        .data
        .into_iter()
        .map(|vector| vector.embedding)
        .collect()
}

/// A name cannot leave its place in the path.
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
