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
                "Landlock confines commands, which cannot protect .git/hooks; bubblewrap would: {reason}"
            );
            Group::Environment.good(NAME, words)
        }
        None => Group::Environment
            .warning(NAME, format!("commands are not confined: {}", standing.reasons()))
            .fix(INSTALL),
    }
}

const INSTALL: &str = "install bubblewrap (Debian: apt install bubblewrap)";
