//! What the tools look like from outside: names, size, and the page about them.

use std::collections::BTreeSet;

use rooftree_tools::toolset::ToolLookup;
use serde_json::json;

use crate::desk::Desk;

const PAGE: &str = include_str!("../../../../docs/tools.md");

#[test]
fn the_default_set_is_small_enough_for_a_first_request() {
    let bytes = serde_json::to_string(&Desk::new().tools.specs())
        .unwrap()
        .len();
    println!("all tool specs together: {bytes} bytes");
    assert!(bytes <= 9 * 1024, "{bytes} bytes");
}

#[test]
fn the_order_of_the_tools_is_part_of_the_prompt() {
    let names = [
        "Read",
        "Write",
        "Edit",
        "ApplyDiff",
        "Delete",
        "NotebookEdit",
        "List",
        "Glob",
        "Grep",
        "Bash",
        "BashOutput",
        "TaskStop",
        "TodoWrite",
        "SemanticSearch",
        "WebFetch",
        "WebSearch",
    ];
    // New ones go to the end.
    assert!(Desk::new().tools.names().starts_with(&names));
}

#[test]
fn no_name_means_two_tools() {
    let desk = Desk::new();
    let mut names = BTreeSet::new();
    for tool in desk.tools.iter() {
        for name in tool
            .aliases()
            .iter()
            .copied()
            .chain([tool.spec().name.as_str()])
        {
            assert!(names.insert(name.to_lowercase()), "{name}");
            let ToolLookup::Tool(found) = desk.tools.find(&name.to_uppercase()) else {
                panic!("{name}")
            };
            assert_eq!(found.spec().name, tool.spec().name);
        }
    }
}

#[test]
fn a_call_of_which_nothing_is_known_has_the_effect_that_is_declared() {
    for tool in Desk::new().tools.iter() {
        let (name, declared) = (&tool.spec().name, tool.info().effect);
        assert_eq!(tool.effect(&json!({})), declared, "{name}");
    }
}

#[test]
fn the_page_about_tools_names_every_tool_argument_and_alias() {
    for tool in Desk::new().tools.iter() {
        let name = &tool.spec().name;
        let section = PAGE
            .split("\n## ")
            .find(|section| section.starts_with(&format!("{name}\n")));
        let section = section.unwrap_or_else(|| panic!("docs/tools.md has no section on {name}"));
        let arguments = tool.spec().input_schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned();
        let aliases = tool.aliases().iter().map(|alias| (*alias).to_owned());
        for word in arguments.chain(aliases) {
            assert!(
                section.contains(&format!("`{word}`")),
                "docs/tools.md says nothing of `{word}` under {name}"
            );
        }
    }
}
