//! The names under which delegation is offered as a tool, and the arguments of Task.

use rooftree_tools::arguments::{Argument, Kind};

/// The arguments of Task, and those of its other names.
pub(super) const ARGUMENTS: [Argument; 15] = [
    Argument::new("description", Kind::Text, "The task in three to five words.").also(&["name"]),
    Argument::new("prompt", Kind::Text, "The task. The agent sees nothing else of this conversation.")
        .required()
        .also(&["content", "task"]),
    Argument::new("subagent_type", Kind::Text, "Which agent; `fork` continues this conversation.")
        .required()
        .also(&["agent_name", "agentId", "agent_id", "agent", "agent_type"]),
    Argument::new("run_in_background", Kind::Flag, "Go on at once; you are told when it ends.")
        .also(&["background"]),
    Argument::new("resume", Kind::Text, "A session or task to go on with instead of starting anew."),
    Argument::new("model", Kind::Text, "provider/model or an alias, instead of the agent's own."),
    Argument::new("model_tier", Kind::Choice(&["fast", "standard", "powerful"]), ""),
    Argument::new("max_turns", Kind::Number, ""),
    Argument::new("thoroughness", Kind::Choice(&["quick", "medium", "thorough"]), ""),
    Argument::new("isolation", Kind::Choice(&["auto", "none", "worktree"]), "A working copy of its own."),
    Argument::new("timeout", Kind::Number, "Seconds to wait before it goes on in background.")
        .also(&["timeout_secs"]),
    Argument::accepted("session", Kind::Text),
    Argument::accepted("mode", Kind::Text),
    Argument::accepted("team_name", Kind::Text),
    // By what other name the tool was called: so arguments that a hook gives back keep it.
    Argument::accepted("called_as", Kind::Text),
];

/// By what name the tool was called, which decides how the answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Surface {
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
