//! A conversation on a terminal: who said what, what was done, how it ended.

use anstyle::{AnsiColor, Style};
use rooftree_protocol::{Outcome, RunStatus, event::NoticeLevel};

use super::{TranscriptCall, TranscriptEntry, TranscriptItem, ended, status_word};
use crate::{
    human_format::{moment, wrapped},
    table::TableStyle,
    terminal::{
        run_text::duration,
        sanitize::{clean, clean_line},
    },
};

/// Lines of a failed call's output that are shown when not all are wanted.
const FEW: usize = 5;

/// How much of what tools said is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptDetail {
    /// One line per call; a few more for those that failed.
    Short,
    /// Everything, with diffs.
    Full,
}

/// How a page is written.
#[derive(Clone, Copy, Debug)]
pub struct TranscriptPrinter {
    pub look: TableStyle,
    pub detail: TranscriptDetail,
}

impl TranscriptPrinter {
    /// The conversation as text.
    pub fn text(self, entries: &[TranscriptEntry]) -> String {
        let mut text = String::new();
        let mut was_call = false;
        for entry in entries {
            let is_call = matches!(entry.said, TranscriptItem::Call(_));
            // Calls stand together; everything else has air around it.
            let joins = is_call && was_call;
            if !text.is_empty() && !joins {
                text.push('\n');
            }
            text += &self.entry(entry);
            was_call = is_call;
        }
        text
    }

    fn entry(self, entry: &TranscriptEntry) -> String {
        match &entry.said {
            TranscriptItem::Message {
                from,
                text,
                attachments,
            } => {
                let attached: String = attachments
                    .iter()
                    .map(|what| format!("  [{}]\n", clean_line(what)))
                    .collect();
                self.heading("›", AnsiColor::Cyan, from, entry) + &self.indented(text) + &attached
            }
            TranscriptItem::Reply { text, .. } => {
                self.heading("●", AnsiColor::Green, &entry.agent, entry) + &self.indented(text)
            }
            TranscriptItem::Call(call) => self.call(call),
            TranscriptItem::RunEnd {
                status,
                summary,
                problem,
            } => self.end(*status, summary, problem.as_deref()),
            TranscriptItem::Notice { level, text } => {
                let (sign, colour) = match level {
                    NoticeLevel::Info => ("i", AnsiColor::Blue),
                    NoticeLevel::Warning => ("!", AnsiColor::Yellow),
                    NoticeLevel::Error => ("✗", AnsiColor::Red),
                };
                format!("{} {}\n", self.painted(sign, colour), clean_line(text))
            }
            TranscriptItem::Cleared => self.faint("── context cleared ──") + "\n",
            TranscriptItem::Forked(point) => {
                let words = format!(
                    "── forked here from {} at event {} ──",
                    point.session, point.at
                );
                self.faint(&words) + "\n"
            }
        }
    }

    fn heading(self, sign: &str, colour: AnsiColor, who: &str, entry: &TranscriptEntry) -> String {
        let place = format!("{} · event {}", moment(entry.at), entry.event);
        format!(
            "{} {}  {}\n",
            self.painted(sign, colour),
            self.bold(&clean_line(who)),
            self.faint(&place)
        )
    }

    fn call(self, call: &TranscriptCall) -> String {
        let (sign, colour) = match call.outcome {
            Outcome::Done => ("✓", AnsiColor::Green),
            Outcome::Failed(_) => ("✗", AnsiColor::Red),
            Outcome::Denied | Outcome::Cancelled => ("–", AnsiColor::Yellow),
            Outcome::Unknown => ("?", AnsiColor::Yellow),
        };
        let mut words = vec![duration(call.duration_ms)];
        if !call.outcome.is_done() {
            words.insert(0, ended(call.outcome).to_owned());
        }
        let title = format!("{} {}", call.tool, clean_line(&call.title));
        let line = format!(
            "  {} {}  {}\n",
            self.painted(sign, colour),
            title.trim_end(),
            self.faint(&words.join(" · "))
        );
        line + &self.output(call)
    }

    fn output(self, call: &TranscriptCall) -> String {
        let shown = match self.detail {
            TranscriptDetail::Full => usize::MAX,
            TranscriptDetail::Short if call.outcome.is_done() => 0,
            TranscriptDetail::Short => FEW,
        };
        let said = call
            .diff
            .as_deref()
            .filter(|_| self.detail == TranscriptDetail::Full)
            .unwrap_or(&call.text);
        let all = clean(said);
        let lines: Vec<&str> = all.lines().collect();
        let mut text: String = lines
            .iter()
            .take(shown)
            .map(|line| format!("      {}\n", self.faint(line)))
            .collect();
        if shown > 0 && lines.len() > shown {
            text += &format!(
                "      {}\n",
                self.faint(&format!("… {} more lines (--full)", lines.len() - shown))
            );
        }
        text
    }

    fn end(self, status: RunStatus, summary: &str, problem: Option<&str>) -> String {
        let (sign, colour) = match status {
            RunStatus::Completed => ("✓", AnsiColor::Green),
            RunStatus::Failed => ("✗", AnsiColor::Red),
            _ => ("–", AnsiColor::Yellow),
        };
        let line = format!("{} · {summary}", status_word(status));
        let why = problem
            .map(|problem| format!("  {}\n", clean_line(problem)))
            .unwrap_or_default();
        format!(
            "{} {}\n{why}",
            self.painted(sign, colour),
            self.faint(&line)
        )
    }

    fn painted(self, text: &str, colour: AnsiColor) -> String {
        self.styled(text, colour.on_default())
    }

    fn bold(self, text: &str) -> String {
        self.styled(text, Style::new().bold())
    }

    fn faint(self, text: &str) -> String {
        self.styled(text, Style::new().dimmed())
    }

    fn styled(self, text: &str, style: Style) -> String {
        if self.look.colours {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    fn indented(self, text: &str) -> String {
        let indent = |line: &str| {
            if line.is_empty() {
                "\n".into()
            } else {
                format!("  {line}\n")
            }
        };
        wrapped(
            &clean(text).lines().map(indent).collect::<String>(),
            self.look.width,
        )
    }
}
