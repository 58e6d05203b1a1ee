//! The baseline as a program: one durable insert, fifty turns, or many sessions, without any of our code.

use std::path::Path;

use anyhow::{Result, bail};
use rooftree_bench::{
    baseline::{DurableTable, SourceFiles, many_sessions, source_files::BaselineConversation},
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
        _ => bail!("insert DIRECTORY | turns DIRECTORY TURNS | crowd DIRECTORY SESSIONS TURNS"),
    }
}

fn insert(directory: &Path) -> Result<()> {
    DurableTable::open(&directory.join("bare.db"))?.commit(["{\"text\":\"hi\"}"])?;
    println!("Hello.");
    Ok(())
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
