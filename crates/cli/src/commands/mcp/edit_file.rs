//! Edits the MCP servers in one JSON file and preserves everything else in it.

use std::{fs, path::Path};

use rooftree_protocol::{ErrorCode, Problem};
use rooftree_stdx::atomic_file;
use serde_json::{Map, Value};

/// Changes the servers of a file; makes it if it is not there.
pub fn change<T>(
    path: &Path,
    change: impl FnOnce(&mut Map<String, Value>) -> T,
) -> Result<T, Problem> {
    let failed = |why: String| {
        Problem::new(
            ErrorCode::InvalidConfig,
            format!("cannot change {}", path.display()),
        )
        .cause(why)
    };
    let mut whole = match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Value::Object(Map::new()),
        Err(error) => return Err(failed(error.to_string())),
    };
    let servers = whole.as_object_mut().map(|whole| {
        whole
            .entry("mcpServers")
            .or_insert_with(|| Value::Object(Map::new()))
    });
    let servers = servers
        .and_then(Value::as_object_mut)
        .ok_or_else(|| failed("`mcpServers` must be an object".into()))?;
    let changed = change(servers);
    let text =
        serde_json::to_string_pretty(&whole).map_err(|error| failed(error.to_string()))? + "\n";
    atomic_file::replace_through_links(path, text.as_bytes())
        .map_err(|error| failed(error.to_string()))?;
    Ok(changed)
}
