//! TodoWrite: replaces the session's todo list, or adds to it and updates it.

mod list;

use futures::future::BoxFuture;
use rooftree_protocol::{Effect, ErrorCode, ToolKind, ToolSpec};
use serde_json::{Map, Value, json};

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument},
    tool_info::{CallConcurrency, ExposedAs, SkillExemption, ToolInfo},
};

/// The list is part of the session, not of the world. Each change builds on the list that the one before it left.
pub(crate) const INFO: ToolInfo = ToolInfo {
    name: "TodoWrite",
    aliases: &[
        "todo_write",
        "update_todos",
        "write_todo",
        "update_todo_list",
    ],
    kind: ToolKind::Think,
    effect: Effect::ReadOnly,
    concurrency: CallConcurrency::Never,
    capabilities: &["session"],
    is_cacheable: true,
    needs_working_copy: false,
    skill_exemption: SkillExemption::AllowList,
    exposed_as: ExposedAs::Function,
    ..ToolInfo::UNDECLARED
};

const DESCRIPTION: &str =
    "Replace the whole todo list of this session. At most one item is in_progress.";

const STATUS: ArgumentKind = ArgumentKind::Choice(&["pending", "in_progress", "completed"]);

const ITEM: [ToolArgument; 5] = [
    ToolArgument::new("content", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["title", "text", "task"]),
    ToolArgument::new("status", STATUS, ""),
    ToolArgument::new("active_form", ArgumentKind::Text, "").with_aliases(&["activeForm"]),
    ToolArgument::accepted("priority", ArgumentKind::Text),
    ToolArgument::accepted("id", ArgumentKind::Text),
];

/// One item to change: the one with this number, or with this content.
const UPDATE: [ToolArgument; 5] = [
    ToolArgument::new("id", ArgumentKind::Text, "").with_aliases(&["task_id", "index"]),
    ToolArgument::new("content", ArgumentKind::Text, "").with_aliases(&["title", "text", "task"]),
    ToolArgument::new("status", STATUS, ""),
    ToolArgument::new("active_form", ArgumentKind::Text, "").with_aliases(&["activeForm"]),
    ToolArgument::new("priority", ArgumentKind::Text, ""),
];

pub(crate) const ARGUMENTS: [ToolArgument; 3] = [
    ToolArgument::new("todos", ArgumentKind::Objects(&ITEM), ""),
    ToolArgument::accepted("add", ArgumentKind::Objects(&ITEM)),
    ToolArgument::accepted("update", ArgumentKind::Objects(&UPDATE)),
];

/// The TodoWrite tool.
pub(crate) struct TodoWriteTool(ToolSpec);

impl TodoWriteTool {
    pub fn new() -> Self {
        Self(arguments::spec(INFO.name, DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for TodoWriteTool {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, called_as: &str, input: Value) -> Result<Value, String> {
        let written = match called_as.to_ascii_lowercase().as_str() {
            "write_todo" => incremental(input, "add"),
            "update_todo_list" => incremental(input, "update"),
            _ => input,
        };
        let canonical = arguments::normalise(INFO.name, &ARGUMENTS, written)?;
        if canonical.is_empty() {
            return Err("TodoWrite needs `todos`.".to_owned());
        }
        Ok(Value::Object(canonical))
    }

    fn title(&self, input: &Value) -> String {
        let count = |name: &str| input.get(name).and_then(Value::as_array).map(Vec::len);
        match (count("todos"), count("add"), count("update")) {
            (Some(all), ..) => format!("{all} items"),
            (_, Some(added), _) => format!("add {added}"),
            (.., updated) => format!("update {}", updated.unwrap_or_default()),
        }
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let output = match list::next(&context.todos, &input) {
            Err(words) => ToolOutput::failed(ErrorCode::InvalidArguments, words),
            Ok(next) if *next == *context.todos => ToolOutput::done("The todo list is unchanged."),
            Ok(next) => {
                let mut output = ToolOutput::done(format!(
                    "The todo list is updated.\n\n{}",
                    list::state(&next)
                ));
                output.todos = Some(next);
                output
            }
        };
        Box::pin(async move { output })
    }
}

/// Puts what emdash says about an item beside its title.
fn describe(item: &mut Map<String, Value>) {
    let Some(Value::String(more)) = item.remove("description") else {
        return;
    };
    if let Some(Value::String(title)) = item.get_mut("title")
        && !more.trim().is_empty()
    {
        *title = format!("{title}: {}", more.trim());
    }
}

/// The one-item form as a list of one, under the name of what is to happen.
fn incremental(input: Value, wish: &str) -> Value {
    let Value::Object(mut written) = input else {
        return input;
    };
    if written.contains_key(wish) {
        return Value::Object(written);
    }
    describe(&mut written);
    let items = written.remove("todos").unwrap_or_else(|| json!([written]));
    Value::Object(Map::from_iter([(wish.to_owned(), items)]))
}
