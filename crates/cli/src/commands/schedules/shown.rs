//! Schedules and due times as tables and pages for people.

use rooftree_protocol::{ScheduleInfo, SchedulePreview, Timestamp};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_schedule::next_in_words;
use serde_json::Value;

use super::{ListedOccurrence, ListedSchedule};
use crate::{
    human_format,
    table::{ColumnShrink, TextTable},
};

pub fn table(rows: &[ListedSchedule]) -> TextTable {
    let now = SystemClock.now();
    let mut table = TextTable::new([
        ("ID", ColumnShrink::Stiff),
        ("NAME", ColumnShrink::Soft),
        ("WHEN", ColumnShrink::Soft),
        ("NEXT", ColumnShrink::Stiff),
        ("AGENT", ColumnShrink::Spare),
        ("LAST", ColumnShrink::Soft),
    ]);
    for ListedSchedule(row) in rows {
        let next = match (row.enabled, row.next_due) {
            (false, _) => "off".to_owned(),
            (true, Some(due)) => next_in_words(due.0, now.0, zone(row)),
            (true, None) => "-".to_owned(),
        };
        table.row([
            short(&row.id),
            row.name.clone(),
            row.words.clone(),
            next,
            match row.command {
                Some(_) => "(command)".to_owned(),
                None => row.agent.clone(),
            },
            row.last.as_ref().map_or("-".to_owned(), outcome),
        ]);
    }
    table
}

/// The end of an id, by which it is asked for.
fn short(id: &str) -> String {
    let start = id.len().saturating_sub(8);
    id.get(start..).unwrap_or(id).to_owned()
}

fn outcome(last: &rooftree_protocol::OccurrenceInfo) -> String {
    match &last.reason {
        Some(reason) => format!("{} ({reason})", last.execution),
        None => last.execution.clone(),
    }
}

pub fn history_table(rows: &[ListedOccurrence]) -> TextTable {
    let mut table = TextTable::new([
        ("DUE", ColumnShrink::Stiff),
        ("RUN", ColumnShrink::Stiff),
        ("DELIVERY", ColumnShrink::Stiff),
        ("TOKENS", ColumnShrink::Stiff),
        ("WHAT", ColumnShrink::Soft),
    ]);
    for ListedOccurrence(row) in rows {
        let what = row.detail.clone().or_else(|| row.answer.clone());
        table.row([
            human_format::moment(row.due),
            outcome(row),
            row.delivery.clone(),
            row.tokens.to_string(),
            what.unwrap_or_default(),
        ]);
    }
    table
}

/// One schedule with what it does, its next due times and last runs.
pub fn page(info: &ScheduleInfo) -> String {
    let mut page = format!("{} ({})\n{}\n", info.name, info.id, info.words);
    page.push_str(&match (&info.command, info.prompt.as_deref()) {
        (Some(command), _) => format!("command: {command}\n"),
        (None, prompt) => format!("agent {}: {}\n", info.agent, prompt.unwrap_or_default()),
    });
    for (label, value) in particulars(info) {
        page.push_str(&format!("{label}: {value}\n"));
    }
    if !info.enabled {
        let reason = info.disabled_reason.as_deref();
        page.push_str(&format!("switched off: {}\n", reason.unwrap_or("paused")));
    }
    page.push_str(&next_lines(&info.next, zone(info)));
    for last in info.history.iter().take(5) {
        let detail = last.detail.as_deref().or(last.answer.as_deref());
        page.push_str(&format!(
            "was due {}: {} {}\n",
            human_format::moment(last.due),
            outcome(last),
            detail.unwrap_or_default()
        ));
    }
    page
}

/// What is not as usual, with what it is called.
fn particulars(info: &ScheduleInfo) -> Vec<(&'static str, String)> {
    let usual = |value: &str, usual: &str| (value != usual).then(|| value.to_owned());
    let heartbeat = "all tasks of the agent that are due are one message";
    let rows = [
        (
            "heartbeat",
            (info.kind == "heartbeat").then(|| heartbeat.to_owned()),
        ),
        ("model", info.model.clone()),
        ("context", usual(&info.context, "full")),
        ("session", usual(&info.session, "new")),
        ("gate", info.gate.clone()),
        ("active hours", info.active_hours.as_ref().map(written)),
        (
            "budget",
            Some(written(&info.budget)).filter(|budget| !budget.is_empty()),
        ),
        ("answers go to", info.target.clone()),
        ("failures go to", info.fail_target.clone()),
        ("overlap", usual(&info.overlap, "skip")),
        ("catch up", usual(&info.catch_up, "once")),
    ];
    let known = rows
        .into_iter()
        .filter_map(|(label, value)| Some((label, value?)));
    known.collect()
}

/// The fields of a value, as `run_tokens 20000, day_usd 0.5`.
fn written(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name} {}", written(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The zone that its own words name, else the one in which it was made.
fn zone(info: &ScheduleInfo) -> &str {
    named_zone(&info.spec).unwrap_or(&info.zone)
}

fn named_zone(spec: &Value) -> Option<&str> {
    spec.get("zone")?.as_str()
}

/// What a written form means.
pub fn preview_page(preview: &SchedulePreview, zone: &str) -> String {
    let zone = named_zone(&preview.spec).unwrap_or(zone);
    format!("{}\n{}", preview.words, next_lines(&preview.next, zone))
}

fn next_lines(next: &[Timestamp], zone: &str) -> String {
    let now = SystemClock.now();
    let line = |due: &Timestamp| format!("next {}\n", next_in_words(due.0, now.0, zone));
    next.iter().map(line).collect()
}
