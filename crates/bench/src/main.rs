//! Runs all benchmark rows, prints the table and writes it as JSON. `cargo xtask bench` builds and calls this.

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use rooftree_bench::{options::BenchOptions, program_dir::ProgramDir, rows, table};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, rest)) if first == rows::many_sessions::CHILD => {
            rows::many_sessions::child(rest)
        }
        Some((first, rest)) if first == rows::delegation::CHILD => rows::delegation::child(rest),
        _ => BenchOptions::parse(&arguments).and_then(|options| measure(&options)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn measure(options: &BenchOptions) -> Result<()> {
    let place = ProgramDir::find()?;
    let rows = rows::measure(&place, options)?;
    print!("{}", table::render(&rows));
    std::fs::write(&options.json, table::json(&rows, options)?)
        .with_context(|| format!("write {}", options.json.display()))?;
    println!("\nwritten to {}", options.json.display());
    let failed = rows.iter().filter(|row| row.is_failed()).count();
    ensure!(failed == 0, "{failed} groups could not be measured");
    Ok(())
}
