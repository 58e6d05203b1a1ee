//! Delegable rules: an agent may pass on only rules that allow nothing it would itself be asked about.

use std::path::Path;

use rooftree_process::sandbox::private_in_homes;
use rooftree_protocol::{PermissionMode, ToolKind};

use super::{
    PermissionRule, Policy,
    rule::{MatchStrictness, is_glob_match},
};
use crate::{Toolset, sensitive_paths, toolset::ToolLookup};

impl Policy {
    /// Whether all that a rule allows is allowed by this policy without asking. Errs towards no.
    pub fn grants(&self, rule: &PermissionRule, tools: &Toolset) -> bool {
        if rule.tool.contains('*') {
            // Several tools: each of them.
            let each = tools.iter().map(|tool| PermissionRule {
                tool: tool.spec().name.clone(),
                ..rule.clone()
            });
            let mut each = each
                .filter(|one| rule.concerns(&one.tool, MatchStrictness::Allowing))
                .peekable();
            return each.peek().is_some() && each.all(|one| self.grants(&one, tools));
        }
        let ToolLookup::Tool(tool) = tools.find(&rule.tool) else {
            return false;
        };
        let name = tool.spec().name.as_str();
        // A command can read and write, so rules about files are about it too.
        let is_about_files =
            |other: &PermissionRule| other.is_about_reading() || other.is_about_writing();
        let is_about_it = |other: &PermissionRule| {
            other.concerns(name, MatchStrictness::Denying)
                || (tool.kind() == ToolKind::Execute && is_about_files(other))
        };
        if self.deny.iter().chain(&self.ask).any(is_about_it) || self.mode == PermissionMode::Plan {
            return false;
        }
        // What other programs obey is allowed by nothing but a rule that names it.
        let spec = rule.subject.as_deref().unwrap_or_default();
        let names_obeyed = sensitive_paths::OBEYED
            .iter()
            .any(|obeyed| sensitive_paths::is_named(spec, obeyed));
        let is_wider = |own: &PermissionRule| {
            is_glob_match(
                &own.tool.to_ascii_lowercase(),
                &rule.tool.to_ascii_lowercase(),
            ) && (own.subject == rule.subject || (own.subject.is_none() && !names_obeyed))
        };
        let leads_out = rule.subject.as_deref().is_some_and(leads_out);
        match self.mode {
            // No mode allows private places, and no mode says which paths outside are private.
            _ if leads_out && is_about_paths(tool.kind()) => self.allow.iter().any(is_wider),
            PermissionMode::Bypass => true,
            PermissionMode::Auto if is_local(tool.kind()) && !names_obeyed => true,
            _ => self.allow.iter().any(is_wider),
        }
    }
}

/// Whether a rule about paths may name something outside the working directory, or a private place in a home.
fn leads_out(subject: &str) -> bool {
    let is_private = || private_in_homes(&Path::new("/root").join(subject)).is_some();
    subject.starts_with(['/', '~']) || subject.split('/').any(|part| part == "..") || is_private()
}

fn is_about_paths(kind: ToolKind) -> bool {
    matches!(
        kind,
        ToolKind::Read | ToolKind::Search | ToolKind::Edit | ToolKind::Delete
    )
}

/// Whether tools of this family act on this machine only.
fn is_local(kind: ToolKind) -> bool {
    matches!(
        kind,
        ToolKind::Read | ToolKind::Search | ToolKind::Edit | ToolKind::Delete | ToolKind::Execute
    )
}
