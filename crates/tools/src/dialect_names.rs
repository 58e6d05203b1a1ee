//! Tool names in the dialects of other programs: the name a model is told instead of the canonical one.
//!
//! The arguments stay ours, except where a tool has a `spec_in` of its own. Every name here is an alias of its tool.

use rooftree_protocol::{AgentDialect, ToolSpec};

/// Names that differ from ours by more than case, or that a dialect writes in lower case.
const EMDASH: &[(&str, &str)] = &[
    ("Read", "read_file"),
    ("Write", "write_to_file"),
    ("Edit", "edit_file"),
    ("ApplyDiff", "apply_diff"),
    ("Delete", "delete_file"),
    ("List", "list_files"),
    ("Glob", "glob"),
    ("Grep", "grep"),
    ("SemanticSearch", "semantic_search"),
    ("Bash", "execute_command"),
    ("TaskOutput", "task_output"),
    ("TaskStop", "kill_task"),
    ("TaskList", "list_tasks"),
    ("ListAgents", "list_agents"),
    ("Skill", "skill"),
    ("ListSkills", "list_skills"),
];
const DAYCARE: &[(&str, &str)] = &[
    ("Read", "read"),
    ("Write", "write"),
    ("Edit", "edit"),
    ("Bash", "exec"),
    ("BashOutput", "exec_poll"),
    ("TaskStop", "exec_kill"),
    ("RequestPermission", "request_permission"),
    ("GrantPermission", "grant_permission"),
    ("WebFetch", "web_fetch"),
    ("WebSearch", "web_search"),
    ("ScheduleCreate", "add_cron"),
    ("ScheduleList", "cron_read_task"),
    ("ScheduleDelete", "cron_delete_task"),
    ("ScheduleRun", "heartbeat_run"),
    ("ScheduleMemoryRead", "cron_read_memory"),
    ("ScheduleMemoryWrite", "cron_write_memory"),
];
const ASSISTANT: &[(&str, &str)] = &[
    ("Read", "read"),
    ("Write", "write"),
    ("Edit", "edit"),
    ("List", "ls"),
    ("Grep", "grep"),
    ("Bash", "bash"),
    ("ListAgents", "agents_list"),
    ("WebFetch", "web_fetch"),
    ("WebSearch", "web_search"),
    ("ScheduleCreate", "scheduled_sessions_create"),
    ("ScheduleList", "scheduled_sessions_list"),
    ("ScheduleUpdate", "scheduled_sessions_update"),
    ("ScheduleDelete", "scheduled_sessions_delete"),
    ("ScheduleRun", "scheduled_sessions_run"),
];
const FOURMIS: &[(&str, &str)] = &[("AskUser", "AskUserQuestion")];
const KODA: &[(&str, &str)] = &[
    ("TaskOutput", "WaitTask"),
    ("TaskStop", "CancelTask"),
    ("TaskList", "ListBackgroundTasks"),
    ("Skill", "ActivateSkill"),
];

/// The name of a tool in a dialect; its own name if the dialect has no other.
pub fn told_name(tool: &str, dialect: AgentDialect) -> &str {
    let names = match dialect {
        AgentDialect::Rooftree => return tool,
        AgentDialect::Emdash => EMDASH,
        AgentDialect::Daycare => DAYCARE,
        AgentDialect::Assistant => ASSISTANT,
        AgentDialect::Fourmis => FOURMIS,
        AgentDialect::Koda => KODA,
    };
    let other = names.iter().find(|(canonical, _)| *canonical == tool);
    other.map_or(tool, |(_, name)| name)
}

/// The spec under its name in a dialect; none if that is its own.
pub fn renamed(spec: &ToolSpec, dialect: AgentDialect) -> Option<ToolSpec> {
    let name = told_name(&spec.name, dialect);
    (name != spec.name).then(|| ToolSpec {
        name: name.to_owned(),
        ..spec.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declarations;

    #[test]
    fn r1_d15_every_name_of_a_dialect_is_an_alias_of_its_tool() {
        for table in [EMDASH, DAYCARE, ASSISTANT, FOURMIS, KODA] {
            for (tool, name) in table {
                let info = declarations().find(|info| info.name == *tool);
                let info = info.unwrap_or_else(|| panic!("there is no tool {tool}"));
                let answers = tool.eq_ignore_ascii_case(name)
                    || info
                        .aliases
                        .iter()
                        .any(|alias| alias.eq_ignore_ascii_case(name));
                assert!(answers, "{tool} does not answer to {name}");
            }
        }
    }

    #[test]
    fn r1_d15_reading_is_told_in_the_words_of_each_dialect() {
        assert_eq!(told_name("Read", AgentDialect::Emdash), "read_file");
        assert_eq!(told_name("Read", AgentDialect::Koda), "Read");
        assert_eq!(told_name("Bash", AgentDialect::Daycare), "exec");
        assert_eq!(told_name("Read", AgentDialect::Rooftree), "Read");
    }
}
