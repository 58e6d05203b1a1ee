//! Sandbox settings of the programs agents run. They only ever narrow on their way from the settings to a child.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Network;

/// What the programs of an agent may see, touch and reach at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Confinement {
    /// Whether they are confined.
    pub mode: SandboxMode,
    /// Whom they can reach.
    pub network: Network,
    /// What they may change besides the directory they work in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<PathBuf>,
    /// What they may read although it is usually hidden.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readable: Vec<PathBuf>,
    /// What file tools may read without a rule.
    #[serde(skip_serializing_if = "Reading::is_default")]
    pub reading: Reading,
}

/// What file tools of an agent may read without a rule, from the loosest to the strictest.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// What a confined command could read; the rest asks.
    #[default]
    AsCommands,
    /// The working directory and granted roots; the rest is refused.
    OnlyHere,
}

impl Reading {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether programs are confined, from the loosest to the strictest.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// They are not.
    Off,
    /// They are wherever that works; where it does not, it is said.
    #[default]
    Auto,
    /// They are, or they are not started.
    Required,
}

impl Confinement {
    /// The intersection: what both permit.
    ///
    /// Invariant: the result permits nothing that either of them refuses.
    pub fn narrowed(&self, other: &Self) -> Self {
        Self {
            mode: self.mode.max(other.mode),
            network: self.network.narrowed(&other.network),
            writable: intersect_paths(&self.writable, &other.writable),
            readable: intersect_paths(&self.readable, &other.readable),
            reading: self.reading.max(other.reading),
        }
    }

    /// Applies the mode and network of a definition, which sets no paths.
    pub fn with(&self, mode: Option<SandboxMode>, network: Option<&Network>) -> Self {
        let mode = self.mode.max(mode.unwrap_or(SandboxMode::Off));
        let network = self.network.narrowed(network.unwrap_or(&Network::On));
        Self {
            mode,
            network,
            ..self.clone()
        }
    }

    /// Whether another one permits everything that this one permits.
    pub fn is_within(&self, other: &Self) -> bool {
        self.mode >= other.mode
            && self.network.is_within(&other.network)
            && self
                .writable
                .iter()
                .all(|path| covers(&other.writable, path))
            && self
                .readable
                .iter()
                .all(|path| covers(&other.readable, path))
            && self.reading >= other.reading
    }
}

fn covers(places: &[PathBuf], path: &Path) -> bool {
    places.iter().any(|place| path.starts_with(place))
}

/// Intersects two lists: paths of either that lie inside of a path of the other.
fn intersect_paths(one: &[PathBuf], other: &[PathBuf]) -> Vec<PathBuf> {
    let mut both: Vec<PathBuf> = one
        .iter()
        .filter(|path| covers(other, path))
        .cloned()
        .collect();
    both.extend(other.iter().filter(|path| covers(one, path)).cloned());
    both.sort();
    both.dedup();
    both
}
