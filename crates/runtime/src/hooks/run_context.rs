//! Context that hooks run in: the project, the sandbox of their programs, the pinned files.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rooftree_process::EnvironmentFilter;
use rooftree_protocol::DefinitionLevel;
use rooftree_tools::{SandboxConfig, WebConfig};

use super::{HookError, HookPayload, HookScript, ScriptPins};

/// Which hooks run sandboxed, as the programs of agents do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookConfinement {
    /// None of them.
    None,
    /// Those that a project brings.
    #[default]
    Project,
    /// All of them.
    All,
}

/// Context that hooks run in.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct HookRunContext {
    /// The project's root; a session's directory if there is none.
    pub project: Option<PathBuf>,
    /// What programs may inherit of our variables.
    pub inheritance: Arc<EnvironmentFilter>,
    /// Whose programs are confined.
    pub confined: HookConfinement,
    /// How.
    pub confining: SandboxConfig,
    /// How the web is reached.
    pub web: WebConfig,
    /// What the files that hooks name held at first.
    pub pins: Arc<ScriptPins>,
    /// Whether the user was warned that programs cannot be sandboxed here.
    pub(super) is_told: Arc<AtomicBool>,
}

impl HookRunContext {
    /// The project's root, as hooks know it on an occasion.
    pub(super) fn root(&self, payload: &HookPayload) -> PathBuf {
        self.project.clone().unwrap_or_else(|| payload.cwd.clone())
    }

    /// Whether the programs of hooks from this level are sandboxed.
    pub(super) fn confines(&self, level: DefinitionLevel) -> bool {
        match self.confined {
            HookConfinement::None => false,
            HookConfinement::Project => level == DefinitionLevel::Project,
            HookConfinement::All => true,
        }
    }

    /// Fails if a file that a command names is not what it was.
    pub(super) async fn is_unchanged(
        &self,
        named: impl FnOnce() -> Vec<HookScript> + Send + 'static,
    ) -> Result<(), HookError> {
        let pins = self.pins.clone();
        let checking = tokio::task::spawn_blocking(move || pins.check(named()));
        checking
            .await
            .unwrap_or_else(|error| Err(HookError::NotStarted(error.to_string())))
    }

    /// Whether this is the first warning that programs cannot be sandboxed.
    pub(super) fn is_first(&self) -> bool {
        !self.is_told.swap(true, Ordering::Relaxed)
    }
}
