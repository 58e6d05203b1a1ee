//! Grep over a big tree in which nothing matches, beside ripgrep itself.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use anyhow::{Context, Result, ensure};
use rooftree_protocol::{CallId, Effect, SessionId};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_tools::{
    BackgroundProcesses, Policy, PolicyRequest, Tool, ToolContext, toolset::ToolLookup,
};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    compare::compare,
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

const NAME: &str = "Grep over a big tree, no match";
const NOWHERE: &str = "no_such_word_[0-9]+_anywhere";

pub(super) fn measure(_: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    if Command::new("rg")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        return Ok(vec![BenchRow::skipped(NAME, "rg missing")]);
    }
    let processes = Arc::new(BackgroundProcesses::new(|| SystemClock.entropy()));
    let ToolLookup::Tool(grep) = rooftree_tools::builtin(processes).find("Grep") else {
        return Ok(vec![BenchRow::skipped(NAME, "there is no Grep tool yet")]);
    };
    let tree = TempDir::new()?;
    plant(tree.path(), options.amount(400, 50))?;
    let waiting = machine::single_thread_runtime()?;
    let pair = compare(
        options.rounds,
        || machine::seconds(|| ripgrep(tree.path())),
        || machine::time_future(&waiting, search(grep.as_ref(), tree.path())),
    )?;
    Ok(vec![BenchRow::time(
        NAME,
        pair,
        FigureTarget::Times(1.1),
        "`rg` on the same tree",
    )])
}

/// Directories of fifty source files of some four kilobytes.
fn plant(root: &Path, directories: usize) -> Result<()> {
    for outer in 0..directories {
        let directory = root.join(format!("part{}/module{outer}", outer % 20));
        fs::create_dir_all(&directory)?;
        for file in 0..50 {
            let lines = (0..70).map(|line| {
                format!("    let value_{line} = compute({outer}, {file}); // sum of parts\n")
            });
            fs::write(
                directory.join(format!("file{file}.rs")),
                lines.collect::<String>(),
            )?;
        }
    }
    Ok(())
}

fn ripgrep(root: &Path) -> Result<()> {
    let output = Command::new("rg")
        .arg(NOWHERE)
        .arg(root)
        .output()
        .context("start rg")?;
    ensure!(output.stdout.is_empty(), "rg found something");
    Ok(())
}

async fn search(grep: &dyn Tool, root: &Path) -> Result<()> {
    let input = grep
        .normalise("Grep", json!({"pattern": NOWHERE}))
        .map_err(anyhow::Error::msg)?;
    let name = grep.spec().name.as_str();
    let judged = PolicyRequest {
        tool: name,
        subject: Some("."),
        input: None,
        effect: Effect::ReadOnly,
        cwd: root,
    };
    let alone = ToolContext::detached(SessionId::from_entropy(1), CallId::from_entropy(1), root);
    let context = ToolContext {
        reach: Policy::default().reach(&judged),
        ..alone
    };
    let output = grep.run(input, context).await;
    ensure!(
        output.failure.is_none(),
        "Grep failed: {:?}",
        output.content
    );
    Ok(())
}
