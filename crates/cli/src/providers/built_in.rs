//! Table of built-in providers, and how settings override it.

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::{openai::ChatDialect, openai_compatible::ServerSite, vendors};

use super::{KeyNeed, ProviderProfile, VendorWire};
use crate::settings::{ProviderSettings, ProviderTimeouts, WireName};

/// What comes with the program.
pub fn profiles() -> Vec<ProviderProfile> {
    vendors::all().map(profile).collect()
}

fn profile(row: vendors::VendorRow) -> ProviderProfile {
    ProviderProfile {
        name: row.name.into(),
        title: row.title.into(),
        account: row.account.into(),
        wire: row.wire,
        base_url: row.base_url.into(),
        base_url_from: None,
        variables: row
            .variables
            .iter()
            .map(|name| (*name).to_owned())
            .collect(),
        need: if row.site == ServerSite::Local {
            KeyNeed::Nothing
        } else {
            KeyNeed::Key
        },
        waits: ProviderTimeouts::default(),
    }
}

/// The variables a base URL may be in.
pub fn base_url_variables(name: &str) -> Vec<String> {
    match name {
        "openai-chat" => vec!["OPENAI_BASE_URL".into()],
        "google" => vec!["GOOGLE_GEMINI_BASE_URL".into()],
        "ollama" => vec!["OLLAMA_BASE_URL".into(), "OLLAMA_HOST".into()],
        _ => vec![format!("{}_BASE_URL", name.to_uppercase())],
    }
}

/// Ollama's own variable is only a host, and may mean "on all addresses".
pub fn with_scheme(name: &str, url: &str) -> String {
    if url.contains("://") || name != "ollama" {
        return url.to_owned();
    }
    let host = url.replacen("0.0.0.0", "127.0.0.1", 1);
    let port = if host.contains(':') { "" } else { ":11434" };
    format!("http://{host}{port}/v1")
}

/// Applies what the settings say.
pub fn change(profile: &mut ProviderProfile, said: &ProviderSettings) {
    if let Some(url) = &said.base_url {
        profile.base_url = url.clone();
        profile.base_url_from = Some("config.toml".into());
    }
    if let Some(name) = &said.key_env {
        profile.variables = vec![name.clone()];
    }
    if let Some(wire) = said.wire {
        profile.wire = spoken(wire);
    }
    profile.waits = said.waits;
}

/// A provider that only the settings know.
pub fn own(name: &str, said: &ProviderSettings) -> Result<ProviderProfile, Problem> {
    let Some(base_url) = said.base_url.clone() else {
        return Err(Problem::new(
            ErrorCode::InvalidConfig,
            format!("provider `{name}` has no base_url"),
        )
        .cause("it is not one of those that are built in")
        .fix(format!(
            "write base_url = \"https://…/v1\" below [providers.{name}]"
        )));
    };
    Ok(ProviderProfile {
        name: name.into(),
        title: name.into(),
        account: name.into(),
        wire: spoken(said.wire.unwrap_or(WireName::Chat)),
        base_url,
        base_url_from: Some("config.toml".into()),
        variables: said.key_env.clone().into_iter().collect(),
        need: if said.key_env.is_some() {
            KeyNeed::Key
        } else {
            KeyNeed::Perhaps
        },
        waits: said.waits,
    })
}

fn spoken(wire: WireName) -> VendorWire {
    match wire {
        WireName::Anthropic => VendorWire::Anthropic,
        WireName::Responses => VendorWire::Responses,
        WireName::Chat => VendorWire::Chat(ChatDialect::PLAIN),
        WireName::Gemini => VendorWire::Gemini,
    }
}

/// Where a provider gives out keys.
pub fn key_page(account: &str) -> Option<&'static str> {
    let pages = [
        ("anthropic", "https://console.anthropic.com/settings/keys"),
        ("openai", "https://platform.openai.com/api-keys"),
        ("google", "https://aistudio.google.com/apikey"),
        ("openrouter", "https://openrouter.ai/settings/keys"),
        ("groq", "https://console.groq.com/keys"),
        ("mistral", "https://console.mistral.ai/api-keys"),
        ("deepseek", "https://platform.deepseek.com/api_keys"),
        ("xai", "https://console.x.ai"),
        ("together", "https://api.together.ai/settings/api-keys"),
        (
            "fireworks",
            "https://app.fireworks.ai/settings/users/api-keys",
        ),
        ("cerebras", "https://cloud.cerebras.ai"),
        ("moonshot", "https://platform.moonshot.ai/console/api-keys"),
        ("zai", "https://z.ai/manage-apikey/apikey-list"),
    ];
    pages
        .into_iter()
        .find(|(name, _)| *name == account)
        .map(|(_, page)| page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_that_needs_a_key_says_where_to_get_one() {
        for profile in profiles()
            .iter()
            .filter(|profile| profile.need == KeyNeed::Key)
        {
            assert!(key_page(&profile.account).is_some(), "{}", profile.name);
            assert!(!profile.variables.is_empty(), "{}", profile.name);
        }
    }

    #[test]
    fn a_host_becomes_a_base_url() {
        let table = [
            ("127.0.0.1", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:5000", "http://127.0.0.1:5000/v1"),
            ("https://h/v1", "https://h/v1"),
        ];
        for (host, url) in table {
            assert_eq!(with_scheme("ollama", host), url);
        }
    }

    #[test]
    fn a_provider_of_ones_own_needs_a_place() {
        assert!(own("mine", &ProviderSettings::default()).is_err());
        let said = ProviderSettings {
            base_url: Some("http://h/v1".into()),
            ..ProviderSettings::default()
        };
        assert_eq!(own("mine", &said).unwrap().need, KeyNeed::Perhaps);
    }
}
