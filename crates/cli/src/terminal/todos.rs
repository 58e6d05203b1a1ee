//! A todo list in lines.

use rooftree_protocol::{Todo, TodoStatus};

use super::line::{Line, Look};

/// Todos shown at a time; more are counted.
const TODOS_SHOWN: usize = 6;

/// The list, as far as it is shown.
pub fn lines(todos: &[Todo]) -> Vec<Line> {
    let mut lines: Vec<Line> = todos.iter().take(TODOS_SHOWN).map(line).collect();
    if let Some(more @ 1..) = todos.len().checked_sub(TODOS_SHOWN) {
        lines.push(Line::of(Look::Dim, format!("  and {more} more")));
    }
    lines
}

fn line(todo: &Todo) -> Line {
    let doing = todo.active_form.as_deref().unwrap_or(&todo.content);
    match todo.status {
        TodoStatus::Completed => Line::of(Look::Good, "☑ ").with(Look::Dim, &todo.content),
        TodoStatus::InProgress => Line::of(Look::Accent, "▸ ").with(Look::Strong, doing),
        TodoStatus::Pending => Line::of(Look::Dim, "☐ ").with(Look::Plain, &todo.content),
    }
}
