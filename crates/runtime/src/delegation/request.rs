//! What is asked for, whatever the tool was called: one value for every surface.

use rooftree_protocol::{Isolation, Thoroughness};
use rooftree_tools::arguments::{self, Argument, Kind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::caller::VERIFYING;

/// The arguments of Task, and those of its other names.
pub(super) const ARGUMENTS: [Argument; 14] = [
    Argument::new("description", Kind::Text, "The task in three to five words.").also(&["name"]),
    Argument::new("prompt", Kind::Text, "The task. The agent sees nothing else of this conversation.")
        .required()
        .also(&["content", "task"]),
    Argument::new("subagent_type", Kind::Text, "Which agent; `fork` continues this conversation.")
        .required()
        .also(&["agent_name", "agentId", "agent_id", "agent", "agent_type"]),
    Argument::new("run_in_background", Kind::Flag, "Go on at once; you are told when it ends.")
        .also(&["background"]),
    Argument::new("resume", Kind::Text, "A session or task to go on with instead of starting anew."),
    Argument::new("model", Kind::Text, "provider/model or an alias, instead of the agent's own."),
    Argument::new("model_tier", Kind::Choice(&["fast", "standard", "powerful"]), ""),
    Argument::new("max_turns", Kind::Number, ""),
    Argument::new("thoroughness", Kind::Choice(&["quick", "medium", "thorough"]), ""),
    Argument::new("isolation", Kind::Choice(&["auto", "none", "worktree"]), "A working copy of its own."),
    Argument::new("timeout", Kind::Number, "Seconds to wait before it goes on in background.")
        .also(&["timeout_secs"]),
    Argument::accepted("session", Kind::Text),
    Argument::accepted("mode", Kind::Text),
    Argument::accepted("team_name", Kind::Text),
];

/// One delegation as it is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) agent: String,
    pub(super) prompt: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) background: bool,
    #[serde(default)]
    pub(super) strategy: Strategy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max_turns: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) thoroughness: Option<Thoroughness>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) isolation: Option<Isolation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) timeout_secs: Option<u64>,
    #[serde(default)]
    pub(super) surface: Surface,
}

/// Which session is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Strategy {
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

/// By what name the tool was called, which decides how the answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Surface {
    /// `Task`.
    #[default]
    Task,
    /// `InvokeAgent`.
    InvokeAgent,
    /// `agents_message`.
    AgentsMessage,
    /// `start_background_agent`.
    StartBackgroundAgent,
    /// No tool of a model: the runtime has work checked.
    Verifier,
}

impl Request {
    /// Reads the arguments a model wrote under one of the tool's names.
    pub(super) fn read(called_as: &str, input: Value) -> Result<Self, String> {
        let surface = Surface::of(called_as);
        let mut input =
            arguments::normalise(called_as, &ARGUMENTS, with_default_agent(called_as, surface, input))?;
        let mut text = |name: &str| match input.remove(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text),
            _ => None,
        };
        let (agent, prompt) = (text("subagent_type"), text("prompt"));
        let agent = agent.ok_or_else(|| format!("{called_as} needs `subagent_type`."))?;
        let prompt = prompt.ok_or_else(|| format!("{called_as} needs a `prompt` that says something."))?;
        let strategy = strategy(surface, &agent, text("session"), text("resume"));
        let is_async = text("mode").is_some_and(|mode| mode.eq_ignore_ascii_case("async"));
        let (description, tier) = (text("description"), text("model_tier"));
        let model = text("model").or(tier);
        let (thoroughness, isolation) = (text("thoroughness"), text("isolation"));
        let number = |name: &str| input.get(name).and_then(Value::as_u64);
        let background = input.get("run_in_background").and_then(Value::as_bool).unwrap_or_default();
        let max_turns = number("max_turns").map(|turns| u32::try_from(turns).unwrap_or(u32::MAX).max(1));
        Ok(Self {
            agent,
            prompt,
            description,
            background: background || is_async || surface == Surface::StartBackgroundAgent,
            strategy,
            model,
            max_turns,
            thoroughness: thoroughness.and_then(|word| serde_json::from_value(json!(word)).ok()),
            isolation: isolation.and_then(|word| serde_json::from_value(json!(word)).ok()),
            timeout_secs: number("timeout").map(|seconds| seconds.clamp(1, 86_400)),
            surface,
        })
    }

    /// Reads arguments that `read` has made canonical.
    pub(super) fn canonical(input: &Value) -> Result<Self, String> {
        serde_json::from_value(input.clone()).map_err(|error| error.to_string())
    }

    /// The task in a few words.
    pub(super) fn title(&self) -> String {
        let text = self.description.as_deref().unwrap_or(&self.prompt);
        let line = text.trim().lines().next().unwrap_or_default();
        line.chars().take(80).collect()
    }

    /// What the agent reads.
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

impl Surface {
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

/// Some surfaces have an agent they mean when none is named; the canonical one has not.
fn with_default_agent(called_as: &str, surface: Surface, input: Value) -> Value {
    let default = match surface {
        Surface::InvokeAgent | Surface::StartBackgroundAgent => "task",
        Surface::Task if called_as == "task" => "explore",
        Surface::Task | Surface::AgentsMessage | Surface::Verifier => return input,
    };
    let mut input = match input {
        Value::Object(input) => input,
        Value::Null => Map::new(),
        other => return other,
    };
    let names = ["subagent_type", "agent_name", "agentId", "agent_id", "agent", "agent_type"];
    if names.iter().all(|name| input.get(*name).is_none_or(Value::is_null)) {
        input.insert("subagent_type".into(), json!(default));
    }
    Value::Object(input)
}

fn strategy(surface: Surface, agent: &str, session: Option<String>, resume: Option<String>) -> Strategy {
    if let Some(session) = resume {
        return Strategy::Named(session);
    }
    if surface == Surface::Verifier {
        // Whoever checks comes with fresh eyes.
        return Strategy::New;
    }
    if agent.eq_ignore_ascii_case("fork") {
        return Strategy::Fork;
    }
    match session.as_deref() {
        Some("create" | "new") => Strategy::New,
        Some("latest") => Strategy::Latest,
        Some("latest-or-create" | "latest_or_create") => Strategy::LatestOrNew,
        Some("fork") => Strategy::Fork,
        Some(named) => Strategy::Named(named.to_owned()),
        None if surface == Surface::AgentsMessage => Strategy::LatestOrNew,
        None => Strategy::New,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, input: Value) -> Request {
        Request::read(name, input).unwrap()
    }

    #[test]
    fn every_surface_says_the_same_in_its_own_words() {
        let plain = read("Task", json!({"subagent_type": "explore", "prompt": "look"}));
        assert_eq!(read("task", json!({"prompt": "look"})), plain);
        assert_eq!(read("TASK", json!({"subagent_type": "explore", "prompt": "look"})), plain);
        let koda = read("InvokeAgent", json!({"agent_name": "explore", "prompt": "look"}));
        assert_eq!(Request { surface: Surface::Task, ..koda }, plain);
        let peer =
            read("agents_message", json!({"agentId": "explore", "content": "look", "session": "create"}));
        assert_eq!(Request { surface: Surface::Task, ..peer }, plain);
        let background =
            read("Task", json!({"subagent_type": "task", "prompt": "x", "run_in_background": true}));
        let daycare = read("start_background_agent", json!({"prompt": "x"}));
        assert_eq!(Request { surface: Surface::Task, ..daycare }, background);
        let koda = read("InvokeAgent", json!({"prompt": "x", "background": true}));
        assert_eq!(Request { surface: Surface::Task, ..koda }, background);
    }

    #[test]
    fn sessions_are_named_by_strategy_or_id() {
        let strategy = |input: Value| read("agents_message", input).strategy;
        let with = |session: &str| json!({"agentId": "a", "content": "x", "session": session});
        assert_eq!(strategy(json!({"agentId": "a", "content": "x"})), Strategy::LatestOrNew);
        assert_eq!(strategy(with("latest")), Strategy::Latest);
        assert_eq!(strategy(with("create")), Strategy::New);
        assert_eq!(strategy(with("ses_1")), Strategy::Named("ses_1".into()));
        let fork = read("InvokeAgent", json!({"agent_name": "fork", "prompt": "x"}));
        assert_eq!(fork.strategy, Strategy::Fork);
        let resumed = read("Task", json!({"subagent_type": "a", "prompt": "x", "resume": "ses_9"}));
        assert_eq!(resumed.strategy, Strategy::Named("ses_9".into()));
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(Request::read("Task", json!({"prompt": "x"})).unwrap_err().contains("subagent_type"));
        assert!(Request::read("agents_message", json!({"agentId": "a"})).unwrap_err().contains("prompt"));
        assert!(Request::read("Task", json!({"subagent_type": "a", "prompt": " "})).is_err());
    }
}
