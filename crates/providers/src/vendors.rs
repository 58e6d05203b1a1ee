//! Every vendor that is reached over HTTP: what it speaks, where it is, and which variables its key may be in.
//!
//! Plain data and the one place for it. Whoever reaches models (the program, the library) starts from these
//! rows; what settings say changes copies of them.

use crate::{
    anthropic::{self, KeyScheme},
    gemini,
    openai::{self, ChatDialect},
    openai_compatible::{ServerSite, VENDORS},
};

/// What a vendor speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VendorWire {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions, in somebody's manner.
    Chat(ChatDialect),
    /// Google's Gemini.
    Gemini,
}

/// One vendor, as it is reached without any settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VendorRow {
    /// What stands before the slash.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Whose key it takes: two wires of one vendor share one.
    pub account: &'static str,
    /// What it speaks.
    pub wire: VendorWire,
    /// Where it is.
    pub base_url: &'static str,
    /// Whether it runs with the vendor or on one's own machine.
    pub site: ServerSite,
    /// The variables its key may be in, the usual one first.
    pub variables: &'static [&'static str],
}

/// The variable whose token is shown differently than a key.
const TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";

/// The vendors with a wire of their own, in the order in which one of them is asked if nobody names a model.
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

/// All vendors, those with a wire of their own first.
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

/// How the key that is in this variable is shown.
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
