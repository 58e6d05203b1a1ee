//! Work is checked when an agent says it is done, and given back if it is not.

use rooftree::{
    EventBody, Verifier, query,
    testing::{ScriptedModel, call, say},
};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let write = call(
        "Write",
        json!({"file_path": "result.txt", "content": "42\n"}),
    );
    let model = ScriptedModel::from_replies([
        say("Done."),
        say("").calls([write]),
        say("Now it is done."),
    ])?;
    let mut run = query("Write the result")
        .provider("scripted", model)
        .cwd(place.path())
        .allow("Write")
        // A function of this program, and a command as files write it.
        .verify("is there", async |work| {
            match work.cwd.join("result.txt").exists() {
                true => Ok(()),
                false => Err("there is no result".into()),
            }
        })
        .verifier(
            "is right",
            Verifier::command("! test -e result.txt || grep -q 42 result.txt"),
        )
        .verified_by(["is there", "is right"])
        .stream();
    while let Some(event) = run.next().await {
        if let EventBody::RunVerified(verdict) = event?.body {
            verdict
                .reports
                .iter()
                .for_each(|one| println!("{}: {} {}", one.name, one.passed, one.said));
        }
    }
    println!("{}", run.result().await?);
    println!(
        "result.txt is there: {}",
        place.path().join("result.txt").exists()
    );
    Ok(())
}
