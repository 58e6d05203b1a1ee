//! Turns a request with tools, calls and results into one that is plain text. Pure.
//!
//! Invariant: the same message always gives the same text, so that what a server has read of a
//! conversation it need not read again.

use std::{collections::HashMap, sync::Arc};

use rooftree_protocol::{
    Outcome, Part, ReservedTag, ToolCall, ToolResult, event::ReplyPart, reserved_tags::neutralise,
};
use serde_json::json;

use super::tools;
use crate::{ModelMessage, Request, ToolChoice};

/// A request in plain text.
pub(super) struct Projected {
    pub(super) request: Request,
    /// Tools the model may call, by the names it was told.
    pub(super) offered: Arc<[String]>,
    /// What it does not get, in words for people.
    pub(super) dropped: Vec<String>,
}

/// The same question for a model that can only read and write. A result has at most so many characters.
pub(super) fn project(request: Request, result_chars: usize) -> Projected {
    let (tools, withheld) = tools::choose(&request.tools);
    let is_silent = request.tool_choice == ToolChoice::Nothing;
    let offered = tools.iter().filter(|_| !is_silent).map(|spec| spec.name.clone()).collect();
    let mut system = vec![request.system.trim().to_owned()];
    if !tools.is_empty() {
        system.push(tools::describe(&tools));
    }
    system.extend(demand(&request.tool_choice));
    let dropped = match withheld.as_slice() {
        [] => Vec::new(),
        names => vec![format!("the tools {}", names.join(", "))],
    };
    let messages = conversation(&request, result_chars);
    Projected {
        offered,
        dropped,
        request: Request {
            system: system.join("\n\n").trim().into(),
            messages: Arc::new(messages),
            tools: Arc::new([]),
            tool_choice: ToolChoice::Auto,
            ..request
        },
    }
}

fn demand(choice: &ToolChoice) -> Option<String> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Nothing => Some("Use no tool now. Answer in words.".to_owned()),
        ToolChoice::Something => Some("Use a tool now.".to_owned()),
        ToolChoice::This(name) => Some(format!("Use the tool {name} now.")),
    }
}

/// The conversation. Neighbours of one side become one message: many templates refuse two in a row.
fn conversation(request: &Request, result_chars: usize) -> Vec<Arc<ModelMessage>> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut messages: Vec<Arc<ModelMessage>> = Vec::with_capacity(request.messages.len());
    for message in request.messages.iter() {
        let parts = match message.as_ref() {
            ModelMessage::Assistant { model, parts } => {
                names.extend(
                    parts.iter().filter_map(call_of).map(|call| (call.id.as_str(), call.tool.as_str())),
                );
                let (model, parts) = (model.clone(), spoken(parts));
                messages.push(Arc::new(ModelMessage::Assistant { model, parts }));
                continue;
            }
            ModelMessage::User(parts) => parts.clone(),
            ModelMessage::Results(results) => {
                let result = |result| given(result, &names, result_chars);
                results.iter().flat_map(result).collect()
            }
        };
        match messages.last_mut().map(Arc::make_mut) {
            Some(ModelMessage::User(before)) => before.extend(parts),
            _ => messages.push(Arc::new(ModelMessage::User(parts))),
        }
    }
    messages
}

fn call_of(part: &ReplyPart) -> Option<&ToolCall> {
    if let ReplyPart::Call(call) = part { Some(call) } else { None }
}

/// What the model said, its calls as the blocks it wrote. Words and blocks are one text, as they were.
fn spoken(parts: &[ReplyPart]) -> Vec<ReplyPart> {
    let mut spoken: Vec<ReplyPart> = Vec::with_capacity(parts.len());
    for part in parts {
        let more = match part {
            ReplyPart::Text { text } => text.clone(),
            ReplyPart::Call(call) => written(call),
            other => {
                spoken.push(other.clone());
                continue;
            }
        };
        match spoken.last_mut() {
            Some(ReplyPart::Text { text }) => {
                text.push_str("\n\n");
                text.push_str(&more);
            }
            _ => spoken.push(ReplyPart::Text { text: more }),
        }
    }
    spoken
}

/// A call as a model is asked to write it.
fn written(call: &ToolCall) -> String {
    format!("```json\n{}\n```", json!({ "tool": call.tool, "input": call.input }))
}

/// A result as text, its images behind it.
fn given(result: &ToolResult, names: &HashMap<&str, &str>, chars: usize) -> Vec<Part> {
    let tool = names.get(result.call.as_str()).copied().unwrap_or("tool");
    let state = match result.outcome {
        Outcome::Done => "",
        Outcome::Failed(_) => " failed",
        Outcome::Denied => " denied",
        Outcome::Cancelled => " cancelled",
        Outcome::Unknown => " interrupted",
    };
    let text = result.text();
    // A result is part of a user message here: it must neither end its element nor pose as the runtime.
    let text = cut(&text, chars);
    let text = neutralise(&text, &[ReservedTag::closing("result"), ReservedTag::SYSTEM_MESSAGE]);
    let text = if text.trim().is_empty() { "(nothing)" } else { text.trim_end() };
    let first = Part::text(format!("<result of=\"{tool}\"{state}>\n{text}\n</result>"));
    let rest = result.content.iter().filter(|part| !matches!(part, Part::Text { .. })).cloned();
    std::iter::once(first).chain(rest).collect()
}

/// A text without its middle, if it is too long: what matters is at the beginning or at the end.
fn cut(text: &str, chars: usize) -> String {
    let length = text.chars().count();
    if length <= chars {
        return text.to_owned();
    }
    let half = chars / 2;
    let front: String = text.chars().take(half).collect();
    let back: String = text.chars().skip(length - half).collect();
    format!("{front}\n[{} characters left out; ask for a smaller part]\n{back}", length - 2 * half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_loses_its_middle_and_says_so() {
        assert_eq!(cut("abc", 3), "abc");
        let text = cut(&"ö".repeat(100), 10);
        assert!(text.starts_with("ööööö\n[90 characters left out"), "{text}");
        assert!(text.ends_with("]\nööööö"), "{text}");
    }
}
