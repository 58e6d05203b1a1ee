//! Cost of a no-op shell command: bare, by the Bash tool, and by the Bash tool in a sandbox.

use std::{path::Path, process::Command, sync::Arc};

use anyhow::{Context, Result, ensure};
use rooftree_protocol::{CallId, Confinement, SandboxMode, SessionId};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_tools::{BackgroundProcesses, SandboxConfig, Tool, ToolContext, toolset::ToolLookup};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    compare::compare,
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

const FREE: &str = "shell start, not confined";
const CONFINED: &str = "shell start, in a sandbox";

pub(super) fn measure(_: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let processes = Arc::new(BackgroundProcesses::new(|| SystemClock.entropy()));
    let ToolLookup::Tool(bash) = rooftree_tools::builtin(processes).find("Bash") else {
        return Ok(vec![BenchRow::skipped(CONFINED, "there is no Bash tool")]);
    };
    let directory = TempDir::new()?;
    let waiting = machine::single_thread_runtime()?;
    let mut rows = Vec::new();
    for (name, mode) in [(FREE, SandboxMode::Off), (CONFINED, SandboxMode::Required)] {
        if let Err(error) = waiting.block_on(run(bash.as_ref(), directory.path(), mode)) {
            rows.push(BenchRow::skipped(name, error.to_string()));
            continue;
        }
        let pair = compare(
            options.amount(20, 3),
            || machine::seconds(|| bare(directory.path())),
            || machine::time_future(&waiting, run(bash.as_ref(), directory.path(), mode)),
        )?;
        rows.push(BenchRow::time(
            name,
            pair,
            FigureTarget::Watched,
            "`bash -c true`, started and waited for",
        ));
    }
    Ok(rows)
}

fn bare(directory: &Path) -> Result<()> {
    let status = Command::new("bash")
        .args(["-c", "true"])
        .current_dir(directory)
        .status();
    ensure!(status.context("start bash")?.success(), "bash failed");
    Ok(())
}

async fn run(bash: &dyn Tool, directory: &Path, mode: SandboxMode) -> Result<()> {
    let input = bash
        .normalise("Bash", json!({"command": "true"}))
        .map_err(anyhow::Error::msg)?;
    let confinement = Confinement {
        mode,
        ..Confinement::default()
    };
    let alone = ToolContext::detached(
        SessionId::from_entropy(1),
        CallId::from_entropy(1),
        directory,
    );
    let context = ToolContext {
        sandbox: Some(SandboxConfig {
            confinement,
            ..SandboxConfig::default()
        }),
        ..alone
    };
    let output = bash.run(input, context).await;
    ensure!(output.failure.is_none(), "{}", output.text());
    Ok(())
}
