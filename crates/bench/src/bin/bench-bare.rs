//! The baseline as a program: one durable insert, fifty turns, or many sessions, without any of our code.

use std::{path::Path, process::Command};

use anyhow::{Result, bail};
use rooftree_bench::{
    baseline::{
        DurableTable, SourceFiles, baseline_client::BaselineClient, many_sessions, post_server,
        source_files::BaselineConversation,
    },
    machine,
};
use serde_json::json;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["insert", directory] => insert(Path::new(directory)),
        ["turns", directory, turns] => run_turns(Path::new(directory), turns.parse()?),
        ["crowd", directory, sessions, turns] => {
            let took = many_sessions::run_sessions(
                Path::new(directory),
                sessions.parse()?,
                turns.parse()?,
            )?;
            println!(
                "{}",
                json!({"seconds": took.seconds, "growth": took.growth})
            );
            Ok(())
        }
        ["serve", directory] => post_server::serve(Path::new(directory)),
        ["ask", url] => ask(url, 0, None),
        ["ask-durable", directory, url] => ask(url, 0, Some(Path::new(directory))),
        ["shell", url, commands] => ask(url, commands.parse()?, None),
        _ => bail!(
            "insert DIRECTORY | turns DIRECTORY TURNS | crowd DIRECTORY SESSIONS TURNS | serve DIRECTORY | ask URL | ask-durable DIRECTORY URL | shell URL COMMANDS"
        ),
    }
}

fn insert(directory: &Path) -> Result<()> {
    DurableTable::open(&directory.join("bare.db"))?.commit(["{\"text\":\"hi\"}"])?;
    println!("Hello.");
    Ok(())
}

/// Asks a model over HTTP, starts a shell after each of so many answers, and prints; before that, the last answer is on
/// disk if there is a directory for it.
fn ask(url: &str, commands: usize, directory: Option<&Path>) -> Result<()> {
    let open = |directory: &Path| DurableTable::open(&directory.join("bare.db"));
    let table = directory.map(open).transpose()?;
    machine::single_thread_runtime()?.block_on(async {
        let model = BaselineClient::new(url.to_owned())?;
        let mut messages = vec![json!({"role": "user", "content": "hi"})];
        for _ in 0..commands {
            model.ask(&messages).await?;
            let output = Command::new("bash").args(["-c", "true"]).output()?;
            messages.push(json!({"role": "assistant", "content": "bash"}));
            messages.push(json!({"role": "user", "content": format!("{:?}", output.status)}));
        }
        model.ask(&messages).await?;
        table
            .as_ref()
            .map_or(Ok(()), |table| table.commit(["Hello."]))?;
        println!("Hello.");
        Ok(())
    })
}

fn run_turns(directory: &Path, turns: usize) -> Result<()> {
    let (files, ledger) = (
        SourceFiles::in_directory(directory),
        DurableTable::open(&directory.join("bare.db"))?,
    );
    let mut conversation = BaselineConversation::default();
    for turn in 0..turns {
        ledger.commit([conversation.turn(&files, turn)?])?;
    }
    println!("{}", machine::peak_memory()?);
    Ok(())
}
