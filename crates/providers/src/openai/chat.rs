//! OpenAI's Chat Completions, and everybody who speaks them.

mod body;
mod dialect;
mod event;
mod fold;
mod message;

use std::sync::Arc;

use crate::{
    Error, Model, Provider, Reply, ReplyStream, Request,
    bounds::Bounds,
    catalog::Opener,
    http::{
        Client, Post,
        exchange::{self, Decoder, Progress},
        join,
        refusal::Refusal,
    },
    openai::{BOUNDS, Endpoint, failure::Failure},
    sse,
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
        let Self { client, endpoint, dialect } = self;
        let mut post = Post::to(join(&endpoint.base_url, "chat/completions"));
        if let ConversationField::Header(name) = dialect.conversation {
            post = post.header(name, request.session.as_str());
        }
        let bounds = Bounds { bytes: dialect.request_bytes, ..BOUNDS };
        let spell = |request: &Request| Ok(body::spell(&endpoint.provider, *dialect, request));
        bounds.ask(request, spell, |(body, dropped)| {
            let (provider, fold) = (endpoint.provider.clone(), fold::Fold::default());
            let answer = Answer { provider, fold, marked: false, dropped };
            exchange::stream(client.clone(), endpoint.sign(post.body(body)), answer)
        })
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
