//! Table of all vendors reached over HTTP: API, base URL, and the environment variables of the key.
//!
//! Plain data in one place. The program and the library start from these rows; settings
//! override copies of them.

use crate::{
    anthropic::{self, KeyScheme},
    gemini,
    openai::{self, ChatDialect},
    openai_compatible::{ServerSite, VENDORS},
};

/// The API of a vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VendorWire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions, in a vendor's dialect.
    Chat(ChatDialect),
    /// Google's Gemini.
    Gemini,
}

/// One vendor with its defaults, before any settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VendorRow {
    /// The name before the slash.
    pub name: &'static str,
    /// Display name.
    pub title: &'static str,
    /// The vendor whose key it takes: two APIs of one vendor share one.
    pub account: &'static str,
    /// Its API.
    pub wire: VendorWire,
    /// Its base URL.
    pub base_url: &'static str,
    /// Whether it runs at the vendor or on the user's own machine.
    pub site: ServerSite,
    /// The environment variables its key may be in, the usual one first.
    pub variables: &'static [&'static str],
}

/// The variable whose token is sent in another header than a key.
const TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";

/// The vendors with their own API, in the order of precedence if no model is named.
const OWN_WIRES: [VendorRow; 4] = [
    VendorRow {
        name: "anthropic",
        title: "Anthropic",
        account: "anthropic",
        wire: VendorWire::Anthropic,
        base_url: anthropic::BASE_URL,
        site: ServerSite::Remote,
        variables: &["ANTHROPIC_API_KEY", TOKEN],
    },
    VendorRow {
        name: "openai",
        title: "OpenAI",
        account: "openai",
        wire: VendorWire::Responses,
        base_url: openai::BASE_URL,
        site: ServerSite::Remote,
        variables: &["OPENAI_API_KEY"],
    },
    VendorRow {
        name: "openai-chat",
        title: "OpenAI, Chat Completions",
        account: "openai",
        wire: VendorWire::Chat(ChatDialect::OPENAI),
        base_url: openai::BASE_URL,
        site: ServerSite::Remote,
        variables: &["OPENAI_API_KEY"],
    },
    VendorRow {
        name: "google",
        title: "Google Gemini",
        account: "google",
        wire: VendorWire::Gemini,
        base_url: gemini::BASE_URL,
        site: ServerSite::Remote,
        variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    },
];

/// All vendors, those with their own API first.
pub fn all() -> impl Iterator<Item = VendorRow> {
    let compatible = VENDORS.iter().map(|vendor| VendorRow {
        name: vendor.name,
        title: vendor.title,
        account: vendor.name,
        wire: VendorWire::Chat(vendor.dialect),
        base_url: vendor.base_url,
        site: vendor.site,
        variables: vendor.variables,
    });
    OWN_WIRES.into_iter().chain(compatible)
}

/// The header scheme of the key in this variable.
pub fn key_scheme(variable: &str) -> KeyScheme {
    if variable == TOKEN {
        KeyScheme::Bearer
    } else {
        KeyScheme::ApiKey
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_vendor_has_a_name_of_its_own_and_says_where_its_key_is() {
        let mut names = HashSet::new();
        for row in all() {
            assert!(names.insert(row.name), "{} is there twice", row.name);
            assert!(
                row.site == ServerSite::Local || !row.variables.is_empty(),
                "{}",
                row.name
            );
            assert!(
                all().any(|other| other.name == row.account),
                "{} has no account",
                row.name
            );
        }
        assert_eq!(key_scheme("ANTHROPIC_AUTH_TOKEN"), KeyScheme::Bearer);
        assert_eq!(key_scheme("ANTHROPIC_API_KEY"), KeyScheme::ApiKey);
    }
}
