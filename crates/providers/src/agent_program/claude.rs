//! `claude -p` with streamed JSON: builds its flags and parses its records.

use std::ffi::OsString;

use rooftree_protocol::{
    Effect, PermissionMode, Usage,
    event::{NoticeLevel, StopReason},
};
use serde_json::Value;

use super::{
    errors::{self, ProgramFailure},
    program::CLAUDE,
    program_rule::rules,
    program_start::ProgramStart,
    reply_builder::{ProgramReplyBuilder, ReplyTextKind, title_of},
    tool_grant::{ToolGrant, ToolMapping, choose, row},
};
use crate::Workplace;

const TOOLS: &[ToolMapping] = &[
    row("Read", "Read", Effect::ReadOnly),
    row("Grep", "Grep", Effect::ReadOnly),
    row("Glob", "Glob", Effect::ReadOnly),
    row("TodoWrite", "TodoWrite", Effect::ReadOnly),
    row("Write", "Write", Effect::LocalMutation),
    row("Edit", "Edit", Effect::LocalMutation),
    row("NotebookEdit", "NotebookEdit", Effect::LocalMutation),
    row("Bash", "Bash", Effect::Destructive),
    row("WebFetch", "WebFetch", Effect::RemoteAction),
    row("WebSearch", "WebSearch", Effect::RemoteAction),
];

/// Maximum refusals of the key before the program's own retries are cut short; one may be a key being renewed.
const REFUSED_KEYS: u64 = 2;

pub(super) fn arguments(start: &ProgramStart<'_>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = [
        "-p",
        "--output-format=stream-json",
        "--verbose",
        "--include-partial-messages",
    ]
    .map(OsString::from)
    .to_vec();
    // With the equals sign a value is a value, also one that begins with a dash.
    let flags = [
        ("--model", start.model()),
        ("--effort", start.effort()),
        ("--append-system-prompt", start.system),
        ("--resume", start.session),
    ];
    let flags = flags
        .into_iter()
        .filter_map(|(flag, value)| Some(format!("{flag}={}", value?).into()));
    arguments.extend(flags);
    arguments.extend(start.grant.flags.iter().cloned());
    arguments
}

pub(super) fn grant(tools: &[&str], workplace: &Workplace) -> ToolGrant {
    let mut grant = choose(TOOLS, tools, workplace);
    // `--tools` is the wall: what is not named does not exist. Servers from its user's settings stay out.
    grant
        .flags
        .push(format!("--tools={}", grant.tools.join(",")).into());
    grant.flags.push("--strict-mcp-config".into());
    if grant.tools.is_empty() {
        return grant;
    }
    let named = named(&grant.tools, workplace);
    if !named.is_empty() {
        grant
            .flags
            .push(format!("--allowedTools={}", named.join(",")).into());
    }
    if named.len() < grant.tools.len() {
        grant.flags.push("--permission-mode=acceptEdits".into());
    }
    deny(&mut grant, tools, workplace);
    grant.unenforced.push(
        "hooks and permission rules in the settings of `claude` itself still hold".to_owned(),
    );
    grant
}

fn effect(tool: &str) -> Option<Effect> {
    TOOLS
        .iter()
        .find(|row| row.own == tool)
        .map(|row| row.effect)
}

/// Its own edit mode keeps edits below the directory; allowing the tools by name would allow them anywhere.
fn edits_by_mode(workplace: &Workplace) -> bool {
    workplace.mode == PermissionMode::AcceptEdits
}

/// Tools to allow by name; not those its edit mode covers.
fn named<'a>(tools: &[&'a str], workplace: &Workplace) -> Vec<&'a str> {
    let allow = rules(&workplace.rules.allow);
    let is_allowed = |tool: &str| {
        allow
            .iter()
            .any(|rule| rule.is_whole() && rule.is_about(tool))
    };
    let is_for_mode = |tool: &str| {
        edits_by_mode(workplace) && effect(tool) == Some(Effect::LocalMutation) && !is_allowed(tool)
    };
    tools
        .iter()
        .copied()
        .filter(|tool| !is_for_mode(tool))
        .collect()
}

/// Passes deny rules on, and notes which are not enforced there.
fn deny(grant: &mut ToolGrant, tools: &[&str], workplace: &Workplace) {
    let mut denied = Vec::new();
    let partial = rules(&workplace.rules.deny)
        .into_iter()
        .filter(|rule| !rule.is_whole());
    for rule in partial.filter(|rule| tools.iter().any(|tool| rule.is_about(tool))) {
        let passed = rule.for_claude();
        match &passed {
            None => grant.unenforced.push(format!("the deny rule `{rule}` does not reach into it")),
            Some(_) if rule.is_command() => grant.unenforced.push(format!(
                "the deny rule `{rule}` is passed on, but `claude` only looks at how a command begins"
            )),
            Some(_) => {}
        }
        denied.extend(passed);
    }
    if !denied.is_empty() {
        grant
            .flags
            .push(format!("--disallowedTools={}", denied.join(",")).into());
    }
}

pub(super) fn take(record: &Value, account: &mut ProgramReplyBuilder) {
    let text = |name: &str| record.get(name).and_then(Value::as_str);
    if let Some(session) = text("session_id") {
        account.session = Some(session.to_owned());
    }
    let is_child = record
        .get("parent_tool_use_id")
        .is_some_and(Value::is_string);
    account.understood += 1;
    match text("type") {
        Some("system") if text("subtype") == Some("api_retry") => retried(record, account),
        Some("stream_event") if !is_child => streamed(record, account),
        Some("assistant") => spoken(record, is_child, account),
        Some("user") => answered(record, account),
        Some("result") => ended(record, account),
        Some("system" | "stream_event") => {}
        _ => account.understood -= 1,
    }
}

fn retried(record: &Value, account: &mut ProgramReplyBuilder) {
    let status = record.get("error_status").and_then(Value::as_u64);
    let attempt = record.get("attempt").and_then(Value::as_u64).unwrap_or(0);
    let error = record
        .get("error")
        .and_then(Value::as_str)
        .unwrap_or("an error");
    if status == Some(401) && attempt >= REFUSED_KEYS {
        // It would go on for minutes.
        return account.end(Err(ProgramFailure::Provider(errors::logged_out(
            &CLAUDE, error,
        ))));
    }
    let message = format!("claude asks its provider again (attempt {attempt}): {error}");
    account.note(NoticeLevel::Info, "program_retry", message);
}

fn streamed(record: &Value, account: &mut ProgramReplyBuilder) {
    let at = |pointer: &str| record.pointer(pointer).and_then(Value::as_str);
    match at("/event/type") {
        Some("content_block_start") => account.close(),
        Some("content_block_delta") => {
            account.delta(
                ReplyTextKind::Text,
                at("/event/delta/text").unwrap_or_default(),
            );
            account.delta(
                ReplyTextKind::Thinking,
                at("/event/delta/thinking").unwrap_or_default(),
            );
        }
        _ => {}
    }
}

fn spoken(record: &Value, is_child: bool, account: &mut ProgramReplyBuilder) {
    // The program reports its own errors as messages of the model; the final record contains them too.
    if record.pointer("/message/model").and_then(Value::as_str) == Some("<synthetic>") {
        return;
    }
    for block in blocks(record) {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" if !is_child => account.whole(ReplyTextKind::Text, text("text")),
            "thinking" if !is_child => account.whole(ReplyTextKind::Thinking, text("thinking")),
            "tool_use" | "server_tool_use" => {
                let title = block.get("input").map(title_of).unwrap_or_default();
                account.tool_started(text("id"), text("name"), &title);
            }
            kind if kind.ends_with("_tool_result") => account.tool_ended(text("tool_use_id"), true),
            _ => {}
        }
    }
}

fn answered(record: &Value, account: &mut ProgramReplyBuilder) {
    for block in blocks(record) {
        let id = block
            .get("tool_use_id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is_error = block
            .get("is_error")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        account.tool_ended(id, !is_error);
    }
}

fn blocks(record: &Value) -> impl Iterator<Item = &Value> {
    record
        .pointer("/message/content")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn ended(record: &Value, account: &mut ProgramReplyBuilder) {
    let text = |name: &str| record.get(name).and_then(Value::as_str);
    account.usage = Some(usage_of(record));
    if record.get("is_error").and_then(Value::as_bool) == Some(true)
        || text("subtype") != Some("success")
    {
        let errors = record
            .get("errors")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let errors: Vec<&str> = errors.filter_map(Value::as_str).collect();
        let message = text("result").map_or_else(|| errors.join("; "), str::to_owned);
        let message = if message.is_empty() {
            text("subtype").unwrap_or_default().to_owned()
        } else {
            message
        };
        let status = record.get("api_error_status").and_then(Value::as_u64);
        let status = status.and_then(|status| u16::try_from(status).ok());
        return account.end(Err(errors::classify_message(&CLAUDE, status, &message)));
    }
    if !account.has_text() {
        account.whole(ReplyTextKind::Text, text("result").unwrap_or_default());
    }
    account.end(Ok(match text("stop_reason") {
        Some("max_tokens") => StopReason::MaxOutput,
        Some("refusal") => StopReason::Refused,
        _ => StopReason::End,
    }));
}

fn usage_of(record: &Value) -> Usage {
    let tokens = |name: &str| {
        record
            .pointer(&format!("/usage/{name}"))
            .and_then(Value::as_u64)
            .unwrap_or(0)
    };
    let (read, written) = (
        tokens("cache_read_input_tokens"),
        tokens("cache_creation_input_tokens"),
    );
    let cost = record.get("total_cost_usd").and_then(Value::as_f64);
    Usage {
        input: tokens("input_tokens") + read + written,
        output: tokens("output_tokens"),
        cache_read: read,
        cache_write: written,
        reasoning: 0,
        searches: tokens("server_tool_use/web_search_requests"),
        cost_usd: cost.unwrap_or(0.0),
        cost_complete: cost.is_some(),
    }
}
