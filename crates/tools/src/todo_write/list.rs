//! A todo list as a value: what it becomes, and how the model sees it. Pure.

use rooftree_protocol::{Todo, TodoStatus};
use serde_json::Value;

use crate::arguments::text;

/// The list after a call with these canonical arguments.
pub(super) fn next(now: &[Todo], input: &Value) -> Result<Vec<Todo>, String> {
    let items = |name: &str| input.get(name).and_then(Value::as_array);
    let mut list = match items("todos") {
        Some(all) => all.iter().map(todo).collect(),
        None => now.to_vec(),
    };
    list.extend(items("add").into_iter().flatten().map(todo));
    for change in items("update").into_iter().flatten() {
        update(&mut list, change)?;
    }
    let in_progress = list
        .iter()
        .filter(|todo| todo.status == TodoStatus::InProgress)
        .count();
    if list.iter().any(|todo| todo.content.trim().is_empty()) {
        return Err("A todo without content says nothing.".to_owned());
    }
    if in_progress > 1 {
        return Err(format!(
            "{in_progress} todos are in_progress; at most one may be. Nothing was changed."
        ));
    }
    Ok(list)
}

/// The block that shows a model its list.
pub(super) fn state(list: &[Todo]) -> String {
    let count = |status: TodoStatus| list.iter().filter(|todo| todo.status == status).count();
    let mut block = format!(
        "<todo-state>\n{} of {} completed, {} in progress, {} pending\n",
        count(TodoStatus::Completed),
        list.len(),
        count(TodoStatus::InProgress),
        count(TodoStatus::Pending),
    );
    for (at, todo) in list.iter().enumerate() {
        let icon = match todo.status {
            TodoStatus::Pending => "⬚",
            TodoStatus::InProgress => "🔄",
            TodoStatus::Completed => "✅",
        };
        block.push_str(&format!("{icon} {}. {}\n", at + 1, inert(&todo.content)));
    }
    block.push_str("</todo-state>");
    block
}

/// One line that cannot close the block it stands in.
fn inert(content: &str) -> String {
    content
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('<', "&lt;")
}

fn todo(item: &Value) -> Todo {
    Todo {
        content: text(item, "content").to_owned(),
        status: status(item).unwrap_or(TodoStatus::Pending),
        active_form: optional(item, "active_form"),
        priority: optional(item, "priority"),
    }
}

/// Changes the item with that number; without a number, the one with that content, or adds it.
fn update(list: &mut Vec<Todo>, change: &Value) -> Result<(), String> {
    let content = optional(change, "content");
    let count = list.len();
    let found = match optional(change, "id") {
        Some(id) => {
            let at = id
                .parse::<usize>()
                .ok()
                .and_then(|number| number.checked_sub(1));
            let item = at.and_then(|at| list.get_mut(at));
            Some(item.ok_or_else(|| format!("There is no todo {id}; the list has {count}."))?)
        }
        None => list
            .iter_mut()
            .find(|todo| Some(&todo.content) == content.as_ref()),
    };
    let Some(item) = found else {
        if content.is_none() {
            return Err("An update names its todo by `id` (its number) or `content`.".to_owned());
        }
        list.push(todo(change));
        return Ok(());
    };
    item.status = status(change).unwrap_or(item.status);
    item.content = content.unwrap_or_else(|| item.content.clone());
    item.active_form = optional(change, "active_form").or_else(|| item.active_form.take());
    item.priority = optional(change, "priority").or_else(|| item.priority.take());
    Ok(())
}

fn status(item: &Value) -> Option<TodoStatus> {
    item.get("status")
        .and_then(|status| serde_json::from_value(status.clone()).ok())
}

fn optional(item: &Value, name: &str) -> Option<String> {
    item.get(name).and_then(Value::as_str).map(str::to_owned)
}
