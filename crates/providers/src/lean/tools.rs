//! Selects which tools a small model gets, and describes them in a few lines.

use std::fmt::Write;

use rooftree_protocol::{PermissionMode, ToolSpec};
use serde_json::{Map, Value, json};

/// The tools kept if there are too many: enough to look around, change files and run commands. Not Task: a model of 1.5
/// billion parameters that has it also uses it where no agent is asked for.
const KEPT: [&str; 6] = ["Read", "Grep", "List", "Edit", "Write", "Bash"];

/// Our tools with arguments by which they are recognised, and how a small model is told of them.
const WORDED: [(&str, &[&str], &str); 6] = [
    ("Read", &["file_path"], "{file_path}: Read a file."),
    (
        "Write",
        &["file_path", "content", "append"],
        "{file_path, content, append?: true|false}: Write a whole file; with append, add to its end.",
    ),
    (
        "Edit",
        &["file_path", "edits"],
        "{file_path, old_string, new_string, replace_all?: true|false}: Replace old_string with new_string; with \
         replace_all, wherever it occurs.",
    ),
    ("List", &["path"], "{path?}: List the files of a directory."),
    (
        "Grep",
        &["pattern", "path"],
        "{pattern, path?}: Search files with a regular expression.",
    ),
    ("Bash", &["command"], "{command}: Run a shell command."),
];

/// Maximum characters of a description.
const DESCRIPTION: usize = 120;

/// Maximum arguments described per tool. Grep alone has a dozen, and most of them mislead a small model.
const ARGUMENTS: usize = 3;

/// Tools that act: in plan mode calls of them are refused, and a small model tries again and again.
const ACTING: [&str; 3] = ["Edit", "Write", "Bash"];

/// Tools whose calls are shown, each with the request that it answers.
const SHOWN: [(&str, &str, &str, &str); 3] = [
    ("Read", "What does notes.txt say?", "file_path", "notes.txt"),
    ("Grep", "Which file mentions Anna?", "pattern", "Anna"),
    ("Bash", "Run make test", "command", "make test"),
];

/// Splits the tools into those the model gets in this permission mode and the names of the others.
pub(super) fn choose(tools: &[ToolSpec], mode: PermissionMode) -> (Vec<&ToolSpec>, Vec<&str>) {
    let (mut kept, withheld) = choose_few(tools);
    if mode == PermissionMode::Plan {
        kept.retain(|spec| !ACTING.contains(&spec.name.as_str()));
    }
    (kept, withheld)
}

fn choose_few(tools: &[ToolSpec]) -> (Vec<&ToolSpec>, Vec<&str>) {
    if tools.len() <= KEPT.len() {
        return (tools.iter().collect(), Vec::new());
    }
    let (kept, withheld): (Vec<&ToolSpec>, Vec<&ToolSpec>) = tools
        .iter()
        .partition(|spec| KEPT.contains(&spec.name.as_str()));
    if kept.is_empty() {
        // None of our own tools are among them: take the first few.
        let (kept, withheld) = tools.split_at_checked(KEPT.len()).unwrap_or((tools, &[]));
        return (
            kept.iter().collect(),
            withheld.iter().map(|spec| spec.name.as_str()).collect(),
        );
    }
    (
        kept,
        withheld
            .into_iter()
            .map(|spec| spec.name.as_str())
            .collect(),
    )
}

/// Describes how to call tools, and which there are. By example rather than explanation: with one call shown, a model
/// of 1.5 billion parameters runs `ls` where another command was asked for, and makes up which file mentions a word; with
/// three it does not, and with an answer that needs no tool it does not call one for small talk.
pub(super) fn describe(tools: &[&ToolSpec]) -> String {
    let acts = tools
        .iter()
        .any(|spec| ACTING.contains(&spec.name.as_str()));
    let reach = if acts {
        "You see and change files, and run commands, only through tools."
    } else {
        "You see files only through tools."
    };
    let mut text = format!(
        "# Tools\n\n{reach} Without a tool you know nothing about them. To use one, answer with a block of JSON and \
         nothing else.\n\n{}\n\nAsked \"What is 3 times 4?\" you need no tool and answer: 12.\n\nNever guess what a tool \
         can tell you, and never write a result yourself.\n\nOnly these tools exist. `?` marks what may be left out.\n",
        shown(tools)
    );
    for spec in tools {
        let _ = match worded(spec) {
            Some(line) => write!(text, "\n- {} {line}", spec.name),
            None => write!(
                text,
                "\n- {} {}: {}",
                spec.name,
                signature(&spec.input_schema),
                brief(&spec.description)
            ),
        };
    }
    text
}

/// The line of a tool of ours in words chosen for small models: of Edit only the form with one replacement, of Write
/// not the flag that lets it replace what was not read. A tool of another server may have the same name and other
/// arguments.
fn worded(spec: &ToolSpec) -> Option<&'static str> {
    let (_, arguments, line) = WORDED.iter().find(|(name, _, _)| *name == spec.name)?;
    let properties = spec.input_schema.get("properties")?;
    let has_all = arguments.iter().all(|name| properties.get(name).is_some());
    has_all.then_some(*line)
}

/// Examples of calls, of a result and of the answer. Without role names: a small model would copy them.
fn shown(tools: &[&ToolSpec]) -> String {
    let is_ours = |name: &str| {
        let spec = tools.iter().find(|spec| spec.name == name);
        spec.is_some_and(|spec| worded(spec).is_some())
    };
    let examples: Vec<String> = SHOWN
        .iter()
        .filter(|(tool, ..)| is_ours(tool))
        .map(|(tool, asked, argument, value)| {
            let call = json!({"tool": tool, "input": {*argument: value}});
            format!("Asked \"{asked}\" you answer:\n\n```json\n{call}\n```")
        })
        .collect();
    let result = if is_ours("Read") {
        "The next message is the result, for example\n\n<result of=\"Read\">\nBuy milk.\n</result>\n\nThen you answer in \
         words: It says \"Buy milk.\""
    } else {
        "The next message is the result. Then you answer in words."
    };
    match (examples.as_slice(), tools.first()) {
        ([], Some(first)) => format!(
            "For example:\n\n```json\n{}\n```\n\n{result}",
            example(first)
        ),
        ([], None) => String::new(),
        (examples, _) => format!("{}\n\n{result}", examples.join("\n\n")),
    }
}

/// A call of a tool with all required arguments.
fn example(spec: &ToolSpec) -> String {
    let fields = fields(&spec.input_schema);
    let needed = fields.iter().filter(|field| field.is_required);
    let input: Map<String, Value> = needed
        .map(|field| {
            let value = match kind(field.schema).as_str() {
                "number" => json!(1),
                "true|false" => json!(true),
                list if list.starts_with('[') => json!([]),
                _ => json!("…"),
            };
            (field.name.to_owned(), value)
        })
        .collect();
    json!({ "tool": spec.name, "input": input }).to_string()
}

/// One argument of the schema.
struct SchemaArgument<'a> {
    name: &'a str,
    schema: &'a Value,
    is_required: bool,
}

/// The arguments of a schema, required ones first.
fn fields(schema: &Value) -> Vec<SchemaArgument<'_>> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let mut fields: Vec<SchemaArgument<'_>> = properties
        .map(|(name, schema)| SchemaArgument {
            name,
            schema,
            is_required: is_required(name),
        })
        .collect();
    fields.sort_by_key(|field| !field.is_required);
    fields
}

/// `{file_path, offset?: number}`.
fn signature(schema: &Value) -> String {
    let fields = fields(schema);
    let needed = fields.iter().filter(|field| field.is_required).count();
    let told = fields.iter().take(needed.max(ARGUMENTS)).map(|field| {
        let mark = if field.is_required { "" } else { "?" };
        match kind(field.schema).as_str() {
            "" => format!("{}{mark}", field.name),
            kind => format!("{}{mark}: {kind}", field.name),
        }
    });
    format!("{{{}}}", told.collect::<Vec<_>>().join(", "))
}

/// The type of an argument; empty for text.
fn kind(schema: &Value) -> String {
    if let Some(Value::Array(choices)) = schema.get("enum") {
        let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        return choices.join("|");
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => "number".to_owned(),
        Some("boolean") => "true|false".to_owned(),
        Some("array") => format!("[{}]", schema.get("items").map(kind).unwrap_or_default()),
        Some("object") => signature(schema),
        _ => String::new(),
    }
}

/// The first sentence, if it is short.
fn brief(description: &str) -> String {
    let end = description
        .find(". ")
        .map_or(description.len(), |at| at + 1);
    description
        .get(..end)
        .unwrap_or(description)
        .chars()
        .take(DESCRIPTION)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{choose_few as choose, *};

    fn spec(name: &str) -> ToolSpec {
        let edit = json!({"type": "object", "required": ["old"],
            "properties": {"old": {"type": "string"}, "all": {"type": "boolean"}}});
        ToolSpec {
            name: name.into(),
            description: "Does it. At length.".into(),
            input_schema: json!({"type": "object", "required": ["path", "edits"], "properties": {
                "limit": {"type": "integer"}, "mode": {"enum": ["a", "b"]}, "path": {"type": "string"},
                "edits": {"type": "array", "items": edit}, "more": {"type": "string"}}}),
        }
    }

    #[test]
    fn a_tool_is_one_line_with_what_it_needs_first() {
        let spec = spec("Edit");
        let text = describe(&[&spec]);
        assert!(
            text.ends_with(
                "- Edit {path, edits: [{old, all?: true|false}], limit?: number}: Does it."
            ),
            "{text}"
        );
        assert!(
            text.contains(r#"{"tool":"Edit","input":{"path":"…","edits":[]}}"#),
            "{text}"
        );
    }

    #[test]
    fn few_tools_all_go_and_of_many_the_six_that_matter() {
        let names = |names: &[&str]| names.iter().map(|name| spec(name)).collect::<Vec<_>>();
        let own = names(&["WebFetch", "Task"]);
        assert_eq!(choose(&own).0.len(), 2);
        let many = names(&[
            "Read",
            "Glob",
            "Grep",
            "List",
            "Edit",
            "Write",
            "Bash",
            "TodoWrite",
        ]);
        let (kept, withheld) = choose(&many);
        assert_eq!((kept.len(), withheld), (6, vec!["Glob", "TodoWrite"]));
        let foreign = names(&["a", "b", "c", "d", "e", "f", "g"]);
        assert_eq!(choose(&foreign).1, ["g"]);
    }
}
