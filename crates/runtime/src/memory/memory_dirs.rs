//! Memory directories of agents, and validation of file names in them.

use std::path::{Path, PathBuf};

use rooftree_protocol::{AgentDefinition, MemoryScope};

/// Directories of memories that do not belong to a project.
#[derive(Clone, Debug, Default)]
pub struct MemoryDirs {
    /// The user's; none if nothing is kept for the user.
    pub user: Option<PathBuf>,
}

/// The directory of an agent's memory, if it has one.
pub(crate) fn directory(
    definition: &AgentDefinition,
    memory_dirs: &MemoryDirs,
    cwd: &Path,
) -> Option<PathBuf> {
    let root = match definition.memory? {
        MemoryScope::User => memory_dirs.user.clone()?,
        MemoryScope::Project => cwd.join(".rooftree/agent-memory"),
        MemoryScope::Local => cwd.join(".rooftree/agent-memory-local"),
    };
    Some(root.join(definition.name.to_lowercase()))
}

/// A file of it by the name a model uses: plain, in this directory, Markdown.
pub(crate) fn file(directory: &Path, name: &str) -> Result<PathBuf, String> {
    let stem = name.trim().strip_suffix(".md").unwrap_or(name.trim());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if stem.is_empty() || stem.len() > 64 || !stem.chars().all(is_plain) {
        return Err(format!(
            "`{name}` is no name for a memory: use letters, digits, - and _, as in `build-notes`."
        ));
    }
    Ok(directory.join(format!("{stem}.md")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_directory() {
        let place = Path::new("/memory/scout");
        assert_eq!(file(place, "notes").unwrap(), place.join("notes.md"));
        assert_eq!(file(place, "MEMORY.md").unwrap(), place.join("MEMORY.md"));
        for bad in [
            "",
            "..",
            "../x",
            "a/b",
            "/etc/passwd",
            "a.txt",
            "a\0b",
            &"x".repeat(99),
        ] {
            assert!(file(place, bad).is_err(), "{bad}");
        }
    }
}
