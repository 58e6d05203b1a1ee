//! The permission prompt on the terminal: a card that asks the user about one tool call;
//! `permission_prompt/answer_keys.rs` maps keys to answers.
//!
//! Whatever an agent wrote is shown, never obeyed: all of a command, the beginning of a long diff
//! and a key for the rest of it. A card is never taller than the screen: its middle is folded, and a
//! command that is not shown whole cannot be allowed before all of it was shown. Each piece stands on lines of its own below a fixed label, so that
//! no text can look like the choices.

mod answer_keys;
mod fold;
#[cfg(test)]
mod spoofs;
#[cfg(test)]
pub mod tests;

use std::time::Duration;

use rooftree_protocol::{
    Effect, Event, EventBody, PermissionId, PermissionKind, PermissionScope, SessionId, Timestamp,
};

use unicode_width::UnicodeWidthStr;

pub use self::{answer_keys::PromptKeyAction, fold::ScreenSize};
use super::{
    line::{StyledLine, TextStyle, prefix},
    sanitize::{clean, clean_line, visible},
    wrap,
};

/// Columns of a name; a longer one would push what is asked out of sight.
const LONGEST_NAME: usize = 40;

/// Lines of a diff shown at first; more are shown on demand.
const DETAIL_SHOWN: usize = 30;

/// A question to a person.
#[derive(Clone, Debug)]
pub struct PermissionPrompt {
    /// Which question.
    pub id: PermissionId,
    /// Which session asks.
    pub session: SessionId,
    /// When it is answered by itself.
    pub until: Timestamp,
    agent: String,
    /// Where it is about, if that is not where the main run works.
    place: Option<String>,
    model: String,
    tool: String,
    title: String,
    detail: String,
    effect: Effect,
    kind: PermissionKind,
    reason: String,
    rule: String,
    digest: String,
    scopes: Vec<PermissionScope>,
    /// Whether all of the detail is shown.
    is_whole: bool,
}

impl PermissionPrompt {
    /// The card for a question of this agent; none if the event is none.
    pub fn from_event(agent: &str, event: &Event) -> Option<Self> {
        let EventBody::PermissionRequested {
            id,
            tool,
            title,
            detail,
            effect,
            rule,
            until,
            reason,
            digest,
            scopes,
            kind,
            ..
        } = &event.body
        else {
            return None;
        };
        Some(Self {
            id: id.clone(),
            session: event.session.clone(),
            until: *until,
            // Whatever an agent wrote is seen as it is before anything is made of it.
            agent: prefix(&clean_line(&visible(agent)), LONGEST_NAME).to_owned(),
            place: None,
            model: String::new(),
            tool: clean_line(&visible(tool)),
            title: visible(title),
            detail: visible(detail),
            effect: *effect,
            kind: *kind,
            reason: visible(without_flags(reason)),
            rule: visible(rule),
            digest: digest.clone(),
            scopes: scopes.clone(),
            is_whole: false,
        })
    }

    /// The same, naming the model that wants it and a place that people would not expect.
    pub fn about(self, model: String, place: Option<String>) -> Self {
        Self {
            model,
            place,
            ..self
        }
    }

    /// From now on with all of its detail.
    pub fn show_all(&mut self) {
        self.is_whole = true;
    }

    /// What it is about, on one line.
    pub fn subject(&self) -> String {
        format!("{} {}", self.tool, self.title)
    }

    /// The same for a page: no keys, but the rule that an answer for longer than once makes.
    pub fn facts(&self, columns: usize) -> Vec<StyledLine> {
        let columns = columns.max(20);
        let mut lines = self.heading(0, columns);
        lines.extend(self.body(columns));
        lines.extend(self.labelled("rule", &self.rule, TextStyle::Plain, columns));
        lines
    }

    fn body(&self, columns: usize) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        lines.extend(self.labelled(&self.tool, &self.title, TextStyle::Strong, columns));
        lines.extend(self.detail_lines(columns));
        if let Some(place) = &self.place {
            lines.extend(self.labelled("in", place, TextStyle::Plain, columns));
        }
        if !self.reason.is_empty() {
            lines.extend(self.labelled("why", &self.reason, TextStyle::Dim, columns));
        }
        lines
    }

    fn heading(&self, waiting: usize, columns: usize) -> Vec<StyledLine> {
        let what = match self.effect {
            _ if self.kind == PermissionKind::Spawn => "start agents",
            Effect::ReadOnly => "look at something",
            Effect::LocalMutation => "change files",
            Effect::Destructive => "run something",
            Effect::RemoteAction => "act on something elsewhere",
        };
        let more = if waiting == 0 {
            String::new()
        } else {
            format!(" (1 of {})", waiting + 1)
        };
        let line = StyledLine::of(TextStyle::Warning, "? ")
            .with(TextStyle::Strong, &self.agent)
            .with(TextStyle::Plain, format!(" wants to {what}{more}"));
        if self.model.is_empty() {
            return vec![line.cut(columns)];
        }
        let whole = line
            .clone()
            .with(TextStyle::Dim, format!(" · {}", self.model));
        if whole.width() <= columns {
            return vec![whole];
        }
        vec![
            line.cut(columns),
            StyledLine::of(TextStyle::Dim, format!("  {}", self.model)).cut(columns),
        ]
    }

    /// A text below its label: the rows after the first stand below the first.
    fn labelled(
        &self,
        label: &str,
        text: &str,
        look: TextStyle,
        columns: usize,
    ) -> Vec<StyledLine> {
        let indent = " ".repeat(self.label_width());
        let rows = broken(text, columns.saturating_sub(2 + indent.len()));
        let mut lines = Vec::new();
        let mut label = clean_line(label);
        // A name that is too long for its column, such as that of a server's tool, has rows of its own.
        if label.width() + 2 > indent.len() {
            lines.extend(
                broken(&label, columns.saturating_sub(2))
                    .iter()
                    .map(|row| labelling(row)),
            );
            label.clear();
        }
        for row in &rows {
            let gap = " ".repeat(indent.len().saturating_sub(label.width()));
            lines.push(labelling(&format!("{label}{gap}")).with(look, row));
            label.clear();
        }
        lines
    }

    /// Columns of the labels and a gap.
    fn label_width(&self) -> usize {
        clean_line(&self.tool).width().clamp(4, 14) + 2
    }

    fn detail_lines(&self, columns: usize) -> Vec<StyledLine> {
        // The detail of a command begins with the command, which stands above.
        let detail = self.detail.trim_start().strip_prefix(self.title.trim());
        let detail = detail
            .filter(|rest| rest.is_empty() || rest.starts_with('\n'))
            .unwrap_or(&self.detail);
        let detail = clean(detail.trim_matches('\n'));
        let all: Vec<&str> = detail.lines().collect();
        // A line of a command that is not shown would be permitted unseen.
        let is_short = self.is_whole || self.effect != Effect::LocalMutation;
        let shown = if is_short { all.len() } else { DETAIL_SHOWN };
        let mut lines: Vec<StyledLine> = all
            .iter()
            .take(shown)
            .flat_map(|line| diff_lines(line, columns))
            .collect();
        if let Some(more @ 1..) = all.len().checked_sub(shown) {
            lines.push(
                StyledLine::of(TextStyle::Dim, format!("    … {more} more lines: "))
                    .with(TextStyle::Accent, "v")
                    .with(TextStyle::Dim, " shows them"),
            );
        }
        lines
    }

    /// What can be answered.
    fn keys(&self, columns: usize) -> Vec<StyledLine> {
        let mut lines = vec![StyledLine::default()];
        lines.extend(in_rows(
            &[("y", "once"), ("n", "no"), ("f", "no, and say why")],
            columns,
        ));
        let longer = self.longer();
        if !longer.is_empty() {
            lines.extend(in_rows(
                &[longer.as_slice(), &[("", "for all that match")]].concat(),
                columns,
            ));
        }
        lines
    }

    /// The exact rule that a yes for longer than once makes.
    fn rule_lines(&self, columns: usize) -> Vec<StyledLine> {
        if self.longer().is_empty() {
            return Vec::new();
        }
        let rows = broken(&self.rule, columns.saturating_sub(4)).into_iter();
        let line = |row| StyledLine::of(TextStyle::Dim, "    ").with(TextStyle::Strong, row);
        rows.map(line).collect()
    }

    /// The answers for longer than once that are offered.
    fn longer(&self) -> Vec<(&'static str, &'static str)> {
        let offered = LONGER
            .iter()
            .filter(|(scope, ..)| self.scopes.contains(scope));
        offered.map(|(_, key, meaning)| (*key, *meaning)).collect()
    }

    /// Where the answer is typed; says how long there is for it.
    pub fn prompt(left: Duration) -> StyledLine {
        StyledLine::of(
            TextStyle::Dim,
            format!("  denied automatically in {} ", in_words(left)),
        )
        .with(TextStyle::Accent, "› ")
    }
}

fn labelling(text: &str) -> StyledLine {
    StyledLine::of(TextStyle::Accent, format!("  {text}"))
}

/// Answers that hold for longer than once, with their keys.
const LONGER: [(PermissionScope, &str, &str); 3] = [
    (PermissionScope::Session, "s", "this session"),
    (PermissionScope::Project, "p", "this project"),
    (PermissionScope::Always, "a", "always"),
];

/// Keys and what they mean beside each other, in as many rows as it takes.
fn in_rows(choices: &[(&str, &str)], columns: usize) -> Vec<StyledLine> {
    let mut lines: Vec<StyledLine> = Vec::new();
    for (key, meaning) in choices {
        let (look, gap) = if key.is_empty() {
            (TextStyle::Dim, "")
        } else {
            (TextStyle::Plain, " ")
        };
        let choice = StyledLine::of(TextStyle::Accent, key).with(look, format!("{gap}{meaning}"));
        match lines.pop() {
            Some(line) if line.width() + 3 + choice.width() <= columns => {
                lines.push(line.with(TextStyle::Plain, "   ").and(choice));
            }
            line => {
                lines.extend(line);
                lines.push(StyledLine::of(TextStyle::Plain, "  ").and(choice));
            }
        }
    }
    lines
}

/// Removes the flags at the end of a reason: they are for runs without prompts; here there are keys.
fn without_flags(reason: &str) -> &str {
    reason
        .split_once("; --")
        .map_or(reason, |(reason, _)| reason)
}

/// A time in the unit that fits, rounded down.
pub fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

/// Every line of a text in rows that fit, nothing left out: prose breaks at words, what is wider
/// than a row anywhere.
fn broken(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut rows = Vec::new();
    for row in wrap::rows(&clean(text), columns) {
        let mut rest = row.as_str();
        loop {
            let fits = prefix(rest, columns);
            if fits.len() == rest.len() || fits.is_empty() {
                rows.push(rest.to_owned());
                break;
            }
            rows.push(fits.to_owned());
            rest = rest.get(fits.len()..).unwrap_or_default();
        }
    }
    rows
}

fn diff_lines(line: &str, columns: usize) -> Vec<StyledLine> {
    let look = match line.chars().next() {
        Some('+') => TextStyle::Good,
        Some('-') => TextStyle::Bad,
        Some('@') => TextStyle::Accent,
        _ => TextStyle::Dim,
    };
    broken(line, columns.saturating_sub(4))
        .iter()
        .map(|row| StyledLine::of(look, format!("    {row}")))
        .collect()
}
