//! An answer as it is written, piece by piece.

use std::io::Write;

use futures::StreamExt;
use rooftree::{
    query,
    testing::{ScriptedModel, say},
};

#[tokio::main]
async fn main() -> rooftree::Result<()> {
    let model =
        ScriptedModel::from_replies([
            say("A roof tree is the beam that carries the roof.").chunk(6)
        ])?;
    let mut pieces = query("What is a roof tree?")
        .provider("scripted", model)
        .stream()
        .text();
    while let Some(piece) = pieces.next().await {
        print!("{}", piece?);
        let _ = std::io::stdout().flush();
    }
    println!();
    Ok(())
}
