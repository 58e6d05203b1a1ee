//! OpenAI's Responses, stateless: nothing is stored by the vendor, thinking goes back encrypted.

mod body;
mod event;
mod fold;
mod item;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde::Deserialize;

use crate::{
    Error, Model, Provider, Reply, ReplyStream, Request,
    catalog::{Known, Opener},
    http::{
        Client, Post,
        exchange::{self, Decoder, Progress},
        join,
        refusal::Refusal,
    },
    openai::{BOUNDS, Endpoint, failure::Failure},
    sse,
};

/// Whether a model thinks. Those that do not refuse to be asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinks {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// Whether a model's name is from the time before models thought.
fn is_old(model: &str) -> bool {
    ["gpt-3", "gpt-4", "chatgpt-4"].iter().any(|beginning| model.starts_with(beginning))
}

/// How the catalog finds models on this wire. One that is not known is taken for one that thinks.
pub fn opener(client: Client, endpoint: Endpoint, known: Arc<Known>) -> Opener {
    Arc::new(move |choice| {
        let facts = known.find(&choice.provider, &choice.model);
        let thinks = facts.map_or_else(|| !is_old(&choice.model), |facts| facts.thinking);
        let thinks = if thinks { Thinks::Yes } else { Thinks::No };
        let responses = Responses::new(client.clone(), endpoint.serving(choice)?, thinks);
        Ok(Model::new(choice, Arc::new(responses)))
    })
}

/// Speaks Responses to one endpoint.
#[derive(Clone, Debug)]
pub struct Responses {
    client: Client,
    endpoint: Endpoint,
    thinks: Thinks,
    /// Set once the vendor has refused summaries of thinking, which it gives only to people it has verified.
    no_summaries: Arc<AtomicBool>,
}

impl Responses {
    /// A provider for a model at an endpoint.
    pub fn new(client: Client, endpoint: Endpoint, thinks: Thinks) -> Self {
        Self { client, endpoint, thinks, no_summaries: Arc::default() }
    }
}

impl Provider for Responses {
    fn stream(&self, request: Request) -> ReplyStream {
        let summary = if self.no_summaries.load(Ordering::Relaxed) { None } else { Some("auto") };
        let Self { client, endpoint, thinks, no_summaries } = self;
        let post = Post::to(join(&endpoint.base_url, "responses"));
        let spell = |request: &Request| Ok(body::spell(&endpoint.provider, *thinks, summary, request));
        BOUNDS.ask(request, spell, |(body, dropped)| {
            let (provider, fold) = (endpoint.provider.clone(), fold::Fold::default());
            let answer = Answer { provider, fold, dropped, no_summaries: Arc::clone(no_summaries) };
            exchange::stream(client.clone(), endpoint.sign(post.body(body)), answer)
        })
    }
}

/// One answer being read.
struct Answer {
    provider: String,
    fold: fold::Fold,
    dropped: Vec<String>,
    no_summaries: Arc<AtomicBool>,
}

/// The field a refusal is about.
#[derive(Deserialize)]
struct Refused {
    error: About,
}

#[derive(Deserialize)]
struct About {
    param: String,
}

impl Decoder for Answer {
    fn take(&mut self, event: &sse::Event) -> Result<Progress, Error> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return Ok(Progress::End);
        }
        if data.is_empty() {
            return Ok(Progress::Ping);
        }
        let event = serde_json::from_str(data)
            .map_err(|error| Error::Broken(format!("an event cannot be read: {error}")))?;
        Ok(match self.fold.take(event)? {
            fold::Took::Nothing => Progress::Ping,
            fold::Took::Chunks(chunks) => Progress::Chunks(chunks),
            fold::Took::Over => Progress::End,
        })
    }

    fn finish(&mut self) -> Option<Reply> {
        let reply = self.fold.finish(&self.provider)?;
        Some(Reply { dropped: std::mem::take(&mut self.dropped), ..reply })
    }

    fn refuse(&self, refusal: &Refusal) -> Error {
        let about: Option<Refused> = refusal.json();
        if about.is_some_and(|refused| refused.error.param == "reasoning.summary") {
            self.no_summaries.store(true, Ordering::Relaxed);
            // The same question without them can be answered, so it is worth asking again.
            return Error::Broken("the provider refuses to summarise its thinking".into());
        }
        Failure::refused(refusal).error()
    }
}
