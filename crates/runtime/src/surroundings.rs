//! The surroundings that models are told of when a run begins: today's date and the git branch.
//!
//! They stand in the conversation, not in the system prompt: what a provider has cached of the prompt stays valid when
//! the day or the branch changes.

use std::{path::Path, sync::Arc};

use rooftree_protocol::Timestamp;
use rooftree_workspace::git_state;

/// Says in a few lines what day it is and how things stand in a directory. It must be quick: every run waits for it.
pub type SurroundingsReader = Arc<dyn Fn(&Path, Timestamp) -> String + Send + Sync>;

/// The reader of the program: the date in UTC, and the git branch where there is one.
pub fn reader() -> SurroundingsReader {
    Arc::new(described)
}

fn described(directory: &Path, now: Timestamp) -> String {
    let now = now.to_string();
    let date = now.split('T').next().unwrap_or_default();
    let git = git_state(directory).map(|state| format!("\nGit: {state}."));
    format!("Today is {date} (UTC).{}", git.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_is_told_and_git_only_where_it_is() {
        let place = tempfile::tempdir().unwrap();
        let day = |at| described(place.path(), Timestamp(at));
        assert_eq!(day(0), "Today is 1970-01-01 (UTC).");
        assert_eq!(day(86_400_000), "Today is 1970-01-02 (UTC).");
        std::fs::create_dir(place.path().join(".git")).unwrap();
        std::fs::write(place.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(day(5), "Today is 1970-01-01 (UTC).\nGit: branch main.");
    }
}
