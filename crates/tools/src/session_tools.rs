//! Declarations of the tools that need a session: delegation, people, memory, skills, schedules.
//!
//! Their code lives in the crate `runtime`. The declarations stand here because the policy judges calls of these tools
//! by name, as it does those of all others.

use rooftree_protocol::{Effect, Repeat, ToolKind};

use crate::tool_info::{
    CallConcurrency, ExposedAs, SkillExemption, ToolInfo, ToolOffer, ToolSubject,
};

/// All of them.
pub(crate) const ALL: &[&ToolInfo] = &[
    &TASK,
    &TASK_OUTPUT,
    &TASK_LIST,
    &LIST_AGENTS,
    &SEND_MESSAGE,
    &APPLY_WORKSPACE,
    &DISCARD_WORKSPACE,
    &ASK_USER,
    &ENTER_PLAN_MODE,
    &EXIT_PLAN_MODE,
    &REQUEST_PERMISSION,
    &GRANT_PERMISSION,
    &MEMORY_READ,
    &MEMORY_WRITE,
    &MEMORY_SEARCH,
    &SKILL,
    &LIST_SKILLS,
    &SCHEDULE_CREATE,
    &SCHEDULE_LIST,
    &SCHEDULE_UPDATE,
    &SCHEDULE_DELETE,
    &SCHEDULE_RUN,
    &NEXT_CHECK,
    &SCHEDULE_MEMORY_READ,
    &SCHEDULE_MEMORY_WRITE,
];

/// Asking changes nothing: what the other agent does is judged when it does it.
const fn asks_agents(name: &'static str) -> ToolInfo {
    ToolInfo {
        name,
        kind: ToolKind::Delegate,
        effect: Effect::ReadOnly,
        needs_caller: true,
        capabilities: &["agents"],
        exposed_as: ExposedAs::Agents,
        offer: ToolOffer::AboveDepthLimit,
        ..ToolInfo::UNDECLARED
    }
}

/// Starts another agent on a task.
pub const TASK: ToolInfo = ToolInfo {
    aliases: &[
        "InvokeAgent",
        "invoke_agent",
        "SpawnAgent",
        "agents_message",
        "start_background_agent",
        "spawn_teammate",
        "Agent",
    ],
    subject: ToolSubject::Agent("subagent_type"),
    needs_working_copy: false,
    ..asks_agents("Task")
};

/// Waits for a task and shows its result.
pub const TASK_OUTPUT: ToolInfo = ToolInfo {
    aliases: &["task_output", "WaitTask", "AgentOutput"],
    ..asks_agents("TaskOutput")
};

/// Lists the tasks of a session.
pub const TASK_LIST: ToolInfo = ToolInfo {
    aliases: &["list_tasks", "ListBackgroundTasks"],
    ..asks_agents("TaskList")
};

/// Lists the agents that can be asked.
pub const LIST_AGENTS: ToolInfo = ToolInfo {
    aliases: &["list_agents", "agents_list"],
    ..asks_agents("ListAgents")
};

/// Sends a message to an agent that works.
pub const SEND_MESSAGE: ToolInfo = ToolInfo {
    aliases: &[
        "send_agent_message",
        "team_send_message",
        "sessions_message",
    ],
    subject: ToolSubject::Name("to"),
    needs_working_copy: false,
    offer: ToolOffer::Everyone,
    ..asks_agents("SendMessage")
};

/// Merges a task's working copy. What is in place already is found to be so.
pub const APPLY_WORKSPACE: ToolInfo = ToolInfo {
    aliases: &["apply_workspace"],
    kind: ToolKind::Edit,
    effect: Effect::LocalMutation,
    repeat: Some(Repeat::Idempotent),
    subject: ToolSubject::Name("task_id"),
    capabilities: &["agents", "file.write"],
    ..asks_agents("ApplyWorkspace")
};

/// Drops a task's working copy.
pub const DISCARD_WORKSPACE: ToolInfo = ToolInfo {
    name: "DiscardWorkspace",
    aliases: &["discard_workspace"],
    kind: ToolKind::Delete,
    ..APPLY_WORKSPACE
};

/// A tool that turns to a person or changes how the session works: it changes nothing in the world.
const fn in_session(name: &'static str) -> ToolInfo {
    ToolInfo {
        name,
        kind: ToolKind::Think,
        effect: Effect::ReadOnly,
        concurrency: CallConcurrency::Never,
        exposed_as: ExposedAs::Function,
        ..ToolInfo::UNDECLARED
    }
}

/// Asks the user. Asked again after a crash it is the same question, and its answer may be there already.
pub const ASK_USER: ToolInfo = ToolInfo {
    aliases: &[
        "AskUserQuestion",
        "ask_user",
        "ask_question",
        "ask_choice_questions",
        "questions_ask",
    ],
    repeat: Some(Repeat::Idempotent),
    capabilities: &["people"],
    needs_working_copy: false,
    offer: ToolOffer::FirstAgent,
    ..in_session("AskUser")
};

/// Enters plan mode.
pub const ENTER_PLAN_MODE: ToolInfo = ToolInfo {
    aliases: &["enter_plan_mode"],
    capabilities: &["session"],
    ..in_session("EnterPlanMode")
};

/// Shows a plan to the user and leaves plan mode.
pub const EXIT_PLAN_MODE: ToolInfo = ToolInfo {
    aliases: &["exit_plan", "exit_plan_mode"],
    repeat: Some(Repeat::Idempotent),
    needs_caller: true,
    capabilities: &["session"],
    skill_exemption: SkillExemption::AllowList,
    ..in_session("ExitPlanMode")
};

/// Asks the user for a permission rule.
pub const REQUEST_PERMISSION: ToolInfo = ToolInfo {
    aliases: &["request_permission"],
    repeat: Some(Repeat::Idempotent),
    capabilities: &["people"],
    offer: ToolOffer::WhenNamed,
    ..in_session("RequestPermission")
};

/// Grants a rule to an agent below. What follows from it is judged when that agent uses it.
pub const GRANT_PERMISSION: ToolInfo = ToolInfo {
    aliases: &["grant_permission"],
    kind: ToolKind::Delegate,
    needs_caller: true,
    capabilities: &["people"],
    offer: ToolOffer::WhenNamed,
    ..in_session("GrantPermission")
};

/// A tool for an agent's own memory.
const fn remembers(name: &'static str) -> ToolInfo {
    ToolInfo {
        name,
        kind: ToolKind::Think,
        effect: Effect::ReadOnly,
        needs_caller: true,
        subject: ToolSubject::Name("name"),
        capabilities: &["memory.read"],
        needs_working_copy: false,
        exposed_as: ExposedAs::Memory,
        offer: ToolOffer::WithMemory,
        ..ToolInfo::UNDECLARED
    }
}

/// Reads a memory.
pub const MEMORY_READ: ToolInfo = ToolInfo {
    aliases: &["memory_get", "memory_read"],
    ..remembers("MemoryRead")
};

/// Writes a memory.
pub const MEMORY_WRITE: ToolInfo = ToolInfo {
    aliases: &["remember", "memory_write"],
    effect: Effect::LocalMutation,
    capabilities: &["memory.write"],
    ..remembers("MemoryWrite")
};

/// Searches all memories.
pub const MEMORY_SEARCH: ToolInfo = ToolInfo {
    aliases: &["memory_search"],
    subject: ToolSubject::Name("query"),
    ..remembers("MemorySearch")
};

/// Loads a skill.
pub const SKILL: ToolInfo = ToolInfo {
    name: "Skill",
    aliases: &["ActivateSkill", "activate_skill"],
    kind: ToolKind::Read,
    effect: Effect::ReadOnly,
    needs_caller: true,
    subject: ToolSubject::Name("name"),
    capabilities: &["skills"],
    needs_working_copy: false,
    skill_exemption: SkillExemption::All,
    exposed_as: ExposedAs::Function,
    offer: ToolOffer::WithSkills,
    ..ToolInfo::UNDECLARED
};

/// Lists the skills there are.
pub const LIST_SKILLS: ToolInfo = ToolInfo {
    name: "ListSkills",
    aliases: &["list_skills"],
    subject: ToolSubject::None,
    ..SKILL
};

/// A tool for schedules of the person whose session it is. What a schedule does is judged when it does it, with no more
/// rights than the agent had that made it.
const fn schedules(name: &'static str) -> ToolInfo {
    ToolInfo {
        name,
        kind: ToolKind::Think,
        effect: Effect::LocalMutation,
        needs_caller: true,
        subject: ToolSubject::Name("schedule"),
        capabilities: &["schedules"],
        needs_working_copy: false,
        exposed_as: ExposedAs::Function,
        offer: ToolOffer::WhenNamed,
        ..ToolInfo::UNDECLARED
    }
}

/// Makes a schedule or a task of a heartbeat.
pub const SCHEDULE_CREATE: ToolInfo = ToolInfo {
    aliases: &["add_cron", "heartbeat_add", "scheduled_sessions_create"],
    subject: ToolSubject::Name("when"),
    ..schedules("ScheduleCreate")
};

/// Lists schedules, or shows one.
pub const SCHEDULE_LIST: ToolInfo = ToolInfo {
    aliases: &[
        "cron_read_task",
        "heartbeat_list",
        "scheduled_sessions_list",
    ],
    effect: Effect::ReadOnly,
    ..schedules("ScheduleList")
};

/// Changes a schedule that an agent made.
pub const SCHEDULE_UPDATE: ToolInfo = ToolInfo {
    aliases: &[
        "scheduled_sessions_update",
        "scheduled_sessions_enable",
        "scheduled_sessions_disable",
    ],
    ..schedules("ScheduleUpdate")
};

/// Removes a schedule that an agent made.
pub const SCHEDULE_DELETE: ToolInfo = ToolInfo {
    aliases: &[
        "cron_delete_task",
        "heartbeat_remove",
        "scheduled_sessions_delete",
    ],
    ..schedules("ScheduleDelete")
};

/// Has a schedule that an agent made run now.
pub const SCHEDULE_RUN: ToolInfo = ToolInfo {
    aliases: &["heartbeat_run", "scheduled_sessions_run"],
    ..schedules("ScheduleRun")
};

/// Says, within a scheduled run, when the schedule is due next.
pub const NEXT_CHECK: ToolInfo = ToolInfo {
    aliases: &["next_check"],
    repeat: Some(Repeat::Idempotent),
    subject: ToolSubject::None,
    ..schedules("NextCheck")
};

/// Reads the memory of the schedule whose run this is.
pub const SCHEDULE_MEMORY_READ: ToolInfo = ToolInfo {
    aliases: &["cron_read_memory"],
    effect: Effect::ReadOnly,
    subject: ToolSubject::None,
    ..schedules("ScheduleMemoryRead")
};

/// Writes the memory of the schedule whose run this is.
pub const SCHEDULE_MEMORY_WRITE: ToolInfo = ToolInfo {
    aliases: &["cron_write_memory"],
    repeat: Some(Repeat::Idempotent),
    subject: ToolSubject::None,
    ..schedules("ScheduleMemoryWrite")
};
