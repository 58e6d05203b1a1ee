//! Validates names of agents and tools, and suggests the nearest known name.

use rooftree_stdx::edit_distance::edit_distance_with_swaps;

/// The tools that only look: what an agent in the manner of emdash has unless it says otherwise.
pub const READ_ONLY: [&str; 5] = ["Glob", "Grep", "Read", "List", "SemanticSearch"];

/// Every tool an agent may come to have, with what other systems call it. A tool in this table that
/// a toolset lacks is merely not there; one that is not in it is a mistake.
const TOOLS: &[(&str, &[&str])] = &[
    ("Read", &["read_file", "readfile", "file_read"]),
    (
        "Write",
        &["write_file", "write_to_file", "create_file", "file_write"],
    ),
    (
        "Edit",
        &["edit_file", "file_edit", "MultiEdit", "multi_edit"],
    ),
    ("ApplyDiff", &["apply_diff"]),
    ("Delete", &["delete_file", "remove_file", "rm"]),
    (
        "List",
        &["LS", "list_files", "list_directory", "files_workspace_list"],
    ),
    ("Glob", &["glob_search"]),
    ("Grep", &["grep_search", "ripgrep", "rg"]),
    ("SemanticSearch", &["semantic_search"]),
    (
        "Bash",
        &[
            "exec",
            "execute_command",
            "shell",
            "run_command",
            "run_shell_command",
        ],
    ),
    ("BashOutput", &["exec_poll"]),
    (
        "WebFetch",
        &["web_fetch", "url_fetch_fetch", "http_get", "fetch"],
    ),
    ("WebSearch", &["web_search", "search_web"]),
    (
        "TodoWrite",
        &[
            "todo_write",
            "update_todos",
            "write_todo",
            "update_todo_list",
        ],
    ),
    ("NotebookEdit", &["notebook_edit"]),
    (
        "AskUser",
        &[
            "AskUserQuestion",
            "ask_user",
            "ask_question",
            "ask_choice_questions",
            "questions_ask",
        ],
    ),
    ("ExitPlanMode", &["exit_plan"]),
    ("EnterPlanMode", &["enter_plan_mode"]),
    (
        "Task",
        &[
            "Agent",
            "InvokeAgent",
            "invoke_agent",
            "SpawnAgent",
            "agents_message",
            "start_background_agent",
        ],
    ),
    ("TaskOutput", &["task_output", "WaitTask"]),
    (
        "TaskStop",
        &[
            "exec_kill",
            "kill_task",
            "KillShell",
            "KillBash",
            "CancelTask",
        ],
    ),
    ("TaskList", &["list_tasks", "ListBackgroundTasks"]),
    ("ListAgents", &["list_agents", "agents_list"]),
    (
        "SendMessage",
        &[
            "send_agent_message",
            "team_send_message",
            "sessions_message",
        ],
    ),
    ("Skill", &["ActivateSkill", "activate_skill"]),
    ("ListSkills", &["list_skills"]),
    ("MemoryRead", &["memory_get"]),
    ("MemoryWrite", &["remember", "memory_write"]),
    ("MemorySearch", &["memory_search"]),
    ("ApplyWorkspace", &["apply_workspace"]),
    ("RequestPermission", &["request_permission"]),
];

/// Whether an agent may have this name: `[a-z0-9][a-z0-9_-]{0,63}`, without case.
pub fn is_name(name: &str) -> bool {
    let is_inner = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    (1..=64).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(is_inner)
}

/// The canonical name of a tool that is known at all.
pub(super) fn canonical(name: &str) -> Option<&'static str> {
    let is_meant = |(tool, aliases): &&(&'static str, &[&str])| {
        tool.eq_ignore_ascii_case(name)
            || aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    };
    TOOLS.iter().find(is_meant).map(|(tool, _)| *tool)
}

/// Every canonical name.
pub(super) fn tools<'a>() -> impl Iterator<Item = &'a str> {
    TOOLS.iter().map(|(tool, _)| *tool)
}

/// The known word closest to one that was written, if any is close.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace(['_', '-'], "");
    let written = plain(written);
    let (steps, word) = known
        .into_iter()
        .map(|word| (edit_distance_with_swaps(&written, &plain(word)), word))
        .min()?;
    (steps <= written.chars().count().div_ceil(3).min(3)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_without_case() {
        for good in ["a", "Code-Reviewer", "x_1", &"a".repeat(64)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "-a", "a b", "a/b", "é", "a.b", &"a".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_tool_is_known_by_what_others_call_it() {
        for (written, tool) in [
            ("read_file", "Read"),
            ("LIST_FILES", "List"),
            ("Agent", "Task"),
            ("bash", "Bash"),
        ] {
            assert_eq!(canonical(written), Some(tool));
        }
        assert_eq!(canonical("Grepp"), None);
    }

    #[test]
    fn a_slip_is_understood_and_another_word_is_not() {
        assert_eq!(nearest("Grepp", tools()), Some("Grep"));
        assert_eq!(nearest("Raed", tools()), Some("Read"));
        assert_eq!(nearest("Teleport", tools()), None);
        assert_eq!(nearest("max-turn", ["maxTurns", "model"]), Some("maxTurns"));
    }
}
