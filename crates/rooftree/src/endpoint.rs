//! Endpoint of a provider: its base URL, its API key, its wire format.

use std::{
    env,
    sync::{Arc, OnceLock},
    time::Duration,
};

use rooftree_protocol::Problem;
use rooftree_providers::{
    Model,
    anthropic::{self, KeyScheme},
    catalog::{KnownModels, ModelOpener, ModelPrice, ModelProbe},
    gemini,
    http::{HttpClient, HttpTimeouts, Secret},
    openai::{self, ChatDialect},
    openai_compatible::{LocalEndpoint, ServerSite, local_probe},
    vendor_opener::{self, VendorAccess},
    vendors::{self, VendorWire, key_scheme},
};

/// Timeout for a server on this machine that is asked about a model.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// A place that speaks one of the vendors' languages.
///
/// Needed only for proxies, servers of one's own and tests: the usual providers are there without
/// it, with their keys from the usual variables.
///
/// ```
/// use rooftree::{Endpoint, query};
///
/// let asked = query("Hello?")
///     .endpoint("office", Endpoint::compatible("http://models.office:8000/v1").key("secret"))
///     .model("office/llama-4");
/// # let _ = asked;
/// ```
#[derive(Clone, Debug)]
pub struct Endpoint {
    wire: VendorWire,
    base_url: String,
    key: Secret,
    /// The variable its key is usually in, for those that want one.
    variable: Option<&'static str>,
    /// The variables its key is looked for in, if it was not given.
    looked_at: &'static [&'static str],
    /// Whether it runs on one's own machine.
    is_free: bool,
}

impl Endpoint {
    fn new(wire: VendorWire, base_url: impl Into<String>, variable: Option<&'static str>) -> Self {
        Self {
            wire,
            base_url: base_url.into(),
            key: Secret::none(),
            variable,
            looked_at: &[],
            is_free: false,
        }
    }

    /// A vendor's own place, with its key from the usual variables.
    pub(crate) fn of(row: &vendors::VendorRow) -> Self {
        let (looked_at, is_free) = (row.variables, row.site == ServerSite::Local);
        let needed = looked_at.first().copied().filter(|_| !is_free);
        let key = Secret::from_fn(move || variable(looked_at).map(|(_, value)| value));
        Self {
            key,
            looked_at,
            is_free,
            ..Self::new(row.wire, row.base_url, needed)
        }
    }

    /// Speaks Anthropic's Messages.
    pub fn anthropic() -> Self {
        Self::new(
            VendorWire::Anthropic,
            anthropic::BASE_URL,
            Some("ANTHROPIC_API_KEY"),
        )
    }

    /// Speaks OpenAI's Responses.
    pub fn openai() -> Self {
        Self::new(
            VendorWire::Responses,
            openai::BASE_URL,
            Some("OPENAI_API_KEY"),
        )
    }

    /// Speaks OpenAI's Chat Completions.
    pub fn openai_chat() -> Self {
        Self::new(
            VendorWire::Chat(ChatDialect::OPENAI),
            openai::BASE_URL,
            Some("OPENAI_API_KEY"),
        )
    }

    /// Speaks Google's Gemini.
    pub fn google() -> Self {
        Self::new(VendorWire::Gemini, gemini::BASE_URL, Some("GEMINI_API_KEY"))
    }

    /// Speaks Chat Completions, as most servers do. The address ends with the version: `/v1`.
    pub fn compatible(base_url: impl Into<String>) -> Self {
        Self::new(VendorWire::Chat(ChatDialect::PLAIN), base_url, None)
    }

    /// Somewhere else.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = base_url.into();
        self
    }

    /// With this key.
    pub fn key(self, key: impl Into<String>) -> Self {
        Self {
            key: Secret::fixed(key),
            looked_at: &[],
            ..self
        }
    }

    /// Its key, if it was given here or is in a variable.
    pub(crate) fn secret(&self) -> Option<String> {
        self.key.reveal()
    }

    /// How the catalog opens its models. Connections are set up when the first one is opened.
    pub(crate) fn opener(
        self,
        provider: &str,
        connections: LazyHttpClient,
        known: Arc<KnownModels>,
    ) -> ModelOpener {
        let provider = provider.to_owned();
        Arc::new(move |choice| {
            let access = self.access(&provider);
            let open = vendor_opener::opener(access, connections.client()?, known.clone());
            let model = open(choice)?;
            Ok(if self.is_free {
                Model {
                    price: Some(ModelPrice::FREE),
                    is_local: true,
                    ..model
                }
            } else {
                model
            })
        })
    }

    /// How the catalog asks its server for the window of a model; none for vendors elsewhere.
    pub(crate) fn probe(&self, provider: &str, connections: LazyHttpClient) -> Option<ModelProbe> {
        let place = LocalEndpoint {
            key: self.key.clone(),
            ..LocalEndpoint::new(provider, &self.base_url)
        };
        let client = move || connections.client().ok();
        self.is_free
            .then(|| local_probe(place, PROBE_TIMEOUT, client))
    }

    fn access(&self, provider: &str) -> VendorAccess {
        let found = variable(self.looked_at);
        VendorAccess {
            provider: provider.to_owned(),
            wire: self.wire,
            base_url: self.base_url.clone(),
            key: self.key.clone(),
            scheme: found.map_or(KeyScheme::ApiKey, |(name, _)| key_scheme(name)),
            required: self.variable.map(str::to_owned),
        }
    }
}

/// The first of these variables that says something, and what.
pub(crate) fn variable(names: &[&'static str]) -> Option<(&'static str, String)> {
    names.iter().find_map(|name| {
        let value = env::var(name)
            .ok()
            .filter(|value| !value.trim().is_empty())?;
        Some((*name, value))
    })
}

/// The HTTP connections all endpoints of one runtime share, set up when the first one is needed.
#[derive(Clone, Default)]
pub(crate) struct LazyHttpClient(Arc<OnceLock<HttpClient>>);

impl LazyHttpClient {
    pub(crate) fn client(&self) -> Result<HttpClient, Problem> {
        if let Some(client) = self.0.get() {
            return Ok(client.clone());
        }
        let client = HttpClient::new(HttpTimeouts::default())?;
        Ok(self.0.get_or_init(|| client).clone())
    }
}
