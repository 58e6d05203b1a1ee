//! Model servers on this machine: discovery, the default model, and what is kept about their models in `models.toml`.

use std::{fs, io::ErrorKind, path::Path};

use futures::future::join_all;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::{
    catalog::{KnownModels, ModelTier},
    openai_compatible::{LocalEndpoint, LocalModel, LocalServer, describe_local, find_local},
};
use rooftree_stdx::atomic_file;

use crate::{
    configured_models::ConfiguredModels,
    human_format::place,
    providers::{KeyNeed, PROBE_TIMEOUT, ProviderProfile, secret},
    settings::ProviderTimeouts,
};

/// Models of one server that are described, at most.
const DESCRIBED: usize = 16;

/// The servers on this machine that answer.
pub async fn servers(models: &ConfiguredModels) -> Vec<LocalServer> {
    let local = models
        .profiles
        .iter()
        .filter(|profile| profile.need == KeyNeed::Nothing);
    let places: Vec<LocalEndpoint> = local
        .map(|profile| LocalEndpoint {
            key: secret(profile, &models.credentials),
            ..LocalEndpoint::new(&profile.name, &profile.base_url)
        })
        .collect();
    match models.connections.client(ProviderTimeouts::default()) {
        Ok(client) => find_local(&client, &places, PROBE_TIMEOUT).await,
        Err(_) => Vec::new(),
    }
}

/// The same, with all that the servers tell about their models. Models that do not chat are left out.
pub async fn described_servers(models: &ConfiguredModels) -> Vec<LocalServer> {
    let Ok(client) = models.connections.client(ProviderTimeouts::default()) else {
        return Vec::new();
    };
    let described = servers(models).await.into_iter().map(|server| {
        let client = client.clone();
        async move {
            let key = models
                .profiles
                .iter()
                .find(|profile| profile.name == server.vendor)
                .map(|profile| secret(profile, &models.credentials));
            let mut endpoint = LocalEndpoint::new(&server.vendor, &server.base_url);
            endpoint.key = key.unwrap_or(endpoint.key);
            let (first, rest) = server.models.split_at(server.models.len().min(DESCRIBED));
            let asked = first
                .iter()
                .map(|model| describe_local(&client, &endpoint, &model.name, PROBE_TIMEOUT));
            let told = join_all(asked).await.into_iter().zip(first);
            let told = told.map(|(told, listed)| told.unwrap_or_else(|| listed.clone()));
            let models = told.chain(rest.iter().cloned());
            LocalServer {
                models: models.filter(|model| model.chats != Some(false)).collect(),
                ..server
            }
        }
    });
    join_all(described).await
}

/// The usual model of the first provider with a key, else the first of a server on this machine.
pub fn first_choice(models: &ConfiguredModels, local: &[LocalServer]) -> Option<String> {
    let known = models.catalog.known();
    let usual = |profile: &&ProviderProfile| {
        let info = known.of_tier(&profile.name, ModelTier::Standard)?;
        Some(info.id.clone())
    };
    let of_key = models.usable().iter().find_map(usual);
    of_key.or_else(|| {
        local
            .iter()
            .find_map(|found| Some(format!("{}/{}", found.vendor, found.models.first()?.name)))
    })
}

/// Adds the models whose window is known to `models.toml`, except those it has. Returns how many were added.
pub fn keep(path: &Path, servers: &[LocalServer]) -> Result<usize, Problem> {
    let cannot = |what: &str, error: &dyn std::fmt::Display| {
        let words = format!("cannot {what} {}", place(path));
        Problem::new(ErrorCode::InvalidConfig, words).cause(error.to_string())
    };
    let before = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(cannot("read", &error)),
    };
    let known = KnownModels::default().adding(&place(path), &before)?;
    let mut added = 0;
    let mut text = before.clone();
    for (server, model) in servers
        .iter()
        .flat_map(|server| server.models.iter().map(move |model| (server, model)))
        .filter(|(server, model)| {
            model.window.is_some() && known.find(&server.vendor, &model.name).is_none()
        })
    {
        if text.is_empty() {
            text += "# Facts about models: docs/models.md. Without an entry the server is asked in each run.\n";
        }
        text += &entry(&server.vendor, model);
        added += 1;
    }
    if added > 0 {
        KnownModels::default().adding(&place(path), &text)?;
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(|error| cannot("write", &error))?;
        }
        atomic_file::replace_through_links(path, text.as_bytes())
            .map_err(|error| cannot("write", &error))?;
    }
    Ok(added)
}

/// An entry of `models.toml`.
fn entry(vendor: &str, model: &LocalModel) -> String {
    let id = toml::Value::from(format!("{vendor}/{}", model.name));
    let mut text = format!("\n[[model]]\nid = {id}\n");
    if let Some(window) = model.window {
        text += &format!("window = {window}\n");
    }
    for (key, value) in [("tools", model.tools), ("images", model.images)] {
        if let Some(value) = value {
            text += &format!("{key} = {value}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n_6_models_are_kept_once_and_what_is_written_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("models.toml");
        let model = |name: &str, window| LocalModel {
            window,
            tools: Some(true),
            ..LocalModel::named(name)
        };
        let server = LocalServer {
            vendor: "ollama".into(),
            base_url: "http://127.0.0.1:11434/v1".into(),
            models: vec![model("a:1b", Some(4_096)), model("b", None)],
        };
        assert_eq!(keep(&path, std::slice::from_ref(&server)).unwrap(), 1);
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.ends_with("[[model]]\nid = \"ollama/a:1b\"\nwindow = 4096\ntools = true\n"),
            "{text}"
        );
        assert_eq!(keep(&path, &[server]).unwrap(), 0);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}
