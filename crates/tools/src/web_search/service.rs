//! Sends one query to a search service.

use std::{fmt, sync::Arc};

use reqwest::{
    StatusCode,
    header::{HeaderMap, HeaderValue},
};
use rooftree_protocol::Usage;
use serde_json::Value;

use super::{
    SearchBackend, WebSearchHit, WebSearchRequest, anthropic, brave, domains, exa, google, openai,
    searxng, tavily, wire::BackendRequest,
};
use crate::web::{
    WebConfig, body,
    exchange::{self, WebRequest},
    guard::{NetworkGuard, WebError},
    untrusted_text::line,
};

/// Looks a key up when it is needed: it may change while a program runs for days.
pub type KeyLookup = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Says what a model's work costs, as far as prices are known.
pub type UsagePricer = Arc<dyn Fn(Usage) -> Usage + Send + Sync>;

/// Results of a service, and the token usage of a model that searched.
pub(crate) struct WebSearchResults {
    pub hits: Vec<WebSearchHit>,
    pub usage: Option<Usage>,
}

/// A service that can be asked.
#[derive(Clone)]
pub struct SearchService {
    /// The backend.
    pub backend: SearchBackend,
    /// Its base URL. Set by the user, so it may be on this machine.
    pub base_url: String,
    /// The model that searches, for those that are models.
    pub model: String,
    /// Its key.
    pub key: KeyLookup,
    /// Price of a query, for services that are models; none: unknown.
    pub charge: Option<UsagePricer>,
}

impl fmt::Debug for SearchService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.backend.title(), self.base_url)
    }
}

impl SearchService {
    /// The service these variables speak of, if any: an address of one's own before keys.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String> + Send + Sync + Clone + 'static,
    ) -> Option<Self> {
        if let Some(base_url) = variable("SEARXNG_URL") {
            return Some(Self {
                backend: SearchBackend::SearXng,
                base_url,
                model: String::new(),
                key: Arc::new(|| None),
                charge: None,
            });
        }
        SearchBackend::SEARCHING.into_iter().find_map(|backend| {
            let (name, base_url) = (backend.key_variable()?, backend.base_url()?.to_owned());
            variable(name)?;
            let variable = variable.clone();
            let key: KeyLookup = Arc::new(move || variable(name));
            Some(Self {
                backend,
                base_url,
                model: String::new(),
                key,
                charge: None,
            })
        })
    }

    /// Asks, and keeps what was wished for.
    pub(crate) async fn search(
        &self,
        web: &WebConfig,
        wish: &WebSearchRequest,
    ) -> Result<WebSearchResults, WebError> {
        let key = (self.key)().unwrap_or_default();
        if let (Some(variable), true) = (self.backend.key_variable(), key.is_empty()) {
            let (title, name) = (self.backend.title(), self.backend.name());
            return Err(WebError::failed(format!(
                "There is no key for {title}. The user can set {variable} or run `rooftree auth set {name}`."
            )));
        }
        let request = match self.backend {
            SearchBackend::SearXng => searxng::request(wish),
            SearchBackend::Brave => brave::request(wish, &key),
            SearchBackend::Tavily => tavily::request(wish, &key),
            SearchBackend::Exa => exa::request(wish, &key),
            SearchBackend::Anthropic => anthropic::request(wish, &self.model, &key),
            SearchBackend::OpenAi => openai::request(wish, &self.model, &key),
            SearchBackend::Google => google::request(wish, &self.model, &key),
        };
        let answer = self.ask(web, request, &key).await?;
        let hits = match self.backend {
            SearchBackend::SearXng => searxng::hits(&answer),
            SearchBackend::Brave => brave::hits(&answer),
            SearchBackend::Tavily => tavily::hits(&answer),
            SearchBackend::Exa => exa::hits(&answer),
            SearchBackend::Anthropic => anthropic::hits(&answer),
            SearchBackend::OpenAi => openai::hits(&answer),
            SearchBackend::Google => google::hits(&answer),
        };
        let hits = hits.ok_or_else(|| self.failed("its answer holds no list of results"))?;
        let hits = hits
            .into_iter()
            .filter(|hit| domains::is_wanted(hit, wish))
            .take(wish.count)
            .collect();
        Ok(WebSearchResults {
            hits,
            usage: self.used(&answer),
        })
    }

    /// Token usage and cost of a model; none where no model searches.
    fn used(&self, answer: &Value) -> Option<Usage> {
        let used = match self.backend {
            SearchBackend::Anthropic => anthropic::usage(answer),
            SearchBackend::OpenAi => openai::usage(answer),
            SearchBackend::Google => google::usage(answer),
            SearchBackend::SearXng
            | SearchBackend::Brave
            | SearchBackend::Tavily
            | SearchBackend::Exa => return None,
        };
        Some(self.charge.as_ref().map_or(used, |charge| charge(used)))
    }

    async fn ask(
        &self,
        web: &WebConfig,
        request: BackendRequest,
        key: &str,
    ) -> Result<Value, WebError> {
        let base = self.base_url.trim().trim_end_matches('/');
        let guard = self.guard(web)?;
        let admitted = guard.admit(&format!("{base}{}", request.path)).await?;
        let mut headers = HeaderMap::new();
        headers.insert(
            reqwest::header::ACCEPT,
            HeaderValue::from_static("application/json"),
        );
        for (name, value) in request.headers {
            let value = HeaderValue::from_str(&value)
                .map_err(|_| self.failed("its key has letters no key has"))?;
            headers.insert(name, value);
        }
        let response = exchange::send(
            &admitted,
            WebRequest {
                headers,
                body: request.body,
            },
        )
        .await?;
        let status = response.status();
        let bytes = body::read(response, &web.bounds).await?;
        if !status.is_success() {
            return Err(self.complaint(status, &bytes, key));
        }
        serde_json::from_slice(&bytes).map_err(|_| self.failed("its answer is not JSON"))
    }

    /// The user sets the URL of the service, so a private host is allowed; a metadata service never is.
    fn guard(&self, web: &WebConfig) -> Result<NetworkGuard, WebError> {
        let authority = self
            .base_url
            .trim()
            .split_once("://")
            .map_or("", |(_, rest)| rest);
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        let exception = authority
            .parse()
            .map_err(|_| self.failed("its url is not a URL; see [search] in config.toml"))?;
        let mut web = web.clone();
        web.allow_private.push(exception);
        Ok(NetworkGuard::new(&web))
    }

    /// Error message of a service, with the key redacted: a service may repeat it.
    fn complaint(&self, status: StatusCode, bytes: &[u8], key: &str) -> WebError {
        let said = String::from_utf8_lossy(bytes);
        let said = if key.is_empty() {
            said.into_owned()
        } else {
            said.replace(key, "…")
        };
        let hint = match (status.as_u16(), self.backend) {
            (403, SearchBackend::SearXng) => {
                " (JSON must be among search.formats in its settings.yml)"
            }
            (401 | 403 | 422, _) => " (is its key right?)",
            (402 | 429 | 432, _) => " (its limit is reached; try again later)",
            _ => "",
        };
        self.failed(&format!("{status}{hint}: {}", line(&said)))
    }

    fn failed(&self, why: &str) -> WebError {
        WebError::failed(format!("{} cannot be asked: {why}.", self.backend.title()))
    }
}
