//! Parses single values of a field, or reports a diagnostic.

use rooftree_protocol::{Limits, Network, PermissionMode, SandboxMode, UseAs};
use serde::de::DeserializeOwned;

use super::DefinitionBuilder;
use crate::definitions::{
    names::nearest,
    syntax_tree::{SourceSpan, SyntaxEntry, SyntaxNode, SyntaxValue},
};

impl DefinitionBuilder<'_> {
    /// Says that a value cannot be what it is.
    pub(super) fn wrong(&mut self, entry: &SyntaxEntry, wanted: &str) {
        let what = self.placed(format!("`{}` must be {wanted}", entry.key));
        self.complaints
            .error("E0314", Some(entry.node.at), what, "");
    }

    pub(super) fn text(&mut self, entry: &SyntaxEntry) -> Option<String> {
        let text = entry.node.text().map(|text| text.trim().to_owned());
        if text.is_none() {
            self.wrong(entry, "text");
        }
        text
    }

    pub(super) fn flag(&mut self, entry: &SyntaxEntry) -> Option<bool> {
        let flag = entry.node.flag();
        if flag.is_none() {
            self.wrong(entry, "true or false");
        }
        flag
    }

    pub(super) fn count(&mut self, entry: &SyntaxEntry) -> Option<u32> {
        let count = entry
            .node
            .text()
            .and_then(|text| text.parse().ok())
            .filter(|count| *count > 0);
        if count.is_none() {
            self.wrong(entry, "a whole number above zero");
        }
        count
    }

    /// A list of words, or words between commas.
    pub(super) fn words(&mut self, entry: &SyntaxEntry) -> Option<Vec<String>> {
        Some(
            self.word_nodes(entry)?
                .into_iter()
                .filter_map(|node| node.text().map(str::to_owned))
                .collect(),
        )
    }

    /// The same, each with its place.
    pub(super) fn word_nodes(&mut self, entry: &SyntaxEntry) -> Option<Vec<SyntaxNode>> {
        let nodes = match &entry.node.value {
            SyntaxValue::Text { text, .. } => between_commas(text, &entry.node),
            SyntaxValue::List(items) if items.iter().all(|item| item.text().is_some()) => {
                items.clone()
            }
            _ => {
                self.wrong(entry, "a list of words");
                return None;
            }
        };
        Some(nodes)
    }

    /// A value of a type of the protocol, whose own words say what is wrong.
    pub(super) fn typed<T: DeserializeOwned>(&mut self, entry: &SyntaxEntry) -> Option<T> {
        match serde_json::from_value(entry.node.json()) {
            Ok(value) => Some(value),
            Err(error) => {
                let what = self.placed(format!("`{}`: {error}", entry.key));
                self.complaints
                    .error("E0314", Some(entry.node.at), what, "");
                None
            }
        }
    }

    /// Refuses keys of a map that mean nothing there.
    pub(super) fn known_keys(&mut self, entry: &SyntaxEntry, known: &[&str]) {
        for inner in entry.node.entries().unwrap_or_default() {
            if !known.contains(&inner.key.as_str()) {
                let what = self.placed(format!("`{}` has no key `{}`", entry.key, inner.key));
                let help = match nearest(&inner.key, known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("it has {}", known.join(", ")),
                };
                self.complaints.error("E0318", Some(inner.at), what, &help);
            }
        }
    }

    pub(super) fn permission_mode(&mut self, entry: &SyntaxEntry) {
        let Some(text) = self.text(entry) else { return };
        let plain = text.replace(['-', '_'], "").to_lowercase();
        let mode = match plain.as_str() {
            "plan" => PermissionMode::Plan,
            "ask" | "default" | "manual" | "bubble" => PermissionMode::Ask,
            "acceptedits" | "autoedit" => PermissionMode::AcceptEdits,
            "auto" => PermissionMode::Auto,
            "bypass" | "bypasspermissions" | "yolo" => PermissionMode::Bypass,
            "dontask" => {
                let what = self.placed("`dontAsk` is taken as `ask`".into());
                let help = "the user decides; where no user can be asked, it is refused";
                self.complaints
                    .warning("W0117", Some(entry.node.at), what, help);
                PermissionMode::Ask
            }
            _ => return self.wrong(entry, "one of plan, ask, accept-edits, auto, bypass"),
        };
        self.definition.permission_mode = Some(mode);
    }

    /// A definition narrows: that it would rather not be confined is not for it to say.
    pub(super) fn sandbox(&mut self, entry: &SyntaxEntry) {
        match entry.node.text() {
            Some("auto") => self.definition.sandbox = Some(SandboxMode::Auto),
            Some("required") => self.definition.sandbox = Some(SandboxMode::Required),
            _ => self.wrong(entry, "one of auto, required"),
        }
    }

    /// Read as text: to some, `off` is a word for false.
    pub(super) fn network(&mut self, entry: &SyntaxEntry) -> Option<Network> {
        let read: Option<Network> = match entry.node.text() {
            Some(text) => text.parse().ok(),
            None => serde_json::from_value(entry.node.json()).ok(),
        };
        if read.is_none() {
            self.wrong(
                entry,
                "on, off or a list of hosts such as [crates.io, \"*.github.com\"]",
            );
        }
        read
    }

    pub(super) fn use_as(&mut self, entry: &SyntaxEntry) {
        self.definition.use_as = match entry.node.text() {
            Some("primary") => UseAs::Primary,
            Some("subagent") => UseAs::Subagent,
            Some("both" | "all") => UseAs::Both,
            _ => return self.wrong(entry, "one of primary, subagent, both"),
        };
    }

    /// Says what a limit of zero does, where that may not be what was meant.
    fn check_limit(&mut self, key: &str, at: SourceSpan) {
        if key == "verify_attempts" && self.definition.limits.verify_attempts == 0 {
            let what = self.placed("`limits.verify_attempts` is 0, which counts as 1".into());
            let help = "work is checked once and never given back; write 1, or leave verifiers out";
            self.complaints.warning("W0128", Some(at), what, help);
        }
    }

    pub(super) fn limits(&mut self, entry: &SyntaxEntry) {
        let Some(entries) = entry.node.entries() else {
            return self.wrong(entry, "a map of limits");
        };
        let Ok(serde_json::Value::Object(mut limits)) =
            serde_json::to_value(&self.definition.limits)
        else {
            return;
        };
        for limit in entries {
            if !limits.contains_key(&limit.key) {
                let known = limits.keys().map(String::as_str);
                let meant =
                    nearest(&limit.key, known).map(|meant| format!("did you mean `{meant}`?"));
                let what = self.placed(format!("unknown limit `{}`", limit.key));
                self.complaints
                    .error("E0318", Some(limit.at), what, &meant.unwrap_or_default());
                continue;
            }
            let before = limits.insert(limit.key.clone(), limit.node.json());
            match serde_json::from_value::<Limits>(limits.clone().into()) {
                Ok(read) => {
                    self.definition.limits = read;
                    self.check_limit(&limit.key, limit.node.at);
                }
                Err(error) => {
                    let what = self.placed(format!("`limits.{}`: {error}", limit.key));
                    self.complaints
                        .error("E0314", Some(limit.node.at), what, "");
                    limits.insert(limit.key.clone(), before.unwrap_or_default());
                }
            }
        }
    }
}

/// Words between commas, but not between those in parentheses: `Read, Agent(a, b)`.
fn between_commas(text: &str, node: &SyntaxNode) -> Vec<SyntaxNode> {
    let (mut nodes, mut depth, mut word) = (Vec::new(), 0_u32, String::new());
    let mut start = node.at.column;
    for (column, letter) in (node.at.column..).zip(text.chars().chain([','])) {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if letter == ',' && depth == 0 {
            let blanks = word
                .chars()
                .take_while(|letter| letter.is_whitespace())
                .count();
            let said = word.trim().to_owned();
            let at = crate::definitions::syntax_tree::SourceSpan {
                column: start + blanks,
                length: said.chars().count().max(1),
                ..node.at
            };
            if !said.is_empty() {
                nodes.push(SyntaxNode {
                    value: SyntaxValue::Text {
                        text: said,
                        is_plain: true,
                    },
                    at,
                });
            }
            word.clear();
            start = column + 1;
        } else {
            word.push(letter);
        }
    }
    nodes
}
