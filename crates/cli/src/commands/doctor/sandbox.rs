//! Checks which sandbox works here.

use rooftree_process::{sandbox::SandboxBackend, sandbox_probe::sandbox_support};

use super::check::{DoctorCheck, DoctorGroup};

const NAME: &str = "sandbox";

/// Tries both ways, and says which one is used and why not the better one.
pub async fn check() -> DoctorCheck {
    let support = sandbox_support().await;
    match support.best() {
        Some(SandboxBackend::Bubblewrap) => {
            DoctorGroup::Environment.good(NAME, "bubblewrap confines commands")
        }
        Some(SandboxBackend::Landlock) => {
            let reason = support.bubblewrap.err().unwrap_or_default();
            let words = format!(
                "only Landlock confines commands: it cannot make .git/hooks read-only, give them a /tmp of their own \
                 or let them make Unix sockets; bubblewrap can: {reason}"
            );
            DoctorGroup::Environment.warning(NAME, words).fix(INSTALL)
        }
        None => DoctorGroup::Environment
            .warning(
                NAME,
                format!("commands are not confined: {}", support.reasons()),
            )
            .fix(INSTALL),
    }
}

const INSTALL: &str = "install bubblewrap (Debian: apt install bubblewrap)";
