//! What a program does with a tool, in a few words for people.

use serde_json::Value;

/// The telling field of a tool's input, or all of it.
pub(super) fn title_of(input: &Value) -> String {
    const TELLING: [&str; 9] = [
        "command",
        "file_path",
        "path",
        "notebook_path",
        "pattern",
        "url",
        "query",
        "description",
        "prompt",
    ];
    let told = TELLING
        .iter()
        .find_map(|name| input.get(name).and_then(Value::as_str));
    told.map_or_else(|| input.to_string(), str::to_owned)
}
