//! WebSearch: results of a search service, as a list of titles, URLs and a few lines each.

mod answer;
mod anthropic;
mod backend;
mod brave;
mod domains;
mod exa;
mod google;
mod openai;
mod searxng;
mod service;
mod tavily;
mod wire;

use std::sync::Arc;

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, ErrorCode, Repeat, ToolKind, ToolSpec};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, number, text},
    tool_info::{CallConcurrency, ExposedAs, ToolInfo},
    web::{WebConfig, guard::WebError},
};
pub use backend::SearchBackend;
pub use service::{KeyLookup, SearchService, UsagePricer};

use service::WebSearchResults;

/// A query tells a third party what the user works on.
pub(crate) const INFO: ToolInfo = ToolInfo {
    name: "WebSearch",
    aliases: &["web_search", "search_web"],
    kind: ToolKind::Fetch,
    effect: Effect::RemoteAction,
    repeat: Some(Repeat::Idempotent),
    concurrency: CallConcurrency::Always,
    capabilities: &["net"],
    needs_working_copy: false,
    exposed_as: ExposedAs::Web,
    ..ToolInfo::UNDECLARED
};

const DESCRIPTION: &str = "Search the web: titles, URLs and a few lines each.";

const ARGUMENTS: [ToolArgument; 4] = [
    ToolArgument::new("query", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["q", "search_query"]),
    ToolArgument::new("count", ArgumentKind::Number, "").with_aliases(&[
        "num_results",
        "max_results",
        "limit",
    ]),
    ToolArgument::new("allowed_domains", ArgumentKind::Texts, "")
        .with_aliases(&["include_domains", "domains"]),
    ToolArgument::accepted("blocked_domains", ArgumentKind::Texts)
        .with_aliases(&["exclude_domains"]),
];

const USUAL_COUNT: u64 = 8;
const MOST: u64 = 20;

const NOT_SET_UP: &str = "No search service is set up. The user can choose one: set SEARXNG_URL, \
    BRAVE_API_KEY, TAVILY_API_KEY or EXA_API_KEY, or store a key with `rooftree auth set brave` (or tavily, \
    exa), or write backend and url below [search] in config.toml. Until then WebFetch can read pages whose \
    URL is known.";

/// A search query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WebSearchRequest {
    pub query: String,
    pub count: usize,
    pub allowed: Vec<String>,
    pub blocked: Vec<String>,
}

/// One thing that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WebSearchHit {
    pub title: String,
    pub url: String,
    /// A few lines of it.
    pub excerpt: String,
    /// When it was published, as the service words it.
    pub date: String,
    /// The host it is on, where its URL does not say.
    pub host: Option<String>,
}

impl WebSearchRequest {
    /// The same as a request to a model that can search.
    fn as_request(&self) -> String {
        format!(
            "Search the web once for the words below. Then name each page you found, with one sentence about \
             what it says on the subject, and cite it. Do nothing else.\n\n{}",
            self.query
        )
    }
}

impl WebSearchHit {
    /// Adds something that is quoted from it.
    fn quote(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() && !self.excerpt.contains(text) {
            let gap = if self.excerpt.is_empty() { "" } else { " … " };
            self.excerpt = format!("{}{gap}{text}", self.excerpt);
        }
    }
}

/// The WebSearch tool.
pub(crate) struct WebSearchTool {
    spec: ToolSpec,
    web: Arc<WebConfig>,
    service: Option<SearchService>,
}

impl WebSearchTool {
    /// A search by this service; without one it says what to set up.
    pub fn new(web: &WebConfig, service: Option<SearchService>) -> Self {
        let spec = arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS);
        Self {
            spec,
            web: Arc::new(web.clone()),
            service,
        }
    }
}

impl Tool for WebSearchTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let input = arguments::normalise(INFO.name, &ARGUMENTS, input).map(Value::Object)?;
        if text(&input, "query").trim().is_empty() {
            return Err("WebSearch: `query` is empty.".to_owned());
        }
        domains::of(&input, "allowed_domains").and(domains::of(&input, "blocked_domains"))?;
        Ok(input)
    }

    fn title(&self, input: &Value) -> String {
        text(input, "query").to_owned()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let (web, service) = (self.web.clone(), self.service.clone());
        Box::pin(async move {
            let Some(service) = service else {
                return ToolOutput::failed(ErrorCode::ToolFailed, NOT_SET_UP);
            };
            let wish = match wish(&input) {
                Ok(wish) => wish,
                Err(words) => return ToolOutput::failed(ErrorCode::InvalidArguments, words),
            };
            let timeout = service.backend.timeout(web.bounds.time);
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => ToolOutput::failed(ErrorCode::ToolCancelled, "[cancelled]"),
                found = tokio::time::timeout(timeout, service.search(&web, &wish)) => match found {
                    Ok(Ok(WebSearchResults { hits, usage })) => {
                        let words = answer::words(service.backend, &wish, &hits, &context.call);
                        ToolOutput { usage, ..ToolOutput::done(words) }
                    }
                    Ok(Err(refusal)) => refusal.output(),
                    Err(_) => WebError::failed(format!(
                        "{} did not answer within {} seconds.", service.backend.title(), timeout.as_secs_f32()
                    )).output(),
                },
            }
        })
    }
}

fn wish(input: &Value) -> Result<WebSearchRequest, String> {
    let count = number(input, "count").unwrap_or(USUAL_COUNT).clamp(1, MOST);
    Ok(WebSearchRequest {
        query: text(input, "query").trim().to_owned(),
        count: usize::try_from(count).unwrap_or_default(),
        allowed: domains::of(input, "allowed_domains")?,
        blocked: domains::of(input, "blocked_domains")?,
    })
}
