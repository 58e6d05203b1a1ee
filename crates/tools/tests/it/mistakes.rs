//! What models get wrong, tool by tool, and the words they get back.

use serde_json::{Value, json};

use crate::desk::Desk;

#[tokio::test]
async fn every_tool_names_what_is_wrong_with_its_arguments() {
    let desk = Desk::new();
    let table: [(&str, Value, &str); 26] = [
        ("Read", json!({}), "Read needs `file_path`."),
        (
            "Read",
            json!({"file_path": "a", "lines": 3}),
            "does not know the argument `lines`; it takes file_path, offset, limit.",
        ),
        (
            "Read",
            json!({"file_path": "a", "offset": "top"}),
            "`offset` must be a whole number",
        ),
        (
            "Read",
            json!({"file_path": "a", "start_line": 5, "end_line": 2}),
            "`end_line` 2 is before",
        ),
        (
            "Read",
            json!({"file_path": "a", "limit": 0}),
            "`limit` must be at least 1",
        ),
        ("Write", json!({"file_path": "a"}), "Write needs `content`."),
        (
            "Write",
            json!({"file_path": "a", "content": {}}),
            "`content` must be text",
        ),
        ("Edit", json!({"file_path": "a"}), "Edit needs `edits`."),
        (
            "Edit",
            json!({"file_path": "a", "old_string": "x"}),
            "Edit `edits` 1 needs `new_string`.",
        ),
        (
            "Edit",
            json!({"file_path": "a", "edits": ["x"]}),
            "takes an object",
        ),
        (
            "ApplyDiff",
            json!({"file_path": "a"}),
            "ApplyDiff needs `diff`.",
        ),
        (
            "Delete",
            json!({"files": "a"}),
            "does not know the argument `files`",
        ),
        (
            "NotebookEdit",
            json!({"notebook_path": "a.ipynb", "cell_id": "1"}),
            "needs `new_source` to replace a cell",
        ),
        (
            "NotebookEdit",
            json!({"file_path": "a.ipynb", "edit_mode": "move"}),
            "must be one of replace, insert, delete",
        ),
        ("List", json!({"path": ["a"]}), "`path` must be text"),
        ("Glob", json!({"path": "a"}), "Glob needs `pattern`."),
        (
            "Grep",
            json!({"pattern": "a", "output_mode": "lines"}),
            "must be one of content, files_with_matches, count",
        ),
        (
            "Grep",
            json!({"pattern": "a", "-A": "two"}),
            "`-A` must be a whole number",
        ),
        ("Bash", json!({"command": "  "}), "`command` is empty"),
        (
            "Bash",
            json!({"command": "ls", "timeout_secs": 0}),
            "must be at least 1",
        ),
        ("BashOutput", json!({}), "BashOutput needs `task_id`."),
        (
            "TaskStop",
            json!({"task": "x"}),
            "does not know the argument `task`",
        ),
        ("TodoWrite", json!({}), "TodoWrite needs `todos`."),
        (
            "TodoWrite",
            json!({"todos": [{"content": "a", "status": "done"}]}),
            "must be one of pending, in_progress, completed",
        ),
        ("SemanticSearch", json!({"query": " "}), "`query` is empty"),
        (
            "SemanticSearch",
            json!({"query": "a", "kind": "verb"}),
            "must be one of function, type, heading, text",
        ),
    ];
    for (tool, input, words) in table {
        let text = desk.failed(tool, input.clone()).await;
        assert!(text.contains(words), "{tool} {input}: {text}");
    }
}
