//! Payload of a hook: the JSON that the ecosystem's hooks read.

use std::path::PathBuf;

use rooftree_protocol::{Effect, MessageId, PermissionMode, RunId, SessionId};
use rooftree_tools::{PermissionRule, Policy, PolicyRequest, PolicyVerdict, Tool};
use serde_json::{Map, Value, json};

use super::HookPoint;

/// Something a hook is asked about or told of.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HookPayload {
    /// At which point.
    pub point: HookPoint,
    /// Whose.
    pub session: SessionId,
    /// The first session above, which people watch; the same if there is none above.
    pub root: SessionId,
    /// In which run.
    pub run: Option<RunId>,
    /// The message being worked on.
    pub message: Option<MessageId>,
    /// The definition at work.
    pub agent: String,
    /// How many delegations above it.
    pub depth: u32,
    /// Where relative paths start.
    pub cwd: PathBuf,
    /// How much may happen without asking.
    pub mode: PermissionMode,
    /// What a matcher is compared with: all names of a tool, an agent's name, a reason.
    pub names: Vec<String>,
    /// The call it is about, if it is about one.
    pub call: Option<HookCallFacts>,
    /// What only this point has, under the ecosystem's names.
    pub details: Map<String, Value>,
}

/// Facts about a call, for the rule in a hook's `if`.
#[derive(Clone, Debug)]
pub struct HookCallFacts {
    /// Canonical tool name.
    pub tool: String,
    /// The path or command, if it has one.
    pub subject: Option<String>,
    /// What it does to the world.
    pub effect: Effect,
}

impl HookPayload {
    /// A sample payload, to try hooks out with.
    pub fn sample(point: HookPoint, cwd: PathBuf, details: Map<String, Value>) -> Self {
        let session = SessionId::from_entropy(0);
        Self {
            point,
            root: session.clone(),
            session,
            run: Some(RunId::from_entropy(0)),
            message: Some(MessageId::from_entropy(0)),
            agent: "lead".into(),
            depth: 0,
            cwd,
            mode: PermissionMode::Ask,
            names: Vec::new(),
            call: None,
            details,
        }
    }

    /// The same, with these names for matchers.
    pub fn named(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.names = names.into_iter().collect();
        self
    }

    /// The same, about this call.
    pub fn about(mut self, call: HookCallFacts) -> Self {
        self.call = Some(call);
        self
    }

    /// The same, about a call of this tool, under all names the tool and the call have.
    pub fn calling(mut self, tool: &dyn Tool, input: &Value) -> Self {
        let (name, ruled_as) = (tool.spec().name.clone(), tool.ruled_as(input));
        let aliases = tool.aliases().iter().map(|alias| (*alias).to_owned());
        self.names = std::iter::once(name.clone()).chain(aliases).collect();
        if ruled_as != name {
            self.names.push(ruled_as.clone());
        }
        self.details.insert("tool_name".into(), json!(name));
        self.details.insert("tool_input".into(), input.clone());
        self.about(HookCallFacts {
            tool: ruled_as,
            subject: tool.subject(input),
            effect: tool.effect(input),
        })
    }

    /// The JSON on a program's standard input. There is no transcript file, so none is named.
    pub fn input(&self) -> Value {
        let mut input = Map::new();
        input.insert("session_id".into(), json!(self.root));
        input.insert("cwd".into(), json!(self.cwd));
        input.insert("permission_mode".into(), json!(mode_name(self.mode)));
        input.insert("hook_event_name".into(), json!(self.point.name()));
        if let Some(message) = &self.message {
            input.insert("prompt_id".into(), json!(message));
        }
        if let Some(run) = &self.run {
            input.insert("run_id".into(), json!(run));
        }
        if self.depth > 0 {
            input.insert("agent_id".into(), json!(self.session));
            input.insert("agent_type".into(), json!(self.agent));
            input.insert("depth".into(), json!(self.depth));
        }
        input.extend(self.details.clone());
        Value::Object(input)
    }

    /// Whether a rule may mean the call. An occasion without a call is meant by no rule.
    pub(super) fn is_meant_by(&self, rule: &PermissionRule) -> bool {
        let Some(call) = &self.call else { return false };
        let mut rule = rule.clone();
        if self
            .names
            .iter()
            .any(|name| name.eq_ignore_ascii_case(&rule.tool))
        {
            // It may be written under any of the tool's names.
            rule.tool.clone_from(&call.tool);
        }
        let policy = Policy {
            mode: PermissionMode::Bypass,
            deny: vec![rule],
            ..Policy::default()
        };
        let judged = PolicyRequest {
            tool: &call.tool,
            subject: call.subject.as_deref(),
            input: self.details.get("tool_input"),
            effect: call.effect,
            cwd: &self.cwd,
        };
        matches!(policy.judge(&judged), PolicyVerdict::Deny(_))
    }
}

/// A mode under the name the ecosystem has for it.
fn mode_name(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Plan => "plan",
        PermissionMode::Ask => "default",
        PermissionMode::AcceptEdits => "acceptEdits",
        PermissionMode::Auto => "auto",
        PermissionMode::Bypass => "bypassPermissions",
    }
}
