//! What becomes of the traffic with all models at once: nothing, a recording, or a replay.

use rooftree_protocol::ModelChoice;

use super::{CassettePlayer, CassetteRecorder, Placeholders};
use crate::catalog::ModelOpener;

/// What happens to the traffic with models.
#[derive(Clone, Default)]
pub enum RecordingMode {
    /// Nothing.
    #[default]
    Off,
    /// It is written down.
    Recording(CassetteRecorder),
    /// It comes from a recording.
    Playing(CassettePlayer),
}

impl RecordingMode {
    /// The same tape for another place and its secrets.
    pub fn with_names(&self, names: Placeholders) -> Self {
        match self {
            Self::Off => Self::Off,
            Self::Recording(recorder) => Self::Recording(recorder.with_names(names)),
            Self::Playing(player) => Self::Playing(player.with_names(names)),
        }
    }

    /// The models that were recorded, as they are called here and now; the first one first.
    pub fn models(&self) -> Vec<String> {
        match self {
            Self::Playing(player) => player.models(),
            Self::Off | Self::Recording(_) => Vec::new(),
        }
    }

    /// All ways to open models, recorded or played. A recording may know providers that are not here.
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
