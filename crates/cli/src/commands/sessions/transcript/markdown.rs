//! A conversation as Markdown, to read, print or paste elsewhere.

use rooftree_protocol::Session;

use super::{TranscriptCall, TranscriptEntry, TranscriptItem, ended, status_word};
use crate::{
    human_format::moment,
    terminal::{run_text::duration, sanitize::clean_line},
};

/// The whole page.
pub fn text(session: &Session, entries: &[TranscriptEntry]) -> String {
    let title = session
        .name
        .clone()
        .unwrap_or_else(|| session.id.to_string());
    let mut text = format!("# {}\n\n", clean_line(&title));
    text += &format!(
        "Session `{}` of agent {}, opened {}, {} events.\n",
        session.id,
        session.agent,
        moment(session.created_at),
        session.head
    );
    for entry in entries {
        text.push('\n');
        text += &section(entry);
    }
    text
}

fn section(entry: &TranscriptEntry) -> String {
    match &entry.said {
        TranscriptItem::Message {
            from,
            text,
            attachments,
        } => {
            let attached: String = attachments
                .iter()
                .map(|what| format!("- attached: {what}\n"))
                .collect();
            let attached = if attached.is_empty() {
                attached
            } else {
                format!("\n{attached}")
            };
            format!(
                "## {} ({})\n\n{}\n{attached}",
                clean_line(from),
                moment(entry.at),
                text.trim()
            )
        }
        TranscriptItem::Reply { text, model } => {
            format!("## {} ({model})\n\n{text}\n", entry.agent)
        }
        TranscriptItem::Call(call) => called(call),
        TranscriptItem::RunEnd {
            status,
            summary,
            problem,
        } => {
            let why = problem
                .as_ref()
                .map(|problem| format!(": {}", clean_line(problem)))
                .unwrap_or_default();
            format!("*{} · {summary}{why}*\n", status_word(*status))
        }
        TranscriptItem::Notice { text, .. } => format!("> {}\n", clean_line(text)),
        TranscriptItem::Cleared => "---\n\n*context cleared*\n".into(),
        TranscriptItem::Forked(point) => {
            format!(
                "---\n\n*forked here from `{}` at event {}*\n",
                point.session, point.at
            )
        }
    }
}

fn called(call: &TranscriptCall) -> String {
    let title = clean_line(&call.title);
    let title = if title.is_empty() {
        title
    } else {
        format!(" {}", code(&title))
    };
    let line = format!(
        "**{}**{title} · {} · {}\n",
        call.tool,
        ended(call.outcome),
        duration(call.duration_ms)
    );
    let (language, said) = match &call.diff {
        Some(diff) => ("diff", diff.as_str()),
        None => ("", call.text.as_str()),
    };
    if said.trim().is_empty() {
        return line;
    }
    let fence = "`".repeat(longest_run_of_ticks(said).max(2) + 1);
    format!("{line}\n{fence}{language}\n{}\n{fence}\n", said.trim_end())
}

/// Text in a span that no tick inside it can end.
fn code(text: &str) -> String {
    let ticks = "`".repeat(longest_run_of_ticks(text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{space}{text}{space}{ticks}")
}

fn longest_run_of_ticks(text: &str) -> usize {
    text.split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_in_code_cannot_end_it() {
        let table = [
            ("plain", "`plain`"),
            ("a `b` c", "``a `b` c``"),
            ("```", "```` ``` ````"),
        ];
        for (text, wanted) in table {
            assert_eq!(code(text), wanted);
        }
    }
}
