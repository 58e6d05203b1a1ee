//! Parses `chat.config` of the assistant: base URL, key and model of an OpenAI-compatible server.

use rooftree_protocol::DefinitionLevel;

use super::DefinitionBuilder;
use crate::definitions::syntax_tree::SyntaxEntry;

/// The provider of an agent that brings its own OpenAI-compatible server along.
pub fn compatible_provider(agent: &str) -> String {
    format!("{COMPATIBLE}.{}", agent.to_lowercase())
}

/// The assistant's name for such a provider.
pub(super) const COMPATIBLE: &str = "openai-compatible";

impl DefinitionBuilder<'_> {
    /// `chat.config`. Where a server is and which variable its key is in the settings take from here; the model is
    /// the definition's. What could widen the rights of a program is not taken from a file.
    pub(super) fn chat_config(&mut self, entry: &SyntaxEntry) {
        let Some(entries) = entry.node.entries() else {
            return self.wrong(entry, "a map");
        };
        for inner in entries {
            match inner.key.as_str() {
                "baseUrl" | "base_url" | "baseURL" => self.has_base_url(inner),
                "apiKey" | "api_key" => self.key(inner),
                "model" | "defaultModel" => {
                    self.thinking.model = self.text(inner).map(|text| (text, inner.node.at));
                }
                "models" => self.first_model(inner),
                "workdir" | "cwd" => self.left_out(
                    inner,
                    "a session works in the directory it is opened in: rooftree -C DIRECTORY run",
                ),
                "args" | "extraArgs" | "extra_args" | "wrapper" => self.left_out(
                    inner,
                    "flags could give the program rights that this agent has not; model, effort, tools, permission mode \
                     and directory are passed to it",
                ),
                _ => self.not_yet(inner),
            }
        }
    }

    fn has_base_url(&mut self, entry: &SyntaxEntry) {
        if self.definition.source.level == DefinitionLevel::Config {
            self.has_own_server = true;
            return;
        }
        // Anything else could send a key anywhere.
        let name = compatible_provider(&self.definition.name);
        self.left_out(
            entry,
            &format!("write [providers.\"{name}\"] with base_url into your config.toml"),
        );
        self.has_own_server = true;
    }

    fn key(&mut self, entry: &SyntaxEntry) {
        let is_variable = entry
            .node
            .text()
            .is_some_and(|text| text.trim().starts_with('$'));
        if !is_variable {
            let name = compatible_provider(&self.definition.name);
            self.left_out(
                entry,
                &format!(
                    "write \"${{NAME}}\" for a variable, or store it: rooftree auth set {name}"
                ),
            );
        }
    }

    fn left_out(&mut self, entry: &SyntaxEntry, help: &str) {
        let what = self.placed(format!("`chat.config.{}` is left out", entry.key));
        self.complaints.warning("W0102", Some(entry.at), what, help);
    }
}
