//! Renders a todo list as lines.

use rooftree_protocol::{Todo, TodoStatus};

use super::line::{StyledLine, TextStyle};

/// Todos shown at a time; more are counted.
const TODOS_SHOWN: usize = 6;

/// The list, as far as it is shown.
pub fn lines(todos: &[Todo]) -> Vec<StyledLine> {
    let mut lines: Vec<StyledLine> = todos.iter().take(TODOS_SHOWN).map(line).collect();
    if let Some(more @ 1..) = todos.len().checked_sub(TODOS_SHOWN) {
        lines.push(StyledLine::of(TextStyle::Dim, format!("  and {more} more")));
    }
    lines
}

fn line(todo: &Todo) -> StyledLine {
    let doing = todo.active_form.as_deref().unwrap_or(&todo.content);
    match todo.status {
        TodoStatus::Completed => {
            StyledLine::of(TextStyle::Good, "☑ ").with(TextStyle::Dim, &todo.content)
        }
        TodoStatus::InProgress => {
            StyledLine::of(TextStyle::Accent, "▸ ").with(TextStyle::Strong, doing)
        }
        TodoStatus::Pending => {
            StyledLine::of(TextStyle::Dim, "☐ ").with(TextStyle::Plain, &todo.content)
        }
    }
}
