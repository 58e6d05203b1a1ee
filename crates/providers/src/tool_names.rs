//! Encodes tool names as a vendor allows them, and restores the original names in its answers.
//!
//! A tool may have any name here; vendors refuse a whole request for one invalid name. The
//! encoded name is derived from the name alone, so that a conversation keeps its bytes from
//! turn to turn when other tools are added or removed.

use std::{collections::HashMap, sync::Arc};

use futures::StreamExt;
use ring::digest;
use rooftree_protocol::event::ReplyPart;

use crate::{ModelMessage, ModelRequest, ReplyChunk, ReplyStream, ToolChoice};

/// A vendor's rule for names: letters, digits, `_` and `-`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolNameRule {
    /// Maximum characters.
    pub(crate) most: usize,
    /// Whether it may begin with a digit or a dash.
    pub(crate) begins_with_any: bool,
}

impl ToolNameRule {
    /// The rule of most vendors.
    pub(crate) const USUAL: Self = Self {
        most: 64,
        begins_with_any: true,
    };

    fn permits(self, name: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let begins_well = |c: char| self.begins_with_any || c.is_ascii_alphabetic() || c == '_';
        name.len() <= self.most
            && name.chars().next().is_some_and(begins_well)
            && name.chars().all(is_plain)
    }

    /// Encodes a name as the vendor allows it: as much of it as fits, and a digest that keeps it unique.
    fn spell(self, name: &str) -> String {
        let digest = digest::digest(&digest::SHA256, name.as_bytes());
        let digest: String = digest
            .as_ref()
            .iter()
            .take(4)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let plain = name.chars().map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        });
        let plain: String = plain
            .take(self.most.saturating_sub(digest.len() + 2))
            .collect();
        let front = if self.permits(&format!("{plain}_")) {
            ""
        } else {
            "_"
        };
        format!("{front}{plain}_{digest}")
    }
}

/// The names of one request that are encoded.
#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    /// Our names of the tools, by the vendor's names.
    ours: HashMap<String, String>,
}

/// The request with names the vendor allows. It is not copied if all of them are valid.
pub(crate) fn rename_tools(request: ModelRequest, rule: ToolNameRule) -> (ModelRequest, ToolNames) {
    let mut spelled: HashMap<String, String> = HashMap::new();
    for name in names_in(&request).filter(|name| !rule.permits(name)) {
        if !spelled.contains_key(name) {
            spelled.insert(name.to_owned(), rule.spell(name));
        }
    }
    if spelled.is_empty() {
        return (request, ToolNames::default());
    }
    let rename = |name: &mut String| {
        if let Some(other) = spelled.get(name) {
            name.clone_from(other);
        }
    };
    let mut tools = request.tools.to_vec();
    tools.iter_mut().for_each(|spec| rename(&mut spec.name));
    let mut tool_choice = request.tool_choice.clone();
    if let ToolChoice::This(name) = &mut tool_choice {
        rename(name);
    }
    let mut messages = request.messages.to_vec();
    for message in &mut messages {
        if names_of(message).any(|name| spelled.contains_key(name))
            && let ModelMessage::Assistant { parts, .. } = Arc::make_mut(message)
        {
            parts.iter_mut().for_each(|part| rename_call(part, rename));
        }
    }
    let ours = spelled
        .iter()
        .map(|(ours, theirs)| (theirs.clone(), ours.clone()))
        .collect();
    let request = ModelRequest {
        tools: tools.into(),
        tool_choice,
        messages: Arc::new(messages),
        ..request
    };
    (request, ToolNames { ours })
}

/// All tool names in a request, with duplicates.
fn names_in(request: &ModelRequest) -> impl Iterator<Item = &str> {
    let tools = request.tools.iter().map(|spec| spec.name.as_str());
    let history = request
        .messages
        .iter()
        .flat_map(|message| names_of(message));
    let chosen = match &request.tool_choice {
        ToolChoice::This(name) => Some(name.as_str()),
        _ => None,
    };
    tools.chain(history).chain(chosen)
}

fn names_of(message: &ModelMessage) -> impl Iterator<Item = &str> {
    let parts = match message {
        ModelMessage::Assistant { parts, .. } => parts.as_slice(),
        _ => &[],
    };
    parts.iter().filter_map(|part| {
        if let ReplyPart::Call(call) = part {
            Some(call.tool.as_str())
        } else {
            None
        }
    })
}

fn rename_call(part: &mut ReplyPart, rename: impl Fn(&mut String)) {
    if let ReplyPart::Call(call) = part {
        rename(&mut call.tool);
    }
}

impl ToolNames {
    /// Restores our names in an answer.
    pub(crate) fn restore_stream(self, stream: ReplyStream) -> ReplyStream {
        if self.ours.is_empty() {
            return stream;
        }
        stream
            .map(move |item| item.map(|chunk| self.restore(chunk)))
            .boxed()
    }

    fn restore(&self, mut chunk: ReplyChunk) -> ReplyChunk {
        let rename = |name: &mut String| {
            if let Some(ours) = self.ours.get(name) {
                name.clone_from(ours);
            }
        };
        match &mut chunk {
            ReplyChunk::ToolInput { tool, .. } => rename(tool),
            ReplyChunk::Reply(reply) => reply
                .parts
                .iter_mut()
                .for_each(|part| rename_call(part, rename)),
            ReplyChunk::Text(_) | ReplyChunk::Thinking(_) | ReplyChunk::Note { .. } => {}
        }
        chunk
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_spelling_is_good_for_the_vendor_unique_and_always_the_same() {
        let strict = ToolNameRule {
            begins_with_any: false,
            ..ToolNameRule::USUAL
        };
        let long = "x".repeat(200);
        let names = [
            "mcp:git/log",
            "mcp.git.log",
            "mcp git log",
            "größe",
            "",
            "7zip",
            "-a",
            &long,
            &long[1..],
        ];
        for rule in [ToolNameRule::USUAL, strict] {
            let spellings: BTreeSet<String> = names.iter().map(|name| rule.spell(name)).collect();
            assert_eq!(spellings.len(), names.len());
            assert!(
                spellings.iter().all(|name| rule.permits(name)),
                "{spellings:?}"
            );
            assert_eq!(rule.spell("a.b"), rule.spell("a.b"));
        }
        assert!(
            ToolNameRule::USUAL.permits("7zip")
                && !strict.permits("7zip")
                && strict.permits("Read")
        );
        assert!(!ToolNameRule::USUAL.permits("") && !ToolNameRule::USUAL.permits(&"x".repeat(65)));
        assert!(
            ToolNameRule::USUAL
                .spell("mcp:git/log")
                .starts_with("mcp_git_log_")
        );
    }
}
