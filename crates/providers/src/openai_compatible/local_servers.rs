//! Discovers model servers on this machine: probes their default ports with a short timeout.

use std::time::Duration;

use futures::future::join_all;
use serde::Deserialize;

use super::{ServerSite, VENDORS, vendor};
use crate::http::{HttpClient, join};

/// An endpoint to probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalEndpoint {
    /// The vendor expected there.
    pub vendor: String,
    /// Base URL with the version.
    pub base_url: String,
}

/// A server that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// Its vendor: the name before the slash.
    pub vendor: String,
    /// Its base URL.
    pub base_url: String,
    /// The models it serves.
    pub models: Vec<String>,
}

#[derive(Deserialize)]
struct ModelList {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
    #[serde(default)]
    owned_by: Option<String>,
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
        .map(|vendor| LocalEndpoint {
            vendor: vendor.name.into(),
            base_url: vendor.base_url.into(),
        })
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

async fn look(
    client: &HttpClient,
    place: &LocalEndpoint,
    timeout: Duration,
) -> Option<LocalServer> {
    let list: ModelList = client
        .get_json(&join(&place.base_url, "models"), timeout)
        .await?;
    // Several vendors share a port: the owner a server reports takes precedence over its port.
    let owner = list
        .data
        .first()
        .and_then(|served| served.owned_by.as_deref());
    let said = OWNERS
        .iter()
        .find(|(says, _)| Some(*says) == owner)
        .and_then(|(_, name)| vendor(name));
    let vendor = said.map_or_else(|| place.vendor.clone(), |vendor| vendor.name.to_owned());
    let models = list.data.into_iter().map(|served| served.id).collect();
    Some(LocalServer {
        vendor,
        base_url: place.base_url.clone(),
        models,
    })
}
