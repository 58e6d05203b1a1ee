//! Other agents at work in background, while the program does something else.

use rooftree::{
    Agent, Runtime,
    testing::{ScriptedModel, say},
};

#[tokio::main]
async fn main() -> rooftree::Result<()> {
    let model = ScriptedModel::from_replies([say("It speaks of tokens.").agent("researcher")])?;
    let runtime = Runtime::builder()
        .provider("scripted", model)
        .agent(
            Agent::new("researcher")
                .describe("Reads documentation")
                .tools(["Read", "Grep"]),
        )
        .build()
        .await?;
    let session = runtime.session("lead").create().await?;

    let reading = session
        .delegate("researcher", "Read the OAuth documents")
        .background()
        .await?;
    println!(
        "{} is at work",
        reading.id().as_str().split('_').next().unwrap_or_default()
    );
    let outcome = reading.outcome().await?;
    println!("{}: {outcome}", outcome.status);
    runtime.stop().await;
    Ok(())
}
