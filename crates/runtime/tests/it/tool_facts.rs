//! The tools that need a session say about themselves what the table of tools says under their names.

use std::{collections::BTreeSet, sync::Arc};

use rooftree_runtime::{delegation, memory_tools, people_tools, schedule_tools, skill_tools};
use rooftree_tools::{
    BackgroundProcesses, ToolInfo, Toolset, builtin, declarations, declared, toolset::ToolLookup,
};

fn all() -> Toolset {
    let tools = builtin(Arc::new(BackgroundProcesses::new(|| 1)));
    let tools = skill_tools::with_tools(&memory_tools::with_tools(&tools));
    let tools = schedule_tools::with_tools(&tools);
    delegation::tools::with_tools(&people_tools::with_tools(&tools))
}

#[test]
fn every_declared_tool_exists_and_every_tool_is_declared() {
    let tools = all();
    let names: BTreeSet<&str> = tools.names().into_iter().collect();
    assert_eq!(names, declarations().map(|info| info.name).collect());
    for tool in tools.iter().filter(|tool| tool.spec().name != "TaskStop") {
        let name = tool.spec().name.as_str();
        assert_eq!(tool.info(), declared(name), "{name}");
    }
}

#[test]
fn what_stops_agents_too_has_the_rights_of_what_stops_processes() {
    let ToolLookup::Tool(tool) = all().find("TaskStop") else {
        panic!("there is TaskStop")
    };
    let by_name = declared("TaskStop");
    let own = tool.info();
    assert!(by_name.aliases.iter().all(|alias| own.answers_to(alias)));
    let same = ToolInfo {
        aliases: by_name.aliases,
        kind: by_name.kind,
        effect: by_name.effect,
        repeat: by_name.repeat,
        needs_caller: by_name.needs_caller,
        ..*own
    };
    assert_eq!(same, *by_name);
}
