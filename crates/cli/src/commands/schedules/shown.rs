//! Schedules and due times as tables and pages for people.

use rooftree_protocol::{ScheduleInfo, SchedulePreview, Timestamp};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_schedule::next_in_words;

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
            (true, Some(due)) => next_in_words(due.0, now.0, &row.zone),
            (true, None) => "-".to_owned(),
        };
        table.row([
            short(&row.id),
            row.name.clone(),
            row.words.clone(),
            next,
            row.agent.clone(),
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

/// One schedule with its next due times and last runs.
pub fn page(info: &ScheduleInfo) -> String {
    let mut page = format!("{} ({})\n{}\n", info.name, info.id, info.words);
    let work = info.prompt.as_deref().or(info.command.as_deref());
    page.push_str(&format!(
        "agent {}: {}\n",
        info.agent,
        work.unwrap_or_default()
    ));
    if let Some(reason) = info.disabled_reason.as_deref().filter(|_| !info.enabled) {
        page.push_str(&format!("switched off: {reason}\n"));
    }
    page.push_str(&next_lines(&info.next, &info.zone));
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

/// What a written form means.
pub fn preview_page(preview: &SchedulePreview, zone: &str) -> String {
    format!("{}\n{}", preview.words, next_lines(&preview.next, zone))
}

fn next_lines(next: &[Timestamp], zone: &str) -> String {
    let now = SystemClock.now();
    let line = |due: &Timestamp| format!("next {}\n", next_in_words(due.0, now.0, zone));
    next.iter().map(line).collect()
}
