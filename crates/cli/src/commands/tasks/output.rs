//! Stored output of a background process: followed to its end, or summarized.

use std::time::Duration;

use rooftree_client::{ListedTask, RuntimeClient};
use rooftree_protocol::Problem;
use rooftree_runtime::Queries;
use rooftree_store::{OutputPiece, TaskRow, TaskStatus};
use tokio::time::Instant;

use super::find;
use crate::{
    environment::Environment,
    exit::Exit,
    output,
    terminal::sanitize::{TextSanitizer, clean},
};

/// Polling interval, in case a change notification is missed.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long the end of a program that is gone may take to be written down.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// How much a program wrote, and its last line.
#[derive(serde::Serialize)]
pub struct TaskOutputSummary {
    pub bytes: u64,
    pub last_line: String,
}

/// Sums up what a task wrote; none if nothing is kept of it.
pub async fn written(
    store: &Queries,
    task: &TaskRow,
) -> Result<Option<TaskOutputSummary>, Problem> {
    let last = store
        .last_output(&task.id)
        .await
        .map_err(|error| error.problem())?;
    Ok(last.map(|piece| {
        let line = piece
            .text
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default();
        TaskOutputSummary {
            bytes: piece.end(),
            last_line: clean(line.trim()),
        }
    }))
}

/// Prints what a program wrote, then what it writes.
pub async fn follow(
    client: &dyn RuntimeClient,
    environment: &Environment,
    task: &TaskRow,
) -> Result<Exit, Problem> {
    let mut changes = find::changes(environment)?;
    let (mut printer, mut gone_since) = (TaskOutputPrinter::default(), None);
    loop {
        // Looked at before the output: what a program wrote is kept before its end is.
        let ListedTask { task, is_left } = find::again(client, &task.id).await?;
        let pieces = client.task_output(&task.id, printer.after).await?;
        for piece in &pieces {
            output::print(&printer.push(piece))?;
        }
        if task.status != TaskStatus::Running {
            output::print(printer.end())?;
            output::print_note(environment, &format!("{} {}", task.id, task.detail));
            return Ok(Exit::DONE);
        }
        if !is_left {
            gone_since = None;
        } else if gone_since.get_or_insert_with(Instant::now).elapsed() >= LAST_WORDS {
            output::print(printer.end())?;
            let words = format!(
                "{} is gone with the process that had started it; this is what was kept",
                task.id
            );
            output::print_note(environment, &words);
            return Ok(Exit::DONE);
        }
        if pieces.is_empty() {
            find::changed(changes.as_mut(), PATIENCE).await;
        }
    }
}

/// Puts pieces together for a terminal.
#[derive(Default)]
struct TaskOutputPrinter {
    after: u64,
    cleaner: TextSanitizer,
    is_in_line: bool,
}

impl TaskOutputPrinter {
    fn push(&mut self, piece: &OutputPiece) -> String {
        let mut text = String::new();
        if piece.start > self.after {
            text = format!(
                "{}[… {} bytes are not kept …]\n",
                self.end(),
                piece.start - self.after
            );
        }
        text.push_str(&self.cleaner.push(&piece.text));
        self.after = piece.end();
        if !text.is_empty() {
            self.is_in_line = !text.ends_with('\n');
        }
        text
    }

    /// What ends the line that is being written.
    fn end(&self) -> &'static str {
        if self.is_in_line { "\n" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_kept_is_said_and_what_a_terminal_would_obey_is_left_out() {
        let mut printer = TaskOutputPrinter::default();
        let piece = |start, text: &str| OutputPiece {
            start,
            text: text.into(),
        };
        assert_eq!(printer.push(&piece(0, "one \u{1b}[3")), "one ");
        assert_eq!(printer.push(&piece(7, "1mtwo")), "two");
        assert_eq!(
            printer.push(&piece(20, "three\n")),
            "\n[… 8 bytes are not kept …]\nthree\n"
        );
        assert_eq!(printer.end(), "");
    }
}
