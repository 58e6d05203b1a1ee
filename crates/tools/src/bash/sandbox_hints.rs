//! Hints for users and models about a command's sandbox: a weaker backend, a refused access, a change that was undone.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_process::{
    Sandbox,
    sandbox::SandboxBackend,
    sandbox_probe::{available_backend, has_bubblewrap},
};
use rooftree_protocol::SandboxMode;

use crate::{ToolContext, ToolOutput, notice::Notice};

const INSTALL: &str = "install bubblewrap (Debian: apt install bubblewrap), see `rooftree doctor`";

/// Error messages of the system for an operation that is not permitted.
const REFUSALS: [&str; 3] = [
    "Permission denied",
    "Read-only file system",
    "Operation not permitted",
];

/// The sandbox a command runs in, as far as the hints need it.
#[derive(Debug, Default)]
pub(super) struct SandboxHint {
    directory: Option<PathBuf>,
    /// The sandbox, if Landlock enforces it.
    landlock: Option<Arc<Sandbox>>,
}

impl SandboxHint {
    pub(super) async fn about(sandbox: Option<&Arc<Sandbox>>, cwd: &Path) -> Self {
        let Some(sandbox) = sandbox else {
            return Self::default();
        };
        let is_landlock = available_backend().await == Ok(SandboxBackend::Landlock);
        Self {
            directory: Some(cwd.to_owned()),
            landlock: is_landlock.then(|| sandbox.clone()),
        }
    }

    /// A line for a result in which something was refused: it may be the sandbox, not the machine.
    pub(super) fn hint(&self, output: &ToolOutput) -> Option<String> {
        let directory = self.directory.as_ref()?;
        let text = output.text();
        if output.failure.is_none() || !REFUSALS.iter().any(|words| text.contains(words)) {
            return None;
        }
        let landlock = self.landlock.as_ref();
        if landlock.is_some_and(|sandbox| sandbox.is_closed_to_landlock()) {
            return Some(format!(
                "[sandbox: {} holds keys that are hidden, and without bubblewrap nothing can be listed or made in it. \
                 Work in a directory below it, or {INSTALL}]",
                directory.display()
            ));
        }
        let landlock = if landlock.is_some() {
            "; /tmp is $TMPDIR here, and `/` cannot be listed"
        } else {
            ""
        };
        Some(format!(
            "[sandbox: commands can change only {} and what `sandbox.writable` names, and do not see homes and \
             keys{landlock}. The user can widen it in config.toml or with --sandbox off]",
            directory.display()
        ))
    }
}

/// A line for who is asked about a command that is confined less than it could be.
pub(super) fn weak_sandbox_warning(context: &ToolContext) -> Option<&'static str> {
    let mode = context
        .sandbox
        .as_ref()
        .map(|confining| confining.confinement.mode)?;
    (mode != SandboxMode::Off && !has_bubblewrap()).then_some(
        "sandbox: bubblewrap is missing, so git hooks and settings are only checked afterwards \
         (apt install bubblewrap)",
    )
}

/// Notice for the user that commands are not confined.
pub(super) fn unconfined_notice(remark: &str) -> Notice {
    let message = remark.trim_matches(['[', ']']).to_owned();
    Notice {
        code: "unconfined",
        message,
        hint: Some(INSTALL.to_owned()),
    }
}

/// Notice for the user about changes that were undone after a command.
pub(super) fn reverted_notice(words: &[String]) -> Option<Notice> {
    (!words.is_empty()).then(|| Notice {
        code: "git_guard",
        message: format!(
            "a command left what git would run outside the sandbox: {}",
            words.join("; ")
        ),
        hint: Some(
            "name the repository in sandbox.writable to let commands change such files".to_owned(),
        ),
    })
}
