//! What one tool turn costs in a run of fifty, from the post to the end of the run.

use std::{path::Path, process::Command};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::{
    contest::{Pair, contest},
    machine,
    options::Options,
    place::Place,
    quick_model::{Habit, QuickModel},
    raw::{Files, Ledger, files::Conversation},
    roof::Roof,
    row::{Row, Target},
};

const TURNS: usize = 50;

pub(super) fn measure(_: &Place, options: &Options) -> Result<Vec<Row>> {
    let work = TempDir::new()?;
    let files = Files::plant(work.path())?;
    let ledger = Ledger::open(&work.path().join("bare.db"))?;
    let (waiting, roof) = raise(work.path(), Habit::Read(TURNS))?;
    let ours = || machine::until(&waiting, roof.run());
    let loose = || machine::seconds(|| bare_turns(&files, None));
    let durable = || machine::seconds(|| bare_turns(&files, Some(&ledger)));
    let mut rows = vec![
        Row::time(
            "one turn, Read",
            per_turn(contest(options.rounds, durable, ours)?),
            Target::Times(1.5),
            "read the file, one durable commit",
        ),
        Row::time(
            "one turn, Read, beside no store",
            per_turn(contest(options.rounds, loose, ours)?),
            Target::Watched,
            "read the file, keep nothing",
        ),
    ];
    let processor = contest(
        options.rounds,
        || machine::processor_seconds(|| bare_turns(&files, Some(&ledger))),
        || machine::processor_seconds(|| waiting.block_on(roof.run())),
    )?;
    let note = "read the file, one durable commit";
    rows.push(Row::time("processor time of a turn, Read", per_turn(processor), Target::Times(2.0), note));
    rows.push(first_request(&roof)?);
    waiting.block_on(roof.close());
    rows.extend(bash(work.path(), &ledger, options)?);
    Ok(rows)
}

fn raise(directory: &Path, habit: Habit) -> Result<(tokio::runtime::Runtime, Roof)> {
    let waiting = machine::one_thread()?;
    let roof = waiting.block_on(async { Roof::raise(directory, QuickModel::new(habit)) })?;
    Ok((waiting, roof))
}

fn per_turn(pair: Pair) -> Pair {
    let turns = TURNS as f64;
    Pair { ours: pair.ours / turns, bare: pair.bare.map(|bare| bare / turns) }
}

fn bare_turns(files: &Files, ledger: Option<&Ledger>) -> Result<()> {
    let mut conversation = Conversation::default();
    for turn in 0..TURNS {
        let data = conversation.turn(files, turn)?;
        if let Some(ledger) = ledger {
            ledger.commit([data])?;
        }
    }
    Ok(())
}

fn first_request(roof: &Roof) -> Result<Row> {
    let asked = roof.model.first_asked().context("the model was never asked")?;
    let pair = Pair { ours: asked.bytes as f64, bare: None };
    Ok(Row::size(
        "size of the first request",
        pair,
        Target::AtMost(12e3),
        "prompt, tools and message as JSON",
    ))
}

fn bash(directory: &Path, ledger: &Ledger, options: &Options) -> Result<Vec<Row>> {
    let (waiting, roof) = raise(directory, Habit::Bash(TURNS))?;
    let ours = || machine::until(&waiting, roof.run());
    let bare = |shell: &'static str| move || machine::seconds(|| bare_commands(shell, ledger));
    let rows = vec![
        Row::time(
            "one turn, shell `true`",
            per_turn(contest(options.rounds, bare("sh"), ours)?),
            Target::Times(1.5),
            "`sh -c true`, one durable commit",
        ),
        Row::time(
            "one turn, shell `true`, beside bash",
            per_turn(contest(options.rounds, bare("bash"), ours)?),
            Target::Watched,
            "`bash -c true`, one durable commit",
        ),
    ];
    waiting.block_on(roof.close());
    Ok(rows)
}

fn bare_commands(shell: &str, ledger: &Ledger) -> Result<()> {
    for turn in 0..TURNS {
        ledger.commit(["{\"command\":\"true\"}"])?;
        let ran = Command::new(shell).args(["-c", &format!("true {turn}")]).output();
        ran.with_context(|| format!("start {shell}"))?;
    }
    Ok(())
}
