//! Parses the arguments of a delegation into one request type, for every tool surface.

use rooftree_protocol::{Isolation, Thoroughness};
use rooftree_tools::arguments;
use serde_json::{Map, Value, json};

use super::dialect;
pub(super) use super::surface::{ARGUMENTS, DelegationSurface};
use crate::caller::VERIFYING;

/// One delegation as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DelegationRequest {
    pub(super) agent: String,
    pub(super) prompt: String,
    pub(super) description: Option<String>,
    /// Whether it works in background, if the call says so; else its definition does.
    pub(super) background: Option<bool>,
    pub(super) strategy: SessionStrategy,
    pub(super) model: Option<String>,
    /// `fast`, `standard` or `powerful`: a wish, where `model` is an order.
    pub(super) tier: Option<String>,
    pub(super) max_turns: Option<u32>,
    pub(super) thoroughness: Option<Thoroughness>,
    pub(super) isolation: Option<Isolation>,
    pub(super) timeout_secs: Option<u64>,
    pub(super) surface: DelegationSurface,
}

/// Strategy for choosing the session to ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum SessionStrategy {
    /// A new one.
    #[default]
    New,
    /// The agent's latest.
    Latest,
    /// The agent's latest, or a new one.
    LatestOrNew,
    /// A branch of the one that asks.
    Fork,
    /// This one: a session, or the one a task ran in.
    Named(String),
}

impl DelegationRequest {
    /// Reads the arguments a model wrote under one of the tool's names, or a hook in their place.
    pub(super) fn read(called_as: &str, input: Value) -> Result<Self, String> {
        let surface = DelegationSurface::of(called_as);
        let input = with_default_agent(called_as, surface, input);
        let read = arguments::normalise(called_as, &ARGUMENTS, input.clone());
        // What is wrong is said in the words that this model was told.
        let own = |words: String| match arguments::normalise(
            called_as,
            dialect::arguments_of(surface),
            input,
        ) {
            Err(own) => own,
            Ok(_) => words,
        };
        let mut read = read.map_err(own)?;
        let surface = match (surface, read.remove("called_as")) {
            // Invariant: nothing that is written makes a call one of the runtime's own.
            (DelegationSurface::Task, Some(Value::String(name))) if name != VERIFYING => {
                DelegationSurface::of(&name)
            }
            (surface, _) => surface,
        };
        Self::from_arguments(called_as, surface, read)
    }

    /// Reads arguments that were read before and written by `to_value`.
    pub(super) fn canonical(input: &Value) -> Result<Self, String> {
        let called_as = arguments::text(input, "called_as").to_owned();
        let mut read = arguments::normalise("Task", &ARGUMENTS, input.clone())?;
        read.remove("called_as");
        Self::from_arguments("Task", DelegationSurface::of(&called_as), read)
    }

    fn from_arguments(
        called_as: &str,
        surface: DelegationSurface,
        mut input: Map<String, Value>,
    ) -> Result<Self, String> {
        let mut text = |name: &str| match input.remove(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text),
            _ => None,
        };
        let (agent, prompt) = (text("subagent_type"), text("prompt"));
        let (which, what) = dialect::names_in(surface);
        let agent = agent.ok_or_else(|| format!("{called_as} needs `{which}`."))?;
        let prompt =
            prompt.ok_or_else(|| format!("{called_as} needs a `{what}` that says something."))?;
        let strategy = strategy(surface, &agent, text("session"), text("resume"));
        let mode = match (surface, text("mode")) {
            (DelegationSurface::AgentsMessage, Some(mode)) => Some(is_async(called_as, &mode)?),
            _ => None,
        };
        let (description, model, tier) = (text("description"), text("model"), text("model_tier"));
        let (thoroughness, isolation) = (text("thoroughness"), text("isolation"));
        let number = |name: &str| input.get(name).and_then(Value::as_u64);
        let background = input
            .get("run_in_background")
            .and_then(Value::as_bool)
            .or(mode);
        if number("max_turns") == Some(0) {
            return Err(format!("{called_as}: `max_turns` must be at least 1."));
        }
        let max_turns = number("max_turns").map(|turns| u32::try_from(turns).unwrap_or(u32::MAX));
        Ok(Self {
            agent,
            prompt,
            description,
            background: if surface == DelegationSurface::StartBackgroundAgent {
                Some(true)
            } else {
                background
            },
            strategy,
            model,
            tier,
            max_turns,
            thoroughness: thoroughness.and_then(|word| serde_json::from_value(json!(word)).ok()),
            isolation: isolation.and_then(|word| serde_json::from_value(json!(word)).ok()),
            timeout_secs: number("timeout").map(|seconds| seconds.clamp(1, 86_400)),
            surface,
        })
    }

    /// The same as arguments of Task, as hooks and events show them: `read` takes them again.
    pub(super) fn to_value(&self) -> Value {
        let Self {
            agent,
            prompt,
            description,
            background,
            model,
            tier,
            max_turns,
            ..
        } = self;
        let (session, resume) = match &self.strategy {
            SessionStrategy::Named(named) => (None, Some(named.as_str())),
            SessionStrategy::Latest => (Some("latest"), None),
            SessionStrategy::LatestOrNew => (Some("latest-or-create"), None),
            SessionStrategy::Fork if !agent.eq_ignore_ascii_case("fork") => (Some("fork"), None),
            SessionStrategy::New if self.surface == DelegationSurface::AgentsMessage => {
                (Some("create"), None)
            }
            SessionStrategy::New | SessionStrategy::Fork => (None, None),
        };
        let mut value = json!({
            "description": description, "prompt": prompt, "subagent_type": agent, "run_in_background": background,
            "session": session, "resume": resume, "model": model, "model_tier": tier, "max_turns": max_turns,
            "thoroughness": self.thoroughness, "isolation": self.isolation, "timeout": self.timeout_secs,
            "called_as": self.surface.name(),
        });
        if let Value::Object(fields) = &mut value {
            fields.retain(|_, value| !value.is_null());
        }
        value
    }

    /// Whether it works in background.
    pub(super) fn is_background(&self) -> bool {
        self.background.unwrap_or_default()
    }

    /// Whether it is about a branch of the session that asks: a new one, or one made before.
    pub(super) fn is_fork(&self) -> bool {
        self.strategy == SessionStrategy::Fork
            || (self.agent.eq_ignore_ascii_case("fork")
                && matches!(self.strategy, SessionStrategy::Named(_)))
    }

    /// The task in a few words.
    pub(super) fn title(&self) -> String {
        let text = self.description.as_deref().unwrap_or(&self.prompt);
        let line = text.trim().lines().next().unwrap_or_default();
        line.chars().take(80).collect()
    }

    /// The prompt for the agent.
    pub(super) fn words(&self) -> String {
        let how = match self.thoroughness {
            None | Some(Thoroughness::Medium) => return self.prompt.clone(),
            Some(Thoroughness::Quick) => {
                "Be quick: answer from the first good evidence, and look at no more than you need."
            }
            Some(Thoroughness::Thorough) => {
                "Be thorough: look in every place that may matter, try other names for the same thing, and check \
                 what you find."
            }
        };
        format!("{}\n\n{how}", self.prompt)
    }
}

impl DelegationSurface {
    /// The name that says which one it is; none for Task itself.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Task => None,
            Self::InvokeAgent => Some("InvokeAgent"),
            Self::AgentsMessage => Some("agents_message"),
            Self::StartBackgroundAgent => Some("start_background_agent"),
            Self::Verifier => Some(VERIFYING),
        }
    }

    fn of(called_as: &str) -> Self {
        if called_as == VERIFYING {
            return Self::Verifier;
        }
        match called_as.to_lowercase().as_str() {
            "invokeagent" | "invoke_agent" | "spawnagent" => Self::InvokeAgent,
            "agents_message" => Self::AgentsMessage,
            "start_background_agent" | "spawn_teammate" => Self::StartBackgroundAgent,
            _ => Self::Task,
        }
    }
}

fn is_async(called_as: &str, mode: &str) -> Result<bool, String> {
    match mode.to_lowercase().as_str() {
        "async" => Ok(true),
        "sync" => Ok(false),
        _ => Err(format!(
            "{called_as}: `mode` must be one of sync, async, not `{mode}`."
        )),
    }
}

/// Some surfaces have an agent they mean when none is named; the canonical one has not.
fn with_default_agent(called_as: &str, surface: DelegationSurface, input: Value) -> Value {
    let default = match surface {
        DelegationSurface::InvokeAgent | DelegationSurface::StartBackgroundAgent => "task",
        DelegationSurface::Task if called_as == "task" => "explore",
        DelegationSurface::Task
        | DelegationSurface::AgentsMessage
        | DelegationSurface::Verifier => return input,
    };
    let mut input = match input {
        Value::Object(input) => input,
        Value::Null => Map::new(),
        other => return other,
    };
    let names = [
        "subagent_type",
        "agent_name",
        "agentId",
        "agent_id",
        "agent",
        "agent_type",
    ];
    if names
        .iter()
        .all(|name| input.get(*name).is_none_or(Value::is_null))
    {
        input.insert("subagent_type".into(), json!(default));
    }
    Value::Object(input)
}

fn strategy(
    surface: DelegationSurface,
    agent: &str,
    session: Option<String>,
    resume: Option<String>,
) -> SessionStrategy {
    if let Some(session) = resume {
        return SessionStrategy::Named(session);
    }
    if surface == DelegationSurface::Verifier {
        // A verifier starts in a new session, without the history of the work.
        return SessionStrategy::New;
    }
    if agent.eq_ignore_ascii_case("fork") {
        return SessionStrategy::Fork;
    }
    match session.as_deref() {
        Some("create" | "new") => SessionStrategy::New,
        Some("latest") => SessionStrategy::Latest,
        Some("latest-or-create" | "latest_or_create") => SessionStrategy::LatestOrNew,
        Some("fork") => SessionStrategy::Fork,
        Some(named) => SessionStrategy::Named(named.to_owned()),
        None if surface == DelegationSurface::AgentsMessage => SessionStrategy::LatestOrNew,
        None => SessionStrategy::New,
    }
}

#[cfg(test)]
mod tests;
