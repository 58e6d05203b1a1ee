//! What becomes of the traffic with all models at once: nothing, a recording, or a replay.

use rooftree_protocol::ModelChoice;

use super::{Names, Player, Recorder};
use crate::catalog::Opener;

/// What happens to the traffic with models.
#[derive(Clone, Default)]
pub enum Tape {
    /// Nothing.
    #[default]
    Off,
    /// It is written down.
    Recording(Recorder),
    /// It comes from a recording.
    Playing(Player),
}

impl Tape {
    /// The same tape for another place and its secrets.
    pub fn with_names(&self, names: Names) -> Self {
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
    pub fn wound(&self, openers: Vec<(String, Opener)>) -> Vec<(String, Opener)> {
        match self {
            Self::Off => openers,
            Self::Recording(recorder) => {
                openers.into_iter().map(|(name, opener)| (name, recorder.opener(opener))).collect()
            }
            Self::Playing(player) => {
                let recorded = player.models();
                let recorded = recorded.iter().filter_map(|model| model.parse::<ModelChoice>().ok());
                let names =
                    openers.into_iter().map(|(name, _)| name).chain(recorded.map(|model| model.provider));
                names.map(|name| (name, player.opener())).collect()
            }
        }
    }
}
