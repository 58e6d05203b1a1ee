//! Collects file changes from the journals of a session and of the sub-agents it delegated to, by run.

use std::collections::{HashMap, HashSet};

use rooftree_protocol::{
    CallId, Event, EventBody, Outcome, RunId, Session, Timestamp, file_undo::FilePreimage,
};
use rooftree_store::{Error, JournalPages, SessionFilter, Store};
use rooftree_tools::session_tools::APPLY_WORKSPACE;

/// The file changes of one run, with those of its sub-agents in the same directory.
pub(super) struct RunFileChanges {
    pub(super) run: RunId,
    pub(super) title: String,
    pub(super) is_undone: bool,
    /// In the order in which they were made.
    pub(super) changes: Vec<RecordedChange>,
    pub(super) remarks: Vec<String>,
    /// Tasks whose working copies were merged with pre-images, as the calls name them.
    merged: Vec<String>,
}

impl RunFileChanges {
    /// Whether it has something to take back or to tell.
    pub(super) fn can_be_undone(&self) -> bool {
        let is_empty = self.changes.is_empty() && self.remarks.is_empty();
        !self.is_undone && !is_empty
    }
}

/// One change of one file.
pub(super) struct RecordedChange {
    at: Timestamp,
    call: CallId,
    pub(super) file: FilePreimage,
    /// The call has told that the change was made. Otherwise it may have been cut off before.
    pub(super) is_made: bool,
}

/// Reads all runs of a session, the oldest first.
pub(super) async fn runs(
    store: &dyn Store,
    session: &Session,
) -> Result<Vec<RunFileChanges>, Error> {
    let mut runs = Vec::new();
    // What stands before the place where a fork begins belongs to the other session.
    let begins = session.forked_from.as_ref().map_or(0, |point| point.at);
    let mut of_run: HashMap<RunId, RunId> = HashMap::new();
    let mut pages = JournalPages::after(store, &session.id, begins).up_to(session.head);
    while let Some(page) = pages.next().await? {
        for event in &page {
            if let (EventBody::RunStarted { title, .. }, Some(run)) = (&event.body, &event.run) {
                of_run.insert(run.clone(), run.clone());
                runs.push(RunFileChanges {
                    run: run.clone(),
                    title: title.clone(),
                    is_undone: false,
                    changes: Vec::new(),
                    remarks: Vec::new(),
                    merged: Vec::new(),
                });
            }
            if let EventBody::FilesUndone(undo) = &event.body
                && let Some(known) = find(&mut runs, &undo.run)
            {
                known.is_undone = true;
            }
            note(event, &of_run, &mut runs);
        }
    }
    delegated(store, session, of_run, &mut runs).await?;
    for run in &mut runs {
        run.changes.sort_by_key(|change| change.at);
    }
    Ok(runs)
}

/// Adds what sub-agents changed, below the run that delegated to them.
async fn delegated(
    store: &dyn Store,
    root: &Session,
    of_run: HashMap<RunId, RunId>,
    runs: &mut [RunFileChanges],
) -> Result<(), Error> {
    let mut open = vec![(root.id.clone(), of_run)];
    let mut seen = HashSet::from([root.id.clone()]);
    while let Some((parent, of_parent)) = open.pop() {
        let filter = SessionFilter {
            parent: Some(parent),
            ..SessionFilter::default()
        };
        for child in store.sessions(filter).await? {
            if !seen.insert(child.id.clone()) {
                continue;
            }
            let mut of_run = HashMap::new();
            let mut pages = JournalPages::after(store, &child.id, 0).up_to(child.head);
            while let Some(page) = pages.next().await? {
                for event in &page {
                    if let EventBody::RunStarted {
                        parent: Some(parent),
                        ..
                    } = &event.body
                        && let Some(root) = of_parent.get(&parent.run)
                        && let Some(run) = &event.run
                    {
                        of_run.insert(run.clone(), root.clone());
                    }
                    if child.cwd == root.cwd {
                        note(event, &of_run, runs);
                    } else {
                        remark(event, &child, &of_run, runs);
                    }
                }
            }
            open.push((child.id, of_run));
        }
    }
    Ok(())
}

/// Takes an event in that begins or ends a call which changes files.
fn note(event: &Event, of_run: &HashMap<RunId, RunId>, runs: &mut [RunFileChanges]) {
    let Some(known) = event
        .run
        .as_ref()
        .and_then(|run| of_run.get(run))
        .and_then(|run| find(runs, run))
    else {
        return;
    };
    match &event.body {
        EventBody::ToolStarted {
            call,
            before,
            tool,
            input,
            ..
        } => {
            if tool == APPLY_WORKSPACE.name && !before.is_empty() {
                let task = input.get("task_id").and_then(|task| task.as_str());
                known.merged.extend(task.map(str::to_owned));
            }
            known
                .changes
                .extend(before.iter().map(|file| RecordedChange {
                    at: event.ts,
                    call: call.clone(),
                    file: file.clone(),
                    is_made: false,
                }));
        }
        EventBody::ToolCompleted(record) => {
            let of_call = |change: &&mut RecordedChange| change.call == record.call;
            for change in known.changes.iter_mut().filter(of_call) {
                change.is_made = record.outcome == Outcome::Done;
            }
        }
        _ => {}
    }
}

/// Tells that an agent worked in another directory. What was merged back from there is a change of the call that did it.
fn remark(
    event: &Event,
    child: &Session,
    of_run: &HashMap<RunId, RunId>,
    runs: &mut [RunFileChanges],
) {
    let is_change =
        matches!(&event.body, EventBody::ToolStarted { before, .. } if !before.is_empty());
    let root = event.run.as_ref().and_then(|run| of_run.get(run));
    if let (true, Some(known)) = (is_change, root.and_then(|run| find(runs, run))) {
        let task = event.run.as_ref().map(RunId::as_str);
        let names = [task, Some(child.id.as_str()), child.name.as_deref()];
        let is_named = |merged: &String| names.contains(&Some(merged.as_str()));
        if known.merged.iter().any(is_named) {
            return;
        }
        let words = format!(
            "agent {} worked in another directory; what it changed is not taken back",
            child.agent
        );
        if !known.remarks.contains(&words) {
            known.remarks.push(words);
        }
    }
}

fn find<'a>(runs: &'a mut [RunFileChanges], run: &RunId) -> Option<&'a mut RunFileChanges> {
    runs.iter_mut().rev().find(|known| known.run == *run)
}
