//! Cassette of model replies: recorded to a file once, replayed from it in every test after that, without a key.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rooftree_protocol::Problem;
use rooftree_providers::cassette::{CassettePlayer, CassetteRecorder, Placeholders, RecordingMode};

/// What models answered, in a file. Given to a query or a runtime with `cassette`.
///
/// All models are on it, those of sub-agents too. A replay sends no request: it needs no key, no network, and
/// no model's name. It answers a question only if the very same one was recorded; another one is an error
/// that shows both. What differs between two runs of the same work does not matter: ids, times, the
/// directory. Tools really run.
///
/// No key is on it: keys are no part of a question, and one that was said is taken out.
///
/// ```
/// use rooftree::{query, testing::{Cassette, ScriptedModel, say}};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let place = tempfile::tempdir()?;
/// let file = place.path().join("greeting.cassette"); // beside your tests, in version control
///
/// // With a key: .model("anthropic/claude-sonnet-4-5") instead of .provider(…).
/// let recorded = query("Hello?").provider("real", ScriptedModel::from_replies([say("Hi.")])?);
/// recorded.cassette(Cassette::record_once(&file)).await?;
///
/// let tape = Cassette::record_once(&file); // from now on it replays
/// assert_eq!(query("Hello?").cassette(tape.clone()).await?.text, "Hi.");
/// assert_eq!(tape.remaining(), 0);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Cassette {
    path: PathBuf,
    way: RecordMode,
    /// Opened on first use; all clones share it.
    tape: Arc<Mutex<RecordingMode>>,
}

#[derive(Clone, Copy)]
enum RecordMode {
    Record,
    Replay,
    RecordOnce,
}

impl Cassette {
    /// Writes down what is asked and answered. A file that is there is not written over.
    pub fn record(path: impl Into<PathBuf>) -> Self {
        Self::new(path.into(), RecordMode::Record)
    }

    /// Replays a recording, and sends no request.
    pub fn replay(path: impl Into<PathBuf>) -> Self {
        Self::new(path.into(), RecordMode::Replay)
    }

    /// Records if the file is not there, else replays. To record again, remove the file.
    ///
    /// For several queries on one recording, give each a clone.
    pub fn record_once(path: impl Into<PathBuf>) -> Self {
        Self::new(path.into(), RecordMode::RecordOnce)
    }

    fn new(path: PathBuf, way: RecordMode) -> Self {
        Self {
            path,
            way,
            tape: Arc::default(),
        }
    }

    /// How many recorded answers have not been asked for; zero while recording.
    pub fn remaining(&self) -> usize {
        match &*self.tape.lock().unwrap_or_else(PoisonError::into_inner) {
            RecordingMode::Playing(player) => player.left(),
            RecordingMode::Off | RecordingMode::Recording(_) => 0,
        }
    }

    /// The tape, as it is used in a place with these names.
    pub(crate) fn tape(&self, names: Placeholders) -> Result<RecordingMode, Problem> {
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        if let RecordingMode::Off = *tape {
            *tape = self.opened()?;
        }
        Ok(tape.with_names(names))
    }

    fn opened(&self) -> Result<RecordingMode, Problem> {
        let names = Placeholders::default();
        match self.way {
            RecordMode::Replay => replayed(&self.path, names),
            RecordMode::RecordOnce if self.path.exists() => replayed(&self.path, names),
            RecordMode::Record | RecordMode::RecordOnce => Ok(RecordingMode::Recording(
                CassetteRecorder::create(&self.path, names)?,
            )),
        }
    }
}

fn replayed(path: &Path, names: Placeholders) -> Result<RecordingMode, Problem> {
    let opened = CassettePlayer::open(path, names);
    let opened =
        opened.map_err(|problem| problem.fix("Cassette::record_once(FILE) makes a recording"))?;
    Ok(RecordingMode::Playing(opened))
}
