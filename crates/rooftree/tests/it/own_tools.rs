//! `#[tool]`: what a model is told, what it may write, what it reads.

use std::io;

use rooftree::{
    Effect, Tool, ToolContext,
    testing::{ScriptedCall, call, say},
    tool,
};
use serde::Serialize;
use serde_json::json;

use crate::fixture::{script, scripted};

/// Look up a ticket in the tracker.
///
/// Only numbers are known.
#[tool(read_only)]
async fn ticket(
    /// Ticket number, e.g. 1234
    id: u64,
    /** In which state */
    state: Option<String>,
) -> Result<String, io::Error> {
    match id {
        0 => Err(io::Error::other("there is no ticket 0")),
        _ => Ok(format!(
            "#{id} {}: login fails",
            state.as_deref().unwrap_or("open")
        )),
    }
}

#[derive(Serialize)]
struct Weather {
    degrees: i32,
}

/// Says how warm it is.
#[tool(read_only, name = "HowWarm")]
async fn how_warm(places: Vec<String>) -> Result<Weather, String> {
    Ok(Weather {
        degrees: places.len() as i32,
    })
}

/// Says where it works.
#[tool(read_only)]
async fn place(context: ToolContext) -> Result<String, String> {
    Ok(context.cwd.display().to_string())
}

/// Forgets something.
#[tool]
async fn forget() -> Result<(), String> {
    Ok(())
}

/// What the model reads when it makes this call.
async fn told(made: ScriptedCall) -> String {
    let query = scripted("Go", [say("").calls([made]), say("{{ results[0].text }}")]);
    let query = query
        .tool(ticket())
        .tool(how_warm())
        .tool(place())
        .tool(forget())
        .allow("forget");
    query.await.unwrap().text
}

#[test]
fn doc_comments_are_what_the_model_is_told() {
    let tool = ticket();
    assert_eq!(tool.spec().name, "ticket");
    assert_eq!(
        tool.spec().description,
        "Look up a ticket in the tracker.\n\nOnly numbers are known."
    );
    let expected = json!({
        "type": "object",
        "properties": {
            "id": {"description": "Ticket number, e.g. 1234", "type": "integer", "minimum": 0},
            "state": {"description": "In which state", "type": "string"},
        },
        "additionalProperties": false,
        "required": ["id"],
    });
    assert_eq!(tool.spec().input_schema, expected);
    assert_eq!(tool.effect(&json!({})), Effect::ReadOnly);
    assert_eq!(forget().effect(&json!({})), Effect::LocalMutation);
    assert_eq!(how_warm().spec().name, "HowWarm");
}

#[tokio::test]
async fn what_is_displayed_is_told_as_text_and_what_is_not_as_json() {
    assert_eq!(
        told(call("ticket", json!({"id": 7}))).await,
        "#7 open: login fails"
    );
    assert_eq!(
        told(call("ticket", json!({"id": 7, "state": "closed"}))).await,
        "#7 closed: login fails"
    );
    assert_eq!(
        told(call("HowWarm", json!({"places": ["a", "b"]}))).await,
        r#"{"degrees":2}"#
    );
    assert_eq!(told(call("forget", json!({}))).await, "Done.");
    let here = std::env::current_dir().unwrap();
    assert_eq!(
        told(call("place", json!({}))).await,
        here.display().to_string()
    );
}

#[tokio::test]
async fn mistakes_in_arguments_and_failures_are_told_to_the_model() {
    let table = [
        (
            json!({"id": "seven"}),
            "ticket: invalid type: string \"seven\", expected u64. Its arguments are: id, state.",
        ),
        (
            json!({}),
            "ticket: missing field `id`. Its arguments are: id, state.",
        ),
        (
            json!({"id": 7, "colour": 1}),
            "ticket: unknown field `colour`",
        ),
        (json!({"id": 0}), "there is no ticket 0"),
    ];
    for (input, expected) in table {
        let words = told(call("ticket", input.clone())).await;
        assert!(words.contains(expected), "{input}: {words}");
    }
}

#[tokio::test]
async fn a_tool_that_changes_something_is_asked_about() {
    let model = script([
        say("").calls([call("forget", json!({}))]),
        say("{{ results[0].text }}"),
    ]);
    let outcome = rooftree::query("Go")
        .provider("scripted", model)
        .tool(forget())
        .await
        .unwrap();
    assert!(
        outcome.text.contains("no user can be asked"),
        "{}",
        outcome.text
    );
}
