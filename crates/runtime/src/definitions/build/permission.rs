//! `permission` of opencode's agents: what it denies is taken away, what it asks about caps the permission mode.
//!
//! A definition cannot refuse only a part of a tool, so a tool of which a part is denied is taken away whole: taking
//! away more than was asked for is safe, taking away less is not.

use rooftree_protocol::PermissionMode;

use super::DefinitionBuilder;
use crate::definitions::syntax_tree::{SyntaxEntry, SyntaxValue};

/// Our tools for each of opencode's names.
const TOOLS: [(&str, &[&str]); 12] = [
    (
        "edit",
        &["Edit", "Write", "ApplyDiff", "Delete", "NotebookEdit"],
    ),
    ("bash", &["Bash"]),
    ("read", &["Read"]),
    ("glob", &["Glob"]),
    ("grep", &["Grep", "SemanticSearch"]),
    ("list", &["List"]),
    ("task", &["Task", "SendMessage"]),
    ("skill", &["Skill"]),
    ("webfetch", &["WebFetch"]),
    ("websearch", &["WebSearch"]),
    ("todowrite", &["TodoWrite"]),
    ("question", &["AskUser"]),
];

/// The strictest of the actions below one name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PermissionAction {
    Allow,
    Ask,
    Deny,
}

impl DefinitionBuilder<'_> {
    pub(super) fn permission(&mut self, entry: &SyntaxEntry) {
        if let Some(action) = action_of(entry.node.text()) {
            return self.restrict(entry, &["*"], action);
        }
        let Some(entries) = entry.node.entries() else {
            return self.wrong(entry, "allow, ask, deny or a map of tools");
        };
        for inner in entries {
            let Some(action) = self.strictest(inner) else {
                continue;
            };
            match inner.key.as_str() {
                "*" => self.restrict(inner, &["*"], action),
                key => match TOOLS.iter().find(|(name, _)| *name == key) {
                    Some((_, tools)) => self.restrict(inner, tools, action),
                    // It may name a tool of a server.
                    None if action == PermissionAction::Deny => {
                        self.definition.tools.deny.push(inner.key.clone())
                    }
                    None => self.not_yet(inner),
                },
            }
        }
    }

    fn strictest(&mut self, entry: &SyntaxEntry) -> Option<PermissionAction> {
        let found = match &entry.node.value {
            SyntaxValue::Map(patterns) => patterns
                .iter()
                .map(|one| action_of(one.node.text()))
                .max()
                .flatten(),
            _ => action_of(entry.node.text()),
        };
        let is_whole = match &entry.node.value {
            SyntaxValue::Map(patterns) => patterns
                .iter()
                .all(|one| action_of(one.node.text()).is_some()),
            _ => found.is_some(),
        };
        if !is_whole {
            self.wrong(entry, "allow, ask or deny, or a map of patterns to these");
        }
        found
    }

    fn restrict(&mut self, entry: &SyntaxEntry, tools: &[&str], action: PermissionAction) {
        let in_part = entry
            .node
            .entries()
            .is_some_and(|patterns| patterns.len() > 1);
        match action {
            PermissionAction::Allow => {}
            PermissionAction::Deny => {
                if in_part {
                    let what = self.placed(format!(
                        "all of `{}` is taken away, not only a part",
                        entry.key
                    ));
                    let help = "a permission rule can refuse only a part";
                    self.complaints.warning("W0115", Some(entry.at), what, help);
                }
                self.definition
                    .tools
                    .deny
                    .extend(tools.iter().map(|tool| (*tool).to_owned()));
            }
            PermissionAction::Ask => {
                let mode = self
                    .definition
                    .permission_mode
                    .unwrap_or(PermissionMode::Ask);
                self.definition.permission_mode = Some(mode.min(PermissionMode::Ask));
                let what = self.placed(format!(
                    "`{}: ask` becomes permission_mode `ask`",
                    entry.key
                ));
                let help = "an agent's definition asks about everything that changes something, or about nothing";
                self.complaints.warning("W0117", Some(entry.at), what, help);
            }
        }
    }
}

fn action_of(text: Option<&str>) -> Option<PermissionAction> {
    match text? {
        "allow" => Some(PermissionAction::Allow),
        "ask" => Some(PermissionAction::Ask),
        "deny" => Some(PermissionAction::Deny),
        _ => None,
    }
}
