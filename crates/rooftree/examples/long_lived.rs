//! A runtime that stays: sessions are kept in a file and found again after a restart.

use rooftree::{
    Runtime,
    testing::{ScriptedModel, say},
};

async fn open(file: &std::path::Path) -> rooftree::Result<Runtime> {
    let model = ScriptedModel::from_replies([say("Noted: blue."), say("You said blue.")])?;
    Runtime::builder()
        .store(file)
        .provider("scripted", model)
        .build()
        .await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let file = place.path().join("agents.db");

    let runtime = open(&file).await?;
    let session = runtime.session("lead").named("colours").create().await?;
    println!(
        "{}",
        session.send("My colour is blue").await?.result().await?
    );
    runtime.stop().await;

    let runtime = open(&file).await?;
    let session = runtime.session("lead").latest_or_create().await?;
    println!(
        "{}",
        session.send("What is my colour?").await?.result().await?
    );
    runtime.stop().await;
    Ok(())
}
