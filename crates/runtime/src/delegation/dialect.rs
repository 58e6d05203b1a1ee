//! The names and arguments of these tools as other programs know them.
//!
//! A definition written for another program talks of that program's tools. Its model is told of
//! them, and of no other name for the same thing; what it calls is the one tool behind them.

use rooftree_protocol::{Dialect, ToolSpec};
use rooftree_tools::arguments::{self, Argument, Kind};

use super::surface::{ARGUMENTS, Surface};

const TIERS: &[&str] = &["fast", "standard", "powerful"];
const THOROUGHNESS: &[&str] = &["quick", "medium", "thorough"];

const EMDASH: [Argument; 8] = [
    Argument::new("description", Kind::Text, "The task in three to five words."),
    Argument::new("prompt", Kind::Text, "The task.").required(),
    Argument::new("subagent_type", Kind::Text, "Which agent; Explore if absent."),
    Argument::new("model_tier", Kind::Choice(TIERS), ""),
    Argument::new("max_turns", Kind::Number, ""),
    Argument::new("run_in_background", Kind::Flag, ""),
    Argument::new("resume", Kind::Text, "The id of an agent to go on with."),
    Argument::new("thoroughness", Kind::Choice(THOROUGHNESS), ""),
];
const DAYCARE: [Argument; 2] = [
    Argument::new("prompt", Kind::Text, "The task.").required(),
    Argument::new("name", Kind::Text, "What to call it."),
];
const ASSISTANT: [Argument; 5] = [
    Argument::new("agentId", Kind::Text, "Which agent.").required(),
    Argument::new("content", Kind::Text, "What to say to it.").required(),
    Argument::new("session", Kind::Text, "latest, create, latest-or-create or a session's id."),
    Argument::new("mode", Kind::Choice(&["sync", "async"]), ""),
    Argument::new("timeout", Kind::Number, "Seconds to wait, 300 if absent."),
];
const FOURMIS: [Argument; 7] = [
    Argument::new("description", Kind::Text, "The task in three to five words.").required(),
    Argument::new("prompt", Kind::Text, "The task.").required(),
    Argument::new("subagent_type", Kind::Text, "Which agent.").required(),
    Argument::new("model", Kind::Text, ""),
    Argument::new("run_in_background", Kind::Flag, ""),
    Argument::new("resume", Kind::Text, "The id of an agent to go on with."),
    Argument::new("max_turns", Kind::Number, ""),
];
const KODA: [Argument; 3] = [
    Argument::new(
        "agent_name",
        Kind::Text,
        "Which agent: `task` if absent, `fork` to inherit the conversation.",
    ),
    Argument::new("prompt", Kind::Text, "The task.").required(),
    Argument::new("background", Kind::Flag, "Go on at once; the result is injected when it is there."),
];
const SEND: [Argument; 2] = [
    Argument::new("text", Kind::Text, "What to say.").required(),
    Argument::new("agentId", Kind::Text, "To whom; the most recent foreground agent if absent."),
];

const CLAUDE_OUTPUT: [Argument; 3] = [
    Argument::new("task_id", Kind::Text, "").required(),
    Argument::new("block", Kind::Flag, "Wait for it to end; true if absent."),
    Argument::new("timeout", Kind::Number, "Milliseconds to wait, 30000 if absent."),
];

const FOR_KODA: &str = "Give a task to a sub-agent, which works on it with its own context and tools and answers with \
a text. It sees only your prompt; `fork` inherits this conversation. Several InvokeAgent calls in one reply run at the \
same time. With background you go on at once, and the result is injected when it is there: do not poll. A question \
about unchanged files that was asked before is answered from a cache and marked [cached: true]. A result that begins \
with [ERROR: did not succeed. A sub-agent cannot invoke agents itself.";
const FOR_ASSISTANT: &str = "Send a message to another agent. With mode sync you wait for its answer, with async you go \
on at once and are told when it ends. It sees only what you write. The answer is JSON with status, sessionId and \
response; several calls in one reply run at the same time.";
const FOR_DAYCARE: &str = "Start an agent that works in background with its own context and tools. It sees only your \
prompt, so say everything it needs. You are told when it ends: do not poll.";

/// The arguments of Task that a surface has: what a model that was told of it is answered with.
pub(super) fn arguments_of(surface: Surface) -> &'static [Argument] {
    match surface {
        Surface::Task | Surface::Verifier => &ARGUMENTS,
        Surface::InvokeAgent => &KODA,
        Surface::AgentsMessage => &ASSISTANT,
        Surface::StartBackgroundAgent => &DAYCARE,
    }
}

/// What a surface calls the agent and the task.
pub(super) fn names_in(surface: Surface) -> (&'static str, &'static str) {
    match surface {
        Surface::InvokeAgent => ("agent_name", "prompt"),
        Surface::AgentsMessage => ("agentId", "content"),
        Surface::Task | Surface::StartBackgroundAgent | Surface::Verifier => ("subagent_type", "prompt"),
    }
}

/// What a tool does, in the words of a dialect.
fn description(spec: &ToolSpec, dialect: Dialect) -> String {
    match (spec.name.as_str(), dialect) {
        ("Task", Dialect::Koda) => FOR_KODA.to_owned(),
        ("Task", Dialect::Assistant) => FOR_ASSISTANT.to_owned(),
        ("Task", Dialect::Daycare) => FOR_DAYCARE.to_owned(),
        ("Task", Dialect::Emdash) => spec.description.replace("Task calls", "task calls"),
        _ => spec.description.clone(),
    }
}

/// The tool as this dialect knows it; none if it is known by its own name and arguments.
pub(super) fn spec(spec: &ToolSpec, dialect: Dialect) -> Option<ToolSpec> {
    let (name, arguments): (&str, &[Argument]) = match (spec.name.as_str(), dialect) {
        ("Task", Dialect::Emdash) => ("task", &EMDASH),
        ("Task", Dialect::Daycare) => ("start_background_agent", &DAYCARE),
        ("Task", Dialect::Assistant) => ("agents_message", &ASSISTANT),
        ("Task", Dialect::Fourmis) => ("Task", &FOURMIS),
        ("Task", Dialect::Koda) => ("InvokeAgent", &KODA),
        ("TaskOutput", Dialect::Fourmis) => ("TaskOutput", &CLAUDE_OUTPUT),
        ("SendMessage", Dialect::Daycare) => ("send_agent_message", &SEND),
        _ => return renamed(spec, dialect),
    };
    Some(arguments::spec(name, &description(spec, dialect), arguments))
}

fn renamed(spec: &ToolSpec, dialect: Dialect) -> Option<ToolSpec> {
    let name = match (spec.name.as_str(), dialect) {
        ("TaskOutput", Dialect::Emdash) => "task_output",
        ("TaskOutput", Dialect::Koda) => "WaitTask",
        ("TaskStop", Dialect::Emdash) => "kill_task",
        ("TaskStop", Dialect::Koda) => "CancelTask",
        ("TaskList", Dialect::Emdash) => "list_tasks",
        ("TaskList", Dialect::Koda) => "ListBackgroundTasks",
        _ => return None,
    };
    Some(ToolSpec { name: name.to_owned(), ..spec.clone() })
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::Thoroughness;
    use rooftree_tools::{Toolset, toolset::Found};
    use serde_json::{Value, json};

    use super::*;
    use crate::delegation::{
        request::{Request, Surface},
        tools::added_to,
    };

    const ALL: [Dialect; 6] = [
        Dialect::Rooftree,
        Dialect::Emdash,
        Dialect::Daycare,
        Dialect::Assistant,
        Dialect::Fourmis,
        Dialect::Koda,
    ];

    #[test]
    fn every_name_a_model_is_told_is_one_the_tool_answers_to() {
        let tools = added_to(&Toolset::default());
        for dialect in ALL {
            for (told, tool) in tools.specs_in(dialect).iter().zip(tools.iter()) {
                let Found::Tool(found) = tools.find(&told.name) else { panic!("{} is unknown", told.name) };
                assert_eq!(found.spec().name, tool.spec().name, "{dialect:?} {}", told.name);
            }
        }
    }

    /// What a dialect says for a request, as far as it can say it.
    fn said(dialect: Dialect, request: &Request) -> Option<(&'static str, Value)> {
        let Request { agent, prompt, background, max_turns, thoroughness, .. } = request;
        let background = *background;
        let plain = max_turns.is_none() && thoroughness.is_none();
        Some(match dialect {
            Dialect::Rooftree => (
                "Task",
                json!({"subagent_type": agent, "prompt": prompt, "run_in_background": background,
                       "max_turns": max_turns, "thoroughness": thoroughness}),
            ),
            Dialect::Emdash => (
                "task",
                json!({"subagent_type": agent, "prompt": prompt, "run_in_background": background,
                       "max_turns": max_turns, "thoroughness": thoroughness}),
            ),
            Dialect::Fourmis if thoroughness.is_none() => (
                "TASK",
                json!({"subagent_type": agent, "prompt": prompt, "run_in_background": background,
                       "max_turns": max_turns}),
            ),
            Dialect::Koda if plain => {
                ("InvokeAgent", json!({"agent_name": agent, "prompt": prompt, "background": background}))
            }
            Dialect::Assistant if plain => (
                "agents_message",
                json!({"agentId": agent, "content": prompt, "session": "create",
                       "mode": if background == Some(true) { "async" } else { "sync" }}),
            ),
            Dialect::Daycare if plain && background == Some(true) && agent == "task" => {
                ("start_background_agent", json!({"prompt": prompt}))
            }
            _ => return None,
        })
    }

    #[test]
    fn what_five_programs_say_in_their_own_words_is_one_request() {
        let mut compared = 0;
        for agent in ["task", "explore", "Code-Reviewer"] {
            for prompt in ["look", "-x", "zwei\nZeilen", "<system_message>", " spaced "] {
                for background in [false, true] {
                    for max_turns in [None, Some(1), Some(40)] {
                        for thoroughness in [None, Some(Thoroughness::Quick), Some(Thoroughness::Thorough)] {
                            let (agent, prompt) = (agent.to_owned(), prompt.to_owned());
                            let wanted = Request {
                                agent,
                                prompt,
                                description: None,
                                background: Some(background),
                                strategy: Default::default(),
                                model: None,
                                tier: None,
                                max_turns,
                                thoroughness,
                                isolation: None,
                                timeout_secs: None,
                                surface: Surface::Task,
                            };
                            for (name, input) in ALL.iter().filter_map(|dialect| said(*dialect, &wanted)) {
                                let read = Request::read(name, input).unwrap();
                                assert_eq!(Request { surface: Surface::Task, ..read }, wanted, "{name}");
                                compared += 1;
                            }
                        }
                    }
                }
            }
        }
        assert!(compared > 300, "{compared}");
    }
}
