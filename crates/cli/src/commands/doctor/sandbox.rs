//! Looks at what can confine commands here.

use rooftree_process::{sandbox::Backend, standing::standing};

use super::check::{Check, Group};

const NAME: &str = "sandbox";

/// Tries both ways, and says which one is used and why not the better one.
pub async fn check() -> Check {
    let standing = standing().await;
    match standing.best() {
        Some(Backend::Bubblewrap) => Group::Environment.good(NAME, "bubblewrap confines commands"),
        Some(Backend::Landlock) => {
            let reason = standing.bubblewrap.err().unwrap_or_default();
            let words = format!(
                "only Landlock confines commands: it cannot make .git/hooks read-only, give them a /tmp of their own \
                 or let them make Unix sockets; bubblewrap can: {reason}"
            );
            Group::Environment.warning(NAME, words).fix(INSTALL)
        }
        None => Group::Environment
            .warning(NAME, format!("commands are not confined: {}", standing.reasons()))
            .fix(INSTALL),
    }
}

const INSTALL: &str = "install bubblewrap (Debian: apt install bubblewrap)";
