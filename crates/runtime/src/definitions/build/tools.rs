//! Parses the tools a definition names: canonical names, globs, and the names other programs use.

use rooftree_protocol::AgentDialect;

use super::DefinitionBuilder;
use crate::definitions::{
    fields::DefinitionField,
    names::{self, nearest},
    syntax_tree::{SyntaxEntry, SyntaxNode},
};

impl DefinitionBuilder<'_> {
    pub(super) fn tools(&mut self, field: DefinitionField, entry: &SyntaxEntry) {
        if let Some(entries) = entry.node.entries() {
            return self.switches(entries);
        }
        let Some(nodes) = self.word_nodes(entry) else {
            return;
        };
        let named: Vec<String> = nodes
            .iter()
            .flat_map(|node| self.named_tools(node, field))
            .collect();
        if field == DefinitionField::Tools {
            self.has_tools = true;
            self.definition.tools.allow = Some(named);
        } else {
            self.definition.tools.deny = named;
        }
    }

    /// The tools that one entry of a list means. A glob that matches only other names of tools stands for those tools.
    fn named_tools(&mut self, node: &SyntaxNode, field: DefinitionField) -> Vec<String> {
        let glob = node
            .text()
            .map(str::trim)
            .filter(|text| field == DefinitionField::Tools && text.contains('*'));
        let by_alias = glob
            .map(|glob| self.loader_context.tools_by_alias(glob))
            .unwrap_or_default();
        if by_alias.is_empty() {
            self.tool(node, field).into_iter().collect()
        } else {
            by_alias
        }
    }

    /// Tools that are switched on and off one by one: what is off is taken away.
    fn switches(&mut self, entries: &[SyntaxEntry]) {
        for entry in entries {
            if self.flag(entry) == Some(false) {
                let key = SyntaxNode {
                    value: crate::definitions::syntax_tree::SyntaxValue::Text {
                        text: entry.key.clone(),
                        is_plain: true,
                    },
                    at: entry.at,
                };
                let name = self.tool(&key, DefinitionField::DeniedTools);
                self.definition.tools.deny.extend(name);
            }
        }
    }

    /// The canonical name of what was written, or the glob it is.
    fn tool(&mut self, node: &SyntaxNode, field: DefinitionField) -> Option<String> {
        let written = node.text()?.trim();
        if let Some((name, inside)) = written
            .strip_suffix(')')
            .and_then(|text| text.split_once('('))
        {
            return self.limited(node, name.trim(), inside, field);
        }
        if let Some(known) = self.loader_context.tool(written) {
            return Some(known.to_owned());
        }
        if written.contains(['*', '?', '[', '{']) {
            if written != "*" && !is_remote(written) && !self.loader_context.matches_any(written) {
                let what = self.placed(format!("`{written}` matches no tool"));
                self.complaints.warning(
                    "W0103",
                    Some(node.at),
                    what,
                    "rooftree tools list shows those there are",
                );
            }
            return Some(written.to_owned());
        }
        // Which tools servers have is not known before they are asked.
        if is_remote(written) {
            return Some(written.to_owned());
        }
        if names::canonical(written).is_some() {
            let what = self.placed(format!("tool `{written}` is not available here"));
            self.complaints
                .warning("W0112", Some(node.at), what, "the agent works without it");
            return Some(names::canonical(written).unwrap_or(written).to_owned());
        }
        self.unknown_tool(node, written, field);
        let is_ours = self.definition.source.dialect == AgentDialect::Rooftree;
        // To take away a tool that does not exist does no harm; to be given one means nothing.
        (is_ours || field == DefinitionField::DeniedTools).then(|| written.to_owned())
    }

    /// `Agent(a, b)` names whom it may ask. No other tool can be given only in part.
    fn limited(
        &mut self,
        node: &SyntaxNode,
        name: &str,
        inside: &str,
        field: DefinitionField,
    ) -> Option<String> {
        let canonical = self
            .loader_context
            .tool(name)
            .map(str::to_owned)
            .or_else(|| names::canonical(name).map(Into::into));
        if canonical.as_deref() == Some("Task") {
            let agents = inside
                .split(',')
                .map(|agent| agent.trim().to_owned())
                .filter(|agent| !agent.is_empty());
            if field == DefinitionField::DeniedTools {
                self.definition.agents.deny.extend(agents);
                return None;
            }
            self.definition
                .agents
                .allow
                .get_or_insert_default()
                .extend(agents);
            return canonical;
        }
        if field == DefinitionField::DeniedTools {
            // Taking away more than was asked for is safe; taking away less is not.
            let what = self.placed(format!(
                "all of `{name}` is taken away, not only `{inside}`"
            ));
            self.complaints.warning(
                "W0115",
                Some(node.at),
                what,
                "a rule of permission can refuse only a part",
            );
            return canonical.or_else(|| Some(name.to_owned()));
        }
        let what = self.placed(format!(
            "`{name}` cannot be given only for `{inside}`; it is left out"
        ));
        self.complaints.warning(
            "W0115",
            Some(node.at),
            what,
            "write the tool alone, and --allow what needs no question",
        );
        None
    }

    /// In files written for Rooftree an unknown tool is an error. A file written for another program may name tools
    /// that only that one has.
    fn unknown_tool(&mut self, node: &SyntaxNode, written: &str, field: DefinitionField) {
        let what = self.placed(format!("unknown tool `{written}`"));
        let mut known: Vec<&str> = self
            .loader_context
            .tools
            .iter()
            .filter_map(|names| names.first())
            .map(String::as_str)
            .collect();
        known.extend(names::tools());
        let meant = nearest(written, known);
        let help = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "rooftree tools list shows those there are".into(),
        };
        if self.definition.source.dialect == AgentDialect::Rooftree
            && field != DefinitionField::DeniedTools
        {
            self.complaints.error("E0312", Some(node.at), what, &help);
        } else {
            self.complaints.warning("W0112", Some(node.at), what, &help);
        }
    }
}

/// Whether this names tools of servers.
fn is_remote(written: &str) -> bool {
    written
        .to_lowercase()
        .starts_with(rooftree_tools::mcp::PREFIX)
}
