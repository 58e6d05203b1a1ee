//! An answer as a value of one's own type: checked against its schema, mended once if need be.

use rooftree::{
    JsonSchema, query,
    testing::{ScriptedModel, say},
};
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
struct Plan {
    /// What to do, in order.
    steps: Vec<String>,
    /// How many hours it takes.
    hours: Option<u32>,
}

#[tokio::main]
async fn main() -> rooftree::Result<()> {
    let model = ScriptedModel::from_replies([
        say("First we test, then we ship."),
        say(r#"{"steps": ["test", "ship"], "hours": 3}"#),
    ])?;
    let plan: Plan = query("Plan the release")
        .provider("scripted", model)
        .extract()
        .await?;
    println!("{} in {:?} hours", plan.steps.join(", then "), plan.hours);
    Ok(())
}
