//! Parses a hook's answer: from JSON, from exit codes and plain text, or made in code.

use rooftree_tools::truncate;
use serde::Deserialize;
use serde_json::Value;

use super::{HookPoint, HookVerdict};

/// Characters of one text a hook may have a model or a person read.
const LONGEST: usize = 10_000;

/// The combined answer of hooks at one point. Empty by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookAnswer {
    /// Whether it may happen. At most points a refusal only puts something off.
    pub verdict: HookVerdict,
    /// Whether a person need not be asked where only the mode wants one to be.
    pub permits: bool,
    /// Why it is permitted, or why the user is to be asked, in words.
    pub because: Option<String>,
    /// Other arguments for the call, which are checked as if the model had written them; at `Elicitation`
    /// what is answered.
    pub input: Option<Value>,
    /// What the model should read.
    pub context: Vec<String>,
    /// What people should read.
    pub notices: Vec<String>,
    /// Why the whole run should end, if it should.
    pub stops: Option<String>,
}

impl HookAnswer {
    /// No, because …
    pub fn deny(because: impl Into<String>) -> Self {
        Self {
            verdict: HookVerdict::deny(because),
            ..Self::default()
        }
    }

    /// Nothing against it, and something for the model to read.
    pub fn context(text: impl Into<String>) -> Self {
        Self {
            context: vec![text.into()],
            ..Self::default()
        }
    }

    /// Other arguments for the call.
    pub fn rewrite(input: Value) -> Self {
        Self {
            input: Some(input),
            ..Self::default()
        }
    }

    /// Why it must not happen, if it must not.
    pub fn refusal(&self) -> Option<&str> {
        if let HookVerdict::Deny(why) = &self.verdict {
            Some(why)
        } else {
            None
        }
    }

    /// Takes in what another hook says. The strictest word counts.
    pub(super) fn add(&mut self, other: Self) {
        self.because = other.because.or(self.because.take());
        self.verdict = match (std::mem::take(&mut self.verdict), other.verdict) {
            (HookVerdict::Deny(one), HookVerdict::Deny(other)) => {
                HookVerdict::Deny(format!("{one}\n{other}"))
            }
            (one, other) => one.max(other),
        };
        self.permits |= other.permits;
        self.input = other.input.or(self.input.take());
        self.context.extend(other.context);
        self.notices.extend(other.notices);
        self.stops = self.stops.take().or(other.stops);
    }

    /// The answer of a program that exited with code 2.
    pub(super) fn blocked(errors: &str) -> Self {
        let words = errors.trim();
        Self::deny(if words.is_empty() {
            "a hook refuses it and does not say why".into()
        } else {
            cut(words)
        })
    }

    /// The answer of a program that exited successfully after printing this.
    pub(super) fn printed(point: HookPoint, text: &str) -> Result<Self, String> {
        let text = text.trim();
        if !text.starts_with('{') {
            let is_context = point.takes_plain_words() && !text.is_empty();
            return Ok(if is_context {
                Self::context(cut(text))
            } else {
                Self::default()
            });
        }
        let printed: HookOutput = serde_json::from_str(text).map_err(|error| error.to_string())?;
        printed.understood(point)
    }
}

/// The JSON a program prints. Fields that are not listed have no effect here.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HookOutput {
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    hook_specific_output: Option<HookSpecificOutput>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HookSpecificOutput {
    hook_event_name: Option<String>,
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Value>,
    additional_context: Option<String>,
    decision: Option<HookDecision>,
    action: Option<String>,
    content: Option<Value>,
}

/// A hook's permission decision in place of a person.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HookDecision {
    behavior: String,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    interrupt: bool,
    #[serde(default)]
    updated_input: Option<Value>,
}

impl HookOutput {
    fn understood(self, point: HookPoint) -> Result<HookAnswer, String> {
        let mut answer = HookAnswer::default();
        if self.goes_on == Some(false) {
            answer.stops = Some(
                self.stop_reason
                    .map_or_else(|| "a hook wants it to end".into(), |why| cut(&why)),
            );
        }
        answer
            .notices
            .extend(self.system_message.map(|text| cut(&text)));
        match self.decision.as_deref() {
            None => {}
            Some("block") => answer.verdict = refusal(self.reason),
            Some("approve") if point == HookPoint::PreToolUse => answer.permits = true,
            Some(other) => {
                return Err(format!("`decision` cannot be `{other}`; it can be `block`"));
            }
        }
        match self.hook_specific_output {
            Some(specific) => specific.added_to(answer, point),
            None => Ok(answer),
        }
    }
}

impl HookSpecificOutput {
    fn added_to(self, mut answer: HookAnswer, point: HookPoint) -> Result<HookAnswer, String> {
        if let Some(name) = self.hook_event_name.filter(|name| name != point.name()) {
            return Err(format!(
                "`hookEventName` is `{name}`, but this is `{point}`"
            ));
        }
        answer
            .context
            .extend(self.additional_context.map(|text| cut(&text)));
        let because = self.permission_decision_reason;
        match (self.permission_decision.as_deref(), point) {
            (None, _) => {}
            (Some("allow"), HookPoint::PreToolUse) => {
                (answer.permits, answer.because) = (true, because)
            }
            (Some("deny"), HookPoint::PreToolUse) => answer.verdict = refusal(because),
            // Here a question waits as long as need be, so putting it off is asking.
            (Some("ask" | "defer"), HookPoint::PreToolUse) => {
                answer.verdict = answer.verdict.max(HookVerdict::Ask);
                answer.because = because;
            }
            (Some(other), HookPoint::PreToolUse) => {
                return Err(format!(
                    "`permissionDecision` cannot be `{other}`; it is allow, deny, ask or defer"
                ));
            }
            (Some(_), _) => return Err("`permissionDecision` is for PreToolUse".into()),
        }
        match (self.updated_input, point) {
            (None, _) => {}
            (Some(input @ Value::Object(_)), HookPoint::PreToolUse) => answer.input = Some(input),
            (Some(_), HookPoint::PreToolUse) => {
                return Err("`updatedInput` must be an object".into());
            }
            (Some(_), _) => return Err("`updatedInput` is for PreToolUse".into()),
        }
        if let Some(action) = &self.action {
            answer = elicited(answer, point, action, self.content)?;
        }
        match (self.decision, point) {
            (None, _) => Ok(answer),
            (Some(decided), HookPoint::PermissionRequest) => decided.added_to(answer),
            (Some(_), _) => Err("`hookSpecificOutput.decision` is for PermissionRequest".into()),
        }
    }
}

/// A hook's answer to an elicitation of an MCP server.
fn elicited(
    mut answer: HookAnswer,
    point: HookPoint,
    action: &str,
    content: Option<Value>,
) -> Result<HookAnswer, String> {
    match (action, point, content) {
        ("accept", HookPoint::Elicitation, Some(content @ Value::Object(_))) => {
            (answer.permits, answer.input) = (true, Some(content));
        }
        ("accept", HookPoint::Elicitation, _) => {
            return Err("`content` must be an object of answers".into());
        }
        ("decline" | "cancel", HookPoint::Elicitation, _) => {
            answer.verdict = HookVerdict::deny("a hook declines to answer");
        }
        (other, HookPoint::Elicitation, _) => {
            return Err(format!(
                "`action` cannot be `{other}`; it is accept, decline or cancel"
            ));
        }
        _ => return Err("`action` is for Elicitation".into()),
    }
    Ok(answer)
}

impl HookDecision {
    fn added_to(self, mut answer: HookAnswer) -> Result<HookAnswer, String> {
        if self.updated_input.is_some() {
            return Err(
                "`updatedInput` is for PreToolUse: a question is about one exact call".into(),
            );
        }
        match self.behavior.as_str() {
            "allow" => answer.permits = true,
            "deny" => {
                if self.interrupt {
                    let why = self
                        .message
                        .as_deref()
                        .map_or_else(|| "a hook wants it to end".into(), cut);
                    answer.stops = Some(why);
                }
                answer.verdict = refusal(self.message);
            }
            other => {
                return Err(format!(
                    "`behavior` cannot be `{other}`; it is allow or deny"
                ));
            }
        }
        Ok(answer)
    }
}

fn refusal(why: Option<String>) -> HookVerdict {
    HookVerdict::Deny(why.map_or_else(
        || "a hook refuses it and does not say why".into(),
        |why| cut(&why),
    ))
}

fn cut(text: &str) -> String {
    if truncate::is_long(text, LONGEST) {
        truncate::truncate(text, LONGEST, None).text
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests;
