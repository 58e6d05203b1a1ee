//! AskUser: one to four questions to the user, with choices or in free text.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use rooftree_protocol::{Choice, ErrorCode, Question, QuestionReply, ToolSpec};
use rooftree_tools::{
    Tool, ToolContext, ToolInfo, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, flag, text},
    session_tools::ASK_USER,
};
use serde_json::{Map, Value, json};

const DESCRIPTION: &str =
    "Ask the user something you cannot find out or decide yourself. Waits for the answer.";
/// A user does not want to fill in a longer form.
const MOST: usize = 4;

const CHOICE: [ToolArgument; 2] = [
    ToolArgument::new("label", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["value", "title"]),
    ToolArgument::new("description", ArgumentKind::Text, ""),
];

const QUESTION: [ToolArgument; 5] = [
    ToolArgument::new("question", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["text", "prompt"]),
    ToolArgument::new("header", ArgumentKind::Text, "One or two words")
        .with_aliases(&["name", "id"]),
    ToolArgument::new(
        "options",
        ArgumentKind::Objects(&CHOICE),
        "Nothing if words are wanted",
    )
    .with_aliases(&["choices"]),
    ToolArgument::new("multi_select", ArgumentKind::Flag, "")
        .with_aliases(&["multiSelect", "multiple"]),
    ToolArgument::accepted("allow_free_text", ArgumentKind::Flag).with_aliases(&["free"]),
];

const ARGUMENTS: [ToolArgument; 1] = [ToolArgument::new(
    "questions",
    ArgumentKind::Objects(&QUESTION),
    "At most four",
)
.required()];

pub(super) struct AskUserTool(ToolSpec);

impl AskUserTool {
    pub(super) fn new() -> Self {
        Self(arguments::spec(ASK_USER.name, DESCRIPTION, &ARGUMENTS))
    }
}

impl Tool for AskUserTool {
    fn info(&self) -> &ToolInfo {
        &ASK_USER
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let canonical = arguments::normalise(ASK_USER.name, &ARGUMENTS, listed(input))?;
        let canonical = Value::Object(canonical);
        let asked = questions(&canonical);
        if asked.is_empty() || asked.len() > MOST {
            return Err(format!("AskUser takes one to {MOST} questions."));
        }
        let names: BTreeSet<&str> = asked
            .iter()
            .map(|question| question.name.as_str())
            .collect();
        if names.len() < asked.len() {
            return Err("AskUser: each question needs a `header` of its own.".into());
        }
        Ok(canonical)
    }

    fn title(&self, input: &Value) -> String {
        questions(input)
            .first()
            .map(|question| question.text.clone())
            .unwrap_or_default()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let asked = questions(&input);
            let reply = tokio::select! {
                reply = (context.ask)(asked.clone()) => reply,
                () = context.cancel.cancelled() => return ToolOutput::failed(ErrorCode::ToolCancelled, "[cancelled]"),
            };
            match reply {
                QuestionReply::Answered { answers } => {
                    let told = |question: &Question| {
                        let given = answers.get(&question.name).map(|given| given.join(", "));
                        format!(
                            "{}\n→ {}",
                            question.text,
                            given.unwrap_or_else(|| "(no answer)".into())
                        )
                    };
                    ToolOutput::done(asked.iter().map(told).collect::<Vec<_>>().join("\n\n"))
                }
                QuestionReply::Declined { because } => {
                    let why = because
                        .map(|because| format!(" ({because})"))
                        .unwrap_or_default();
                    let words = format!(
                        "The user gave no answer{why}. Decide by yourself, or say what you need."
                    );
                    ToolOutput::failed(ErrorCode::InteractionUnavailable, words)
                }
            }
        })
    }
}

/// One question alone is accepted as a list of one; choices may be plain words.
fn listed(input: Value) -> Value {
    let Value::Object(mut written) = input else {
        return input;
    };
    if !written.contains_key("questions") {
        written = Map::from_iter([("questions".to_owned(), json!([written]))]);
    }
    if let Some(Value::Array(items)) = written.get_mut("questions") {
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            for key in ["options", "choices"] {
                if let Some(Value::Array(options)) = item.get_mut(key) {
                    options
                        .iter_mut()
                        .filter(|option| option.is_string())
                        .for_each(|option| {
                            *option = json!({"label": option.take()});
                        });
                }
            }
        }
    }
    Value::Object(written)
}

fn questions(input: &Value) -> Vec<Question> {
    let items = input
        .get("questions")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let question = |(at, item): (usize, &Value)| {
        let options = item
            .get("options")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let choice = |option: &Value| Choice {
            label: text(option, "label").to_owned(),
            description: text(option, "description").to_owned(),
        };
        let header = text(item, "header").trim();
        Question {
            name: if header.is_empty() {
                format!("question {}", at + 1)
            } else {
                header.to_owned()
            },
            text: text(item, "question").to_owned(),
            choices: options.iter().map(choice).collect(),
            several: flag(item, "multi_select"),
            free: item
                .get("allow_free_text")
                .and_then(Value::as_bool)
                .unwrap_or(true),
        }
    };
    items.iter().enumerate().map(question).collect()
}
