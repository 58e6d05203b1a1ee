//! Title of a program's tool call: a few words from its input, for people.

use serde_json::Value;

/// The most descriptive field of a tool's input, or the whole input.
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
