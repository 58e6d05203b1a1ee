//! `pi --mode json`: builds its flags and parses its records.
//!
//! No record is certainly its last: after a failure it may retry by itself, and it exits with
//! code 0 either way. So the outcome is that of its last message when its output ends.

use std::ffi::OsString;

use rooftree_protocol::{
    Effect, Usage,
    event::{NoticeLevel, StopReason},
};
use serde_json::Value;

use super::{
    errors,
    program::PI,
    program_start::ProgramStart,
    reply_builder::{ProgramReplyBuilder, ReplyTextKind, title_of},
    tool_grant::{ToolGrant, ToolMapping, choose, note_unreached, row},
};
use crate::Workplace;

/// It has no sandbox: a tool that writes can write anywhere.
const TOOLS: &[ToolMapping] = &[
    row("Read", "read", Effect::ReadOnly),
    row("Grep", "grep", Effect::ReadOnly),
    row("Glob", "find", Effect::ReadOnly),
    row("List", "ls", Effect::ReadOnly),
    row("Write", "write", Effect::Destructive),
    row("Edit", "edit", Effect::Destructive),
    row("Bash", "bash", Effect::Destructive),
];

pub(super) fn arguments(start: &ProgramStart<'_>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = ["--mode", "json", "-p"].map(OsString::from).to_vec();
    // It takes the argument after a flag as its value, whatever that begins with.
    let flags = [
        ("--model", start.model()),
        ("--thinking", start.effort()),
        ("--append-system-prompt", start.system),
        ("--session", start.session),
    ];
    for (flag, value) in flags
        .into_iter()
        .filter_map(|(flag, value)| Some((flag, value?)))
    {
        arguments.extend([flag.into(), value.into()]);
    }
    arguments.extend(start.grant.flags.iter().cloned());
    arguments
}

pub(super) fn grant(tools: &[&str], workplace: &Workplace) -> ToolGrant {
    let mut grant = choose(TOOLS, tools, workplace);
    if grant.tools.is_empty() {
        grant.flags.push("--no-tools".into());
        return grant;
    }
    grant
        .flags
        .extend(["--tools".into(), grant.tools.join(",").into()]);
    grant
        .unenforced
        .push("it has no sandbox: its tools reach beyond the working directory".to_owned());
    note_unreached(&mut grant, tools, workplace);
    grant
}

pub(super) fn take(record: &Value, account: &mut ProgramReplyBuilder) {
    let at = |pointer: &str| {
        record
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    account.understood += 1;
    match at("/type") {
        "session" => account.session = Some(at("/id").to_owned()),
        "message_update" => updated(record, account),
        "message_end" if at("/message/role") == "assistant" => message_ended(record, account),
        "tool_execution_start" => {
            let title = record.get("args").map(title_of).unwrap_or_default();
            account.tool_started(at("/toolCallId"), at("/toolName"), &title);
        }
        "tool_execution_end" => {
            let is_error = record
                .get("isError")
                .and_then(Value::as_bool)
                .unwrap_or(false);
            account.tool_ended(at("/toolCallId"), !is_error);
        }
        "auto_retry_start" => {
            let message = format!("pi asks its provider again: {}", at("/errorMessage"));
            account.note(NoticeLevel::Info, "program_retry", message);
        }
        _ => account.understood -= 1,
    }
}

fn updated(record: &Value, account: &mut ProgramReplyBuilder) {
    let at = |name: &str| {
        record
            .pointer(&format!("/assistantMessageEvent/{name}"))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    match at("type") {
        "text_start" | "thinking_start" => account.close(),
        "text_delta" => account.delta(ReplyTextKind::Text, at("delta")),
        "thinking_delta" => account.delta(ReplyTextKind::Thinking, at("delta")),
        "text_end" => account.whole(ReplyTextKind::Text, at("content")),
        "thinking_end" => account.whole(ReplyTextKind::Thinking, at("content")),
        _ => {}
    }
}

fn message_ended(record: &Value, account: &mut ProgramReplyBuilder) {
    let at = |pointer: &str| {
        record
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    account.close();
    let mut usage = account.usage.unwrap_or_else(Usage::none);
    usage += usage_of(record);
    account.usage = Some(usage);
    account.outcome = match at("/message/stopReason") {
        "stop" => Some(Ok(StopReason::End)),
        "length" => Some(Ok(StopReason::MaxOutput)),
        "error" | "aborted" => Some(Err(errors::classify_message(
            &PI,
            None,
            at("/message/errorMessage"),
        ))),
        _ => None,
    };
}

fn usage_of(record: &Value) -> Usage {
    let number = |name: &str| record.pointer(&format!("/message/usage/{name}"));
    let tokens = |name: &str| number(name).and_then(Value::as_u64).unwrap_or(0);
    let (read, written) = (tokens("cacheRead"), tokens("cacheWrite"));
    let cost = number("cost/total").and_then(Value::as_f64);
    Usage {
        input: tokens("input") + read + written,
        output: tokens("output"),
        cache_read: read,
        cache_write: written,
        reasoning: 0,
        searches: 0,
        cost_usd: cost.unwrap_or(0.0),
        cost_complete: cost.is_some(),
    }
}
