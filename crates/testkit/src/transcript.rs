//! Formats events as a transcript for people: one line each, only what matters.

use rooftree_protocol::{
    Event, EventBody, Lane, Outcome,
    event::{ReplyRecord, RunEnd, ToolRecord},
};

/// Formats events, one line each.
pub fn format_events(events: &[Event]) -> String {
    let lines: Vec<String> = events
        .iter()
        .filter_map(|event| line(&event.body))
        .collect();
    lines.join("\n")
}

fn line(body: &EventBody) -> Option<String> {
    let line = match body {
        EventBody::MessageUser { message, lane, .. } => {
            let who = match (lane, message.silent) {
                (_, true) => "silent",
                (Lane::Mail, _) => "user",
                (Lane::Boundary, _) => "steer",
            };
            format!("{who:<9}{}", message.text())
        }
        EventBody::MessageCompleted(reply) => replied(reply),
        EventBody::ToolCompleted(record) => answered(record),
        EventBody::Notice { code, .. } => format!("notice   {code}"),
        EventBody::PermissionRequested { tool, title, .. } => format!("asks     {tool} {title}"),
        EventBody::PermissionResolved { answer, by, .. } => {
            format!("answer   {:?} by {by}", answer.decision)
        }
        EventBody::HookSaid(note) => {
            let blocks = if note.blocks { " blocks" } else { "" };
            format!(
                "hook     {}{blocks}: {}",
                note.point,
                note.text.lines().next().unwrap_or_default()
            )
        }
        EventBody::TodoUpdated { items } => format!("todos    {}", items.len()),
        EventBody::RunWaiting { reason, .. } => format!("waits    {reason:?}"),
        EventBody::SessionCleared { .. } => "cleared".into(),
        EventBody::RunCompleted(end) => ended(end),
        _ => return None,
    };
    Some(line.trim_end().to_owned())
}

fn replied(reply: &ReplyRecord) -> String {
    let calls: Vec<String> = reply
        .calls()
        .map(|call| format!("{} {}", call.tool, call.input))
        .collect();
    let text = if reply.text.is_empty() {
        String::new()
    } else {
        format!("\"{}\" ", reply.text)
    };
    format!("model    {text}{}", calls.join(" + "))
}

fn answered(record: &ToolRecord) -> String {
    let how = match record.outcome {
        Outcome::Done => "done",
        Outcome::Failed(_) => "failed",
        Outcome::Denied => "denied",
        Outcome::Cancelled => "cancelled",
        Outcome::Unknown => "unknown",
    };
    let text = rooftree_protocol::message::text_of(&record.content);
    let first = text.lines().next().unwrap_or_default();
    format!("tool     {} {how}: {first}", record.tool)
}

fn ended(end: &RunEnd) -> String {
    let why = end
        .error
        .as_ref()
        .map_or(String::new(), |problem| format!(": {}", problem.message));
    let status = serde_json::to_value(end.status)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned));
    format!(
        "ended    {}, {} turns{why}",
        status.unwrap_or_default(),
        end.turns
    )
}
