//! Folds events into a transcript that people read. Pure.
//!
//! `show` prints it on a terminal (`transcript/terminal_text.rs`), `export` as Markdown
//! (`transcript/markdown.rs`); both read the same entries.

pub mod markdown;
pub mod terminal_text;

use rooftree_protocol::{
    CallId, Event, EventBody, ForkPoint, Message, Origin, Outcome, Part, RunStatus, Timestamp,
    event::{NoticeLevel, ReplyRecord, Report, RunEnd, ToolRecord, Verdict},
    message::text_of,
};
use serde::Serialize;

use crate::{
    human_format,
    terminal::run_text::{counted, duration, tokens},
};

/// Something worth reading, and where and when it happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TranscriptEntry {
    /// The event's number.
    pub event: u64,
    pub at: Timestamp,
    /// The definition at work.
    pub agent: String,
    #[serde(flatten)]
    pub said: TranscriptItem,
}

/// What happened, as far as a reader cares.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum TranscriptItem {
    /// A message to the session, from a user, an agent or a program.
    Message {
        from: String,
        text: String,
        attachments: Vec<String>,
    },
    /// The model answered.
    Reply { model: String, text: String },
    /// A tool was used.
    Call(TranscriptCall),
    /// The agent is done with a message.
    RunEnd {
        status: RunStatus,
        summary: String,
        problem: Option<String>,
    },
    /// Something people should know.
    Notice { level: NoticeLevel, text: String },
    /// The context starts anew.
    Cleared,
    /// What is above happened in another session.
    Forked(ForkPoint),
}

/// A tool call and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TranscriptCall {
    pub tool: String,
    pub title: String,
    pub outcome: Outcome,
    pub duration_ms: u64,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The call it was made from inside of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<CallId>,
}

/// The whole conversation.
pub fn entries(events: &[Event]) -> Vec<TranscriptEntry> {
    events.iter().filter_map(entry).collect()
}

/// What one event says to a reader, if anything.
pub fn entry(event: &Event) -> Option<TranscriptEntry> {
    let said = match &event.body {
        EventBody::MessageUser { message, .. } => message_of(message),
        EventBody::MessageCompleted(reply) => reply_of(reply)?,
        EventBody::ToolCompleted(record) => TranscriptItem::Call(call_of(record)),
        EventBody::RunVerified(verdict) if !verdict.passed => check_of(verdict),
        EventBody::RunCompleted(end) => end_of(end),
        EventBody::Notice { level, message, .. } => TranscriptItem::Notice {
            level: *level,
            text: message.clone(),
        },
        EventBody::SessionCleared { .. } => TranscriptItem::Cleared,
        EventBody::SessionOpened {
            forked_from: Some(point),
            ..
        } => TranscriptItem::Forked(point.clone()),
        _ => return None,
    };
    Some(TranscriptEntry {
        event: event.id.unwrap_or(0),
        at: event.ts,
        agent: event.agent.clone(),
        said,
    })
}

fn message_of(message: &Message) -> TranscriptItem {
    let from = match &message.origin {
        Origin::User => "you".to_owned(),
        Origin::Agent { agent, .. } => format!("agent {agent}"),
        Origin::Task {
            agent,
            status,
            verified: Some(false),
            ..
        } => {
            format!("task of {agent}, {status}, not verified")
        }
        Origin::Task { agent, status, .. } => format!("task of {agent}, {status}"),
        Origin::Schedule { schedule, .. } => format!("schedule {schedule}"),
        Origin::Connector {
            connector, user, ..
        } => format!("{user} by {connector}"),
        Origin::System { about } => format!("system ({about})"),
    };
    let attachments = message.parts.iter().filter_map(attachment).collect();
    TranscriptItem::Message {
        from,
        text: message.text(),
        attachments,
    }
}

fn attachment(part: &Part) -> Option<String> {
    match part {
        Part::Text { .. } => None,
        Part::Image {
            media_type, bytes, ..
        } => Some(format!("{media_type}, {}", human_format::size(*bytes))),
        Part::File {
            name,
            media_type,
            bytes,
            ..
        } => Some(format!(
            "{name}, {media_type}, {}",
            human_format::size(*bytes)
        )),
    }
}

/// A reply that only calls tools says nothing: its calls have entries of their own.
fn reply_of(reply: &ReplyRecord) -> Option<TranscriptItem> {
    let text = reply.text.trim();
    (!text.is_empty()).then(|| TranscriptItem::Reply {
        model: reply.model.clone(),
        text: text.to_owned(),
    })
}

fn call_of(record: &ToolRecord) -> TranscriptCall {
    TranscriptCall {
        tool: record.tool.clone(),
        title: record.title.clone(),
        outcome: record.outcome,
        duration_ms: record.duration_ms,
        text: text_of(&record.content),
        diff: record.diff.clone(),
        inside: record.inside.clone(),
    }
}

/// Work that its verifiers found bad.
fn check_of(verdict: &Verdict) -> TranscriptItem {
    let failed = verdict
        .reports
        .iter()
        .filter(|report| !report.passed)
        .map(Report::one_line);
    let text = format!("not verified: {}", failed.collect::<Vec<_>>().join("; "));
    TranscriptItem::Notice {
        level: NoticeLevel::Warning,
        text,
    }
}

fn end_of(end: &RunEnd) -> TranscriptItem {
    let verdict = end.is_refuted().then(|| "not verified".to_owned());
    let summary = [
        counted(end.turns.into(), "turn"),
        counted(end.calls.into(), "tool call"),
        duration(end.duration_ms),
        tokens(end.usage.total()),
    ];
    let summary: Vec<String> = verdict.into_iter().chain(summary).collect();
    let problem = end.error.as_ref().map(|problem| problem.message.clone());
    TranscriptItem::RunEnd {
        status: end.status,
        summary: summary.join(" · "),
        problem,
    }
}

impl TranscriptEntry {
    /// One line about it.
    pub fn in_short(&self) -> String {
        match &self.said {
            TranscriptItem::Message { from, text, .. } => format!("{from}: {text}"),
            TranscriptItem::Reply { text, .. } => text.clone(),
            TranscriptItem::Call(call) => {
                format!("{} {} ({})", call.tool, call.title, ended(call.outcome))
            }
            TranscriptItem::RunEnd {
                status, summary, ..
            } => format!("{} · {summary}", status_word(*status)),
            TranscriptItem::Notice { text, .. } => text.clone(),
            TranscriptItem::Cleared => "context cleared".into(),
            TranscriptItem::Forked(point) => {
                format!("forked from {} at event {}", point.session, point.at)
            }
        }
    }
}

/// How a call ended, in a word.
pub fn ended(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Failed(_) => "failed",
        Outcome::Denied => "denied",
        Outcome::Cancelled => "cancelled",
        Outcome::Unknown => "unknown",
    }
}

/// How a run ended, in words.
pub fn status_word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "completed",
        RunStatus::Failed => "failed",
        RunStatus::Cancelled => "cancelled",
        RunStatus::MaxTurns => "stopped: no turns left",
        RunStatus::Budget => "stopped: no money left",
        RunStatus::TimedOut => "stopped: no time left",
        RunStatus::Truncated => "stopped: the answer was cut off at the model's output limit",
        RunStatus::Interrupted => "interrupted",
    }
}
