//! Looks for model servers on this machine, on their usual ports and for a moment only.

use std::time::Duration;

use futures::future::join_all;
use serde::Deserialize;

use super::{ServerSite, VENDORS, vendor};
use crate::http::{HttpClient, join};

/// Where a server may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalEndpoint {
    /// The vendor that is expected there.
    pub vendor: String,
    /// Where, with the version.
    pub base_url: String,
}

/// A server that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// Whose it is: the name before the slash.
    pub vendor: String,
    /// Where.
    pub base_url: String,
    /// What it serves.
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

/// What servers say of whose they are, and the vendor that is.
const OWNERS: &[(&str, &str)] = &[
    ("llamacpp", "llamacpp"),
    ("vllm", "vllm"),
    ("library", "ollama"),
    ("organization_owner", "lmstudio"),
];

/// The usual places of all local vendors.
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

/// Asks all places at once which models they serve. Whoever does not answer in time is not there.
pub async fn find_local(
    client: &HttpClient,
    places: &[LocalEndpoint],
    patience: Duration,
) -> Vec<LocalServer> {
    let looks = places.iter().map(|place| look(client, place, patience));
    join_all(looks).await.into_iter().flatten().collect()
}

async fn look(
    client: &HttpClient,
    place: &LocalEndpoint,
    patience: Duration,
) -> Option<LocalServer> {
    let list: ModelList = client
        .get_json(&join(&place.base_url, "models"), patience)
        .await?;
    // Ports are shared: a server that says who it is knows better than its port.
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
