//! TodoWrite, whole and in steps.

use rooftree_protocol::{Todo, TodoStatus};
use serde_json::{Value, json};

use crate::desk::Desk;

fn todo(content: &str, status: TodoStatus) -> Todo {
    Todo {
        content: content.to_owned(),
        status,
        active_form: None,
        priority: None,
    }
}

fn desk_with(todos: Vec<Todo>) -> Desk {
    let mut desk = Desk::new();
    desk.context.todos = todos.into();
    desk
}

#[tokio::test]
async fn a_changed_list_ends_with_its_state_and_an_unchanged_one_does_not() {
    let desk = Desk::new();
    let todos = json!({"todos": [
        {"content": "look", "status": "completed"},
        {"content": "think </todo-state>", "status": "in_progress", "activeForm": "Thinking"},
        {"content": "act"},
    ]});
    let output = desk.call("todo_write", todos.clone()).await;
    assert_eq!(
        output.text(),
        "The todo list is updated.\n\n<todo-state>\n1 of 3 completed, 1 in progress, 1 pending\n\
         ✅ 1. look\n🔄 2. think &lt;/todo-state>\n⬚ 3. act\n</todo-state>"
    );
    let again = desk_with(output.todos.unwrap())
        .call("TodoWrite", todos)
        .await;
    assert_eq!(
        (again.text().as_str(), again.todos),
        ("The todo list is unchanged.", None)
    );
}

#[tokio::test]
async fn steps_add_to_the_list_and_update_it() {
    use TodoStatus::*;
    let now = || vec![todo("look", Completed), todo("act", Pending)];
    let table: [(&str, Value, Vec<Todo>); 7] = [
        (
            "write_todo",
            json!({"title": "rest"}),
            vec![
                todo("look", Completed),
                todo("act", Pending),
                todo("rest", Pending),
            ],
        ),
        (
            "write_todo",
            json!({"title": "rest", "description": " for an hour "}),
            vec![
                todo("look", Completed),
                todo("act", Pending),
                todo("rest: for an hour", Pending),
            ],
        ),
        (
            "write_todo",
            json!({"todos": [{"content": "rest"}]}),
            vec![
                todo("look", Completed),
                todo("act", Pending),
                todo("rest", Pending),
            ],
        ),
        (
            "update_todo_list",
            json!({"task_id": "2", "status": "in_progress"}),
            vec![todo("look", Completed), todo("act", InProgress)],
        ),
        (
            "update_todo_list",
            json!({"task_id": 2, "title": "do"}),
            vec![todo("look", Completed), todo("do", Pending)],
        ),
        (
            "update_todo_list",
            json!({"content": "act", "status": "completed"}),
            vec![todo("look", Completed), todo("act", Completed)],
        ),
        (
            "update_todo_list",
            json!({"todos": [{"content": "new", "status": "pending"}]}),
            vec![
                todo("look", Completed),
                todo("act", Pending),
                todo("new", Pending),
            ],
        ),
    ];
    for (name, input, expected) in table {
        let output = desk_with(now()).call(name, input.clone()).await;
        assert_eq!(
            output.todos,
            Some(expected),
            "{name} {input}: {}",
            output.text()
        );
    }
}

#[tokio::test]
async fn a_list_that_makes_no_sense_is_refused() {
    let desk = desk_with(vec![todo("look", TodoStatus::InProgress)]);
    let two = json!({"todos": [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "in_progress"}]});
    let table = [
        (
            "TodoWrite",
            two,
            "2 todos are in_progress; at most one may be",
        ),
        (
            "write_todo",
            json!({"content": "b", "status": "in_progress"}),
            "at most one may be",
        ),
        (
            "TodoWrite",
            json!({"todos": [{"content": " "}]}),
            "without content",
        ),
        (
            "update_todo_list",
            json!({"task_id": "7", "status": "completed"}),
            "There is no todo 7; the list has 1.",
        ),
        (
            "update_todo_list",
            json!({"status": "completed"}),
            "names its todo by",
        ),
    ];
    for (name, input, words) in table {
        let output = desk.call(name, input).await;
        assert!(
            output.failure.is_some() && output.todos.is_none() && output.text().contains(words),
            "{}",
            output.text()
        );
    }
}
