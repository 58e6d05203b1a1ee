//! A test without a key: what a model answered is recorded once, replayed from then on, and checked.
//!
//! Here a script stands for the model, so that it runs anywhere. Name a real model instead of
//! `provider`, run it once with a key, and keep the file beside your tests.

use rooftree::{
    RunStatus, query,
    testing::{Cassette, ScriptedModel, assert_events, call, say},
};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let file = place.path().join("look.cassette");
    let model = ScriptedModel::from_replies([
        say("Let me look.").calls([call("Glob", json!({"pattern": "*.nothing"}))]),
        say("There is nothing here."),
    ])?;

    for _ in 0..2 {
        let cassette = Cassette::record_once(&file);
        let asked = query("What is here?")
            .provider("real", model.clone())
            .cassette(cassette.clone());
        let events = asked.stream().all().await?;
        assert_events!(events, [
            ToolStarted { tool, .. } if tool == "Glob",
            ToolCompleted(_),
            RunCompleted(end) if end.status == RunStatus::Completed,
        ], only ToolStarted { .. });
        println!(
            "The model was asked {} times, {} answers are left.",
            model.requests().len(),
            cassette.remaining()
        );
    }
    Ok(())
}
