//! Memory of an agent across sessions: Markdown files people can read and edit.
//!
//! Each agent has a directory of its own, if its definition says where. `MEMORY.md` in it is read
//! when the agent wakes, up to a bound; other files are found when it looks for them.

mod memory_dirs;

use std::{fs, path::Path, sync::Arc};

use rooftree_protocol::AgentDefinition;

pub use memory_dirs::MemoryDirs;
pub(crate) use memory_dirs::{directory, file};

/// The file that is read when an agent wakes.
pub(crate) const MAIN: &str = "MEMORY.md";
/// Lines of it that are read.
const LINES: usize = 200;

/// Excerpt of an agent's `MEMORY.md` for its prompt.
pub fn excerpt(
    definition: &AgentDefinition,
    memory_dirs: &MemoryDirs,
    cwd: &Path,
    bytes: usize,
) -> Option<Arc<str>> {
    let directory = directory(definition, memory_dirs, cwd)?;
    let text = fs::read_to_string(directory.join(MAIN)).ok()?;
    let mut kept = String::new();
    for line in text.lines().take(LINES) {
        if kept.len() + line.len() >= bytes {
            break;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    let kept = kept.trim();
    if kept.is_empty() {
        return None;
    }
    let more = if kept.len() < text.trim().len() {
        "\n[… more of it: MemoryRead]"
    } else {
        ""
    };
    Some(format!("{kept}{more}").into())
}
