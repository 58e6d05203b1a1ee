//! Decides whether a call may be made: which tool, its scope, the policy, the hooks.
//!
//! Invariant: this is the only place where that is decided. Order: scope, policy, hooks; whatever
//! comes later can refuse what came earlier, never the other way round.

use rooftree_protocol::{ErrorCode, Outcome, ToolCall, event::ToolRecord};
use rooftree_providers::{catalog::ModelProfile, lean};
use rooftree_tools::{
    PolicyRequest, PolicyVerdict, declared, tool_info::ToolOffer, toolset::ToolLookup,
};
use serde_json::Value;

use super::{
    AgentActor,
    call::{PreparedCall, confining, not_made},
    hook_points::{self, CallHookAnswers},
    permission::is_asked_by_mode,
};
use crate::{
    Error,
    effective_rights::{self, CallRuling},
    hooks::{self, HookAnswer},
};

/// Outcome of the checks of a call.
pub(super) enum CheckedCall {
    Ready(PreparedCall),
    Ask(PreparedCall, String),
    Refused(Box<ToolRecord>),
    /// Nothing: the run must end first, and `agent.inbox.end_reason` says how.
    Ended,
}

/// Checks a call against scope and policy.
fn check(agent: &AgentActor, call: &ToolCall) -> CheckedCall {
    let refused = |outcome, words: String| {
        let title = call.tool.clone();
        CheckedCall::Refused(Box::new(not_made(call, &title, outcome, words)))
    };
    let ToolLookup::Tool(tool) = agent.resolved.toolset.find(&call.tool) else {
        let (code, words) = unknown_tool(agent, &call.tool);
        return refused(Outcome::Failed(code), words);
    };
    let input = match tool.normalise(&call.tool, call.input.clone()) {
        Ok(input) => input,
        Err(words) => return refused(Outcome::Failed(ErrorCode::InvalidArguments), words),
    };
    let (effect, repeat, title) = (tool.effect(&input), tool.repeat(&input), tool.title(&input));
    let (name, subject) = (tool.ruled_as(&input), tool.subject(&input));
    let about = PolicyRequest {
        tool: &name,
        subject: subject.as_deref(),
        input: Some(&input),
        effect,
        cwd: &agent.session.cwd,
    };
    let ruling = effective_rights::judge(
        &agent.rights.policy,
        &confining(agent),
        tool.as_ref(),
        &about,
    );
    let CallRuling { reach, verdict, .. } = ruling;
    let (call, permitted) = (call.clone(), String::new());
    let mut prepared = PreparedCall {
        call,
        tool,
        input,
        effect,
        repeat,
        title,
        reach,
        permitted,
        inside: None,
    };
    match verdict {
        PolicyVerdict::Allow(reason) => {
            prepared.permitted = reason;
            CheckedCall::Ready(prepared)
        }
        PolicyVerdict::Ask(reason) => CheckedCall::Ask(prepared, reason),
        PolicyVerdict::Deny(reason) => {
            CheckedCall::Refused(Box::new(refusal(&prepared, format!("[denied] {reason}"))))
        }
    }
}

/// Checks a call against scope, policy and hooks.
pub(super) async fn check_with_hooks(
    agent: &mut AgentActor,
    call: &ToolCall,
    said: &mut CallHookAnswers,
) -> Result<CheckedCall, Error> {
    let checked = check(agent, call);
    let one = match &checked {
        CheckedCall::Ready(one) | CheckedCall::Ask(one, _) if hook_points::has_say(agent) => one,
        _ => return Ok(checked),
    };
    let Some(mut answer) = said.about(agent, one).await? else {
        return Ok(CheckedCall::Ended);
    };
    let checked = match answer.input.take() {
        Some(input) => rewritten(agent, one, input),
        None => checked,
    };
    Ok(judged(agent, checked, answer))
}

/// Checks a call again, in full, with arguments that a hook has rewritten.
fn rewritten(agent: &AgentActor, one: &PreparedCall, input: Value) -> CheckedCall {
    let call = ToolCall {
        tool: one.tool.spec().name.clone(),
        input,
        ..one.call.clone()
    };
    let mut checked = check(agent, &call);
    if let CheckedCall::Ready(one) | CheckedCall::Ask(one, _) = &mut checked {
        one.permitted_by("a hook has rewritten it".into());
    }
    checked
}

/// Invariant: a hook only narrows. Its yes counts where nothing but the mode wants a person to be asked.
fn judged(agent: &AgentActor, checked: CheckedCall, answer: HookAnswer) -> CheckedCall {
    match (answer.verdict, checked) {
        (hooks::HookVerdict::Deny(why), CheckedCall::Ready(one) | CheckedCall::Ask(one, _)) => {
            CheckedCall::Refused(Box::new(refusal(&one, format!("[denied] {why}"))))
        }
        (hooks::HookVerdict::Ask, CheckedCall::Ready(one)) => {
            let why = answer
                .because
                .map_or_else(String::new, |why| format!(": {why}"));
            CheckedCall::Ask(
                one,
                format!("a hook requires that the user is asked about it{why}"),
            )
        }
        (hooks::HookVerdict::Allow, CheckedCall::Ask(mut one, reason))
            if answer.permits && is_asked_by_mode(agent, &one, &reason) =>
        {
            let why = answer
                .because
                .map_or_else(String::new, |why| format!(": {why}"));
            one.permitted_by(format!("a hook answers for the user{why}"));
            CheckedCall::Ready(one)
        }
        (_, checked) => checked,
    }
}

fn unknown_tool(agent: &AgentActor, name: &str) -> (ErrorCode, String) {
    let exists = matches!(
        agent.context.options.tools.all.find(name),
        ToolLookup::Tool(_)
    );
    let there_are = match &agent.model.chosen {
        Ok(model) if model.profile == ModelProfile::Lean => {
            lean::offered_tools(&agent.resolved.specs, agent.rights.policy.mode).join(", ")
        }
        _ => agent.resolved.toolset.names().join(", "),
    };
    if let Some(words) = not_inside(agent, name) {
        return (ErrorCode::ToolNotAllowed, words);
    }
    if exists {
        (
            ErrorCode::ToolNotAllowed,
            format!("tool_not_allowed: this agent may not use `{name}`. It has: {there_are}"),
        )
    } else {
        (
            ErrorCode::ToolNotFound,
            format!("tool_not_found: there is no tool `{name}`. There are: {there_are}"),
        )
    }
}

/// The error for a tool that only agents further up have.
fn not_inside(agent: &AgentActor, name: &str) -> Option<String> {
    let ToolLookup::Tool(tool) = agent.context.options.tools.all.find(name) else {
        return None;
    };
    let name = tool.spec().name.as_str();
    agent.mandate.as_ref()?;
    match declared(name).offer {
        ToolOffer::AboveDepthLimit => Some(format!(
            "{name} is not available inside a sub-agent. Do the work yourself, or say in your answer what another agent should do."
        )),
        ToolOffer::FirstAgent => Some(format!(
            "{name} is not available inside a sub-agent. Decide by yourself, or ask in your answer."
        )),
        _ => None,
    }
}

pub(super) fn refusal(one: &PreparedCall, words: String) -> ToolRecord {
    let record = not_made(&one.call, &one.title, Outcome::Denied, words);
    ToolRecord {
        tool: one.tool.spec().name.clone(),
        ..record
    }
}
