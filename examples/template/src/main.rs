//! A program with an agent: one question, one tool of its own, and what may happen without asking.
//!
//! With a key in `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY` a model answers; without one, a script does.

use rooftree::{
    PermissionMode, Query, query,
    testing::{ScriptedModel, call, say},
    tool,
};
use serde_json::json;

/// Tells the price of an article.
#[tool(read_only)]
async fn price(
    /** The article's name */
    article: String,
) -> Result<String, String> {
    match article.as_str() {
        "tea" => Ok("3.20".to_owned()),
        other => Err(format!("there is no article `{other}`; there is: tea")),
    }
}

fn ask(question: String) -> Query {
    query(question)
        .system("You are the assistant of a small shop. Answer in one sentence.")
        .tool(price())
        .permission_mode(PermissionMode::Ask)
        .max_turns(20)
}

#[tokio::main]
async fn main() -> rooftree::Result<()> {
    let question = std::env::args().nth(1);
    let question = question.unwrap_or_else(|| "What does tea cost?".to_owned());
    let has_key = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"]
        .iter()
        .any(|name| std::env::var(name).is_ok_and(|value| !value.is_empty()));
    let asked = if has_key {
        ask(question)
    } else {
        let model = ScriptedModel::from_replies([
            say("").calls([call("price", json!({"article": "tea"}))]),
            say("Tea costs {{ results[0].text }}."),
        ])?;
        ask(question).provider("scripted", model)
    };
    println!("{}", asked.await?);
    Ok(())
}
