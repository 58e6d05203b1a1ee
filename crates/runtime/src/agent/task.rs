//! A delegated run as its delegator sees it: a task with an end and a report.

use std::path::{Path, PathBuf};

use rooftree_protocol::{
    Mandate, RunId, RunStatus, Usage,
    event::{RunEnd, RunMode, WorkspaceNote},
};
use rooftree_store::{TaskRow, TaskStatus, blob_id};
use rooftree_tools::truncate;
use rooftree_workspace::{self as workspace, Workspace};
use serde_json::{Map, Value};

use super::AgentActor;

/// The task's row once its run has ended.
pub(super) fn ended(agent: &AgentActor, run: &RunId, mandate: &Mandate, end: &RunEnd) -> TaskRow {
    let view = agent.history.run();
    TaskRow {
        id: run.to_string(),
        session: mandate.parent.session.clone(),
        kind: "agent".into(),
        title: view.map(|view| view.title.clone()).unwrap_or_default(),
        status: status(end.status),
        process_group: None,
        detail: detail(end),
        started_at: view.map_or_else(|| agent.context.now(), |view| view.started_at),
        ended_at: Some(agent.context.now()),
        child: Some(agent.session.id.clone()),
        data: data(agent, mandate),
    }
}

fn data(agent: &AgentActor, mandate: &Mandate) -> Map<String, Value> {
    let mut data = Map::from_iter([("agent".to_owned(), agent.session.agent.clone().into())]);
    data.extend(
        mandate
            .workspace
            .clone()
            .map(|workspace| ("workspace".to_owned(), workspace)),
    );
    data
}

/// Changes of a run in its own working copy. A copy without changes is removed at once.
pub(super) async fn changes(mandate: Option<&Mandate>) -> Option<Box<WorkspaceNote>> {
    let mandate = mandate?;
    let copy: Workspace = serde_json::from_value(mandate.workspace.clone()?).ok()?;
    if mandate.mode == RunMode::Woken && !copy.root.is_dir() {
        // Removed without changes when the run that it was made for ended.
        return None;
    }
    let (diffstat, files) = match workspace::changes(&copy).await {
        Ok(changes) if changes.files.is_empty() => {
            let _ = workspace::discard(&copy, false).await;
            return None;
        }
        Ok(changes) => (
            changes.diffstat,
            changes.files.into_iter().map(|file| file.path).collect(),
        ),
        // The copy cannot be read now; it stays where it is.
        Err(problem) => (problem.message, Vec::new()),
    };
    let Workspace {
        root, branch, base, ..
    } = copy;
    Some(Box::new(WorkspaceNote {
        root,
        branch,
        base,
        diffstat,
        files,
    }))
}

/// The directory an agent is told of when it wakes. A fork is told of its parent's, so that what the
/// provider has read already stays good; where its own copy is, its message says.
pub(super) fn told_directory(cwd: &Path, mandate: Option<&Mandate>) -> PathBuf {
    let parents = || {
        let mandate = mandate.filter(|mandate| mandate.mode == RunMode::Fork)?;
        let copy: Workspace = serde_json::from_value(mandate.workspace.clone()?).ok()?;
        // Collected anew, so that no slash is left at its end.
        Some(
            copy.origin
                .join(copy.cwd.strip_prefix(&copy.root).ok()?)
                .components()
                .collect(),
        )
    };
    parents().unwrap_or_else(|| cwd.to_owned())
}

/// Text about a working copy that holds changes.
fn about_copy(run: &RunId, note: &WorkspaceNote) -> String {
    let place = match &note.branch {
        Some(branch) => format!("branch {branch}, in {}", note.root.display()),
        None => note.root.display().to_string(),
    };
    format!(
        "[workspace: its changes are not in your working directory yet ({place}). ApplyWorkspace {{\"task_id\": \"{run}\"}} \
         brings them in, DiscardWorkspace drops them.]\n{}",
        note.diffstat.trim_end()
    )
}

fn status(status: RunStatus) -> TaskStatus {
    match status {
        RunStatus::Completed => TaskStatus::Completed,
        RunStatus::Cancelled => TaskStatus::Cancelled,
        _ => TaskStatus::Failed,
    }
}

fn detail(end: &RunEnd) -> String {
    match &end.error {
        Some(problem) => problem.message.clone(),
        None if end.is_refuted() => format!("{}: {}", end.summary(), end.refutation()),
        None => end.summary(),
    }
}

/// Total usage of a run and everything below it.
pub(crate) fn total(end: &RunEnd) -> Usage {
    let mut usage = end.usage;
    usage += end.delegated;
    usage
}

/// Notice to the delegating agent about a task that ended while it was not waiting.
pub(crate) fn notice(agent: &str, run: &RunId, end: &RunEnd, limit: usize) -> String {
    let how = end.summary();
    format!(
        "[Background sub-agent {run} ({agent}) {how}]\nSummary: {}",
        answer(agent, run, end, limit)
    )
}

/// Answer of a run. One that did not succeed says so first.
pub(crate) fn answer(agent: &str, run: &RunId, end: &RunEnd, limit: usize) -> String {
    let said = said(agent, end, limit);
    match &end.workspace {
        Some(note) => format!("{said}\n\n{}", about_copy(run, note)),
        None => said,
    }
}

/// Whether the answer of a run is too long to be told whole.
pub(super) fn is_cut(end: &RunEnd, limit: usize) -> bool {
    truncate::is_long(end.text.trim(), limit)
}

/// The same without what became of its working copy.
pub(crate) fn said(agent: &str, end: &RunEnd, limit: usize) -> String {
    let text = end.text.trim();
    // The whole of a long answer is kept as a blob with the commit that ends the run.
    let text = if is_cut(end, limit) {
        truncate::truncate(text, limit, Some(&blob_id(text.as_bytes()))).text
    } else {
        text.to_owned()
    };
    let failure = match end.status {
        RunStatus::Completed if end.is_refuted() => format!(
            "says it is done, but its work was not verified ({}); what follows is its own claim.",
            end.refutation()
        ),
        RunStatus::Completed if text.is_empty() => return "(no text)".into(),
        RunStatus::Completed => return text,
        RunStatus::MaxTurns if text.is_empty() => format!(
            "exceeded its iteration cap of {} without producing a final answer. Decompose the task into smaller \
             ones, or raise max_turns.",
            end.turns.saturating_sub(1).max(1)
        ),
        RunStatus::MaxTurns => "used up its turns; what follows is as far as it got.".into(),
        RunStatus::Budget => "used up its money; what follows is as far as it got.".into(),
        RunStatus::TimedOut => "used up its time; what follows is as far as it got.".into(),
        RunStatus::Truncated => {
            "was cut off at the model's output limit; what follows is only the beginning of its answer."
                .into()
        }
        RunStatus::Cancelled => "was cancelled.".into(),
        RunStatus::Interrupted => "was cut off.".into(),
        RunStatus::Failed => {
            let why =
                end.error.as_ref().map_or_else(|| "unknown reason".to_owned(), |why| why.message.clone());
            format!("failed: {why}.")
        }
    };
    format!("[ERROR: sub-agent '{agent}' {failure}]\n{text}")
        .trim_end()
        .to_owned()
}
