//! Writes the answer to `agents_message`: JSON that stays JSON however long the answer is.

use rooftree_protocol::{
    EventBody, RunStatus,
    event::{ReplyPart, RunEnd, ToolRecord},
};
use rooftree_providers::agent_program;
use rooftree_store::RunFilter;
use rooftree_tools::truncate;
use serde_json::{Map, Value, json};

use super::ActiveDelegation;
use crate::{agent::task, caller::Caller};

/// Events of a run that are looked at for what it thought and called.
const MOST_EVENTS: usize = 2_000;
/// Calls that are listed, and characters of thinking.
const LISTED: (usize, usize) = (50, 2_000);

/// What the run answered. Text that is too long is cut within the JSON, and all of it is kept in a blob.
pub(super) async fn spelled(caller: &Caller, asked: &ActiveDelegation, end: &RunEnd) -> String {
    let text = task::answer(&asked.agent, &asked.task, end, usize::MAX);
    let text = caller.context.secrets().clean(&text).unwrap_or(text);
    let about = about(caller, asked, end).await;
    let limit = caller.resolved.limits.answer_chars;
    let whole = written(&with_text(asked, end, &about, &text, false));
    if !truncate::is_long(&whole, limit) {
        return whole;
    }
    let blob = caller
        .context
        .store()
        .put_blob(text.as_bytes().to_vec())
        .await
        .ok();
    let mut room = limit.saturating_mul(3) / 4;
    loop {
        let cut = truncate::truncate(&text, room, blob.as_ref()).text;
        let short = written(&with_text(asked, end, &about, &cut, true));
        // Escaping makes text longer, by how much only shows when it is done.
        if !truncate::is_long(&short, limit) || room < 200 {
            return short;
        }
        room /= 2;
    }
}

fn with_text(
    asked: &ActiveDelegation,
    end: &RunEnd,
    about: &Map<String, Value>,
    text: &str,
    truncated: bool,
) -> Map<String, Value> {
    let status = if end.is_success() {
        "complete"
    } else {
        "error"
    };
    let truncated = truncated || end.status == RunStatus::Truncated;
    let mut more = object(json!({"response": text, "truncated": truncated}));
    more.extend(about.clone());
    message(asked, "sync", status, more)
}

/// What else is told: how long it took, what it thought, and what it called.
async fn about(caller: &Caller, asked: &ActiveDelegation, end: &RunEnd) -> Map<String, Value> {
    let (mut thinking, mut calls) = (String::new(), Vec::new());
    for body in events(caller, asked).await {
        match body {
            EventBody::MessageCompleted(reply) => {
                let used = agent_program::activities(&reply.parts);
                let room = LISTED.0.saturating_sub(calls.len());
                // How long a program's own tools took is not known.
                calls.extend(used.take(room).map(
                    |used| json!({"name": used.tool, "title": used.title, "durationMs": null}),
                ));
                for part in reply.parts {
                    if let ReplyPart::Thinking { text, .. } = part {
                        thinking.push_str(&text);
                    }
                }
            }
            EventBody::ToolCompleted(record) if calls.len() < LISTED.0 => calls.push(told(&record)),
            _ => {}
        }
    }
    let mut about = object(json!({
        "verified": end.verified,
        "durationMs": end.duration_ms,
        "toolCallCount": end.calls,
        "toolCalls": calls,
    }));
    if !thinking.is_empty() {
        let thinking: String = thinking.chars().take(LISTED.1).collect();
        about.insert("thinkingText".into(), thinking.into());
    }
    about
}

fn told(record: &ToolRecord) -> Value {
    json!({"name": record.tool, "title": record.title, "durationMs": record.duration_ms})
}

/// The events of the run, as far as they can be read.
async fn events(caller: &Caller, asked: &ActiveDelegation) -> Vec<EventBody> {
    let store = caller.context.store();
    let filter = RunFilter {
        run: Some(asked.task.clone()),
        limit: 1,
        ..RunFilter::default()
    };
    let runs = store.runs(filter).await.unwrap_or_default();
    let Some(first) = runs.first().and_then(|run| run.started.id) else {
        return Vec::new();
    };
    let events = store
        .events(&asked.session, first.saturating_sub(1), MOST_EVENTS)
        .await
        .unwrap_or_default();
    let own = events
        .into_iter()
        .filter(|event| event.run.as_ref() == Some(&asked.task));
    own.map(|event| event.body).collect()
}

pub(super) fn message(
    asked: &ActiveDelegation,
    mode: &str,
    status: &str,
    more: Map<String, Value>,
) -> Map<String, Value> {
    let mut answer = object(json!({
        "mode": mode,
        "status": status,
        "agentId": asked.agent,
        "sessionId": asked.session,
        "sessionName": asked.session_name,
        "created": asked.is_new,
        "responseId": asked.task,
    }));
    answer.extend(more);
    answer
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(object) = value {
        object
    } else {
        Map::new()
    }
}

pub(super) fn written(answer: &Map<String, Value>) -> String {
    serde_json::to_string_pretty(answer).unwrap_or_default()
}
