//! Registration of an external connector: its name, its URL, the token of both directions, and what it is able to do.

use std::fmt;

use serde::Deserialize;

use crate::{Capabilities, FailureClass, LengthUnit, PrivateAddresses, SendError};

/// What is set when an external connector is added. The token is given apart, because it is a secret.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalRegistration {
    /// Where it takes messages: https, or this machine.
    pub url: String,
    /// What it is able to do.
    #[serde(default)]
    pub capabilities: ExternalCapabilities,
    /// Whether the URL may lead to a private network.
    #[serde(skip)]
    pub private: PrivateAddresses,
}

/// What an external connector says it is able to do; what it does not name it is not.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExternalCapabilities {
    pub edit: bool,
    pub buttons: bool,
    pub threads: bool,
    pub files: bool,
    pub typing: bool,
    pub groups: bool,
    /// It says whether a delivery arrived (`GET /deliveries/KEY`).
    pub deliveries: bool,
    pub max_length: usize,
    pub caption_length: usize,
    pub button_data: usize,
    pub upload: u64,
    pub download: u64,
}

impl Default for ExternalCapabilities {
    fn default() -> Self {
        Self {
            edit: false,
            buttons: false,
            threads: false,
            files: false,
            typing: false,
            groups: false,
            deliveries: false,
            max_length: 4_000,
            caption_length: 1_000,
            button_data: 64,
            upload: 10 << 20,
            download: 10 << 20,
        }
    }
}

impl ExternalCapabilities {
    pub(super) fn validate(&self) -> Result<(), SendError> {
        if self.max_length < 100 || self.button_data < 32 {
            let words =
                "an external connector must take texts of 100 and button data of 32 at least";
            return Err(SendError::new(FailureClass::InvalidPayload, words));
        }
        Ok(())
    }

    pub(super) fn to_capabilities(&self) -> Capabilities {
        Capabilities {
            edit: self.edit,
            buttons: self.buttons,
            threads: self.threads,
            files: self.files,
            typing: self.typing,
            groups: self.groups,
            max_length: self.max_length,
            caption_length: self.caption_length,
            button_data: self.button_data,
            upload: self.upload.min(super::LARGEST_FILE),
            download: self.download.min(super::LARGEST_FILE),
            unit: LengthUnit::Utf16,
        }
    }
}

/// The token that both sides present; never shown.
#[derive(Clone)]
pub struct ExternalToken(String);

impl ExternalToken {
    /// Refuses what could be guessed or cannot stand in a header.
    pub fn new(token: &str) -> Result<Self, SendError> {
        if token.len() < 16 || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let words = "the token of an external connector must have at least 16 printable characters without spaces";
            return Err(SendError::new(FailureClass::Auth, words));
        }
        Ok(Self(token.to_owned()))
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ExternalToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ExternalToken(redacted)")
    }
}
