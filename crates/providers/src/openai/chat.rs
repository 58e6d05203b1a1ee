//! OpenAI's Chat Completions, and everybody who speaks them.

mod body;
mod dialect;
mod event;
mod fold;
mod message;

use std::sync::Arc;

use crate::{
    Error, Model, Provider, Reply, ReplyStream, Request,
    catalog::Opener,
    http::{
        Client, Post,
        exchange::{self, Decoder, Progress},
        join,
        refusal::Refusal,
    },
    openai::{Endpoint, failure::Failure},
    size, sse,
    tool_names::{self, Rule},
};

pub use dialect::{CallIds, ConversationField, Dialect, EffortField, MaxOutput, SchemaField, ThinkingField};

/// How the catalog finds models on this wire.
pub fn opener(client: Client, endpoint: Endpoint, dialect: Dialect) -> Opener {
    Arc::new(move |choice| {
        let chat = Chat::new(client.clone(), endpoint.serving(choice)?, dialect);
        Ok(Model::new(choice, Arc::new(chat)))
    })
}

/// Speaks Chat Completions to one endpoint.
#[derive(Clone, Debug)]
pub struct Chat {
    client: Client,
    endpoint: Endpoint,
    dialect: Dialect,
}

impl Chat {
    /// A provider for an endpoint that speaks this dialect.
    pub fn new(client: Client, endpoint: Endpoint, dialect: Dialect) -> Self {
        Self { client, endpoint, dialect }
    }
}

impl Provider for Chat {
    fn stream(&self, request: Request) -> ReplyStream {
        let session = request.session.clone();
        let (request, names) = tool_names::spelled(request, Rule::USUAL);
        let spell = |request: &Request| Ok(body::spell(&self.endpoint.provider, self.dialect, request));
        let (body, dropped) = match size::fitted(request, self.dialect.request_bytes, spell) {
            Ok(spelled) => spelled,
            Err(error) => return exchange::failed(error),
        };
        let mut post = Post::json(join(&self.endpoint.base_url, "chat/completions"), body);
        if let ConversationField::Header(name) = self.dialect.conversation {
            post = post.header(name, session.as_str());
        }
        let answer = Answer {
            provider: self.endpoint.provider.clone(),
            fold: fold::Fold::default(),
            marked: false,
            dropped,
        };
        names.restored(exchange::stream(self.client.clone(), self.endpoint.sign(post), answer))
    }
}

/// One answer being read.
struct Answer {
    provider: String,
    fold: fold::Fold,
    /// Whether `[DONE]` has come.
    marked: bool,
    dropped: Vec<String>,
}

impl Decoder for Answer {
    fn take(&mut self, event: &sse::Event) -> Result<Progress, Error> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.marked = true;
            return Ok(Progress::End);
        }
        if data.is_empty() {
            return Ok(Progress::Ping);
        }
        if event.name == "error" {
            return Err(Failure::read(None, data).error());
        }
        match serde_json::from_str(data) {
            Ok(chunk) => Ok(self.fold.take(chunk)?.map_or(Progress::Ping, Progress::Chunks)),
            // What is torn behind the reason to stop was only the usage.
            Err(_) if self.fold.is_finished() => Ok(Progress::End),
            Err(error) => Err(Error::Broken(format!("an event cannot be read: {error}"))),
        }
    }

    fn finish(&mut self) -> Option<Reply> {
        let reply = self.fold.finish(&self.provider, self.marked)?;
        Some(Reply { dropped: std::mem::take(&mut self.dropped), ..reply })
    }

    fn refuse(&self, refusal: &Refusal) -> Error {
        Failure::refused(refusal).error()
    }
}
