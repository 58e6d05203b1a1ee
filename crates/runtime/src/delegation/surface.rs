//! The names under which delegation is offered as a tool, and the arguments of Task.

use rooftree_tools::arguments::{ArgumentKind, ToolArgument};

/// The arguments of Task, and those of its other names.
pub(super) const ARGUMENTS: [ToolArgument; 15] = [
    ToolArgument::new("description", ArgumentKind::Text, "Three to five words.")
        .with_aliases(&["name"]),
    ToolArgument::new("prompt", ArgumentKind::Text, "The task, with all it needs.")
        .required()
        .with_aliases(&["content", "task"]),
    ToolArgument::new(
        "subagent_type",
        ArgumentKind::Text,
        "Which agent; `fork` continues this conversation.",
    )
    .required()
    .with_aliases(&["agent_name", "agentId", "agent_id", "agent", "agent_type"]),
    ToolArgument::new("run_in_background", ArgumentKind::Flag, "Do not wait.")
        .with_aliases(&["background"]),
    ToolArgument::new(
        "resume",
        ArgumentKind::Text,
        "Session or task to go on with.",
    ),
    ToolArgument::new("model", ArgumentKind::Text, "provider/model or alias."),
    ToolArgument::new(
        "model_tier",
        ArgumentKind::Choice(&["fast", "standard", "powerful"]),
        "Power of its model.",
    ),
    ToolArgument::new("max_turns", ArgumentKind::Number, "Most replies."),
    ToolArgument::new(
        "thoroughness",
        ArgumentKind::Choice(&["quick", "medium", "thorough"]),
        "How deep it looks.",
    ),
    ToolArgument::new(
        "isolation",
        ArgumentKind::Choice(&["auto", "none", "worktree"]),
        "A working copy of its own.",
    ),
    ToolArgument::new(
        "timeout",
        ArgumentKind::Number,
        "Seconds until it goes on in background.",
    )
    .with_aliases(&["timeout_secs"]),
    ToolArgument::accepted("session", ArgumentKind::Text),
    ToolArgument::accepted("mode", ArgumentKind::Text),
    ToolArgument::accepted("team_name", ArgumentKind::Text),
    // By what other name the tool was called: so arguments that a hook gives back keep it.
    ToolArgument::accepted("called_as", ArgumentKind::Text),
];

/// By what name the tool was called, which decides how the answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DelegationSurface {
    /// `Task`.
    #[default]
    Task,
    /// `InvokeAgent`.
    InvokeAgent,
    /// `agents_message`.
    AgentsMessage,
    /// `start_background_agent`.
    StartBackgroundAgent,
    /// No tool of a model: the runtime has work checked.
    Verifier,
}
