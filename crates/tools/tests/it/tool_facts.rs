//! The facts that tools declare: what rights are decided by, for every tool and for names that no tool has.

use std::{collections::BTreeSet, path::Path};

use rooftree_protocol::{Effect, PermissionMode, Scope};
use rooftree_tools::{
    PermissionRule, Policy, PolicyRequest, PolicyVerdict, SkillRestriction, ToolInfo, declarations,
    declared, declared_for_definition,
    tool_info::{ExposedAs, FileUse, SkillExemption, ToolOffer, ToolSubject},
};

use crate::desk::Desk;

/// The tools whose facts are listed below. A new tool need not be: the rules at the end hold for all.
const TOOLS: &str = "Read Write Edit ApplyDiff Delete NotebookEdit List Glob Grep Bash BashOutput TaskStop TodoWrite \
    SemanticSearch WebFetch WebSearch Task TaskOutput TaskList ListAgents SendMessage ApplyWorkspace DiscardWorkspace \
    AskUser EnterPlanMode ExitPlanMode RequestPermission GrantPermission MemoryRead MemoryWrite MemorySearch Skill \
    ListSkills";

/// Says for which of the listed tools a fact holds, in the order of the list.
fn those(holds: impl Fn(&ToolInfo) -> bool) -> String {
    let names = TOOLS.split_whitespace();
    names
        .filter(|name| holds(declared(name)))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn every_right_follows_from_the_facts_that_were_agreed_on() {
    assert_eq!(those(|info| !info.name.is_empty()), TOOLS);
    let is_path = |info: &ToolInfo| {
        matches!(
            info.subject,
            ToolSubject::Path(_) | ToolSubject::SearchPath(_)
        )
    };
    let table: [(&str, String, &str); 20] = [
        (
            "rules name a path",
            those(is_path),
            "Read Write Edit ApplyDiff Delete NotebookEdit List Glob Grep SemanticSearch",
        ),
        (
            "rules name a command",
            those(|info| matches!(info.subject, ToolSubject::Command(_))),
            "Bash",
        ),
        (
            "rules name a domain",
            those(|info| matches!(info.subject, ToolSubject::Url(_))),
            "WebFetch",
        ),
        (
            "a rule for Read is about it",
            those(|info| info.file_use == FileUse::Reads),
            "Read List Glob Grep SemanticSearch",
        ),
        (
            "a rule for Edit is about it",
            those(|info| info.file_use == FileUse::Changes),
            "Write Edit ApplyDiff NotebookEdit",
        ),
        (
            "a deny rule for Edit is about it",
            those(|info| info.file_use == FileUse::Deletes),
            "Delete",
        ),
        (
            "a verifier has it",
            those(ToolInfo::only_reads_files),
            "Read List Glob Grep SemanticSearch",
        ),
        (
            "answers based on it are cached",
            those(|info| info.is_cacheable),
            "Read List Glob Grep TodoWrite SemanticSearch",
        ),
        (
            "no working copy is needed for it",
            those(|info| !info.needs_working_copy),
            "Read List Glob Grep BashOutput TaskStop TodoWrite SemanticSearch WebFetch WebSearch SendFile Task \
             SendMessage AskUser MemoryRead MemoryWrite MemorySearch Skill ListSkills",
        ),
        (
            "no list of a skill takes it away",
            those(|info| info.skill_exemption == SkillExemption::AllowList),
            "Read List Glob Grep BashOutput TaskStop TodoWrite SemanticSearch ExitPlanMode",
        ),
        (
            "no skill takes it away",
            those(|info| info.skill_exemption == SkillExemption::All),
            "Skill ListSkills",
        ),
        (
            "it stays a function",
            those(|info| info.exposed_as == ExposedAs::Function),
            "Read Write Edit ApplyDiff Delete NotebookEdit List Glob Grep Bash BashOutput TaskStop TodoWrite SendFile \
             AskUser EnterPlanMode ExitPlanMode RequestPermission GrantPermission Skill ListSkills",
        ),
        (
            "it is in the skill web",
            those(|info| info.exposed_as == ExposedAs::Web),
            "WebFetch WebSearch",
        ),
        (
            "it is in the skill agents",
            those(|info| info.exposed_as == ExposedAs::Agents),
            "Task TaskOutput TaskList ListAgents SendMessage ApplyWorkspace DiscardWorkspace",
        ),
        (
            "it is in the skill memory",
            those(|info| info.exposed_as == ExposedAs::Memory),
            "MemoryRead MemoryWrite MemorySearch",
        ),
        (
            "it is in the skill code-search",
            those(|info| info.exposed_as == ExposedAs::CodeSearch),
            "SemanticSearch",
        ),
        (
            "the last agent of a chain has it not",
            those(|info| info.offer == ToolOffer::AboveDepthLimit),
            "Task TaskOutput TaskList ListAgents ApplyWorkspace DiscardWorkspace",
        ),
        (
            "only the first agent has it",
            those(|info| info.offer == ToolOffer::FirstAgent),
            "AskUser",
        ),
        (
            "only agents with a memory or with skills have it",
            those(|info| matches!(info.offer, ToolOffer::WithMemory | ToolOffer::WithSkills)),
            "MemoryRead MemoryWrite MemorySearch Skill ListSkills",
        ),
        (
            "only agents that name it have it",
            those(|info| info.offer == ToolOffer::WhenNamed),
            "RequestPermission GrantPermission",
        ),
        (
            "only agents in a chat or that name it have it",
            those(|info| info.offer == ToolOffer::InChats),
            "SendFile",
        ),
    ];
    for (fact, derived, agreed) in table {
        assert_eq!(derived, agreed, "{fact}");
    }
}

#[test]
fn every_tool_has_the_capabilities_that_were_agreed_on() {
    let table: [(&[&str], &str); 13] = [
        (&["file.read"], "Read List Glob Grep SemanticSearch"),
        (
            &["file.read", "file.write"],
            "Write Edit ApplyDiff Delete NotebookEdit",
        ),
        (&["shell"], "Bash"),
        (&["process"], "BashOutput TaskStop"),
        (&["net"], "WebFetch WebSearch"),
        (
            &["agents"],
            "Task TaskOutput TaskList ListAgents SendMessage",
        ),
        (&["agents", "file.write"], "ApplyWorkspace DiscardWorkspace"),
        (&["memory.read"], "MemoryRead MemorySearch"),
        (&["memory.write"], "MemoryWrite"),
        (&["skills"], "Skill ListSkills"),
        (&["session"], "TodoWrite EnterPlanMode ExitPlanMode"),
        (&["file.read", "people"], "SendFile"),
        (&["people"], "AskUser RequestPermission GrantPermission"),
    ];
    for (capabilities, agreed) in table {
        assert_eq!(those(|info| info.capabilities == capabilities), agreed);
    }
    assert_eq!(those(|info| info.capabilities.is_empty()), "");
}

#[test]
fn every_tool_has_the_effect_that_was_agreed_on() {
    let table = [
        (
            Effect::LocalMutation,
            "Write Edit ApplyDiff NotebookEdit TaskStop ApplyWorkspace DiscardWorkspace MemoryWrite",
        ),
        (Effect::Destructive, "Delete Bash"),
        (Effect::RemoteAction, "WebFetch WebSearch"),
    ];
    for (effect, agreed) in table {
        assert_eq!(those(|info| info.effect == effect), agreed, "{effect:?}");
    }
}

/// A name that no tool has, and one that only looks like a tool's.
const STRANGERS: [&str; 5] = ["Teleport", "read", "READ", "", "mcp__server__Read"];

#[test]
fn a_name_that_is_not_declared_gets_the_narrowest_facts() {
    for name in STRANGERS {
        let info = declared(name);
        assert_eq!(*info, ToolInfo::UNDECLARED, "{name}");
        assert_eq!(info.effect, Effect::Destructive, "{name}");
        assert!(!info.only_reads_files() && !info.is_cacheable, "{name}");
        assert!(info.needs_working_copy, "{name}");
        assert_eq!(info.skill_exemption, SkillExemption::None, "{name}");
        assert!(info.capabilities.is_empty(), "{name}");
    }
    assert_eq!(declared_for_definition("Teleport"), None);
    assert_eq!(declared_for_definition(""), None);
}

#[test]
fn a_skill_takes_away_what_is_not_declared_and_keeps_what_reads() {
    let followed = vec![SkillRestriction {
        skill: "narrow".into(),
        allow: Some(Vec::new()),
        deny: Vec::new(),
    }];
    let policy = Policy {
        mode: PermissionMode::Bypass,
        followed,
        ..Policy::default()
    };
    let is_refused = |tool: &str| {
        let judged = PolicyRequest {
            tool,
            subject: None,
            input: None,
            effect: Effect::ReadOnly,
            cwd: Path::new("/work"),
        };
        matches!(policy.judge(&judged), PolicyVerdict::Deny(_))
    };
    for name in STRANGERS.into_iter().chain(["Task", "Write", "MemoryRead"]) {
        assert!(is_refused(name), "{name}");
    }
    for name in ["Read", "ExitPlanMode", "TaskStop", "Skill", "ListSkills"] {
        assert!(!is_refused(name), "{name}");
    }
}

#[test]
fn a_rule_about_files_means_every_tool_that_uses_files_so() {
    let is_denied = |rule: &str, tool: &str| {
        let policy = Policy {
            mode: PermissionMode::Bypass,
            deny: vec![PermissionRule::parse(rule).unwrap()],
            ..Policy::default()
        };
        let judged = PolicyRequest {
            tool,
            subject: Some("secret"),
            input: None,
            effect: declared(tool).effect,
            cwd: Path::new("/work"),
        };
        matches!(policy.judge(&judged), PolicyVerdict::Deny(_))
    };
    for info in declarations() {
        let (name, file_use) = (info.name, info.file_use);
        let is_change = matches!(file_use, FileUse::Changes | FileUse::Deletes);
        // A command line is denied by the files that it names.
        let is_command = matches!(info.subject, ToolSubject::Command(_));
        assert!(!is_command || file_use == FileUse::None);
        assert_eq!(
            is_denied("Read(secret)", name),
            file_use == FileUse::Reads,
            "{name}"
        );
        assert_eq!(is_denied("Edit(secret)", name), is_change, "{name}");
    }
}

#[test]
fn facts_do_not_contradict_each_other() {
    for info in declarations() {
        let name = info.name;
        let can = |capability: &str| info.capabilities.contains(&capability);
        let is_path = matches!(
            info.subject,
            ToolSubject::Path(_) | ToolSubject::SearchPath(_)
        );
        assert!(!info.capabilities.is_empty(), "{name} has no capability");
        assert_eq!(info.file_use != FileUse::None, is_path, "{name}");
        if info.file_use == FileUse::Reads {
            assert!(
                can("file.read") && info.effect == Effect::ReadOnly,
                "{name}"
            );
        }
        if matches!(info.file_use, FileUse::Changes | FileUse::Deletes) {
            assert!(
                can("file.write") && info.effect != Effect::ReadOnly,
                "{name}"
            );
        }
        if can("file.write") || can("shell") {
            assert!(
                info.needs_working_copy && info.effect != Effect::ReadOnly,
                "{name}"
            );
        }
        if info.is_cacheable {
            let is_of_files = info.file_use == FileUse::Reads || info.subject == ToolSubject::None;
            assert!(is_of_files && info.effect == Effect::ReadOnly, "{name}");
        }
        if matches!(info.subject, ToolSubject::Command(_)) {
            assert!(can("shell"), "{name}");
        }
        if matches!(info.subject, ToolSubject::Url(_)) {
            assert!(can("net") && info.effect == Effect::RemoteAction, "{name}");
        }
    }
}

#[test]
fn no_name_in_the_table_means_two_tools() {
    let mut names = BTreeSet::new();
    for info in declarations() {
        let others = info.aliases.iter().chain(info.definition_aliases);
        for name in others.chain([&info.name]) {
            assert!(names.insert(name.to_lowercase()), "{name}");
            let found = declared_for_definition(&name.to_uppercase());
            assert_eq!(found.map(|found| found.name), Some(info.name), "{name}");
        }
    }
}

#[test]
fn every_instance_returns_the_declaration_of_its_name() {
    let tools = Desk::new().tools;
    for tool in tools.iter() {
        let name = tool.spec().name.as_str();
        assert_eq!(tool.info(), declared(name), "{name}");
    }
    assert_eq!(tools.capable(&Scope::only(["*"])).names(), tools.names());
}
