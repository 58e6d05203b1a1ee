//! The card that asks a person about one call, and what each key means.

#[cfg(test)]
mod spoofs;

use rooftree_protocol::{
    Answer, Effect, Event, EventBody, PermissionDecision, PermissionId, PermissionScope, SessionId,
};
use unicode_width::UnicodeWidthStr;

use super::{
    clean::{clean, clean_line, visible},
    line::{Line, Look, prefix},
};

/// Columns of a name; a longer one would push what is asked out of sight.
const LONGEST_NAME: usize = 40;

/// Lines of a diff shown on a card; more are counted.
const DETAIL_SHOWN: usize = 20;

/// A question to a person.
#[derive(Clone, Debug)]
pub struct Card {
    /// Which question.
    pub id: PermissionId,
    /// Which session asks.
    pub session: SessionId,
    agent: String,
    tool: String,
    title: String,
    detail: String,
    effect: Effect,
    rule: String,
}

/// What a key means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Settles the question.
    Answer(Answer),
    /// Wants to say why not.
    SayWhy,
}

impl Card {
    /// The card for a question of this agent; none if the event is none.
    pub fn from_event(agent: &str, event: &Event) -> Option<Self> {
        let EventBody::PermissionRequested { id, tool, title, detail, effect, rule, .. } = &event.body else {
            return None;
        };
        Some(Self {
            id: id.clone(),
            session: event.session.clone(),
            // Whatever an agent wrote is seen as it is before anything is made of it.
            agent: prefix(&clean_line(&visible(agent)), LONGEST_NAME).to_owned(),
            tool: clean_line(&visible(tool)),
            title: visible(title),
            detail: visible(detail),
            effect: *effect,
            rule: visible(rule),
        })
    }

    /// The card in lines of so many columns; `waiting` more questions are behind it. All of a
    /// command is shown, however long it is; of a diff, its beginning.
    pub fn lines(&self, waiting: usize, columns: usize) -> Vec<Line> {
        let more = if waiting == 0 { String::new() } else { format!(" (1 of {})", waiting + 1) };
        let what = match self.effect {
            Effect::ReadOnly => "look at something",
            Effect::LocalMutation => "change files",
            Effect::Destructive => "run something",
            Effect::RemoteAction => "act on something elsewhere",
        };
        let mut lines = vec![
            Line::of(Look::Warning, "? ")
                .with(Look::Strong, &self.agent)
                .with(Look::Plain, format!(" wants to {what}{more}")),
        ];
        // Only what we say ourselves stands two columns from the left; rows of others are further in.
        let wrapped = |look: Look, text: &str| {
            let rows = broken(text, columns.saturating_sub(4)).into_iter().enumerate();
            rows.map(move |(at, row)| Line::of(look, format!("{}{row}", if at == 0 { "  " } else { "    " })))
        };
        lines.extend(wrapped(Look::Strong, &format!("{} {}", self.tool, self.title)));
        lines.extend(self.detail_lines(columns));
        let key =
            |line: Line, key: &str, meaning: &str| line.with(Look::Accent, key).with(Look::Plain, meaning);
        let line = key(Line::of(Look::Plain, "  "), "y", " once   ");
        let line = key(line, "n", " no   ");
        lines.push(key(line, "f", " no, and say why"));
        lines.push(key(Line::of(Look::Plain, "  "), "s", " this session, whenever it is:"));
        lines.extend(wrapped(Look::Dim, &format!("  {}", self.rule)));
        lines
    }

    fn detail_lines(&self, columns: usize) -> Vec<Line> {
        // The detail of a command is the command.
        let detail =
            if self.detail.trim() == self.title.trim() { String::new() } else { clean(&self.detail) };
        let all: Vec<&str> = detail.lines().collect();
        // A line of a command that is not shown would be permitted unseen.
        let shown = if self.effect == Effect::LocalMutation { DETAIL_SHOWN } else { all.len() };
        let mut lines: Vec<Line> =
            all.iter().take(shown).flat_map(|line| diff_lines(line, columns)).collect();
        if let Some(more @ 1..) = all.len().checked_sub(shown) {
            lines.push(Line::of(Look::Dim, format!("    … {more} more lines")));
        }
        lines
    }

    /// Where the answer is typed.
    pub fn prompt() -> Line {
        Line::of(Look::Accent, "  › ")
    }

    /// What a key means; none if nothing.
    pub fn choice(key: char) -> Option<Choice> {
        let answer =
            |decision, scope| Some(Choice::Answer(Answer { decision, scope, because: None, digest: None }));
        match key.to_ascii_lowercase() {
            'y' => answer(PermissionDecision::Allow, PermissionScope::Once),
            's' => answer(PermissionDecision::Allow, PermissionScope::Session),
            'p' => answer(PermissionDecision::Allow, PermissionScope::Project),
            'a' => answer(PermissionDecision::Allow, PermissionScope::Always),
            // A bare Enter must never permit anything.
            'n' => answer(PermissionDecision::Deny, PermissionScope::Once),
            'f' => Some(Choice::SayWhy),
            _ => None,
        }
    }

    /// An answer in words.
    pub fn answered(answer: &Answer) -> Line {
        match (answer.decision, answer.scope) {
            (PermissionDecision::Allow, PermissionScope::Once) => Line::of(Look::Good, "yes, once"),
            (PermissionDecision::Allow, PermissionScope::Session) => {
                Line::of(Look::Good, "yes, this session")
            }
            (PermissionDecision::Allow, PermissionScope::Project) => {
                Line::of(Look::Good, "yes, in this project")
            }
            (PermissionDecision::Allow, PermissionScope::Always) => Line::of(Look::Good, "yes, always"),
            (PermissionDecision::Deny, _) => Line::of(Look::Warning, "no"),
        }
    }
}

/// A text in rows that fit, broken anywhere: a terminal that broke them itself would begin the next one
/// at its left edge.
fn broken(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut rows = Vec::new();
    for mut line in clean(text).lines() {
        while line.width() > columns {
            let row = prefix(line, columns);
            rows.push(row.to_owned());
            line = line.get(row.len()..).unwrap_or_default();
        }
        rows.push(line.to_owned());
    }
    rows
}

fn diff_lines(line: &str, columns: usize) -> Vec<Line> {
    let look = match line.chars().next() {
        Some('+') => Look::Good,
        Some('-') => Look::Bad,
        Some('@') => Look::Accent,
        _ => Look::Dim,
    };
    broken(line, columns.saturating_sub(4)).iter().map(|row| Line::of(look, format!("    {row}"))).collect()
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::{CallId, Timestamp};

    use super::*;

    fn asked(body: EventBody) -> Card {
        let session = SessionId::from_entropy(1);
        let (agent, ts) = ("lead".to_owned(), Timestamp(0));
        let event = Event { v: 1, id: None, ts, session, run: None, parent_run: None, agent, body };
        Card::from_event("lead", &event).unwrap()
    }

    #[test]
    fn only_the_keys_on_the_card_mean_something() {
        let permits = |key| {
            matches!(
                Card::choice(key),
                Some(Choice::Answer(Answer { decision: PermissionDecision::Allow, .. }))
            )
        };
        assert!(permits('y') && permits('Y') && permits('s'));
        for key in ['\n', '\r', ' ', 'n', 'a', '\u{1b}'] {
            assert!(!permits(key), "{key:?}");
        }
        assert_eq!(Card::choice('f'), Some(Choice::SayWhy));
    }

    #[test]
    fn a_card_shows_who_what_and_the_rule_and_obeys_nothing() {
        let body = EventBody::PermissionRequested {
            id: PermissionId::from_entropy(1),
            call: CallId::from_entropy(1),
            tool: "Bash".into(),
            title: "rm x\u{1b}[2K".into(),
            detail: "+ a\n- b".into(),
            effect: Effect::Destructive,
            rule: "Bash(rm x)".into(),
            until: Timestamp(0),
            reason: String::new(),
            digest: String::new(),
            scopes: Vec::new(),
        };
        let card = asked(body);
        let shown: Vec<String> = card.lines(1, 80).iter().map(|line| line.paint(false)).collect();
        assert_eq!(
            shown,
            [
                "? lead wants to run something (1 of 2)",
                "  Bash rm x\\u{1b}[2K",
                "    + a",
                "    - b",
                "  y once   n no   f no, and say why",
                "  s this session, whenever it is:",
                "    Bash(rm x)",
            ]
        );
    }

    #[test]
    fn no_line_of_a_command_is_hidden() {
        let command: Vec<String> = (1..=30).map(|line| format!("echo {line}")).collect();
        let body = EventBody::PermissionRequested {
            id: PermissionId::from_entropy(1),
            call: CallId::from_entropy(1),
            tool: "Bash".into(),
            title: "echo 1 …".into(),
            detail: command.join("\n"),
            effect: Effect::Destructive,
            rule: "Bash".into(),
            until: Timestamp(0),
            reason: String::new(),
            digest: String::new(),
            scopes: Vec::new(),
        };
        let lines = asked(body).lines(0, 80);
        assert!(lines.iter().any(|line| line.paint(false).trim() == "echo 30"));
    }
}
