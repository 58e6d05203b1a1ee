//! The result of a run as one JSON object for programs.

use std::{collections::BTreeMap, path::Path};

use rooftree_protocol::{
    Problem, RunId, RunStatus, Session, Usage,
    event::{Denial, Report, RunEnd},
    tool_call::FileNote,
};
use rooftree_view::{RunTreeView, TreeRun};
use serde_json::{Map, Value, json};

use crate::exit::Exit;

/// The version of the object.
const VERSION: u32 = 1;

/// A run that ended, or was left.
#[derive(Debug)]
pub struct RunResult {
    pub session: Session,
    pub run: Option<RunId>,
    pub model: String,
    pub by_model: BTreeMap<String, Usage>,
    /// How the main run ended; its usage is the sum over all agents.
    pub end: RunEnd,
    /// It, and those it delegated to.
    pub tree: RunTreeView,
    pub exit: Exit,
    /// The answer as a value, if a schema was given and it fits.
    pub structured: Option<Value>,
}

impl RunResult {
    /// As JSON: the last thing written in `json` and `stream-json`.
    pub fn to_json(&self) -> Value {
        let end = &self.end;
        let by_model: Map<String, Value> = self
            .by_model
            .iter()
            .map(|(model, used)| {
                let used = json!({ "input": used.input, "output": used.output, "cost_usd": used.cost_usd });
                (model.clone(), used)
            })
            .collect();
        json!({
            "type": "result",
            "v": VERSION,
            "status": end.status,
            "verified": end.verified,
            "failed_checks": end.failed_checks.iter().map(check).collect::<Vec<_>>(),
            "text": end.text,
            "structured": self.structured,
            "session": self.session.id,
            "run": self.run,
            "agent": self.session.agent,
            "model": self.model,
            "turns": end.turns,
            "tools": end.calls,
            "duration_ms": end.duration_ms,
            "usage": end.usage,
            "by_model": by_model,
            "runs": self.tree.delegated().map(delegated).collect::<Vec<_>>(),
            "files_changed": files_changed(&end.files, &self.session.cwd),
            "permission_denials": end.denials.iter().map(denied).collect::<Vec<_>>(),
            "error": end.error,
            "exit_code": self.exit.0,
        })
    }
}

/// The same object for what failed before any run.
pub fn failed(problem: &Problem) -> Value {
    json!({
        "type": "result",
        "v": VERSION,
        "status": RunStatus::Failed,
        "text": "",
        "structured": null,
        "session": null,
        "run": null,
        "error": problem,
        "exit_code": Exit::for_error(problem.code).0,
    })
}

fn delegated(agent: &TreeRun) -> Value {
    let status = agent
        .status()
        .map_or_else(|| json!("running"), |status| json!(status));
    json!({
        "run": agent.run,
        "session": agent.session,
        "agent": agent.agent,
        "parent": agent.origin.parent.as_ref().map(|parent| &parent.run),
        "mode": agent.mode(),
        "status": status,
        "verified": agent.verified(),
        "model": agent.model,
        "turns": agent.total_turns(),
        "tools": agent.total_calls(),
        "usage": agent.own_usage(),
        "duration_ms": agent.duration_ms(),
    })
}

fn check(report: &Report) -> Value {
    json!({ "name": report.name, "said": report.said })
}

fn denied(denial: &Denial) -> Value {
    json!({ "call": denial.call, "tool": denial.tool, "title": denial.title, "reason": denial.reason })
}

/// One entry per file, however often it was changed.
fn files_changed(files: &[FileNote], cwd: &Path) -> Vec<Value> {
    let mut changed: BTreeMap<&Path, (u32, u32)> = BTreeMap::new();
    for note in files.iter().filter(|note| note.action.is_change()) {
        let path = note.path.strip_prefix(cwd).unwrap_or(&note.path);
        let (added, removed) = changed.entry(path).or_default();
        *added += note.added;
        *removed += note.removed;
    }
    let entry =
        |(path, (added, removed))| json!({ "path": path, "added": added, "removed": removed });
    changed.into_iter().map(entry).collect()
}
