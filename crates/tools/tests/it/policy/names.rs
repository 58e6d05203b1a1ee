//! A tool cannot be reached, or escape a list, under another name.

use std::sync::Arc;

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, Scope, ToolKind, ToolSpec};
use rooftree_tools::{
    BackgroundProcesses, PermissionRule, Tool, ToolContext, ToolInfo, ToolOutput, Toolset, builtin,
    toolset::ToolLookup,
};
use serde_json::Value;

fn all() -> Toolset {
    builtin(Arc::new(BackgroundProcesses::new(|| 1)))
}

fn scope(allow: Option<&[&str]>, deny: &[&str]) -> Scope {
    let list = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    Scope {
        allow: allow.map(list),
        deny: list(deny),
    }
}

/// The same name as a model, or somebody with a plan, might write it.
fn disguises(name: &str) -> Vec<String> {
    let replaced = |from: char, to: char| name.replace(from, &to.to_string());
    let wide = name
        .chars()
        .map(|c| char::from_u32(u32::from(c) + 0xfee0).unwrap())
        .collect();
    let mut all = vec![
        wide,
        format!("{name}\u{200b}"),
        format!("\u{feff}{name}"),
        format!(" {name}"),
        format!("{name}\u{a0}"),
        format!("{name}\n"),
        replaced('a', '\u{430}'),
        replaced('e', '\u{435}'),
        replaced('i', '\u{131}'),
        replaced('k', '\u{212a}'),
        replaced('s', '\u{17f}'),
        replaced('o', '\u{3bf}'),
    ];
    all.retain(|disguise| disguise != name);
    all
}

#[test]
fn what_is_denied_is_denied_under_every_name() {
    let tools = all();
    for tool in tools.iter() {
        let name = tool.spec().name.as_str();
        let names: Vec<&str> = tool.aliases().iter().copied().chain([name]).collect();
        for denied in &names {
            let denied = [
                denied.to_uppercase(),
                denied.to_lowercase(),
                format!("{}*", denied.to_lowercase()),
            ];
            for denied in denied {
                let left = tools.scoped(&scope(None, &[&denied]));
                for asked in &names {
                    assert!(
                        matches!(left.find(asked), ToolLookup::Unknown),
                        "denying {denied} leaves {asked}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_name_that_only_looks_like_a_tools_is_none() {
    let tools = all();
    for tool in tools.iter() {
        for name in tool
            .aliases()
            .iter()
            .copied()
            .chain([tool.spec().name.as_str()])
        {
            for disguise in disguises(name) {
                assert!(
                    matches!(tools.find(&disguise), ToolLookup::Unknown),
                    "{disguise:?} is taken for {name}"
                );
                let only = tools.scoped(&scope(Some(&[&disguise]), &[]));
                assert!(
                    only.names().is_empty(),
                    "{disguise:?} in a list lets {name} through"
                );
            }
            let rule = PermissionRule::parse(&disguises(name)[0]);
            assert!(rule.is_err(), "a rule that would never match is an error");
        }
    }
}

#[test]
fn capabilities_are_allowed_all_and_denied_any() {
    let left = |allow: Option<&[&str]>, deny: &[&str]| {
        all().capable(&scope(allow, deny)).names().join(" ")
    };
    assert_eq!(left(None, &[]), all().names().join(" "));
    assert_eq!(left(Some(&[]), &[]), "");
    assert_eq!(
        left(Some(&["file.read"]), &[]),
        "Read List Glob Grep SemanticSearch"
    );
    assert_eq!(
        left(Some(&["file.*"]), &["file.write"]),
        "Read List Glob Grep SemanticSearch"
    );
    assert!(
        !left(Some(&["file.write"]), &[]).contains("Edit"),
        "an edit reads too"
    );
    assert!(!left(None, &["SHELL"]).contains("Bash "));
    let names = left(Some(&["*"]), &[]);
    assert_eq!(
        names,
        all().names().join(" "),
        "no built-in tool is without a capability"
    );
}

struct Stranger(ToolSpec);

const INFO: ToolInfo = ToolInfo::at_run_time(ToolKind::Read, Effect::ReadOnly);

impl Tool for Stranger {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        Ok(input)
    }
    fn run(&self, _input: Value, _context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async { ToolOutput::default() })
    }
}

#[test]
fn a_tool_that_declares_nothing_is_not_allowed_by_a_list() {
    let spec = ToolSpec {
        name: "system_x".to_owned(),
        ..all().specs()[0].clone()
    };
    let stranger = Toolset::new([Arc::new(Stranger(spec)) as Arc<dyn Tool>]);
    let left =
        |allow: Option<&[&str]>, deny: &[&str]| stranger.capable(&scope(allow, deny)).names().len();
    assert_eq!(left(None, &[]), 1);
    assert_eq!(left(Some(&["file.read", "shell", "net"]), &[]), 0);
    assert_eq!(left(Some(&["unknown"]), &[]), 1);
    assert_eq!(left(None, &["unknown"]), 0);
}
