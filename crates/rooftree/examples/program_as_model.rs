//! Another agent's program as the model: `claude`, `codex` or `pi`. Here a stand-in plays it.

use std::{fs, os::unix::fs::PermissionsExt};

use rooftree::query;

/// Says what the real one would, without a key.
const STAND_IN: &str = r#"#!/bin/sh
cat >/dev/null
cat <<END
{"type":"system","subtype":"init","session_id":"s-1"}
{"type":"assistant","message":{"content":[{"type":"text","text":"I am a program."}]},"session_id":"s-1"}
{"type":"result","subtype":"success","is_error":false,"session_id":"s-1","total_cost_usd":0.25,"usage":{"input_tokens":9,"output_tokens":2}}
END
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let stand_in = place.path().join("claude");
    fs::write(&stand_in, STAND_IN)?;
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755))?;

    // Leave out .program(…), and the one in PATH answers.
    let asked = query("Who are you?")
        .program("claude-cli", &stand_in)
        .model("claude-cli/default");
    let answer = asked.await?;
    println!("{answer} It cost ${:.2}.", answer.cost_usd());
    Ok(())
}
