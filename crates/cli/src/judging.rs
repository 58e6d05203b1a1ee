//! Judges a call that was made, or could be, with the engine that judges when it is made.

use std::path::Path;

use rooftree_protocol::{Effect, ErrorCode, Problem};
use rooftree_runtime::effective;
use rooftree_tools::{Judged, Policy, Tool, Toolset, Verdict, toolset::Found};
use serde::Serialize;
use serde_json::Value;

/// What is to be judged.
pub struct Call<'a> {
    /// The tool, by any of its names.
    pub tool: &'a str,
    pub input: Value,
    pub cwd: &'a Path,
}

/// A decision, and how it came about.
#[derive(Debug, Serialize)]
pub struct Judgement {
    /// Canonical name.
    pub tool: String,
    /// What rules are compared with.
    pub subject: Option<String>,
    pub effect: Effect,
    pub decision: Decision,
    pub reason: String,
    /// What was looked at, in order.
    pub steps: Vec<String>,
    /// The narrowest rule that would allow it.
    pub rule: String,
}

/// What a policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

impl Decision {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What scope and policy say about a call. `all` are the tools there are, `own` those the agent has.
pub fn judge(all: &Toolset, own: &Toolset, policy: &Policy, call: Call<'_>) -> Result<Judgement, Problem> {
    let Found::Tool(tool) = all.find(call.tool) else { return Err(unknown(all, call.tool)) };
    let input = tool.normalise(call.tool, call.input).map_err(|words| {
        Problem::new(ErrorCode::InvalidArguments, format!("{} cannot be called like that", tool.spec().name))
            .cause(words)
            .fix(format!("rooftree tools show {} tells its arguments", tool.spec().name))
    })?;
    let subject = tool.subject(&input);
    let judged = judged(tool.as_ref(), subject.as_deref(), &input, call.cwd);
    let rule = Policy::suggested_rule(&judged).to_string();
    let effect = judged.effect;
    let name = tool.spec().name.clone();
    let has = matches!(own.find(&name), Found::Tool(_));
    let (mut steps, verdict) = match tool.wants(&input) {
        _ if !has => (Vec::new(), missing(own)),
        Some(rule) => (Vec::new(), effective::wanted(policy, &rule)),
        None => explained(policy, &judged),
    };
    steps
        .insert(0, format!("scope: {}", if has { "the agent has it" } else { "the agent does not have it" }));
    let (decision, reason) = match verdict {
        Verdict::Allow(reason) => (Decision::Allow, reason),
        Verdict::Ask(reason) => (Decision::Ask, reason),
        Verdict::Deny(reason) => (Decision::Deny, reason),
    };
    Ok(Judgement { tool: name, subject, effect, decision, reason, steps, rule })
}

fn judged<'a>(tool: &'a dyn Tool, subject: Option<&'a str>, input: &'a Value, cwd: &'a Path) -> Judged<'a> {
    Judged { tool: &tool.spec().name, subject, input: Some(input), effect: tool.effect(input), cwd }
}

/// The policy's own account of a decision.
fn explained(policy: &Policy, judged: &Judged<'_>) -> (Vec<String>, Verdict) {
    let derivation = policy.explain(judged);
    let told = derivation.to_string();
    // The last line is the decision itself.
    let steps = told.lines().take(derivation.steps.len()).map(str::to_owned).collect();
    (steps, derivation.verdict)
}

fn missing(own: &Toolset) -> Verdict {
    Verdict::Deny(format!("this agent may not use it. It has: {}", own.names().join(", ")))
}

fn unknown(all: &Toolset, name: &str) -> Problem {
    Problem::new(ErrorCode::ToolNotFound, format!("there is no tool `{name}`"))
        .fix(format!("there are {}", all.names().join(", ")))
}

/// Arguments as they were typed: a JSON object, or the one thing the tool is about, such as a path or
/// a command. What else the tool needs stays empty, for rules do not look at it.
pub fn arguments(all: &Toolset, tool: &str, typed: Option<&str>) -> Result<Value, Problem> {
    let Found::Tool(found) = all.find(tool) else { return Err(unknown(all, tool)) };
    let typed = typed.unwrap_or("{}");
    // A command may begin with a brace too.
    if let Ok(input @ Value::Object(_)) = serde_json::from_str(typed) {
        return Ok(input);
    }
    let schema = &found.spec().input_schema;
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let mut names: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
    // A tool that needs nothing is still about something: the first thing it takes in words.
    if names.is_empty() {
        names.extend(
            properties.iter().find(|(_, kind)| kind["type"] == "string").map(|(name, _)| name.as_str()),
        );
    }
    let mut input = serde_json::Map::new();
    for (number, name) in names.iter().enumerate() {
        let value = match properties.get(*name).and_then(|kind| kind["type"].as_str()) {
            _ if number == 0 => Value::from(typed),
            Some("array") => Value::Array(Vec::new()),
            Some("integer" | "number") => Value::from(1),
            Some("boolean") => Value::from(false),
            _ => Value::from(if *name == "new_string" { "b" } else { "a" }),
        };
        input.insert((*name).to_owned(), value);
    }
    if input.is_empty() {
        return Err(Problem::new(ErrorCode::InvalidArguments, format!("{tool} takes no arguments")));
    }
    Ok(Value::Object(input))
}
