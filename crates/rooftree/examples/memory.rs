//! An agent that remembers from one conversation to the next, in Markdown people can read.

use rooftree::{
    Agent, MemoryScope, query,
    testing::{ScriptedModel, call, say},
};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let shelf = tempfile::tempdir()?;
    let keeper = Agent::new("keeper")
        .describe("Keeps notes")
        .memory(MemoryScope::User);
    let model = ScriptedModel::from_replies([
        say("").calls([call("MemoryWrite", json!({"text": "Likes tea."}))]),
        say("{{ results[0].text }}"),
        say("Tea, I suppose."),
    ])?;

    let asked = query("I like tea")
        .provider("scripted", model.clone())
        .agent(keeper.clone());
    println!(
        "{}",
        asked
            .main_agent("keeper")
            .memory(shelf.path())
            .allow("MemoryWrite")
            .await?
    );

    let asked = query("What do I like?")
        .provider("scripted", model.clone())
        .agent(keeper);
    println!("{}", asked.main_agent("keeper").memory(shelf.path()).await?);
    let told = model
        .requests()
        .last()
        .map(|request| request.system.to_string())
        .unwrap_or_default();
    println!(
        "reminded of: {}",
        told.lines()
            .find(|line| line.contains("tea"))
            .unwrap_or("nothing")
    );
    Ok(())
}
