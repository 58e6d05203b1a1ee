//! OpenAI's Responses API, stateless: the vendor stores nothing, thinking is sent back encrypted.

mod events;
mod messages;
mod request;
mod stream;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde::Deserialize;

use crate::{
    Error, Model, ModelReply, ModelRequest, Provider, ReplyStream,
    catalog::{KnownModels, ModelOpener},
    http::{
        HttpClient, HttpPost,
        error_response::ErrorResponse,
        event_stream::{self, DecodeProgress, EventDecoder},
        join,
    },
    openai::{BOUNDS, OpenAiEndpoint, errors::OpenAiError},
    sse,
};

/// Whether a model supports thinking. One that does not refuses the parameters for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingSupport {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// Whether a model's name is of a generation without thinking.
fn is_old(model: &str) -> bool {
    ["gpt-3", "gpt-4", "chatgpt-4"]
        .iter()
        .any(|beginning| model.starts_with(beginning))
}

/// Opener for models of this API. An unknown model is taken for one that thinks, unless its name is old.
pub fn opener(
    client: HttpClient,
    endpoint: OpenAiEndpoint,
    known: Arc<KnownModels>,
) -> ModelOpener {
    Arc::new(move |choice| {
        let facts = known.find(&choice.provider, &choice.model);
        let thinks = facts.map_or_else(|| !is_old(&choice.model), |facts| facts.thinking);
        let thinks = if thinks {
            ThinkingSupport::Yes
        } else {
            ThinkingSupport::No
        };
        let responses = ResponsesProvider::new(client.clone(), endpoint.serving(choice)?, thinks);
        Ok(Model::new(choice, Arc::new(responses)))
    })
}

/// Provider for Responses at one endpoint.
#[derive(Clone, Debug)]
pub struct ResponsesProvider {
    client: HttpClient,
    endpoint: OpenAiEndpoint,
    thinks: ThinkingSupport,
    /// Set once the vendor has refused summaries of thinking, which it gives only to verified organizations.
    no_summaries: Arc<AtomicBool>,
}

impl ResponsesProvider {
    /// A provider for a model at an endpoint.
    pub fn new(client: HttpClient, endpoint: OpenAiEndpoint, thinks: ThinkingSupport) -> Self {
        Self {
            client,
            endpoint,
            thinks,
            no_summaries: Arc::default(),
        }
    }
}

impl Provider for ResponsesProvider {
    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let summary = if self.no_summaries.load(Ordering::Relaxed) {
            None
        } else {
            Some("auto")
        };
        let Self {
            client,
            endpoint,
            thinks,
            no_summaries,
        } = self;
        let post = HttpPost::to(join(&endpoint.base_url, "responses"));
        let spell = |request: &ModelRequest| {
            Ok(request::encode_request(
                &endpoint.provider,
                *thinks,
                summary,
                request,
            ))
        };
        BOUNDS.send_within_limits(request, spell, |(body, dropped)| {
            let (provider, fold) = (
                endpoint.provider.clone(),
                stream::ResponsesReplyBuilder::default(),
            );
            let answer = ResponsesStream {
                provider,
                fold,
                dropped,
                no_summaries: Arc::clone(no_summaries),
            };
            event_stream::stream(client.clone(), endpoint.sign(post.body(body)), answer)
        })
    }
}

/// Decoder of one answer.
struct ResponsesStream {
    provider: String,
    fold: stream::ResponsesReplyBuilder,
    dropped: Vec<String>,
    no_summaries: Arc<AtomicBool>,
}

/// The parameter an error is about.
#[derive(Deserialize)]
struct ResponsesErrorBody {
    error: ResponsesErrorParam,
}

#[derive(Deserialize)]
struct ResponsesErrorParam {
    param: String,
}

impl EventDecoder for ResponsesStream {
    fn take(&mut self, event: &sse::SseEvent) -> Result<DecodeProgress, Error> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return Ok(DecodeProgress::End);
        }
        if data.is_empty() {
            return Ok(DecodeProgress::Ping);
        }
        let event = serde_json::from_str(data)
            .map_err(|error| Error::Broken(format!("an event cannot be read: {error}")))?;
        Ok(match self.fold.take(event)? {
            stream::ResponsesProgress::Nothing => DecodeProgress::Ping,
            stream::ResponsesProgress::Chunks(chunks) => DecodeProgress::Chunks(chunks),
            stream::ResponsesProgress::Over => DecodeProgress::End,
        })
    }

    fn finish(&mut self) -> Option<ModelReply> {
        let reply = self.fold.finish(&self.provider)?;
        Some(ModelReply {
            dropped: std::mem::take(&mut self.dropped),
            ..reply
        })
    }

    fn classify_error(&self, refusal: &ErrorResponse) -> Error {
        let about: Option<ResponsesErrorBody> = refusal.json();
        if about.is_some_and(|refused| refused.error.param == "reasoning.summary") {
            self.no_summaries.store(true, Ordering::Relaxed);
            // The same request without summaries can be answered, so it is worth a retry.
            return Error::Broken("the provider refuses to summarise its thinking".into());
        }
        OpenAiError::from_response(refusal).error()
    }
}
