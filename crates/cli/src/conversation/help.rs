//! The texts of `/help` and `/agent`: the table of actions, the commands, skills and agents of this place, and keys.

use rooftree_protocol::actions::ACTIONS;

use crate::{
    commands::run::slash_prompt::PromptName,
    terminal::{
        line::{StyledLine, TextStyle},
        wrap,
    },
};

/// Columns of the names, at most.
const NAMES: usize = 30;
/// Columns that a meaning beside its name needs.
const MEANING: usize = 20;

/// What can be typed besides commands.
const KEYS: [(&str, &str); 6] = [
    ("@PATH", "inside a message attaches the file."),
    (
        "\\ at the end",
        "goes on in the next line; so does Alt-Enter.",
    ),
    ("Tab", "completes commands, agents, models and files."),
    (
        "Enter alone",
        "shows what works in background, and asks what is open.",
    ),
    ("Ctrl-C", "stops the run; at the prompt it clears the line."),
    (
        "Ctrl-D",
        "leaves. What is typed while a run works is read when it has ended.",
    ),
];

/// All of it, in lines of so many columns.
pub fn lines(prompts: &[PromptName], columns: usize) -> Vec<StyledLine> {
    let actions = ACTIONS
        .iter()
        .map(|action| (action.typed(), action.help.to_owned()));
    let mut lines = block(actions.collect(), columns);
    if !prompts.is_empty() {
        let prompts = prompts.iter().map(|prompt| {
            let typed = format!("/{} {}", prompt.name, prompt.arguments);
            (typed.trim_end().to_owned(), prompt.description.clone())
        });
        lines.push(StyledLine::default());
        lines.extend(block(prompts.collect(), columns));
    }
    lines.push(StyledLine::default());
    let keys = KEYS.map(|(key, meaning)| (key.to_owned(), meaning.to_owned()));
    lines.extend(block(keys.to_vec(), columns));
    lines
}

/// Agents that can be talked to, and what each is for.
pub fn agents(agents: Vec<(String, String)>, columns: usize) -> Vec<StyledLine> {
    block(agents, columns)
}

/// Names and meanings beside each other; where that is too narrow or a name too long, below each other.
fn block(rows: Vec<(String, String)>, columns: usize) -> Vec<StyledLine> {
    let widest = rows.iter().map(|(name, _)| name.chars().count()).max();
    let names = widest.unwrap_or(0).min(NAMES);
    let room = columns.saturating_sub(names + 4);
    if room < MEANING {
        return below_each_other(&rows, columns);
    }
    let mut lines = Vec::new();
    for (name, meaning) in rows {
        let is_long = name.chars().count() > names;
        if is_long {
            lines.push(StyledLine::of(TextStyle::Accent, format!("  {name}")));
        }
        let mut label = if is_long { String::new() } else { name };
        for row in wrap::rows(&meaning, room) {
            let head = StyledLine::of(TextStyle::Accent, format!("  {label:<names$}"));
            lines.push(head.with(TextStyle::Plain, format!("  {row}")));
            label.clear();
        }
    }
    lines
}

/// Names with their meanings in the lines below.
fn below_each_other(rows: &[(String, String)], columns: usize) -> Vec<StyledLine> {
    let block = |text: &str, indent: usize, style: TextStyle| -> Vec<StyledLine> {
        let room = columns.saturating_sub(indent).max(8);
        wrap::rows(text, room)
            .into_iter()
            .map(|row| StyledLine::of(style, format!("{}{row}", " ".repeat(indent))))
            .collect()
    };
    rows.iter()
        .flat_map(|(name, meaning)| {
            let name = block(name, 2, TextStyle::Accent);
            name.into_iter()
                .chain(block(meaning, 4, TextStyle::Plain))
                .collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_listed_and_no_line_is_too_wide() {
        for columns in [24, 40, 60, 80, 120] {
            let lines = lines(&[], columns);
            let text: Vec<String> = lines.iter().map(|line| line.paint(false)).collect();
            assert!(
                text.iter().all(|line| line.chars().count() <= columns),
                "{text:#?}"
            );
            for action in ACTIONS {
                let name = format!("  /{}", action.name);
                assert!(text.iter().any(|line| line.starts_with(&name)), "{name}");
            }
        }
    }
}
