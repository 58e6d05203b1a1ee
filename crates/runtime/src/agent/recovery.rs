//! Crash recovery: restores a session whose agent stopped without finishing.

use std::sync::Arc;

use rooftree_protocol::{
    Command, ErrorCode, EventBody, Outcome, Problem, Repeat, ToolCall, event::NoticeLevel,
    tool_call::FileAction,
};
use rooftree_store::{CommandRow, JournalPages};
use rooftree_tools::tool::FileViews;

use super::{
    AgentActor,
    call::not_made,
    history::{History, INTERRUPTED, OpenToolCall},
    limits::RunEndReason,
    nested_calls, permission,
    run_view::RunInquiry,
    settle::settle,
};
use crate::{Error, rights::RightsCeiling, signals::CompactionRequest};

/// Claims in a row that may end without the run being settled, before the run is given up.
const ATTEMPTS: u32 = 5;

/// State that is folded from the journal.
#[derive(Clone)]
pub(super) struct FoldedSession {
    pub(super) history: History,
    pub(super) file_views: FileViews,
}

/// Folds the journal, as far as it goes, into the agent. If the agent's predecessor in this process was the last one
/// to work on the session, what that knew is taken over.
pub(super) async fn load(agent: &mut AgentActor) -> Result<(), Error> {
    if agent.session.head == 0 {
        return Ok(());
    }
    if let Some(folded) = resting(agent) {
        (agent.history, agent.calls.file_views) = (folded.history, folded.file_views);
        return Ok(());
    }
    let (store, session) = (agent.context.store().clone(), agent.session.id.clone());
    let mut pages = JournalPages::after(store.as_ref(), &session, 0).up_to(agent.session.head);
    while let Some(page) = pages.next().await? {
        agent.context.caches.resting.count_folded(page.len());
        for event in &page {
            agent.observe(event);
            // Live, tools note by themselves what they saw of files; replayed, we do.
            if let EventBody::ToolCompleted(record) = &event.body {
                record
                    .files
                    .iter()
                    .filter(|note| note.action != FileAction::Found)
                    .for_each(|note| agent.calls.file_views.note(note));
            }
        }
    }
    Ok(())
}

/// What was known of the session when its agent last came to rest here, if that still holds.
fn resting(agent: &AgentActor) -> Option<FoldedSession> {
    let resting = &agent.context.caches.resting;
    let state = resting.take(&agent.session.id, agent.journal.place())?;
    let folded = state.downcast::<FoldedSession>().ok()?;
    Some(Arc::unwrap_or_clone(folded))
}

/// Applies commands that were left for the previous owner. A command to stop is for the run it was meant for, never
/// for a later one.
pub(super) fn apply_left_commands(agent: &mut AgentActor, left: Vec<CommandRow>) {
    let began = agent.history.run().map(|run| run.started_at);
    for row in left {
        match row.command {
            Command::Clear { .. } => drop(agent.inbox.clear.get_or_insert(row.who.clone())),
            Command::Cancel { run: Some(run), .. } if agent.run_id().as_ref() != Some(&run) => {
                agent.inbox.runs_to_cancel.push((run, row.who));
                continue;
            }
            Command::Compact { focus, .. } => {
                let who = row.who;
                agent.inbox.compact = Some(CompactionRequest { focus, who });
                continue;
            }
            Command::SetMode { mode, .. } => {
                agent.change_mode(mode, row.who);
                continue;
            }
            Command::Cancel { .. } | Command::Delete { .. } => {}
            _ => continue,
        }
        if began.is_some_and(|began| row.at >= began) {
            agent.inbox.cancel(row.who);
            agent.inbox.end_reason = Some(RunEndReason::Cancelled);
        }
    }
}

/// Closes what a crash left open, so that the run can continue: calls that must not be repeated get the result
/// "unknown". An unanswered question stands.
pub(super) async fn recover(agent: &mut AgentActor, attempts: u32) -> Result<(), Error> {
    forget_inner(agent).await?;
    let Some(run) = agent.history.run() else {
        return Ok(());
    };
    // Waiting for a person is not what ends processes.
    let waits = run.waits.asked.iter().any(|asked| !asked.settled);
    let attempts = if waits { 0 } else { attempts };
    let lost = |open: &&OpenToolCall| {
        open.intent == Some(Repeat::AtMostOnce) || (attempts > ATTEMPTS && open.intent.is_some())
    };
    let lost: Vec<ToolCall> = agent
        .history
        .open_calls()
        .filter(lost)
        .map(|open| open.call.clone())
        .collect();
    for call in lost {
        let record = not_made(&call, &call.tool, Outcome::Unknown, INTERRUPTED.into());
        agent.note(EventBody::ToolCompleted(record));
    }
    if attempts > ATTEMPTS {
        give_up(agent, attempts).await?;
    }
    Ok(())
}

/// Nested calls are made by commands, which have died: they are not repeated, and the questions about them are
/// withdrawn.
async fn forget_inner(agent: &mut AgentActor) -> Result<(), Error> {
    nested_calls::record_unfinished(agent, Outcome::Unknown, INTERRUPTED);
    let Some(run) = agent.history.run() else {
        return Ok(());
    };
    let is_open = |asked: &&RunInquiry| {
        agent
            .history
            .open_calls()
            .any(|open| open.call.id == asked.call)
    };
    let stale = run
        .waits
        .asked
        .iter()
        .filter(|asked| !asked.settled && !is_open(asked));
    for asked in stale.cloned().collect::<Vec<_>>() {
        permission::forget(agent, &asked).await?;
    }
    Ok(())
}

/// A run that ends its process every time must not be tried for ever.
async fn give_up(agent: &mut AgentActor, attempts: u32) -> Result<(), Error> {
    let message = format!("this run was cut off {attempts} times and is given up");
    agent.note(EventBody::Notice {
        level: NoticeLevel::Error,
        code: "poison".into(),
        message: message.clone(),
        hint: Some("look at the last events of the session for what ends the program".into()),
    });
    settle(
        agent,
        RunEndReason::Failed(Problem::new(ErrorCode::Internal, message)),
    )
    .await
}

/// Says in which mode and within which bounds a run goes on that another process began, where these are not what
/// the flags of this process say, or not what the run began with.
pub(super) fn tell_rights(agent: &mut AgentActor) {
    let Some(ceiling) = agent.ceiling() else {
        return;
    };
    let is_unrecorded = agent
        .history
        .run()
        .is_some_and(|run| run.rights.bounds.is_none());
    let (began, process, goes) = (
        ceiling.policy.mode,
        agent.process_mode(),
        agent.rights.policy.mode,
    );
    let bounds = if is_unrecorded {
        Vec::new()
    } else {
        kept_bounds(agent, &ceiling)
    };
    let (message, hint) = if is_unrecorded {
        let words = format!(
            "this run was begun by an earlier version that did not record its sandbox and limits; it goes on in mode `{goes}`, \
             without network and with default limits"
        );
        (words, None)
    } else if agent.process_mode() < ceiling.policy.mode {
        let words = format!(
            "this run began in mode `{began}` and goes on in mode `{goes}`, because this process permits no more"
        );
        (
            words,
            Some(format!("--permission-mode {began} goes on as it began")),
        )
    } else if agent.process_mode() > ceiling.policy.mode {
        let words = format!(
            "this run goes on in mode `{goes}`, because it began in mode `{began}`; mode `{process}` of this process is for new runs"
        );
        (words, None)
    } else if bounds.is_empty() {
        return;
    } else {
        (
            format!("this run goes on in mode `{goes}`, within the bounds it began with"),
            None,
        )
    };
    let more = if bounds.is_empty() {
        String::new()
    } else {
        format!(" ({})", bounds.join(", "))
    };
    let message = message + &more;
    agent.note(EventBody::Notice {
        level: NoticeLevel::Warning,
        code: "resumed".into(),
        message,
        hint,
    });
}

/// The bounds a run began with that are narrower than those of this process, in words.
fn kept_bounds(agent: &AgentActor, ceiling: &RightsCeiling) -> Vec<String> {
    let mut kept = Vec::new();
    let (fresh, now) = (agent.fresh_confinement(), agent.confinement());
    if fresh.network != now.network {
        kept.push("with the network it began with".to_owned());
    } else if fresh != now {
        kept.push("with the sandbox it began with".to_owned());
    }
    let options = &agent.context.options;
    if options
        .limits
        .max_turns
        .is_some_and(|turns| turns > ceiling.bounds.max_turns)
    {
        kept.push(format!("at most {} turns", ceiling.bounds.max_turns));
    }
    let denies = ceiling
        .policy
        .deny
        .iter()
        .filter(|rule| !options.rights.policy.deny.contains(rule));
    let denies: Vec<String> = denies.map(ToString::to_string).collect();
    if !denies.is_empty() {
        kept.push(format!("still denied: {}", denies.join(", ")));
    }
    let lost = ceiling
        .policy
        .allow
        .iter()
        .filter(|rule| !agent.rights.policy.allow.contains(rule));
    let lost: Vec<String> = lost.map(|rule| format!("`{rule}`")).collect();
    if !lost.is_empty() {
        kept.push(format!("no longer allowed here: {}", lost.join(", ")));
    }
    kept
}
