//! Renders tool calls in one line each: name, subject, outcome, duration.

use rooftree_protocol::{
    Outcome,
    event::ToolRecord,
    message::text_of,
    tool_call::{FileAction, FileNote},
};

use super::{
    line::{StyledLine, TextStyle},
    run_text,
};

/// Columns a call's name and title get, however little room there is.
const NARROWEST: usize = 12;

/// A call that ended, in at most so many columns if they are few: its title is cut, not how it went.
pub fn ended(record: &ToolRecord, columns: Option<usize>) -> StyledLine {
    let (icon, look, word) = match record.outcome {
        Outcome::Done => ("⏺", TextStyle::Good, ""),
        Outcome::Failed(_) => ("✗", TextStyle::Bad, " failed"),
        Outcome::Denied => ("⊘", TextStyle::Warning, " denied"),
        Outcome::Cancelled => ("■", TextStyle::Warning, " stopped"),
        Outcome::Unknown => ("?", TextStyle::Warning, " interrupted"),
    };
    let mut tail = changes(StyledLine::default(), &record.files).with(look, word);
    if record.outcome != Outcome::Denied {
        tail = tail.with(
            TextStyle::Dim,
            format!("  {}", run_text::duration(record.duration_ms)),
        );
    }
    // A call from inside another one stands below it.
    let indent = if record.inside.is_some() {
        "  ↳ "
    } else {
        ""
    };
    let head = called(
        StyledLine::of(look, format!("{indent}{icon} ")),
        &record.tool,
        &record.title,
    );
    let head = match columns {
        Some(columns) => head.cut(columns.saturating_sub(tail.width()).max(NARROWEST)),
        None => head,
    };
    let line = head.and(tail);
    let line = match record.outcome {
        Outcome::Failed(_) => line.with(TextStyle::Dim, format!("  {}", first_line(record))),
        _ => line,
    };
    match columns {
        Some(columns) => line.cut(columns),
        None => line,
    }
}

/// A call that is being made.
pub fn running(spinner: &str, tool: &str, title: &str, milliseconds: u64) -> StyledLine {
    let line = called(
        StyledLine::of(TextStyle::Accent, format!("{spinner} ")),
        tool,
        title,
    );
    line.with(
        TextStyle::Dim,
        format!("  {}", run_text::duration(milliseconds / 100 * 100)),
    )
}

fn called(line: StyledLine, tool: &str, title: &str) -> StyledLine {
    let line = line.with(TextStyle::Strong, tool);
    // A call that was never understood has nothing but its name.
    if title == tool || title.is_empty() {
        line
    } else {
        line.with(TextStyle::Plain, format!(" {title}"))
    }
}

fn changes(line: StyledLine, files: &[FileNote]) -> StyledLine {
    let changed = files
        .iter()
        .filter(|note| note.action == FileAction::Changed);
    let (added, removed) = changed.fold((0, 0), |(a, r), note| (a + note.added, r + note.removed));
    if added + removed == 0 {
        return line;
    }
    line.with(TextStyle::Good, format!(" +{added}"))
        .with(TextStyle::Bad, format!(" −{removed}"))
}

fn first_line(record: &ToolRecord) -> String {
    text_of(&record.content)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::{CallId, ErrorCode, Part};

    use super::*;

    fn record(outcome: Outcome) -> ToolRecord {
        ToolRecord {
            call: CallId::from_entropy(1),
            tool: "Read".into(),
            title: "src/x.rs".into(),
            outcome,
            content: vec![Part::text("there is no such file\nmore")],
            duration_ms: 3,
            full: None,
            inside: None,
            input: None,
            skill: None,
            files: Vec::new(),
            diff: None,
            task: None,
            usage: None,
        }
    }

    #[test]
    fn each_way_to_end_can_be_told_apart_without_colours() {
        let table = [
            (Outcome::Done, "⏺ Read src/x.rs  3 ms"),
            (
                Outcome::Failed(ErrorCode::ToolFailed),
                "✗ Read src/x.rs failed  3 ms  there is no such file",
            ),
            (Outcome::Denied, "⊘ Read src/x.rs denied"),
            (Outcome::Cancelled, "■ Read src/x.rs stopped  3 ms"),
            (Outcome::Unknown, "? Read src/x.rs interrupted  3 ms"),
        ];
        for (outcome, shown) in table {
            assert_eq!(ended(&record(outcome), None).paint(false), shown);
        }
    }

    #[test]
    fn a_long_title_is_cut_before_how_it_went_is() {
        let long = ToolRecord {
            title: "a/very/long/path/to/a/file.rs".into(),
            ..record(Outcome::Cancelled)
        };
        assert_eq!(
            ended(&long, Some(34)).paint(false),
            "■ Read a/very/long/…  stopped  3 ms".replace("  stopped", " stopped")
        );
    }
}
