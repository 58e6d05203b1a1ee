//! Agents elsewhere that answer over HTTP, asked as if they were models.
//!
//! A question is one signed POST. The answer is its response, or comes later to a callback URL that
//! only this question has. The agent keeps the conversation by itself and gets only what is new;
//! it sees no tools and no system prompt. `docs/external-agents.md` is what its authors read.

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

/// Tokens of a window that never fills: the agent keeps the conversation, and what it is sent does
/// not grow with it, so there is nothing to make smaller.
const WINDOW: u64 = 1_000_000_000_000;

/// How long an agent may take to answer, or to say that it will.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// How long a promised answer is waited for, before the question is asked again.
pub const PROMISE: Duration = Duration::from_secs(3600);

/// How an agent answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerMode {
    /// In its response.
    #[default]
    Sync,
    /// With callbacks, or in its response if it likes.
    Async,
}

/// How to reach one agent.
#[derive(Clone, Debug)]
pub struct ExternalAgentOptions {
    /// Where questions go.
    pub input_url: String,
    /// What questions are signed with.
    pub secret: Secret,
    /// The variable that holds the secret, named when it is missing.
    pub variable: String,
    /// For a response.
    pub timeout: Duration,
    /// For a promised answer.
    pub promise: Duration,
    /// How it answers.
    pub mode: AnswerMode,
    /// Where the agent reaches our callbacks, if that is not where we listen.
    pub callback_base: Option<String>,
}

impl ExternalAgentOptions {
    /// An agent that answers at once, with the usual patience.
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

/// How the catalog finds agents by their names.
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

/// One agent elsewhere.
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
}
