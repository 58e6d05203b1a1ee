//! The names and arguments of these tools as other programs know them.
//!
//! A definition written for another program talks of that program's tools. Its model is told of
//! them, and of no other name for the same thing; what it calls is the one tool behind them.

use rooftree_protocol::{AgentDialect, ToolSpec};
use rooftree_tools::{
    arguments::{self, ArgumentKind, ToolArgument},
    dialect_names,
};

use super::surface::{ARGUMENTS, DelegationSurface};

const TIERS: &[&str] = &["fast", "standard", "powerful"];
const THOROUGHNESS: &[&str] = &["quick", "medium", "thorough"];

const EMDASH: [ToolArgument; 8] = [
    ToolArgument::new(
        "description",
        ArgumentKind::Text,
        "The task in three to five words.",
    ),
    ToolArgument::new("prompt", ArgumentKind::Text, "The task.").required(),
    ToolArgument::new(
        "subagent_type",
        ArgumentKind::Text,
        "Which agent; Explore if absent.",
    ),
    ToolArgument::new(
        "model_tier",
        ArgumentKind::Choice(TIERS),
        "How capable its model is.",
    ),
    ToolArgument::new("max_turns", ArgumentKind::Number, "10 if absent."),
    ToolArgument::new(
        "run_in_background",
        ArgumentKind::Flag,
        "Go on at once; you are told when it ends.",
    ),
    ToolArgument::new(
        "resume",
        ArgumentKind::Text,
        "The id of an agent to go on with.",
    ),
    ToolArgument::new(
        "thoroughness",
        ArgumentKind::Choice(THOROUGHNESS),
        "How deep it looks.",
    ),
];
const DAYCARE: [ToolArgument; 2] = [
    ToolArgument::new("prompt", ArgumentKind::Text, "The task.").required(),
    ToolArgument::new("name", ArgumentKind::Text, "What to call it."),
];
const ASSISTANT: [ToolArgument; 5] = [
    ToolArgument::new("agentId", ArgumentKind::Text, "Which agent.").required(),
    ToolArgument::new("content", ArgumentKind::Text, "What to say to it.").required(),
    ToolArgument::new(
        "session",
        ArgumentKind::Text,
        "latest, create, latest-or-create or a session's id.",
    ),
    ToolArgument::new(
        "mode",
        ArgumentKind::Choice(&["sync", "async"]),
        "Wait for the answer, or go on.",
    ),
    ToolArgument::new(
        "timeout",
        ArgumentKind::Number,
        "Seconds to wait, 300 if absent.",
    ),
];
const FOURMIS: [ToolArgument; 7] = [
    ToolArgument::new(
        "description",
        ArgumentKind::Text,
        "The task in three to five words.",
    )
    .required(),
    ToolArgument::new("prompt", ArgumentKind::Text, "The task.").required(),
    ToolArgument::new("subagent_type", ArgumentKind::Text, "Which agent.").required(),
    ToolArgument::new(
        "model",
        ArgumentKind::Text,
        "Instead of the agent's own model.",
    ),
    ToolArgument::new(
        "run_in_background",
        ArgumentKind::Flag,
        "Go on at once; you are told when it ends.",
    ),
    ToolArgument::new(
        "resume",
        ArgumentKind::Text,
        "The id of an agent to go on with.",
    ),
    ToolArgument::new(
        "max_turns",
        ArgumentKind::Number,
        "Model replies it may take.",
    ),
];
const KODA: [ToolArgument; 3] = [
    ToolArgument::new(
        "agent_name",
        ArgumentKind::Text,
        "Which agent: `task` if absent, `fork` to inherit the conversation.",
    ),
    ToolArgument::new("prompt", ArgumentKind::Text, "The task.").required(),
    ToolArgument::new(
        "background",
        ArgumentKind::Flag,
        "Go on at once. The result is injected as a user message at the start of the next iteration, never in the \
         middle of one. It keeps your trust and sandbox of now, and Ctrl-C ends it.",
    ),
];
const SEND: [ToolArgument; 2] = [
    ToolArgument::new("text", ArgumentKind::Text, "What to say.").required(),
    ToolArgument::new(
        "agentId",
        ArgumentKind::Text,
        "To whom; the most recent foreground agent if absent.",
    ),
];

const CLAUDE_OUTPUT: [ToolArgument; 3] = [
    ToolArgument::new("task_id", ArgumentKind::Text, "").required(),
    ToolArgument::new(
        "block",
        ArgumentKind::Flag,
        "Wait for it to end; true if absent.",
    ),
    ToolArgument::new(
        "timeout",
        ArgumentKind::Number,
        "Milliseconds to wait, 30000 if absent.",
    ),
];

const FOR_KODA: &str = "Give a task to a sub-agent, which works on it with its own context and tools and answers with \
a text that only you see.\n\
- Sequential foreground: one call; you wait for its answer.\n\
- Parallel foreground: several InvokeAgent calls in one reply run at the same time, those that write each in a \
workspace of their own.\n\
- Background (background=true): you go on at once, and the result is injected at the next iteration: do not poll.\n\
- Forked context (agent_name='fork'): it inherits this conversation; any other sees only your prompt, so name paths \
and what counts as done.\n\
Use it for long searches, independent pieces and specialists; not for what one Read or Grep answers, nor for what needs \
the user, whom a sub-agent cannot ask. Sub-agents cannot spawn other sub-agents. A call about unchanged files that was \
made before is answered from a cache. A result that begins with [ERROR: sub-agent is a failure and no answer: change \
your plan.";
const FOR_ASSISTANT: &str = "Send a message to another agent. With mode sync you wait for its answer, with async you go \
on at once and are told when it ends. It sees only what you write. The answer is JSON with status, sessionId and \
response; several calls in one reply run at the same time.";
const FOR_DAYCARE: &str = "Start an agent that works in background with its own context and tools. It sees only your \
prompt, so say everything it needs. You are told when it ends: do not poll.";

/// The arguments of Task that a surface has: what a model that was told of it is answered with.
pub(super) fn arguments_of(surface: DelegationSurface) -> &'static [ToolArgument] {
    match surface {
        DelegationSurface::Task | DelegationSurface::Verifier => &ARGUMENTS,
        DelegationSurface::InvokeAgent => &KODA,
        DelegationSurface::AgentsMessage => &ASSISTANT,
        DelegationSurface::StartBackgroundAgent => &DAYCARE,
    }
}

/// Argument names of the agent and the task in a surface.
pub(super) fn names_in(surface: DelegationSurface) -> (&'static str, &'static str) {
    match surface {
        DelegationSurface::InvokeAgent => ("agent_name", "prompt"),
        DelegationSurface::AgentsMessage => ("agentId", "content"),
        DelegationSurface::Task
        | DelegationSurface::StartBackgroundAgent
        | DelegationSurface::Verifier => ("subagent_type", "prompt"),
    }
}

/// Description of a tool in a dialect.
fn description(spec: &ToolSpec, dialect: AgentDialect) -> String {
    match (spec.name.as_str(), dialect) {
        ("Task", AgentDialect::Koda) => FOR_KODA.to_owned(),
        ("Task", AgentDialect::Assistant) => FOR_ASSISTANT.to_owned(),
        ("Task", AgentDialect::Daycare) => FOR_DAYCARE.to_owned(),
        ("Task", AgentDialect::Emdash) => spec.description.replace("Task calls", "task calls"),
        _ => spec.description.clone(),
    }
}

/// The tool as this dialect knows it; none if it is known by its own name and arguments.
pub(super) fn spec(spec: &ToolSpec, dialect: AgentDialect) -> Option<ToolSpec> {
    let (name, arguments): (&str, &[ToolArgument]) = match (spec.name.as_str(), dialect) {
        ("Task", AgentDialect::Emdash) => ("task", &EMDASH),
        ("Task", AgentDialect::Daycare) => ("start_background_agent", &DAYCARE),
        ("Task", AgentDialect::Assistant) => ("agents_message", &ASSISTANT),
        ("Task", AgentDialect::Fourmis) => ("Task", &FOURMIS),
        ("Task", AgentDialect::Koda) => ("InvokeAgent", &KODA),
        ("TaskOutput", AgentDialect::Fourmis) => ("TaskOutput", &CLAUDE_OUTPUT),
        ("SendMessage", AgentDialect::Daycare) => ("send_agent_message", &SEND),
        _ => return dialect_names::renamed(spec, dialect),
    };
    Some(arguments::spec(
        name,
        &description(spec, dialect),
        arguments,
    ))
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::Thoroughness;
    use rooftree_tools::{Toolset, toolset::ToolLookup};
    use serde_json::{Value, json};

    use super::*;
    use crate::delegation::{
        request::{DelegationRequest, DelegationSurface},
        tools::with_tools,
    };

    const ALL: [AgentDialect; 6] = [
        AgentDialect::Rooftree,
        AgentDialect::Emdash,
        AgentDialect::Daycare,
        AgentDialect::Assistant,
        AgentDialect::Fourmis,
        AgentDialect::Koda,
    ];

    #[test]
    fn every_name_a_model_is_told_is_one_the_tool_answers_to() {
        let tools = with_tools(&Toolset::default());
        for dialect in ALL {
            for (told, tool) in tools.specs_in(dialect).iter().zip(tools.iter()) {
                let ToolLookup::Tool(found) = tools.find(&told.name) else {
                    panic!("{} is unknown", told.name)
                };
                assert_eq!(
                    found.spec().name,
                    tool.spec().name,
                    "{dialect:?} {}",
                    told.name
                );
            }
        }
    }

    /// A request in the arguments of a dialect, as far as it can express it.
    fn said(dialect: AgentDialect, request: &DelegationRequest) -> Option<(&'static str, Value)> {
        let DelegationRequest {
            agent,
            prompt,
            background,
            max_turns,
            thoroughness,
            ..
        } = request;
        let background = *background;
        let plain = max_turns.is_none() && thoroughness.is_none();
        Some(match dialect {
            AgentDialect::Rooftree => (
                "Task",
                json!({"subagent_type": agent, "prompt": prompt, "run_in_background": background,
                       "max_turns": max_turns, "thoroughness": thoroughness}),
            ),
            AgentDialect::Emdash => (
                "task",
                json!({"subagent_type": agent, "prompt": prompt, "run_in_background": background,
                       "max_turns": max_turns, "thoroughness": thoroughness}),
            ),
            AgentDialect::Fourmis if thoroughness.is_none() => (
                "TASK",
                json!({"subagent_type": agent, "prompt": prompt, "run_in_background": background,
                       "max_turns": max_turns}),
            ),
            AgentDialect::Koda if plain => (
                "InvokeAgent",
                json!({"agent_name": agent, "prompt": prompt, "background": background}),
            ),
            AgentDialect::Assistant if plain => (
                "agents_message",
                json!({"agentId": agent, "content": prompt, "session": "create",
                       "mode": if background == Some(true) { "async" } else { "sync" }}),
            ),
            AgentDialect::Daycare if plain && background == Some(true) && agent == "task" => {
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
                        for thoroughness in [
                            None,
                            Some(Thoroughness::Quick),
                            Some(Thoroughness::Thorough),
                        ] {
                            let (agent, prompt) = (agent.to_owned(), prompt.to_owned());
                            let wanted = DelegationRequest {
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
                                surface: DelegationSurface::Task,
                            };
                            for (name, input) in
                                ALL.iter().filter_map(|dialect| said(*dialect, &wanted))
                            {
                                let read = DelegationRequest::read(name, input).unwrap();
                                assert_eq!(
                                    DelegationRequest {
                                        surface: DelegationSurface::Task,
                                        ..read
                                    },
                                    wanted,
                                    "{name}"
                                );
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
