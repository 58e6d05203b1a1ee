//! Ends a run: in one commit its outcome is recorded and its message is done.

use rooftree_protocol::{EventBody, Lane, ToolCall, event::RunEnd};

use super::{Agent, call::leave, journal::Commit, limits, limits::End, take::shortened};
use crate::Error;

/// Settles the open run. Returns once that is on disk: only then does the answer leave.
pub(super) async fn settle(agent: &mut Agent, end: End) -> Result<(), Error> {
    let Some(status) = end.status() else { return Ok(()) };
    // Every call has a result, also those the run ended without making.
    let open: Vec<ToolCall> = agent.history.open_calls().map(|open| open.call.clone()).collect();
    leave(agent, open, "[cancelled] the run ended before this call was made");
    let Some(run) = agent.history.run() else { return Ok(()) };
    rooftree_store::failpoint::reach("run.settling");
    let mail = run.mail;
    let mut bodies: Vec<EventBody> = limits::tool_limit_notice(&end, &agent.history).into_iter().collect();
    let duration = agent.world.now().since(run.started_at);
    let summary = RunEnd {
        status,
        text: run.text.clone(),
        turns: run.turns,
        calls: run.calls,
        usage: run.usage,
        duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        files: run.files.clone(),
        denials: run.denials.clone(),
        error: end.problem(),
    };
    let snippet = (!summary.text.is_empty()).then(|| shortened(&summary.text, 120));
    bodies.push(EventBody::RunCompleted(summary));
    let commit = Commit {
        bodies,
        done: mail.map(|position| (Lane::Mail, position)).into_iter().collect(),
        run: agent.run_id(),
        opens: Some(None),
        snippet,
        ..Commit::default()
    };
    agent.append(commit);
    agent.journal.barrier().await
}
