//! Semantic search of agents: the directory of its index, and its embedding model.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::embeddings::{EmbeddingFormat, EmbeddingModel};
use rooftree_tools::{Embedder, SemanticSearchTool};

use crate::{
    configured_models::{ConfiguredModels, RecordingMode},
    environment::Environment,
    providers::{self, KeyNeed, ProviderProfile, VendorWire},
    settings::Settings,
};

/// The search the settings ask for. What is recorded or played is searched by words alone:
/// meanings are not on the tape.
pub fn search(
    environment: &Environment,
    settings: &Settings,
    models: &ConfiguredModels,
    tape: &RecordingMode,
) -> Result<SemanticSearchTool, Problem> {
    let cache = Some(environment.search_cache.clone());
    match (&settings.embeddings, tape) {
        (Some(name), RecordingMode::Off) => Ok(SemanticSearchTool::with_embedder(
            cache,
            embedder(name, models)?,
        )),
        _ => Ok(SemanticSearchTool::new(cache)),
    }
}

/// Finds the embedding model. Sends no request and opens no connection that is not needed for that.
fn embedder(name: &str, models: &ConfiguredModels) -> Result<Arc<dyn Embedder>, Problem> {
    let (provider, model) = name.split_once('/').ok_or_else(|| {
        wrong(name, "it names no provider")
            .fix("write provider/model, for example \"ollama/nomic-embed-text\"")
    })?;
    let profile = models
        .profiles
        .iter()
        .find(|profile| profile.name == provider);
    let profile = profile.ok_or_else(|| {
        let known: Vec<&str> = models
            .profiles
            .iter()
            .map(|profile| profile.name.as_str())
            .collect();
        wrong(name, "no such provider is known").fix(format!("known ones: {}", known.join(", ")))
    })?;
    let form = form(profile).ok_or_else(|| wrong(name, "that provider has no embeddings"))?;
    if profile.need == KeyNeed::Key && profile.key(&models.credentials)?.is_none() {
        return Err(providers::missing_key(profile, &models.credentials));
    }
    let client = models.connections.client(profile.waits)?;
    let key = providers::secret(profile, &models.credentials);
    let embeddings = EmbeddingModel {
        client,
        form,
        base_url: profile.base_url.clone(),
        key,
        model: model.into(),
    };
    Ok(Arc::new(NamedEmbedder {
        name: name.to_owned(),
        embeddings,
    }))
}

fn form(profile: &ProviderProfile) -> Option<EmbeddingFormat> {
    match profile.wire {
        VendorWire::Responses | VendorWire::Chat(_) => Some(EmbeddingFormat::OpenAi),
        VendorWire::Gemini => Some(EmbeddingFormat::Gemini),
        VendorWire::Anthropic => None,
    }
}

fn wrong(name: &str, why: &str) -> Problem {
    Problem::new(
        ErrorCode::InvalidConfig,
        format!("`{name}` below [search] cannot embed: {why}"),
    )
}

/// A provider's endpoint as the search knows it.
struct NamedEmbedder {
    name: String,
    embeddings: EmbeddingModel,
}

impl Embedder for NamedEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, String>> {
        let embeddings = self.embeddings.clone();
        async move {
            embeddings
                .embed(&texts)
                .await
                .map_err(|error| error.to_string())
        }
        .boxed()
    }
}
