//! Settings of one connector, as they stand in its row: working directory, permission mode, groups, debounce.

use std::{path::PathBuf, time::Duration};

use rooftree_protocol::PermissionMode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How long several messages of one sender are waited for before they become one.
const DEBOUNCE: Duration = Duration::from_millis(1500);

/// Settings of a connector. Names that are not known here belong to the client of the platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChatSettings {
    /// Where the tools of its sessions work; the server's own directory if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The most that may happen in its sessions without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<PermissionMode>,
    /// Whether each person in a group has a session of his own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub per_user: bool,
    /// The groups in which it answers, by the platform's id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// How long several messages are waited for, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debounce_ms: Option<u64>,
    /// Everything else.
    #[serde(flatten)]
    pub platform: Map<String, Value>,
}

impl ChatSettings {
    /// The settings in a row. If they cannot be read, a permission mode among them is unknown: everything is asked.
    pub fn of(settings: &Map<String, Value>) -> Self {
        Self::read(settings).unwrap_or_else(|_| Self {
            mode: Some(PermissionMode::Ask),
            ..Self::default()
        })
    }

    /// The settings in a row, or what cannot be read in them.
    pub fn read(settings: &Map<String, Value>) -> Result<Self, String> {
        let read = serde_json::from_value(Value::Object(settings.clone()));
        read.map_err(|error| error.to_string())
    }

    /// How long several messages are waited for. Each request to a webhook stands alone.
    pub(crate) fn debounce(&self, platform: &str) -> Duration {
        match self.debounce_ms {
            Some(milliseconds) => Duration::from_millis(milliseconds),
            None if platform == "webhook" => Duration::ZERO,
            None => DEBOUNCE,
        }
    }
}
