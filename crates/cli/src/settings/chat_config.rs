//! Providers that agents of a document bring along in `chat.config`: base URL and key of an OpenAI-compatible server.
//!
//! Only documents of the user count. A base URL decides who gets to see a key, and that is not for a project to say.

use std::collections::BTreeMap;

use rooftree_protocol::DefinitionLevel;
use rooftree_runtime::definitions::{DefinitionDocument, DocumentSyntax, compatible_provider};
use serde_json::Value;

use super::{ProviderSettings, Settings};

impl Settings {
    /// Adds the providers that agents of these documents bring along. One that the settings name stays as it is.
    pub fn add_agent_providers(&mut self, documents: &[DefinitionDocument]) {
        for (name, provider) in documents.iter().flat_map(providers) {
            self.models.providers.entry(name).or_insert(provider);
        }
    }
}

fn providers(document: &DefinitionDocument) -> BTreeMap<String, ProviderSettings> {
    if document.level == DefinitionLevel::Project {
        return BTreeMap::new();
    }
    // What cannot be parsed is reported where definitions are loaded.
    let parsed = match document.syntax {
        DocumentSyntax::Json => serde_json::from_str(&document.text).unwrap_or_default(),
        DocumentSyntax::Toml => document
            .text
            .parse::<toml::Table>()
            .ok()
            .and_then(|table| serde_json::to_value(table).ok())
            .unwrap_or_default(),
    };
    let agents = parsed.get("agents").unwrap_or(&parsed);
    let listed = agents.as_array().into_iter().flatten();
    let listed =
        listed.filter_map(|agent| Some((text(agent, &["agentId", "agent_id", "name"])?, agent)));
    let mapped = agents.as_object().into_iter().flatten();
    let mapped = mapped.map(|(name, agent)| (name.as_str(), agent));
    listed
        .chain(mapped)
        .filter_map(|(name, agent)| provider(name, agent))
        .collect()
}

fn provider(agent: &str, definition: &Value) -> Option<(String, ProviderSettings)> {
    let chat = definition.get("chat")?;
    let config = chat.get("config")?;
    if chat.get("provider")?.as_str()? != "openai-compatible" {
        return None;
    }
    let base_url = text(config, &["baseUrl", "base_url", "baseURL"])?;
    let key = text(config, &["apiKey", "api_key"]).and_then(variable_name);
    Some((
        compatible_provider(agent),
        ProviderSettings {
            base_url: Some(base_url.to_owned()),
            key_env: key.map(str::to_owned),
            ..ProviderSettings::default()
        },
    ))
}

/// The variable in `${NAME}` or `$NAME`.
fn variable_name(written: &str) -> Option<&str> {
    let name = written.trim().strip_prefix('$')?;
    let name = name
        .strip_prefix('{')
        .and_then(|name| name.strip_suffix('}'))
        .unwrap_or(name);
    Some(name).filter(|name| !name.is_empty())
}

fn text<'a>(value: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| value.get(*name)?.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str, syntax: DocumentSyntax, level: DefinitionLevel) -> DefinitionDocument {
        DefinitionDocument {
            path: "agents".into(),
            text: text.into(),
            syntax,
            level,
        }
    }

    #[test]
    fn as1_an_agent_brings_its_server_along_and_a_project_does_not() {
        let json = r#"{"agents": [{"agentId": "local", "chat": {"provider": "openai-compatible",
            "config": {"baseUrl": "http://127.0.0.1:1/v1", "apiKey": "${LOCAL_KEY}"}}},
            {"agentId": "other", "chat": {"provider": "openai", "config": {"baseUrl": "http://x.test"}}}]}"#;
        let toml = "[agents.local.chat]\nprovider = 'openai-compatible'\n[agents.local.chat.config]\n\
                    base_url = 'http://127.0.0.1:2/v1'";
        let added = |document| {
            let mut settings = Settings::default();
            settings.add_agent_providers(&[document]);
            settings.models.providers
        };
        let found = added(document(
            json,
            DocumentSyntax::Json,
            DefinitionLevel::Config,
        ));
        assert_eq!(found.len(), 1);
        let local = &found["openai-compatible.local"];
        assert_eq!(local.base_url.as_deref(), Some("http://127.0.0.1:1/v1"));
        assert_eq!(local.key_env.as_deref(), Some("LOCAL_KEY"));
        let found = added(document(
            toml,
            DocumentSyntax::Toml,
            DefinitionLevel::Config,
        ));
        assert_eq!(
            found["openai-compatible.local"].base_url.as_deref(),
            Some("http://127.0.0.1:2/v1")
        );
        let project = document(json, DocumentSyntax::Json, DefinitionLevel::Project);
        assert!(added(project).is_empty(), "a project says where keys go");
        let broken = document("{", DocumentSyntax::Json, DefinitionLevel::Config);
        assert!(added(broken).is_empty());
    }
}
