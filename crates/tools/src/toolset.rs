//! The tools one agent may use after scoping; look-up by any name to the canonical one.

mod capability;

use std::sync::Arc;

use rooftree_protocol::{AgentDialect, Scope, ToolSpec};
use rooftree_stdx::edit_distance::edit_distance_with_swaps;

use crate::{
    Tool,
    glob_cache::{self, WildcardMeaning},
    mcp::PREFIX,
};

/// Tools by canonical name. Scoping makes a smaller one; nothing makes a larger one.
#[derive(Clone, Default)]
pub struct Toolset {
    tools: Arc<[Arc<dyn Tool>]>,
}

/// Result of looking up a tool by the name that a model used.
pub enum ToolLookup {
    /// A tool this agent has.
    Tool(Arc<dyn Tool>),
    /// No tool of this set answers to that name.
    Unknown,
}

impl Toolset {
    /// A set of these tools, in this order.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self {
            tools: tools.into_iter().collect(),
        }
    }

    /// This set narrowed by a scope. Globs are compared with canonical names, without case.
    pub fn scoped(&self, scope: &Scope) -> Self {
        let kept = self
            .tools
            .iter()
            .filter(|tool| is_in_scope(tool.as_ref(), scope))
            .cloned();
        Self {
            tools: kept.collect(),
        }
    }

    /// This set without the tools that can do what a scope of capabilities does not let through.
    pub fn capable(&self, capabilities: &Scope) -> Self {
        let kept = self
            .tools
            .iter()
            .filter(|tool| capability::is_in_scope(tool.as_ref(), capabilities));
        Self {
            tools: kept.cloned().collect(),
        }
    }

    /// Finds a tool by canonical name or alias, without case.
    pub fn find(&self, name: &str) -> ToolLookup {
        let exact = self
            .tools
            .iter()
            .find(|tool| tool.spec().name.eq_ignore_ascii_case(name));
        let alias = || {
            self.tools
                .iter()
                .find(|tool| tool.aliases().iter().any(|a| a.eq_ignore_ascii_case(name)))
        };
        // A remote tool answers to its name without what all of them begin with.
        let short = || {
            self.tools
                .iter()
                .find(|tool| is_short_for(name, &tool.spec().name))
        };
        exact
            .or_else(alias)
            .or_else(short)
            .map_or(ToolLookup::Unknown, |tool| ToolLookup::Tool(tool.clone()))
    }

    /// Tool specs for the model, in order.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.tools.iter().map(|tool| tool.spec().clone()).collect()
    }

    /// What a model is told that knows the tools by the names of this dialect, in order.
    pub fn specs_in(&self, dialect: AgentDialect) -> Arc<[ToolSpec]> {
        let told =
            |tool: &Arc<dyn Tool>| tool.spec_in(dialect).unwrap_or_else(|| tool.spec().clone());
        self.tools.iter().map(told).collect()
    }

    /// The tools themselves, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }

    /// Canonical names, in order.
    pub fn names(&self) -> Vec<&str> {
        self.tools
            .iter()
            .map(|tool| tool.spec().name.as_str())
            .collect()
    }

    /// What to write instead of a name that no tool has: the nearest one, else all there are.
    pub fn suggestion(&self, written: &str) -> String {
        let most = written.chars().count().div_ceil(3);
        let lower = written.to_lowercase();
        let nearest = self
            .names()
            .into_iter()
            .map(|name| (edit_distance_with_swaps(&lower, &name.to_lowercase()), name))
            .min()
            .filter(|(letters, _)| *letters <= most);
        match nearest {
            Some((_, name)) => format!("did you mean `{name}`? rooftree tools list shows all"),
            None => format!("tools are {}", self.names().join(", ")),
        }
    }
}

/// Invariant: an allow list that is absent allows all, one that is empty allows none.
fn is_in_scope(tool: &dyn Tool, scope: &Scope) -> bool {
    let allows = |glob: &String| names_tool(glob, tool);
    let denies = |glob: &String| may_name_tool(glob, tool);
    scope
        .allow
        .as_ref()
        .is_none_or(|allow| allow.iter().any(allows))
        && !scope.deny.iter().any(denies)
}

/// Whether a scope lets this name through.
pub fn is_named(scope: &Scope, name: &str) -> bool {
    let matches = |glob: &String| is_match(glob, name);
    scope
        .allow
        .as_ref()
        .is_none_or(|allow| allow.iter().any(matches))
        && !scope.deny.iter().any(matches)
}

/// Whether a scope has a list that this name is on.
pub fn is_listed(scope: &Scope, name: &str) -> bool {
    scope.allow.is_some() && is_named(scope, name)
}

/// Most scopes are plain names, and there are as many as tools: compiling each would cost a
/// sub-agent's start ten times what all the rest of it does.
///
/// Only the case of plain letters is forgiven: others look like them and are not.
pub(crate) fn is_match(glob: &str, name: &str) -> bool {
    let is_special = |byte| matches!(byte, b'*' | b'?' | b'[' | b']' | b'{' | b'}' | b'\\');
    if !glob.bytes().any(is_special) {
        return glob.eq_ignore_ascii_case(name);
    }
    let (glob, name) = (glob.to_ascii_lowercase(), name.to_ascii_lowercase());
    glob_cache::is_match(&glob, WildcardMeaning::Anything, &name)
}

/// Whether this is the name of a remote tool without what all of them begin with.
fn is_short_for(name: &str, tool: &str) -> bool {
    tool.strip_prefix(PREFIX)
        .is_some_and(|short| short.eq_ignore_ascii_case(name))
}

/// Whether a glob means a remote tool by its short name, or all tools of its server.
fn names_remote(glob: &str, name: &str) -> bool {
    let is_remote = |start: &str| start.eq_ignore_ascii_case(PREFIX);
    let Some((_, short)) = name
        .split_at_checked(PREFIX.len())
        .filter(|(start, _)| is_remote(start))
    else {
        return false;
    };
    let server = short
        .find("__")
        .and_then(|end| name.get(..PREFIX.len() + end));
    is_match(glob, short) || server.is_some_and(|server| glob.eq_ignore_ascii_case(server))
}

/// Whether a glob, or an alias written plainly, means this tool.
fn names_tool(glob: &str, tool: &dyn Tool) -> bool {
    let name = tool.spec().name.as_str();
    is_match(glob, name)
        || names_remote(glob, name)
        || tool
            .aliases()
            .iter()
            .any(|alias| alias.eq_ignore_ascii_case(glob))
}

/// Whether a glob that takes away may mean this tool under any of its names.
fn may_name_tool(glob: &str, tool: &dyn Tool) -> bool {
    names_tool(glob, tool) || tool.aliases().iter().any(|alias| is_match(glob, alias))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{BackgroundProcesses, builtin};

    #[test]
    fn an_absent_list_of_tools_means_all_and_an_empty_one_none() {
        let all = builtin(Arc::new(BackgroundProcesses::new(|| 1)));
        let list = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let left = |allow: Option<&[&str]>, deny: &[&str]| {
            let scope = Scope {
                allow: allow.map(list),
                deny: list(deny),
            };
            all.scoped(&scope).names().join(" ")
        };
        assert_eq!(left(None, &[]), all.names().join(" "));
        assert_eq!(left(Some(&[]), &[]), "");
        assert_eq!(
            left(Some(&["read", "gr*", "execute_command"]), &[]),
            "Read Grep Bash"
        );
        assert!(!left(Some(&["*"]), &["B*", "Task*"]).contains("Bash"));
        assert_eq!(left(Some(&["Reed"]), &[]), "", "a misspelt tool is no tool");
    }
}
