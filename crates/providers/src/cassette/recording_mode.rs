//! Recording mode of all models: off, record or replay.

use rooftree_protocol::ModelChoice;

use super::{CassettePlayer, CassetteRecorder, Placeholders};
use crate::catalog::ModelOpener;

/// Recording mode of the model traffic.
#[derive(Clone, Default)]
pub enum RecordingMode {
    /// Neither recorded nor replayed.
    #[default]
    Off,
    /// Recorded.
    Recording(CassetteRecorder),
    /// Replayed from a recording.
    Playing(CassettePlayer),
}

impl RecordingMode {
    /// The same mode with other placeholders and secrets.
    pub fn with_names(&self, names: Placeholders) -> Self {
        match self {
            Self::Off => Self::Off,
            Self::Recording(recorder) => Self::Recording(recorder.with_names(names)),
            Self::Playing(player) => Self::Playing(player.with_names(names)),
        }
    }

    /// The recorded models by their names in this run; the first one first.
    pub fn models(&self) -> Vec<String> {
        match self {
            Self::Playing(player) => player.models(),
            Self::Off | Self::Recording(_) => Vec::new(),
        }
    }

    /// Wraps all openers for recording or replay. A recording may contain providers that are not configured here.
    pub fn wrap_openers(&self, openers: Vec<(String, ModelOpener)>) -> Vec<(String, ModelOpener)> {
        match self {
            Self::Off => openers,
            Self::Recording(recorder) => openers
                .into_iter()
                .map(|(name, opener)| (name, recorder.opener(opener)))
                .collect(),
            Self::Playing(player) => {
                let recorded = player.models();
                let recorded = recorded
                    .iter()
                    .filter_map(|model| model.parse::<ModelChoice>().ok());
                let names = openers
                    .into_iter()
                    .map(|(name, _)| name)
                    .chain(recorded.map(|model| model.provider));
                names.map(|name| (name, player.opener())).collect()
            }
        }
    }
}
