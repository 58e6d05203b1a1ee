//! Builds the answer to a request: selects an entry, fills in its templates, and lays out the stream steps.

use std::sync::Arc;

use minijinja::Value;
use rooftree_protocol::{
    CallId, ToolCall,
    event::{ReplyPart, StopReason},
};

use crate::{Error, ModelReply, ModelRequest};

use super::{
    conversation::replies,
    entry::{ScriptedFailure, ScriptedFailureKind, ScriptedReply},
    errors::exhausted,
    estimate_usage,
    script::{CompiledScript, ScriptRule},
    script_position::ScriptError,
    select_entry::{EntryChoice, select_entry},
    stream::{StreamStep, cut_steps, fail_steps, steps},
    template_context::TemplateContext,
};

/// The steps of the answer to a request.
pub(crate) fn answer(script: &CompiledScript, request: &Arc<ModelRequest>) -> Vec<StreamStep> {
    let Some(choice) = select_entry(script, request) else {
        return vec![StreamStep::Fail(exhausted(script, request))];
    };
    let pacing = choice.rule.entry.pacing.or(script.header.pacing);
    // A template that cannot be rendered is the script's fault: a retry does not help.
    let refuse = |flaw: ScriptError| fail_steps(refusal(flaw, script), pacing);
    match &choice.rule.entry.fault {
        None => reply(script, request, &choice, choice.rule)
            .map_or_else(refuse, |reply| steps(reply, pacing)),
        Some(ScriptedFailure {
            kind: ScriptedFailureKind::Cut,
            cut_after,
            ..
        }) => {
            let speaks = choice.rule.entry.words.text.is_some()
                || choice.rule.entry.words.thinking.is_some();
            let spoken = if speaks {
                choice.rule
            } else {
                choice.behind.unwrap_or(choice.rule)
            };
            let reply = reply(script, request, &choice, spoken);
            reply.map_or_else(refuse, |reply| cut_steps(&reply, *cut_after, pacing))
        }
        Some(fault) => fail_steps(error(fault, script), pacing),
    }
}

fn refusal(flaw: ScriptError, script: &CompiledScript) -> Error {
    let problem = flaw.problem(&script.name);
    Error::Refused(format!(
        "{}; {}",
        problem.message,
        problem.fix.unwrap_or_default()
    ))
}

fn reply(
    script: &CompiledScript,
    request: &Arc<ModelRequest>,
    choice: &EntryChoice<'_>,
    rule: &ScriptRule,
) -> Result<ModelReply, ScriptError> {
    let scene = Value::from_object(TemplateContext {
        request: Arc::clone(request),
        turn: choice.turn,
    });
    let words = &rule.entry.words;
    let parts = parts(script, words, &scene, replies(request).saturating_add(1))?;
    let stop = words.stop.unwrap_or(if words.calls.is_empty() {
        StopReason::End
    } else {
        StopReason::Calls
    });
    let usage =
        estimate_usage::estimate_usage(rule.entry.tokens, script.header.tokens, request, &parts);
    Ok(ModelReply {
        parts,
        stop,
        usage,
        request: Some(rule.entry.place.within(&script.name)),
        dropped: Vec::new(),
    })
}

fn parts(
    script: &CompiledScript,
    words: &ScriptedReply,
    scene: &Value,
    turn: u32,
) -> Result<Vec<ReplyPart>, ScriptError> {
    let mut parts = Vec::with_capacity(words.calls.len() + 2);
    if let Some(passage) = &words.thinking {
        let text = script.templates.text(passage, scene)?;
        parts.push(ReplyPart::Thinking {
            text,
            signature: words.signature.clone(),
        });
    }
    if let Some(passage) = &words.text {
        let text = script.templates.text(passage, scene)?;
        if !text.is_empty() {
            parts.push(ReplyPart::Text { text });
        }
    }
    for (index, call) in words.calls.iter().enumerate() {
        let input = script.templates.json(&call.input, scene)?;
        parts.push(ReplyPart::Call(ToolCall {
            id: call_id(turn, index),
            tool: call.tool.clone(),
            input,
        }));
    }
    Ok(parts)
}

/// The id of a call: turn and index in the reply, so that a retry gets the same id.
fn call_id(turn: u32, index: usize) -> CallId {
    CallId::from_entropy(u128::from(turn) << 64 | index as u128)
}

fn error(fault: &ScriptedFailure, script: &CompiledScript) -> Error {
    let retry_after = fault.retry_after;
    let message = || {
        fault
            .message
            .clone()
            .unwrap_or_else(|| format!("as script {} says", script.name))
    };
    match fault.kind {
        ScriptedFailureKind::RateLimit => Error::RateLimited { retry_after },
        ScriptedFailureKind::Overloaded => Error::Overloaded { retry_after },
        ScriptedFailureKind::TooLong => Error::TooLong {
            limit: fault.limit.or(script.header.window),
        },
        ScriptedFailureKind::Unauthorized => Error::Unauthorized(message()),
        ScriptedFailureKind::Refused => Error::Refused(message()),
        ScriptedFailureKind::Cut | ScriptedFailureKind::Broken => Error::Broken(message()),
    }
}
