//! Tools for schedules: ScheduleCreate and the like, and NextCheck and the memory of the schedule whose run this is.
//!
//! Invariant: what an agent schedules runs with no more rights than that agent has. It changes only schedules that
//! agents made, and they have its own rights from then on.

mod changes;
mod scheduled_run;

use std::sync::Arc;

use futures::future::BoxFuture;
use rooftree_protocol::{ErrorCode, ToolSpec};
use rooftree_tools::{
    Tool, ToolContext, ToolInfo, ToolOutput, Toolset,
    arguments::{self, ArgumentKind, ToolArgument, text},
    session_tools::{
        NEXT_CHECK, SCHEDULE_CREATE, SCHEDULE_DELETE, SCHEDULE_LIST, SCHEDULE_MEMORY_READ,
        SCHEDULE_MEMORY_WRITE, SCHEDULE_RUN, SCHEDULE_UPDATE,
    },
};
use serde_json::{Value, json};

use crate::caller::Caller;

/// These tools, with those for schedules.
pub fn with_tools(tools: &Toolset) -> Toolset {
    let added = ScheduleToolAction::ALL.map(|action| Arc::new(ScheduleTool::new(action)) as _);
    Toolset::new(tools.iter().cloned().chain(added))
}

/// Their order is part of a cached prompt: new ones go to the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScheduleToolAction {
    Create,
    List,
    Update,
    Delete,
    Run,
    NextCheck,
    MemoryRead,
    MemoryWrite,
}

const WHEN: &str =
    "When: `20m`, `every 2h`, `tomorrow 8:00`, `weekdays at 9`, or a cron expression.";
const SCHEDULE: ToolArgument = ToolArgument::new("schedule", ArgumentKind::Text, "Its id or name.")
    .required()
    .with_aliases(&["id", "name", "task_id", "session_id"]);

const CREATE: [ToolArgument; 9] = [
    ToolArgument::new("when", ArgumentKind::Text, WHEN)
        .with_aliases(&["cron", "schedule", "interval"]),
    ToolArgument::new("prompt", ArgumentKind::Text, "What the agent is told then.")
        .required()
        .with_aliases(&["task", "message", "instructions"]),
    ToolArgument::new("name", ArgumentKind::Text, "What to call it.").with_aliases(&["title"]),
    ToolArgument::new(
        "agent",
        ArgumentKind::Text,
        "Whose work it is; yours if absent.",
    ),
    ToolArgument::new(
        "zone",
        ArgumentKind::Text,
        "The time zone, such as Europe/Berlin; UTC if absent.",
    )
    .with_aliases(&["timezone", "tz"]),
    ToolArgument::new(
        "session",
        ArgumentKind::Choice(&["new", "reuse"]),
        "A session each time, or one for all.",
    ),
    ToolArgument::new(
        "kind",
        ArgumentKind::Choice(&["time", "heartbeat"]),
        "heartbeat: all such tasks that are due are one message.",
    ),
    ToolArgument::new(
        "gate",
        ArgumentKind::Text,
        "A command that decides each time: exit code 0 fire, 1 skip.",
    ),
    ToolArgument::new(
        "active_hours",
        ArgumentKind::Text,
        "The part of the day, such as 08:00-22:00.",
    ),
];
const LIST: [ToolArgument; 1] = [ToolArgument::new(
    "schedule",
    ArgumentKind::Text,
    "Only this one: its id or name.",
)
.with_aliases(&["id", "name", "task_id"])];
const ONE: [ToolArgument; 1] = [SCHEDULE];
const RUN: [ToolArgument; 1] =
    [
        ToolArgument::new("schedule", ArgumentKind::Text, "Its id or name.").with_aliases(&[
            "id",
            "name",
            "task_id",
            "session_id",
        ]),
    ];
const UPDATE: [ToolArgument; 5] = [
    SCHEDULE,
    ToolArgument::new("when", ArgumentKind::Text, WHEN).with_aliases(&["cron", "interval"]),
    ToolArgument::new("prompt", ArgumentKind::Text, "What the agent is told then.")
        .with_aliases(&["task", "message"]),
    ToolArgument::new("zone", ArgumentKind::Text, "The time zone.")
        .with_aliases(&["timezone", "tz"]),
    ToolArgument::new("enabled", ArgumentKind::Flag, "Whether it fires."),
];
const IN: [ToolArgument; 1] =
    [
        ToolArgument::new("in", ArgumentKind::Text, "After how long: `20m`, `2h`.")
            .required()
            .with_aliases(&["after", "delay"]),
    ];
const NOTHING: [ToolArgument; 0] = [];
const WRITE: [ToolArgument; 1] = [ToolArgument::new(
    "text",
    ArgumentKind::Text,
    "All of the new memory, as Markdown.",
)
.required()
.with_aliases(&["content", "memory"])];

impl ScheduleToolAction {
    const ALL: [Self; 8] = [
        Self::Create,
        Self::List,
        Self::Update,
        Self::Delete,
        Self::Run,
        Self::NextCheck,
        Self::MemoryRead,
        Self::MemoryWrite,
    ];

    fn info(self) -> &'static ToolInfo {
        match self {
            Self::Create => &SCHEDULE_CREATE,
            Self::List => &SCHEDULE_LIST,
            Self::Update => &SCHEDULE_UPDATE,
            Self::Delete => &SCHEDULE_DELETE,
            Self::Run => &SCHEDULE_RUN,
            Self::NextCheck => &NEXT_CHECK,
            Self::MemoryRead => &SCHEDULE_MEMORY_READ,
            Self::MemoryWrite => &SCHEDULE_MEMORY_WRITE,
        }
    }

    fn arguments(self) -> &'static [ToolArgument] {
        match self {
            Self::Create => &CREATE,
            Self::List => &LIST,
            Self::Update => &UPDATE,
            Self::Delete => &ONE,
            Self::Run => &RUN,
            Self::NextCheck => &IN,
            Self::MemoryRead => &NOTHING,
            Self::MemoryWrite => &WRITE,
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Create => {
                "Have an agent do something at a later time or again and again. It runs with no more rights than you have now."
            }
            Self::List => "List schedules with their next due times and how their last runs went.",
            Self::Update => {
                "Change a schedule that an agent made: its time, its prompt, whether it fires."
            }
            Self::Delete => "Remove a schedule that an agent made, with its history.",
            Self::Run => "Have a schedule that an agent made run now, besides its due times.",
            Self::NextCheck => {
                "Within a scheduled run: when this schedule is due next, instead of its usual time. Counts if the run completes."
            }
            Self::MemoryRead => {
                "Within a scheduled run: read what earlier runs of this schedule wrote down."
            }
            Self::MemoryWrite => {
                "Within a scheduled run: write down what later runs of this schedule need to know, instead of what was there."
            }
        }
    }
}

/// One of these tools.
struct ScheduleTool {
    action: ScheduleToolAction,
    spec: ToolSpec,
}

impl ScheduleTool {
    fn new(action: ScheduleToolAction) -> Self {
        let spec = arguments::spec(action.info().name, action.description(), action.arguments());
        Self { action, spec }
    }
}

impl Tool for ScheduleTool {
    fn info(&self) -> &ToolInfo {
        self.action.info()
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, called_as: &str, input: Value) -> Result<Value, String> {
        let mut canonical = arguments::normalise(&self.spec.name, self.action.arguments(), input)?;
        // Other programs have a tool of its own for each of these.
        match called_as.to_lowercase().as_str() {
            "heartbeat_add" | "heartbeat_list" | "heartbeat_run" => {
                drop(canonical.insert("kind".into(), json!("heartbeat")));
            }
            "scheduled_sessions_enable" => drop(canonical.insert("enabled".into(), json!(true))),
            "scheduled_sessions_disable" => drop(canonical.insert("enabled".into(), json!(false))),
            _ => {}
        }
        Ok(Value::Object(canonical))
    }

    fn title(&self, input: &Value) -> String {
        let shown = ["name", "schedule", "when", "in"].map(|key| text(input, key));
        shown
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or_default()
            .to_owned()
    }

    fn preview(&self, input: &Value, _context: &ToolContext) -> String {
        let lines = ["when", "prompt", "gate", "text"].map(|key| text(input, key));
        lines
            .into_iter()
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let action = self.action;
        Box::pin(async move {
            let Some(caller) = Caller::of(&context) else {
                return ToolOutput::failed(
                    ErrorCode::Internal,
                    "this tool only works within a run",
                );
            };
            let done = match action {
                ScheduleToolAction::Create => changes::create(&caller, &context.call, &input).await,
                ScheduleToolAction::List => changes::list(&caller, &input).await,
                ScheduleToolAction::Update => changes::update(&caller, &context.call, &input).await,
                ScheduleToolAction::Delete => {
                    changes::delete(&caller, text(&input, "schedule")).await
                }
                ScheduleToolAction::Run => changes::run(&caller, &input).await,
                ScheduleToolAction::NextCheck => {
                    scheduled_run::next_check(&caller, text(&input, "in")).await
                }
                ScheduleToolAction::MemoryRead => scheduled_run::read_memory(&caller).await,
                ScheduleToolAction::MemoryWrite => {
                    scheduled_run::write_memory(&caller, text(&input, "text")).await
                }
            };
            match done {
                Ok(words) => ToolOutput::done(words),
                Err(words) => ToolOutput::failed(ErrorCode::ToolFailed, words),
            }
        })
    }
}
