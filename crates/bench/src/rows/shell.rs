//! A command that does nothing: bare, by the Bash tool, and by the Bash tool in a sandbox.

use std::{path::Path, process::Command, sync::Arc};

use anyhow::{Context, Result, ensure};
use rooftree_protocol::{CallId, Confinement, SandboxMode, SessionId};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_tools::{Confining, Processes, Tool, ToolContext, toolset::Found};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    contest::contest,
    machine,
    options::Options,
    place::Place,
    row::{Row, Target},
};

const FREE: &str = "shell start, not confined";
const CONFINED: &str = "shell start, in a sandbox";

pub(super) fn measure(_: &Place, options: &Options) -> Result<Vec<Row>> {
    let processes = Arc::new(Processes::new(|| SystemClock.entropy()));
    let Found::Tool(bash) = rooftree_tools::builtin(processes).find("Bash") else {
        return Ok(vec![Row::left_out(CONFINED, "there is no Bash tool")]);
    };
    let directory = TempDir::new()?;
    let waiting = machine::one_thread()?;
    let mut rows = Vec::new();
    for (name, mode) in [(FREE, SandboxMode::Off), (CONFINED, SandboxMode::Required)] {
        if let Err(error) = waiting.block_on(run(bash.as_ref(), directory.path(), mode)) {
            rows.push(Row::left_out(name, error.to_string()));
            continue;
        }
        let pair = contest(
            options.amount(20, 3),
            || machine::seconds(|| bare(directory.path())),
            || machine::until(&waiting, run(bash.as_ref(), directory.path(), mode)),
        )?;
        rows.push(Row::time(name, pair, Target::Watched, "`bash -c true`, started and waited for"));
    }
    Ok(rows)
}

fn bare(directory: &Path) -> Result<()> {
    let status = Command::new("bash").args(["-c", "true"]).current_dir(directory).status();
    ensure!(status.context("start bash")?.success(), "bash failed");
    Ok(())
}

async fn run(bash: &dyn Tool, directory: &Path, mode: SandboxMode) -> Result<()> {
    let input = bash.normalise("Bash", json!({"command": "true"})).map_err(anyhow::Error::msg)?;
    let confinement = Confinement { mode, ..Confinement::default() };
    let alone = ToolContext::alone(SessionId::from_entropy(1), CallId::from_entropy(1), directory);
    let context = ToolContext { sandbox: Some(Confining { confinement, ..Confining::default() }), ..alone };
    let output = bash.run(input, context).await;
    ensure!(output.failure.is_none(), "{}", output.text());
    Ok(())
}
