//! OpenAI's Chat Completions API, also for compatible vendors.

mod dialect;
mod events;
mod messages;
mod request;
mod stream;

use std::sync::Arc;

use futures::StreamExt;

use crate::{
    Error, Model, ModelReply, ModelRequest, Provider, ReplyChunk, ReplyStream,
    catalog::ModelOpener,
    http::{
        HttpClient, HttpPost,
        error_response::ErrorResponse,
        event_stream::{self, DecodeProgress, EventDecoder},
        join,
    },
    local_start::start_hint,
    openai::{BOUNDS, OpenAiEndpoint, errors::OpenAiError},
    sse,
    vendor_limits::VendorLimits,
};

pub use dialect::{
    CallIdFormat, ChatDialect, ConversationField, EffortField, MaxOutputField, SchemaField,
    ThinkingField,
};

/// Opener for models of this API.
pub fn opener(client: HttpClient, endpoint: OpenAiEndpoint, dialect: ChatDialect) -> ModelOpener {
    Arc::new(move |choice| {
        let chat = ChatProvider::new(client.clone(), endpoint.serving(choice)?, dialect);
        Ok(Model::new(choice, Arc::new(chat)))
    })
}

/// Provider for Chat Completions at one endpoint.
#[derive(Clone, Debug)]
pub struct ChatProvider {
    client: HttpClient,
    endpoint: OpenAiEndpoint,
    dialect: ChatDialect,
}

impl ChatProvider {
    /// A provider for an endpoint with this dialect.
    pub fn new(client: HttpClient, endpoint: OpenAiEndpoint, dialect: ChatDialect) -> Self {
        Self {
            client,
            endpoint,
            dialect,
        }
    }
}

impl Provider for ChatProvider {
    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let Self {
            client,
            endpoint,
            dialect,
        } = self;
        let mut post = HttpPost::to(join(&endpoint.base_url, "chat/completions"));
        if let ConversationField::Header(name) = dialect.conversation {
            post = post.header(name, request.session.as_str());
        }
        let bounds = VendorLimits {
            bytes: dialect.request_bytes,
            ..BOUNDS
        };
        let spell = |request: &ModelRequest| {
            Ok(request::encode_request(
                &endpoint.provider,
                *dialect,
                request,
            ))
        };
        bounds
            .send_within_limits(request, spell, |(body, dropped)| {
                let (provider, fold) = (
                    endpoint.provider.clone(),
                    stream::ChatReplyBuilder::default(),
                );
                let answer = ChatStream {
                    provider,
                    fold,
                    marked: false,
                    dropped,
                };
                event_stream::stream(client.clone(), endpoint.sign(post.body(body)), answer)
            })
            .map(with_start_hint(endpoint.provider.clone()))
            .boxed()
    }
}

/// Adds to an error about a server of the user's own how to start it.
fn with_start_hint(
    provider: String,
) -> impl FnMut(Result<ReplyChunk, Error>) -> Result<ReplyChunk, Error> {
    move |chunk| match chunk {
        Err(Error::Unreachable(mut server)) => {
            if let Some(hint) = start_hint(&provider) {
                server.fix = hint.to_owned();
            }
            Err(Error::Unreachable(server))
        }
        chunk => chunk,
    }
}

/// Decoder of one answer.
struct ChatStream {
    provider: String,
    fold: stream::ChatReplyBuilder,
    /// Whether `[DONE]` has come.
    marked: bool,
    dropped: Vec<String>,
}

impl EventDecoder for ChatStream {
    fn take(&mut self, event: &sse::SseEvent) -> Result<DecodeProgress, Error> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.marked = true;
            return Ok(DecodeProgress::End);
        }
        if data.is_empty() {
            return Ok(DecodeProgress::Ping);
        }
        if event.name == "error" {
            return Err(OpenAiError::read(None, data).error());
        }
        match serde_json::from_str(data) {
            Ok(chunk) => Ok(self
                .fold
                .take(chunk)?
                .map_or(DecodeProgress::Ping, DecodeProgress::Chunks)),
            // A broken event after the finish reason can only be the usage.
            Err(_) if self.fold.is_finished() => Ok(DecodeProgress::End),
            Err(error) => Err(Error::Broken(format!("an event cannot be read: {error}"))),
        }
    }

    fn finish(&mut self) -> Option<ModelReply> {
        let reply = self.fold.finish(&self.provider, self.marked)?;
        Some(ModelReply {
            dropped: std::mem::take(&mut self.dropped),
            ..reply
        })
    }

    fn classify_error(&self, refusal: &ErrorResponse) -> Error {
        OpenAiError::from_response(refusal).error()
    }
}
