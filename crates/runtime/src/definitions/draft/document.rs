//! Parses a document with many definitions: `agents` as a list or as a map, in JSON, YAML or TOML.

use std::path::Path;

use rooftree_protocol::DefinitionSource;

use super::{DefinitionDraft, DocumentSyntax, FileDrafts, checked};
use crate::definitions::{
    diagnostic::FileDiagnostics,
    fields::{DefinitionField, field},
    syntax_tree::{SyntaxEntry, SyntaxNode, SyntaxValue, toml, yaml},
};

/// Reads a document with many definitions: a list, a map of them by name, or either below `agents`.
pub(in crate::definitions) fn document(
    text: &str,
    syntax: DocumentSyntax,
    path: &Path,
    source: &DefinitionSource,
) -> FileDrafts {
    let mut complaints = FileDiagnostics::about(path, text);
    let read = match syntax {
        DocumentSyntax::Json => yaml::read(text, 1),
        DocumentSyntax::Toml => toml::read(text),
    };
    let node = match read {
        Ok(node) => node,
        Err(broken) => {
            complaints.error(
                "E0311",
                Some(broken.at),
                format!("cannot read it: {}", broken.what),
                "",
            );
            return FileDrafts::refused(complaints);
        }
    };
    // opencode.json holds them below `agent`, beside much that is not about agents.
    let is_opencode = path.file_stem().is_some_and(|stem| stem == "opencode");
    let key = if is_opencode { "agent" } else { "agents" };
    let inner = node
        .entries()
        .and_then(|entries| entries.iter().find(|entry| entry.key == key));
    if is_opencode && inner.is_none() {
        return FileDrafts::default();
    }
    let node = inner.map_or(&node, |entry| &entry.node);
    let mut drafts = Vec::new();
    match &node.value {
        SyntaxValue::List(items) => {
            for (index, item) in items.iter().enumerate() {
                drafts.extend(listed(index, item, &mut complaints).map(|(name, fields)| {
                    let place = format!("agents[{index}] ({name})");
                    DefinitionDraft {
                        place,
                        ..DefinitionDraft::bare(name, fields, source, path, text)
                    }
                }));
            }
        }
        SyntaxValue::Map(entries) => {
            for entry in entries.iter().filter(|entry| !is_setting(entry)) {
                drafts.extend(mapped(entry, &mut complaints).map(|(name, fields)| {
                    let place = format!("agents.{name}");
                    DefinitionDraft {
                        place,
                        ..DefinitionDraft::bare(name, fields, source, path, text)
                    }
                }));
            }
        }
        SyntaxValue::Text { .. } => {
            complaints.error(
                "E0314",
                Some(node.at),
                "`agents` must be a list or a map".into(),
                "",
            );
        }
    }
    FileDrafts {
        drafts,
        diagnostics: complaints.list,
    }
}

/// Whether it is no agent but a setting that daycare keeps beside its agents.
fn is_setting(entry: &SyntaxEntry) -> bool {
    matches!(
        entry.key.as_str(),
        "emergency_context_limit" | "emergencyContextLimit"
    ) && entry.node.entries().is_none()
}

fn listed(
    index: usize,
    item: &SyntaxNode,
    complaints: &mut FileDiagnostics<'_>,
) -> Option<(String, Vec<SyntaxEntry>)> {
    let said = item.entries().and_then(|entries| {
        entries
            .iter()
            .find(|entry| field(&entry.key) == Some(DefinitionField::Name))
    });
    let Some((name, at)) =
        said.and_then(|entry| Some((entry.node.text()?.to_owned(), entry.node.at)))
    else {
        let help = "write agentId, or name";
        complaints.error(
            "E0316",
            Some(item.at),
            format!("agents[{index}] has no name"),
            help,
        );
        return None;
    };
    Some((
        checked(name, Some(at), complaints)?,
        item.entries()?.to_vec(),
    ))
}

fn mapped(
    entry: &SyntaxEntry,
    complaints: &mut FileDiagnostics<'_>,
) -> Option<(String, Vec<SyntaxEntry>)> {
    let Some(fields) = entry.node.entries() else {
        complaints.error(
            "E0314",
            Some(entry.node.at),
            format!("agents.{} must be a map of fields", entry.key),
            "",
        );
        return None;
    };
    Some((
        checked(entry.key.clone(), Some(entry.at), complaints)?,
        fields.to_vec(),
    ))
}
