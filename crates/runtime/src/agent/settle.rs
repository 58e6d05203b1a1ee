//! Ends a run: in one commit its outcome is recorded and its message is done.

use std::sync::Arc;

use rooftree_protocol::{
    EventBody, Lane, Mandate, Message, MessageId, Origin, Outcome, Part, RunId, RunStatus,
    ToolCall,
    event::{RunEnd, RunMode},
};
use rooftree_stdx::shorten::shorten_first_line;
use rooftree_store::{InboxPost, failpoint};

use super::{
    AgentActor, call::record_cancelled, chat_posts, hook_points, journal::JournalCommit, limits,
    limits::RunEndReason, nested_calls, task,
};
use crate::{Error, hand_back::HandedOver, runtime_context::SessionAction};

/// Settles the open run. Returns once that is on disk: only then does the answer leave.
pub(super) async fn settle(agent: &mut AgentActor, end: RunEndReason) -> Result<(), Error> {
    let Some(status) = end.status() else {
        return Ok(());
    };
    hook_points::ended(agent, &end);
    // Every call has a result, also those the run ended without making.
    let open: Vec<ToolCall> = agent
        .history
        .open_calls()
        .map(|open| open.call.clone())
        .collect();
    record_cancelled(
        agent,
        open,
        "[cancelled] the run ended before this call was made",
    );
    nested_calls::record_unfinished(agent, Outcome::Cancelled, "[cancelled] the run ended");
    let copy = task::changes(agent.mandate.as_deref()).await;
    let over = handed_over(agent).await?;
    let Some(run) = agent.history.run() else {
        return Ok(());
    };
    failpoint::reach_at("run.settling", agent.depth());
    let (mail, mode) = (run.mail, run.mode);
    let mut bodies: Vec<EventBody> = limits::tool_limit_notice(&end, &agent.history)
        .into_iter()
        .collect();
    let summary = RunEnd {
        workspace: copy,
        verified: run.verification.passed,
        failed_checks: run.verification.failed_checks.clone(),
        outside: agent.history.outside().is_some(),
        error: end.problem(),
        ..run.end(status, agent.context.now())
    };
    let asked = run
        .mandate
        .clone()
        .filter(|mandate| mandate.expects_answer());
    let told = asked.map(|mandate| (mandate, Arc::new(cleaned(agent, &summary))));
    let id = run.id.clone();
    let said = chat_posts::answer(agent, &summary);
    let back = over.and_then(|over| {
        let message = MessageId::from_entropy(agent.context.entropy());
        over.told(&cleaned(agent, &summary), message, agent.context.now())
    });
    let snippet = (!summary.text.is_empty()).then(|| shorten_first_line(&summary.text, 120));
    bodies.push(EventBody::RunCompleted(summary));
    let who = agent.inbox.cancelled_by.take();
    let who = who.filter(|_| status == RunStatus::Cancelled);
    let mut commit = JournalCommit {
        bodies,
        who,
        done: mail
            .map(|position| (Lane::Mail, position))
            .into_iter()
            .collect(),
        run: agent.run_id(),
        opens: Some(None),
        snippet,
        blobs: told
            .iter()
            .filter_map(|(_, end)| long_answer(agent, end))
            .collect(),
        posts: told
            .iter()
            .map(|(mandate, end)| reply(agent, &id, mandate, end))
            .chain(back)
            .collect(),
        tasks: told
            .iter()
            .map(|(mandate, end)| task::ended(agent, &id, mandate, end))
            .collect(),
        outbox: said.into_iter().collect(),
        ..JournalCommit::default()
    };
    let has_said = !commit.outbox.is_empty();
    let left_running = (status == RunStatus::Cancelled).then(|| agent.history.tasks().to_vec());
    let apart = if failpoint::is_without("settle") {
        std::mem::take(&mut commit.posts)
    } else {
        Vec::new()
    };
    agent.append(commit);
    agent.journal.barrier().await?;
    agent.context.chats.end(&id);
    if has_said {
        failpoint::reach_at("outbox.posted", agent.depth());
        agent.context.chats.note_posted();
    }
    // A schedule may wait for the end of a run of a root session.
    if mode == RunMode::Scheduled || agent.depth() == 0 {
        agent.context.schedule_news.tell();
    }
    if let Some((mandate, end)) = told {
        failpoint::reach_at("reply.telling", agent.depth());
        apart
            .into_iter()
            .for_each(|post| agent.context.store().post(post).detach());
        agent.context.delegations.tell(&id, &end);
        let _ = agent
            .context
            .session_actions
            .send(SessionAction::Wake(mandate.parent.session));
    }
    // Stopping an agent stops what it has started.
    for task in left_running.into_iter().flatten() {
        let _ = agent
            .context
            .session_actions
            .send(SessionAction::Cancel(task.session, task.task));
    }
    Ok(())
}

/// The conversation that the open run sums up for the session it came from, if it does.
async fn handed_over(agent: &mut AgentActor) -> Result<Option<HandedOver>, Error> {
    if !agent.history.run().is_some_and(|run| run.hands_back) {
        return Ok(None);
    }
    agent.journal.barrier().await?;
    let store = agent.context.store();
    Ok(HandedOver::read(&**store, &agent.session).await?)
}

/// The end as it is told to another session. A blob is named by what is in it, so secrets go first.
fn cleaned(agent: &AgentActor, end: &RunEnd) -> RunEnd {
    let text = agent
        .context
        .secrets()
        .clean(&end.text)
        .unwrap_or_else(|| end.text.clone());
    RunEnd {
        text,
        ..end.clone()
    }
}

/// All of an answer that is told in part.
fn long_answer(agent: &AgentActor, end: &RunEnd) -> Option<Vec<u8>> {
    task::is_cut(end, agent.resolved.limits.answer_chars)
        .then(|| end.text.trim().as_bytes().to_vec())
}

/// The reply to the delegating session. It is part of the commit that ends the run, so there is exactly one for every
/// end.
fn reply(agent: &AgentActor, run: &RunId, mandate: &Mandate, end: &RunEnd) -> InboxPost {
    let origin = Origin::Task {
        task: run.clone(),
        session: agent.session.id.clone(),
        agent: agent.session.agent.clone(),
        status: end.status,
        verified: end.verified,
        usage: task::total(end),
        checks: mandate.mode == RunMode::Verifying,
    };
    let parts = vec![Part::text(task::notice(
        &agent.session.agent,
        run,
        end,
        agent.resolved.limits.answer_chars,
    ))];
    let id = MessageId::from_entropy(agent.context.entropy());
    // The session that stopped it knows: the reply is read at its next run, and does not wake a session that was
    // stopped too.
    let silent = end.status == RunStatus::Cancelled || mandate.quiet;
    let message = Message {
        silent,
        outside: end.outside,
        ..Message::new(id, parts, origin, agent.context.now())
    };
    let session = mandate.parent.session.clone();
    InboxPost {
        session,
        lane: Lane::Boundary,
        key: format!("task:{run}"),
        message,
        capacity: u64::MAX,
    }
}
