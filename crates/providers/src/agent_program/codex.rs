//! `codex exec --json`: builds its flags and parses its records.

use std::ffi::OsString;

use rooftree_protocol::{
    Effect, PermissionMode, Usage,
    event::{NoticeLevel, StopReason},
};
use serde_json::Value;

use super::{
    errors,
    program::CODEX,
    program_start::ProgramStart,
    reply_builder::{ProgramReplyBuilder, ReplyTextKind, title_of},
    tool_grant::{ToolGrant, ToolMapping, choose, note_unreached, row},
};
use crate::Workplace;

/// All but the web goes through its one shell, which its sandbox keeps to the directory.
const TOOLS: &[ToolMapping] = &[
    row("Read", "shell", Effect::ReadOnly),
    row("Grep", "shell", Effect::ReadOnly),
    row("Glob", "shell", Effect::ReadOnly),
    row("List", "shell", Effect::ReadOnly),
    row("Write", "write", Effect::LocalMutation),
    row("Edit", "write", Effect::LocalMutation),
    row("ApplyDiff", "write", Effect::LocalMutation),
    row("Delete", "write", Effect::LocalMutation),
    row("Bash", "write", Effect::Destructive),
    row("WebSearch", "web_search", Effect::RemoteAction),
];

pub(super) fn arguments(start: &ProgramStart<'_>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = [
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--color",
        "never",
    ]
    .map(OsString::from)
    .to_vec();
    if let Some(model) = start.model() {
        arguments.push(format!("--model={model}").into());
    }
    let settings = [
        ("model_reasoning_effort", start.effort()),
        ("developer_instructions", start.system),
    ];
    for (name, value) in settings
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    {
        arguments.push("-c".into());
        // Its settings are TOML; quoted so, no text can be anything else than a text.
        arguments.push(format!("{name}={}", toml::Value::from(value)).into());
    }
    arguments.extend(start.grant.flags.iter().cloned());
    if let Some(session) = start.session {
        arguments.extend(["resume".into(), session.into()]);
    }
    arguments.push("-".into());
    arguments
}

pub(super) fn grant(tools: &[&str], workplace: &Workplace) -> ToolGrant {
    let mut grant = choose(TOOLS, tools, workplace);
    grant.tools.sort_unstable();
    grant.tools.dedup();
    let has = |tool: &str| grant.tools.contains(&tool);
    let (writes, searches) = (has("write"), has("web_search"));
    let has_shell = writes || has("shell");
    let sandbox = match workplace.mode {
        PermissionMode::Bypass if writes && tools.contains(&"Bash") => "danger-full-access",
        _ if writes => "workspace-write",
        _ => "read-only",
    };
    grant.flags = vec!["--sandbox".into(), sandbox.into()];
    if !has_shell {
        grant
            .flags
            .extend(["--disable".into(), "shell_tool".into()]);
    }
    let search = if searches { "live" } else { "disabled" };
    grant
        .flags
        .extend(["-c".into(), format!("web_search=\"{search}\"").into()]);
    if has_shell && !tools.contains(&"Bash") {
        grant.unenforced.push(format!(
            "it works through a shell: any command its {sandbox} sandbox lets pass"
        ));
    }
    note_unreached(&mut grant, tools, workplace);
    grant
        .unenforced
        .push("servers and rules in the settings of `codex` itself still hold".to_owned());
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
        "thread.started" => account.session = Some(at("/thread_id").to_owned()),
        "item.started" | "item.updated" => item(record, CodexItemStage::Going, account),
        "item.completed" => item(record, CodexItemStage::Over, account),
        "turn.completed" => {
            account.usage = Some(used_since(usage_of(record), account.before));
            account.end(Ok(StopReason::End));
        }
        "turn.failed" => account.end(Err(errors::classify_message(
            &CODEX,
            None,
            at("/error/message"),
        ))),
        "error" if at("/message").starts_with("Reconnecting") => {
            account.note(
                NoticeLevel::Info,
                "program_retry",
                format!("codex: {}", at("/message")),
            );
        }
        "error" => {
            account.outcome = Some(Err(errors::classify_message(&CODEX, None, at("/message"))))
        }
        "turn.started" => {}
        _ => account.understood -= 1,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CodexItemStage {
    Going,
    Over,
}

fn item(record: &Value, stage: CodexItemStage, account: &mut ProgramReplyBuilder) {
    let at = |pointer: &str| {
        record
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (id, kind) = (at("/item/id"), at("/item/type"));
    match (kind, stage) {
        ("agent_message", CodexItemStage::Over) => {
            account.whole(ReplyTextKind::Text, at("/item/text"))
        }
        ("reasoning", CodexItemStage::Over) => {
            account.whole(ReplyTextKind::Thinking, at("/item/text"))
        }
        ("error", _) => account.note(
            NoticeLevel::Warning,
            "program_warning",
            format!("codex: {}", at("/item/message")),
        ),
        ("agent_message" | "reasoning" | "todo_list" | "", _) => {}
        _ => {
            account.tool_started(id, kind, &item_title(record));
            if stage == CodexItemStage::Over {
                let is_refused = matches!(at("/item/status"), "failed" | "declined");
                let code = record
                    .pointer("/item/exit_code")
                    .and_then(Value::as_i64)
                    .unwrap_or(0);
                account.tool_ended(id, !is_refused && code == 0);
            }
        }
    }
}

fn item_title(record: &Value) -> String {
    let at = |pointer: &str| record.pointer(pointer).and_then(Value::as_str);
    let changes = record
        .pointer("/item/changes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let paths: Vec<&str> = changes
        .filter_map(|change| change.get("path")?.as_str())
        .collect();
    match (at("/item/server"), at("/item/tool")) {
        (Some(server), Some(tool)) => format!("{server} {tool}"),
        _ if !paths.is_empty() => paths.join(", "),
        _ => record.get("item").map(title_of).unwrap_or_default(),
    }
}

fn usage_of(record: &Value) -> Usage {
    let tokens = |name: &str| {
        record
            .pointer(&format!("/usage/{name}"))
            .and_then(Value::as_u64)
            .unwrap_or(0)
    };
    Usage {
        input: tokens("input_tokens"),
        output: tokens("output_tokens"),
        cache_read: tokens("cached_input_tokens"),
        cache_write: tokens("cache_write_input_tokens"),
        reasoning: tokens("reasoning_output_tokens"),
        searches: 0,
        cost_usd: 0.0,
        cost_complete: false,
    }
}

/// Usage of this answer: the program reports the total of its whole session.
fn used_since(total: Usage, before: Usage) -> Usage {
    let is_total = total.input >= before.input && total.output >= before.output;
    let before = if is_total { before } else { Usage::none() };
    Usage {
        input: total.input - before.input,
        output: total.output - before.output,
        cache_read: total.cache_read.saturating_sub(before.cache_read),
        cache_write: total.cache_write.saturating_sub(before.cache_write),
        reasoning: total.reasoning.saturating_sub(before.reasoning),
        ..total
    }
}
