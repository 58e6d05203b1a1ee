//! The program over a wire: from exec to the answer, and shell commands in the sandbox that users have.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::wires::{MESSAGES, model_server::ModelServerProcess};
use crate::{
    compare::{MedianPair, compare},
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

/// Shell commands of one run.
const COMMANDS: usize = 20;

pub(super) fn measure(place: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let Ok(rooftree) = place.rooftree(&["version"]) else {
        let why = "the program is not built";
        return Ok(vec![BenchRow::skipped("the program over a wire", why)]);
    };
    let mut rows = answer(place, &rooftree, options)?;
    for (name, sandbox, path) in [
        ("default sandbox", "auto", None),
        ("Landlock", "auto", Some(())),
        ("no sandbox", "off", None),
    ] {
        rows.push(shell(
            place,
            &rooftree,
            options,
            (name, sandbox, path.is_some()),
        )?);
    }
    Ok(rows)
}

/// From exec to exit: one question over HTTP, answered, stored and printed. Once beside a program that keeps nothing, and
/// once beside one that keeps the answer: what lies between the two is the disk.
fn answer(place: &ProgramDir, rooftree: &Path, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let work = TempDir::new()?;
    let answers = [json!({"say": [{"text": ["Hello."]}]})];
    let server =
        ModelServerProcess::start_in(place, &MESSAGES, work.path(), &answers, &["by-turn"])?;
    let times = options.amount(10, 3);
    let directory = work.path().to_string_lossy().into_owned();
    let beside: [(&str, &[&str], &str); 2] = [
        (
            "exec, one answer over Messages, exit",
            &["ask", &server.url],
            "a program that asks over HTTP and prints",
        ),
        (
            "exec, one answer over Messages, exit, beside a durable row",
            &["ask-durable", &directory, &server.url],
            "a program that asks over HTTP, commits one durable row, and prints",
        ),
    ];
    let row = |(name, arguments, what): (&str, &[&str], &str)| {
        let pair = compare(
            options.rounds,
            || repeated(times, || bare(place, arguments)),
            || repeated(times, || ours(rooftree, work.path(), &server.url, &[])),
        )?;
        Ok(BenchRow::time(name, pair, FigureTarget::Times(4.0), what))
    };
    beside.into_iter().map(row).collect()
}

/// One shell command: a run of many less a run of none, divided.
fn shell(
    place: &ProgramDir,
    rooftree: &Path,
    options: &BenchOptions,
    (name, sandbox, without_bubblewrap): (&str, &str, bool),
) -> Result<BenchRow> {
    let work = TempDir::new()?;
    let call = |turn: usize| {
        let input = json!({"command": format!("true {turn}")}).to_string();
        json!({"say": [{"call": "Bash", "id": format!("call_{turn}"), "json": [input]}]})
    };
    let done = json!({"say": [{"text": ["Done."]}]});
    let answers: Vec<Value> = (0..COMMANDS).map(call).chain([done.clone()]).collect();
    let (many, none) = (TempDir::new()?, TempDir::new()?);
    let many = ModelServerProcess::start_in(place, &MESSAGES, many.path(), &answers, &["by-turn"])?;
    let none = ModelServerProcess::start_in(place, &MESSAGES, none.path(), &[done], &["by-turn"])?;
    let tools = work.path().join("programs");
    if without_bubblewrap {
        // Bubblewrap is looked for along PATH.
        std::fs::create_dir(&tools)?;
        std::os::unix::fs::symlink("/bin/bash", tools.join("bash"))?;
    }
    let ours = |url: &str| {
        let more = ["--sandbox", sandbox, "--permission-mode", "bypass"];
        let mut command = ours(rooftree, work.path(), url, &more);
        if without_bubblewrap {
            command.env("PATH", &tools);
        }
        command
    };
    let commands = COMMANDS.to_string();
    let difference = |many: f64, none: f64| (many - none).max(0.0) / COMMANDS as f64;
    let pair = compare(
        options.rounds,
        || {
            let all = repeated(1, || bare(place, &["shell", &many.url, &commands]))?;
            Ok(difference(
                all,
                repeated(1, || bare(place, &["ask", &none.url]))?,
            ))
        },
        || {
            let all = repeated(1, || ours(&many.url))?;
            Ok(difference(all, repeated(1, || ours(&none.url))?))
        },
    )?;
    let MedianPair { ours, bare } = pair;
    Ok(BenchRow::time(
        format!("one turn over Messages, shell `true`, {name}"),
        MedianPair { ours, bare },
        FigureTarget::Times(3.0),
        "start bash, ask over HTTP, keep nothing",
    ))
}

fn ours(rooftree: &Path, work: &Path, url: &str, more: &[&str]) -> Command {
    let mut command = Command::new(rooftree);
    command
        .args(["run", "-q", "-m", "anthropic/claude-sonnet-4-5"])
        .args(more)
        .arg("hi")
        .current_dir(work)
        .env("ROOFTREE_HOME", work.join("home"))
        .env("ANTHROPIC_API_KEY", "key")
        .env("ANTHROPIC_BASE_URL", url);
    command
}

fn bare(place: &ProgramDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(place.program("bench-bare"));
    command.args(arguments);
    command
}

/// Seconds one start takes, over several in a row.
fn repeated(times: usize, command: impl Fn() -> Command) -> Result<f64> {
    let all = machine::seconds(|| (0..times).try_for_each(|_| finished(command())))?;
    Ok(all / times as f64)
}

fn finished(mut command: Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("run {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {said}");
    Ok(())
}
