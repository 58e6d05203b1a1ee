//! Web access of agents: private hosts they may fetch from, and the search service.

use std::sync::Arc;

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::ModelCatalog;
use rooftree_tools::{KeyLookup, SearchBackend, SearchService, UsagePricer, WebConfig};

use crate::{
    credentials::Credentials,
    environment::variable,
    settings::{Settings, WebSettings},
};

/// What the settings and variables make of it.
#[derive(Default)]
pub struct WebAccess {
    pub web: WebConfig,
    pub service: Option<SearchService>,
}

impl WebAccess {
    /// Sends no request and opens no connection. Keys are looked up again for each search.
    pub fn of(
        settings: &Settings,
        credentials: &Credentials,
        catalog: &ModelCatalog,
    ) -> Result<Self, Problem> {
        let said = &settings.web;
        let web = WebConfig {
            allow_private: said.allow_private.clone(),
            ..WebConfig::default()
        };
        // A URL without a backend means a SearXNG server of the user's own.
        let backend = said
            .backend
            .or(said.url.as_ref().map(|_| SearchBackend::SearXng));
        let service = match backend {
            Some(backend) => {
                let service = chosen(backend, said, credentials)?;
                Some(SearchService {
                    charge: charge(&service, catalog),
                    ..service
                })
            }
            None => SearchService::from_variables(variable).or_else(|| stored(credentials)),
        };
        Ok(Self { web, service })
    }
}

fn chosen(
    backend: SearchBackend,
    said: &WebSettings,
    credentials: &Credentials,
) -> Result<SearchService, Problem> {
    let own = || variable("SEARXNG_URL").filter(|_| backend == SearchBackend::SearXng);
    let base_url = said
        .url
        .clone()
        .or_else(own)
        .or_else(|| backend.base_url().map(str::to_owned));
    let base_url = base_url.ok_or_else(|| {
        Problem::new(
            ErrorCode::InvalidConfig,
            format!("there is no address of {}", backend.title()),
        )
        .fix("write url = \"http://localhost:8888\" below [search], or set SEARXNG_URL")
    })?;
    let model = said.model.clone().unwrap_or_default();
    match (backend.is_model(), model.is_empty()) {
        (true, true) => Err(Problem::new(
            ErrorCode::InvalidConfig,
            format!("no model of {} is named for searching", backend.title()),
        )
        .fix("write model = \"…\" below [search]; a small one is enough")),
        (false, false) => Err(Problem::new(
            ErrorCode::InvalidConfig,
            format!(
                "`search.model` has no meaning with {}, which is no model",
                backend.title()
            ),
        )
        .fix("remove it, or choose anthropic, openai or google as backend")),
        _ => Ok(SearchService {
            backend,
            base_url,
            model,
            key: key(backend, credentials),
            charge: None,
        }),
    }
}

/// The first service there is a stored key for. An unreadable credentials file is no error here: the code
/// that needs a key from it reports it.
fn stored(credentials: &Credentials) -> Option<SearchService> {
    let keys = credentials.stored().ok()?;
    let backend = SearchBackend::SEARCHING
        .into_iter()
        .find(|backend| keys.contains_key(backend.name()))?;
    let base_url = backend.base_url()?.to_owned();
    Some(SearchService {
        backend,
        base_url,
        model: String::new(),
        key: key(backend, credentials),
        charge: None,
    })
}

/// What the model that searches costs, by the same table as the models that think.
fn charge(service: &SearchService, catalog: &ModelCatalog) -> Option<UsagePricer> {
    let (known, provider) = (catalog.known(), service.backend.name());
    let mut price = known.find(provider, &service.model)?.price.clone()?;
    price.search = price.search.or(known.search_price(provider));
    Some(Arc::new(move |usage| price.charge(usage)))
}

fn key(backend: SearchBackend, credentials: &Credentials) -> KeyLookup {
    let (credentials, variables) = (credentials.clone(), variables(backend));
    Arc::new(move || {
        let found = credentials
            .find(backend.name(), &variables)
            .ok()
            .flatten()?;
        Some(found.key.reveal().to_owned())
    })
}

/// The variables the key of a service may be in.
pub fn variables(backend: SearchBackend) -> Vec<String> {
    backend
        .key_variable()
        .map(str::to_owned)
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{credentials::ApiKey, settings};

    fn settings(text: &str) -> Settings {
        settings::text(text, Path::new("c.toml")).unwrap()
    }

    fn credentials(home: &Path) -> Credentials {
        Credentials::at(home.join("credentials.toml"))
    }

    #[test]
    fn a_service_is_the_one_that_is_chosen_with_the_key_that_is_stored() {
        let home = tempfile::tempdir().unwrap();
        let credentials = credentials(home.path());
        let service = |text: &str| {
            WebAccess::of(&settings(text), &credentials, &ModelCatalog::default())
                .map(|online| online.service)
        };
        assert!(
            service("search.backend = 'searxng'")
                .unwrap_err()
                .fix
                .unwrap()
                .contains("SEARXNG_URL")
        );
        let own = service("search.url = 'http://localhost:8888'")
            .unwrap()
            .unwrap();
        assert_eq!(
            (own.backend, own.base_url.as_str()),
            (SearchBackend::SearXng, "http://localhost:8888")
        );
        credentials
            .store("exa", ApiKey::new("exa-key-in-file").unwrap())
            .unwrap();
        let exa = service("search.backend = 'exa'").unwrap().unwrap();
        assert_eq!(
            (exa.base_url.as_str(), (exa.key)().unwrap().as_str()),
            ("https://api.exa.ai", "exa-key-in-file")
        );
        let model = service("search = {backend = 'anthropic', model = 'claude-haiku-4-5'}")
            .unwrap()
            .unwrap();
        assert_eq!(
            (model.backend, model.model.as_str()),
            (SearchBackend::Anthropic, "claude-haiku-4-5")
        );
        assert!(
            service("search.backend = 'openai'")
                .unwrap_err()
                .message
                .contains("no model of OpenAI")
        );
        assert!(
            service("search = {backend = 'exa', model = 'x'}")
                .unwrap_err()
                .message
                .contains("no meaning")
        );
        let tavily = service("search = {backend = 'tavily', url = 'http://localhost:1'}")
            .unwrap()
            .unwrap();
        assert_eq!(
            (tavily.base_url.as_str(), (tavily.key)()),
            ("http://localhost:1", None)
        );
    }

    #[test]
    fn a_stored_key_is_enough() {
        let home = tempfile::tempdir().unwrap();
        let credentials = credentials(home.path());
        assert!(stored(&credentials).is_none());
        credentials
            .store("tavily", ApiKey::new("tvly-1").unwrap())
            .unwrap();
        assert_eq!(stored(&credentials).unwrap().backend, SearchBackend::Tavily);
    }
}
