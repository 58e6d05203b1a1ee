//! External agents: agents on other servers, asked over HTTP as if they were models.
//!
//! A request is one signed POST. The answer is its response, or comes later to a callback URL that
//! only this request has. The agent keeps the conversation by itself and gets only what is new;
//! it gets no tools and no system prompt. `docs/external-agents.md` is the documentation for its authors.

mod callback_token;
mod callbacks;
mod events;
mod request;
mod stream;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rooftree_protocol::{ErrorCode, ModelChoice, Problem};

use crate::{
    Model, ModelRequest, Provider, ReplyStream, Workplace,
    catalog::ModelOpener,
    http::{self, HttpClient, Secret},
};

pub use callback_token::new_secret;
pub use callbacks::{AgentCallback, CallbackBaseUrlFn, CallbackReceipt, CallbackRegistry};
pub use events::BODY_BYTES;

/// Context window that never fills: the agent keeps the conversation, and what it is sent does
/// not grow with it, so there is nothing to compact.
const WINDOW: u64 = 1_000_000_000_000;

/// Default timeout for an answer, or for the promise of one.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Default timeout for a promised answer, before the request is retried.
pub const PROMISE: Duration = Duration::from_secs(3600);

/// How an agent delivers its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerMode {
    /// In its HTTP response.
    #[default]
    Sync,
    /// By callbacks, or in its response if it chooses to.
    Async,
}

/// Connection options of one agent.
#[derive(Clone, Debug)]
pub struct ExternalAgentOptions {
    /// URL of the POST.
    pub input_url: String,
    /// Secret that signs requests.
    pub secret: Secret,
    /// The environment variable that holds the secret, named in errors when it is missing.
    pub variable: String,
    /// Timeout for a response.
    pub timeout: Duration,
    /// Timeout for a promised answer.
    pub promise: Duration,
    /// How it delivers its answer.
    pub mode: AnswerMode,
    /// Base URL under which the agent reaches our callbacks, if it is not the address we listen on.
    pub callback_base: Option<String>,
}

impl ExternalAgentOptions {
    /// Options for an agent that answers in its response, with default timeouts.
    pub fn new(input_url: impl Into<String>, secret: Secret, variable: impl Into<String>) -> Self {
        Self {
            input_url: input_url.into(),
            secret,
            variable: variable.into(),
            timeout: TIMEOUT,
            promise: PROMISE,
            mode: AnswerMode::Sync,
            callback_base: None,
        }
    }
}

/// Opener for external agents by their names.
pub fn opener(
    client: HttpClient,
    agents: BTreeMap<String, ExternalAgentOptions>,
    callbacks: CallbackRegistry,
) -> ModelOpener {
    Arc::new(move |choice| {
        let options = agents
            .get(&choice.model)
            .ok_or_else(|| unknown(choice, &agents))?;
        if options.secret.reveal().is_none() {
            return Err(missing_secret(choice, &options.variable));
        }
        let agent = ExternalAgentProvider {
            client: client.clone(),
            options: Arc::new(options.clone()),
            callbacks: callbacks.clone(),
        };
        Ok(Model {
            window: Some(WINDOW),
            ..Model::new(choice, Arc::new(agent))
        })
    })
}

fn unknown(choice: &ModelChoice, agents: &BTreeMap<String, ExternalAgentOptions>) -> Problem {
    let known: Vec<&str> = agents.keys().map(String::as_str).collect();
    let problem = Problem::new(
        ErrorCode::InvalidConfig,
        format!("there is no external agent `{}`", choice.model),
    )
    .fix(format!(
        "write [external.{}] with input_url and secret_env into config.toml",
        choice.model
    ));
    if known.is_empty() {
        problem
    } else {
        problem.cause(format!("known ones: {}", known.join(", ")))
    }
}

fn missing_secret(choice: &ModelChoice, variable: &str) -> Problem {
    Problem::new(
        ErrorCode::Unauthorized,
        format!("there is no secret for `{choice}`"),
    )
    .cause(format!(
        "{variable} is not set, and questions must be signed"
    ))
    .fix(format!(
        "export {variable}=… with what the agent checks signatures with"
    ))
}

/// Provider for one external agent.
#[derive(Clone)]
struct ExternalAgentProvider {
    client: HttpClient,
    options: Arc<ExternalAgentOptions>,
    callbacks: CallbackRegistry,
}

impl Provider for ExternalAgentProvider {
    fn stream(&self, request: ModelRequest) -> ReplyStream {
        let waits = http::HttpTimeouts {
            first_byte: self.options.timeout,
            total: self.options.timeout,
            ..http::HttpTimeouts::default()
        };
        let client = self.client.clone().with_timeouts(waits);
        stream::stream(
            Self {
                client,
                ..self.clone()
            },
            request,
        )
    }

    fn unenforced(&self, _: &[&str], _: &Workplace) -> Vec<String> {
        vec![
            "it is an agent elsewhere: what it does by itself is neither seen nor limited here"
                .to_owned(),
        ]
    }

    fn has_own_tools(&self) -> bool {
        true
    }
}
