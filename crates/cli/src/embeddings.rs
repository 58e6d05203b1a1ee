//! The search agents have: where its index is kept, and who tells it what texts mean.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::embeddings::{Embeddings, Form};
use rooftree_tools::{Embedder, SemanticSearch};

use crate::{
    environment::Environment,
    minds::{Minds, Tape},
    providers::{self, Need, Profile, Wire},
    settings::Settings,
};

/// The search the settings ask for. What is recorded or played is searched by words alone:
/// meanings are not on the tape.
pub fn search(
    environment: &Environment,
    settings: &Settings,
    minds: &Minds,
    tape: &Tape,
) -> Result<SemanticSearch, Problem> {
    let cache = Some(environment.search_cache.clone());
    match (&settings.embeddings, tape) {
        (Some(name), Tape::Off) => Ok(SemanticSearch::with_embedder(cache, embedder(name, minds)?)),
        _ => Ok(SemanticSearch::new(cache)),
    }
}

/// Finds who embeds. Asks nobody and sets up no connection that is not needed for that.
fn embedder(name: &str, minds: &Minds) -> Result<Arc<dyn Embedder>, Problem> {
    let (provider, model) = name.split_once('/').ok_or_else(|| {
        wrong(name, "it names no provider")
            .fix("write provider/model, for example \"ollama/nomic-embed-text\"")
    })?;
    let profile = minds.profiles.iter().find(|profile| profile.name == provider);
    let profile = profile.ok_or_else(|| {
        let known: Vec<&str> = minds.profiles.iter().map(|profile| profile.name.as_str()).collect();
        wrong(name, "no such provider is known").fix(format!("known ones: {}", known.join(", ")))
    })?;
    let form = form(profile).ok_or_else(|| wrong(name, "that provider has no embeddings"))?;
    if profile.need == Need::Key && profile.key(&minds.credentials)?.is_none() {
        return Err(providers::missing_key(profile, &minds.credentials));
    }
    let client = minds.connections.client(profile.waits)?;
    let key = providers::secret(profile, &minds.credentials);
    let embeddings =
        Embeddings { client, form, base_url: profile.base_url.clone(), key, model: model.into() };
    Ok(Arc::new(Named { name: name.to_owned(), embeddings }))
}

fn form(profile: &Profile) -> Option<Form> {
    match profile.wire {
        Wire::Responses | Wire::Chat(_) => Some(Form::OpenAi),
        Wire::Gemini => Some(Form::Gemini),
        Wire::Anthropic => None,
    }
}

fn wrong(name: &str, why: &str) -> Problem {
    Problem::new(ErrorCode::InvalidConfig, format!("`{name}` below [search] cannot embed: {why}"))
}

/// A provider's endpoint as the search knows it.
struct Named {
    name: String,
    embeddings: Embeddings,
}

impl Embedder for Named {
    fn name(&self) -> &str {
        &self.name
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, String>> {
        let embeddings = self.embeddings.clone();
        async move { embeddings.embed(&texts).await.map_err(|error| error.to_string()) }.boxed()
    }
}
