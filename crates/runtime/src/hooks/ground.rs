//! What hooks stand on when they are asked: the project, how their programs are confined, what was pinned.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rooftree_process::Inheritance;
use rooftree_protocol::Level;
use rooftree_tools::{Confining, Web};

use super::{Failure, Occasion, Pins, Script};

/// Whose hooks run confined, as what agents run does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confined {
    /// Nobody's.
    None,
    /// Those that a project brings.
    #[default]
    Project,
    /// Everybody's.
    All,
}

/// What hooks stand on when they are asked.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Ground {
    /// The project's root; a session's directory if there is none.
    pub project: Option<PathBuf>,
    /// What programs may inherit of our variables.
    pub inheritance: Arc<Inheritance>,
    /// Whose programs are confined.
    pub confined: Confined,
    /// How.
    pub confining: Confining,
    /// How the web is reached.
    pub web: Web,
    /// What the files that hooks name held at first.
    pub pins: Arc<Pins>,
    /// Whether somebody was told that programs cannot be confined here.
    pub(super) is_told: Arc<AtomicBool>,
}

impl Ground {
    /// The project's root, as hooks know it on an occasion.
    pub(super) fn root(&self, occasion: &Occasion) -> PathBuf {
        self.project.clone().unwrap_or_else(|| occasion.cwd.clone())
    }

    /// Whether the programs of whoever wrote a hook are confined.
    pub(super) fn confines(&self, level: Level) -> bool {
        match self.confined {
            Confined::None => false,
            Confined::Project => level == Level::Project,
            Confined::All => true,
        }
    }

    /// Fails if a file that a command names is not what it was.
    pub(super) async fn is_unchanged(
        &self,
        named: impl FnOnce() -> Vec<Script> + Send + 'static,
    ) -> Result<(), Failure> {
        let pins = self.pins.clone();
        let checking = tokio::task::spawn_blocking(move || pins.check(named()));
        checking.await.unwrap_or_else(|error| Err(Failure::NotStarted(error.to_string())))
    }

    /// Whether this is the first time that somebody is told.
    pub(super) fn is_first(&self) -> bool {
        !self.is_told.swap(true, Ordering::Relaxed)
    }
}
