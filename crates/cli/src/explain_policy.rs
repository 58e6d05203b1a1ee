//! Explains the policy decision about a past or possible call, with the engine that decides real calls.

mod known_tools;

use std::path::Path;

use rooftree_protocol::{AgentDefinition, Effect, ErrorCode, PermissionMode, Problem};
use rooftree_runtime::{
    Hooks, effective_rights,
    hooks::{ConfiguredHook, HookPayload, HookPoint},
};
use rooftree_tools::{
    Derivation, Policy, PolicyRequest, PolicyVerdict, SandboxConfig, Tool, toolset::ToolLookup,
};
use serde::Serialize;
use serde_json::Value;

pub use self::known_tools::KnownTools;
use crate::human_format::place;

/// What is to be judged.
pub struct ExplainedCall<'a> {
    /// The tool, by any of its names.
    pub tool: &'a str,
    pub input: Value,
    pub cwd: &'a Path,
    /// What it does to the world, where that is recorded.
    pub effect: Option<Effect>,
}

/// A hook that would be asked.
#[derive(Debug, Serialize)]
pub struct ConsultedHook {
    pub hook: String,
    /// Where it is written.
    pub place: String,
}

/// A decision, and how it came about.
#[derive(Debug, Serialize)]
pub struct PolicyExplanation {
    /// Canonical name.
    pub tool: String,
    /// What rules are compared with.
    pub subject: Option<String>,
    pub effect: Effect,
    pub decision: ExplainedDecision,
    pub reason: String,
    /// What was looked at, in order.
    pub steps: Vec<String>,
    /// The narrowest rule that would allow it.
    pub rule: String,
    /// Who would be asked before it is made, and can refuse it or change it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<ConsultedHook>,
}

/// What a policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExplainedDecision {
    Allow,
    Ask,
    Deny,
}

impl ExplainedDecision {
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
pub fn explain_call(
    known: &KnownTools,
    policy: &Policy,
    sandbox: &SandboxConfig,
    call: ExplainedCall<'_>,
) -> Result<PolicyExplanation, Problem> {
    let tool = known.find(call.tool)?;
    let input = normalised(tool.as_ref(), &call)?;
    let (subject, ruled_as) = (tool.subject(&input), tool.ruled_as(&input));
    let effect = call.effect.unwrap_or_else(|| tool.effect(&input));
    let about = PolicyRequest {
        tool: &ruled_as,
        subject: subject.as_deref(),
        input: Some(&input),
        effect,
        cwd: call.cwd,
    };
    let rule = Policy::suggested_rule(&about).to_string();
    let name = tool.spec().name.clone();
    let has = matches!(known.own.find(&name), ToolLookup::Tool(_));
    let mut steps = vec![format!(
        "scope: {}",
        if has {
            "the agent has it"
        } else {
            "the agent does not have it"
        }
    )];
    let verdict = if has {
        let ruling = effective_rights::judge(policy, sandbox, tool.as_ref(), &about);
        steps.extend(ruling.derivation.iter().flat_map(explained));
        ruling.verdict
    } else {
        PolicyVerdict::Deny(format!(
            "this agent may not use it. It has: {}",
            known.own.names().join(", ")
        ))
    };
    let (decision, reason) = match verdict {
        PolicyVerdict::Allow(reason) => (ExplainedDecision::Allow, reason),
        PolicyVerdict::Ask(reason) => (ExplainedDecision::Ask, reason),
        PolicyVerdict::Deny(reason) => (ExplainedDecision::Deny, reason),
    };
    Ok(PolicyExplanation {
        tool: name,
        subject,
        effect,
        decision,
        reason,
        steps,
        rule,
        hooks: Vec::new(),
    })
}

/// The hooks that would be asked before a call is made, for one that scope and policy do not refuse.
pub fn consulted_hooks(
    known: &KnownTools,
    hooks: &Hooks,
    definition: &AgentDefinition,
    mode: PermissionMode,
    call: &ExplainedCall<'_>,
) -> Result<Vec<ConsultedHook>, Problem> {
    let tool = known.find(call.tool)?;
    let input = normalised(tool.as_ref(), call)?;
    let mut payload = HookPayload::sample(
        HookPoint::PreToolUse,
        call.cwd.to_owned(),
        serde_json::Map::new(),
    );
    (payload.agent, payload.mode) = (definition.name.clone(), mode);
    let payload = payload.calling(tool.as_ref(), &input);
    let asked = effective_rights::hooks(hooks, definition, &payload);
    let named = |hook: &ConfiguredHook| ConsultedHook {
        hook: hook.name().to_owned(),
        place: place(&hook.place),
    };
    Ok(asked.iter().map(named).collect())
}

fn normalised(tool: &dyn Tool, call: &ExplainedCall<'_>) -> Result<Value, Problem> {
    tool.normalise(call.tool, call.input.clone())
        .map_err(|words| {
            Problem::new(
                ErrorCode::InvalidArguments,
                format!("{} cannot be called like that", tool.spec().name),
            )
            .cause(words)
            .fix(format!(
                "rooftree tools show {} tells its arguments",
                tool.spec().name
            ))
        })
}

/// The policy's own account of a decision. Its last line is the decision itself.
fn explained(derivation: &Derivation) -> Vec<String> {
    derivation
        .to_string()
        .lines()
        .take(derivation.steps.len())
        .map(str::to_owned)
        .collect()
}

/// Arguments as they were typed: a JSON object, or the one thing the tool is about, such as a path or
/// a command. What else the tool needs stays empty, for rules do not look at it.
pub fn arguments(known: &KnownTools, tool: &str, typed: Option<&str>) -> Result<Value, Problem> {
    let found = known.find(tool)?;
    let typed = typed.unwrap_or("{}");
    // A command may begin with a brace too.
    if let Ok(input @ Value::Object(_)) = serde_json::from_str(typed) {
        return Ok(input);
    }
    // No path and no command begins like an object with a field.
    if typed.starts_with("{\"")
        && let Err(error) = serde_json::from_str::<Value>(typed)
    {
        let message = format!("the arguments of {} are not JSON", found.spec().name);
        return Err(Problem::new(ErrorCode::InvalidArguments, message)
            .cause(error.to_string())
            .fix("write all of the object, or the one thing the call is about, such as a path"));
    }
    let schema = &found.spec().input_schema;
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let mut names: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
    // A tool that needs nothing is still about something: the first thing it takes in words.
    if names.is_empty() {
        names.extend(
            properties
                .iter()
                .find(|(_, kind)| kind["type"] == "string")
                .map(|(name, _)| name.as_str()),
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
        return Err(Problem::new(
            ErrorCode::InvalidArguments,
            format!("{tool} takes no arguments"),
        ));
    }
    Ok(Value::Object(input))
}
