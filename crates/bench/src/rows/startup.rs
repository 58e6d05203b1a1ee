//! Startup cost of the program, and of one answer with everything open.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::{
    baseline::SourceFiles,
    compare::{MedianPair, compare, measure_ours},
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

const ANSWER: &str = "[[reply]]\ntext = \"Hello.\"\ntimes = 1000\n";
const TURNS: usize = 50;

pub(super) fn measure(place: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let work = TempDir::new()?;
    SourceFiles::create(work.path())?;
    Ok(vec![
        version(place, options, work.path())?,
        answer(place, options, work.path())?,
        memory(place, options, work.path())?,
        binary(place, work.path())?,
    ])
}

fn version(place: &ProgramDir, options: &BenchOptions, work: &Path) -> Result<BenchRow> {
    let name = "start of `version`";
    let Ok(rooftree) = place.rooftree(&["version"]) else {
        return Ok(BenchRow::skipped(
            name,
            "`rooftree version` does not work yet",
        ));
    };
    let times = options.amount(40, 10);
    let pair = compare(
        options.rounds,
        || repeated(times, || Command::new(place.program("bench-empty"))),
        || repeated(times, || ours(&rooftree, work, &["version"])),
    )?;
    Ok(BenchRow::time(
        name,
        pair,
        FigureTarget::Times(3.0),
        "an empty program",
    ))
}

/// From exec to exit: one message accepted, one reply requested and stored, one answer printed.
fn answer(place: &ProgramDir, options: &BenchOptions, work: &Path) -> Result<BenchRow> {
    let name = "exec, one answer, exit";
    let script = work.join("answer.toml");
    std::fs::write(&script, ANSWER)?;
    let model = format!("scripted/{}", script.display());
    let arguments = ["run", "-m", &model, "hi"];
    let Ok(rooftree) = place.rooftree(&arguments) else {
        return Ok(BenchRow::skipped(name, "`rooftree run` does not work yet"));
    };
    let times = options.amount(10, 3);
    let pair = compare(
        options.rounds,
        || repeated(times, || bare(place, work, &["insert"])),
        || repeated(times, || ours(&rooftree, work, &arguments)),
    )?;
    Ok(BenchRow::time(
        name,
        pair,
        FigureTarget::Times(4.0),
        "open SQLite, one durable insert, print",
    ))
}

/// Peak memory as seen by the run itself: its last call inspects its parent process.
fn memory(place: &ProgramDir, options: &BenchOptions, work: &Path) -> Result<BenchRow> {
    let name = "peak memory of a run, 50 Read turns";
    let script = work.join("memory.toml");
    std::fs::write(&script, peak_script())?;
    let model = format!("scripted/{}", script.display());
    // Without a sandbox: in a process namespace of its own it would see only itself.
    let arguments = [
        "run",
        "--sandbox",
        "off",
        "--permission-mode",
        "bypass",
        "-m",
        &model,
        "hi",
    ];
    let Ok(rooftree) = place.rooftree(&["run", "--help"]) else {
        return Ok(BenchRow::skipped(name, "`rooftree run` does not work yet"));
    };
    let peak = || {
        let told = printed(ours(&rooftree, work, &arguments))?;
        machine::kilobytes(&told, "VmHWM:").with_context(|| format!("no VmHWM in {told:?}"))
    };
    let Ok(MedianPair { ours: peak, .. }) = measure_ours(options.amount(3, 1), peak) else {
        return Ok(BenchRow::skipped(name, "`rooftree run` does not work yet"));
    };
    let told = printed(bare(place, work, &["turns", &TURNS.to_string()]))?;
    let pair = MedianPair {
        ours: peak,
        bare: Some(told.trim().parse()?),
    };
    Ok(BenchRow::size(
        name,
        pair,
        FigureTarget::AtMost(15e6),
        "50 file reads with a durable commit each",
    ))
}

fn peak_script() -> String {
    let read = |turn| {
        let path = SourceFiles::name(turn);
        format!(
            "[[reply]]\n[[reply.call]]\ntool = \"Read\"\ninput = {{ file_path = \"{path}\" }}\n\n"
        )
    };
    let reads: String = (0..TURNS).map(read).collect();
    let peak = "[[reply]]\n[[reply.call]]\ntool = \"Bash\"\ninput = { command = \"grep VmHWM: /proc/$PPID/status\" }\n\n";
    format!("{reads}{peak}[[reply]]\ntext = \"{{{{ results[0].text }}}}\"\n")
}

fn binary(place: &ProgramDir, work: &Path) -> Result<BenchRow> {
    let name = "size of the program, stripped";
    let Ok(ours) = stripped(&place.program("rooftree"), work) else {
        return Ok(BenchRow::skipped(
            name,
            "the program is not built, or there is no `strip`",
        ));
    };
    let pair = MedianPair {
        ours,
        bare: stripped(&place.program("bench-bare"), work).ok(),
    };
    Ok(BenchRow::size(
        name,
        pair,
        FigureTarget::AtMost(30e6),
        "the bare program",
    ))
}

/// Size of a program without its symbols, in bytes.
fn stripped(program: &Path, work: &Path) -> Result<f64> {
    let without = work.join("stripped");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&without).arg(program);
    printed(strip)?;
    Ok(std::fs::metadata(without)?.len() as f64)
}

fn ours(rooftree: &Path, work: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(rooftree);
    command
        .args(arguments)
        .current_dir(work)
        .env("ROOFTREE_HOME", work.join("home"));
    command
}

fn bare(place: &ProgramDir, work: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(place.program("bench-bare"));
    let (first, rest) = arguments.split_at(1);
    command.args(first).arg(work).args(rest);
    command
}

fn printed(mut command: Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Seconds one start takes, over several in a row.
fn repeated(times: usize, command: impl Fn() -> Command) -> Result<f64> {
    let all = machine::seconds(|| (0..times).try_for_each(|_| printed(command()).map(drop)))?;
    Ok(all / times as f64)
}
