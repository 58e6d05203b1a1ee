//! Discovers model servers on this machine: probes their default ports with a short timeout.

use std::time::Duration;

use futures::future::join_all;
use serde::Deserialize;

use super::{LocalModel, ServerSite, VENDORS, vendor};
use crate::http::{HttpClient, Secret, join};

/// An endpoint to probe.
#[derive(Clone, Debug)]
pub struct LocalEndpoint {
    /// The vendor expected there.
    pub vendor: String,
    /// Base URL with the version.
    pub base_url: String,
    /// Its key; most servers on this machine want none.
    pub key: Secret,
}

impl LocalEndpoint {
    /// An endpoint without a key.
    pub fn new(vendor: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            vendor: vendor.into(),
            base_url: base_url.into(),
            key: Secret::none(),
        }
    }
}

/// A server that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// Its vendor: the name before the slash.
    pub vendor: String,
    /// Its base URL.
    pub base_url: String,
    /// The models it serves.
    pub models: Vec<LocalModel>,
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ListedModel>,
}

/// An entry of `/v1/models`, with what llama.cpp, vLLM and others add to OpenAI's fields.
#[derive(Default, Deserialize)]
pub(super) struct ListedModel {
    pub(super) id: String,
    #[serde(default)]
    owned_by: Option<String>,
    /// llama.cpp.
    #[serde(default)]
    meta: Option<ListedMeta>,
    /// llama.cpp.
    #[serde(default)]
    architecture: Option<ListedArchitecture>,
    /// vLLM.
    #[serde(default)]
    max_model_len: Option<u64>,
    /// Other servers and gateways.
    #[serde(default, alias = "context_window")]
    context_length: Option<u64>,
}

#[derive(Deserialize)]
struct ListedMeta {
    #[serde(default)]
    n_ctx: Option<u64>,
}

#[derive(Deserialize)]
struct ListedArchitecture {
    #[serde(default)]
    input_modalities: Vec<String>,
}

impl ListedModel {
    /// What the entry says about the model.
    pub(super) fn described(self) -> LocalModel {
        let window = self.meta.and_then(|meta| meta.n_ctx);
        let seen = self.architecture.map(|known| known.input_modalities);
        LocalModel {
            window: window.or(self.max_model_len).or(self.context_length),
            images: seen.map(|kinds| kinds.iter().any(|kind| kind == "image")),
            ..LocalModel::named(self.id)
        }
    }
}

/// Values of `owned_by` and the vendors they identify.
const OWNERS: &[(&str, &str)] = &[
    ("llamacpp", "llamacpp"),
    ("vllm", "vllm"),
    ("library", "ollama"),
    ("organization_owner", "lmstudio"),
];

/// The default endpoints of all local vendors.
pub fn local_endpoints() -> Vec<LocalEndpoint> {
    let local = VENDORS
        .iter()
        .filter(|vendor| vendor.site == ServerSite::Local);
    local
        .map(|vendor| LocalEndpoint::new(vendor.name, vendor.base_url))
        .collect()
}

/// Asks all endpoints concurrently for their models. A server that does not answer in time is left out.
pub async fn find_local(
    client: &HttpClient,
    places: &[LocalEndpoint],
    timeout: Duration,
) -> Vec<LocalServer> {
    let looks = places.iter().map(|place| look(client, place, timeout));
    join_all(looks).await.into_iter().flatten().collect()
}

/// The models an endpoint lists; none if it does not answer in time.
pub(super) async fn listed(
    client: &HttpClient,
    place: &LocalEndpoint,
    timeout: Duration,
) -> Option<Vec<ListedModel>> {
    let url = join(&place.base_url, "models");
    let list: ModelList = client.get_json(&url, &place.key, timeout).await?;
    Some(list.data)
}

async fn look(
    client: &HttpClient,
    place: &LocalEndpoint,
    timeout: Duration,
) -> Option<LocalServer> {
    let list = listed(client, place, timeout).await?;
    // Several vendors share a port: the owner a server reports takes precedence over its port.
    let owner = list.first().and_then(|served| served.owned_by.as_deref());
    let said = OWNERS
        .iter()
        .find(|(says, _)| Some(*says) == owner)
        .and_then(|(_, name)| vendor(name));
    let vendor = said.map_or_else(|| place.vendor.clone(), |vendor| vendor.name.to_owned());
    let models = list.into_iter().map(ListedModel::described).collect();
    Some(LocalServer {
        vendor,
        base_url: place.base_url.clone(),
        models,
    })
}
