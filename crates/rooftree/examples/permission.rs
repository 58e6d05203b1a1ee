//! The program decides about each call that changes something.

use rooftree::{
    Decision, query,
    testing::{ScriptedModel, call, say},
};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let write = |path: &str| call("Write", json!({"file_path": path, "content": "hello\n"}));
    let model = ScriptedModel::from_replies([
        say("").calls([write("notes.txt"), write("secrets.txt")]),
        say("One was written; the other: {{ results[1].text }}"),
    ])?;
    let place = tempfile::tempdir()?;
    let answer = query("Write both files")
        .provider("scripted", model)
        .cwd(place.path())
        .approve(async |question| {
            println!("may {} {}?", question.tool, question.title);
            if question.title.contains("secrets") {
                Decision::deny("keep away from secrets")
            } else {
                Decision::allow()
            }
        })
        .await?;
    println!("{answer}");
    println!(
        "notes.txt is there: {}",
        place.path().join("notes.txt").exists()
    );
    println!(
        "secrets.txt is there: {}",
        place.path().join("secrets.txt").exists()
    );
    Ok(())
}
