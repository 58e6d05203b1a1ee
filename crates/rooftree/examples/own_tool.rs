//! A tool of one's own: an async function whose doc comments are what the model reads.

use rooftree::{
    ToolContext, query,
    testing::{ScriptedModel, call, say},
    tool,
};
use serde::Serialize;
use serde_json::json;

#[derive(Serialize)]
struct Size {
    files: usize,
}

/// Counts the files in a directory.
#[tool(read_only)]
async fn count_files(
    /// Which directory, below the working directory.
    directory: Option<String>,
    context: ToolContext,
) -> Result<Size, std::io::Error> {
    let place = context.resolve(directory.as_deref().unwrap_or("."));
    Ok(Size {
        files: std::fs::read_dir(place)?.count(),
    })
}

#[tokio::main]
async fn main() -> rooftree::Result<()> {
    let model = ScriptedModel::from_replies([
        say("").calls([
            call("count_files", json!({"directory": "nowhere"})),
            call("count_files", json!({})),
        ]),
        say("The one failed ({{ results[0].text }}), the other said {{ results[1].text }}."),
    ])?;
    println!(
        "{}",
        query("How many files are here?")
            .provider("scripted", model)
            .tool(count_files())
            .await?
    );
    Ok(())
}
