//! Asks people, durably: the question is on disk before any client sees it, the first answer to it is on disk before
//! the client that gave it reads "accepted", and a run that was killed meanwhile resumes with both.
//!
//! An inquiry has an id derived from its call, so that asking again after a crash asks the same question. Clients
//! answer in the store; a signal only wakes the waiting agent sooner.

use std::time::Duration;

use futures::future::BoxFuture;
use rooftree_protocol::{
    EventBody, InquiryResponse, Lane, Message, MessageId, Origin, Part, SessionId, Timestamp,
    event::WaitReason,
};
use rooftree_store::{InboxPost, Inquiry, InquiryAnswer, RuleRow, SessionFilter, VisibleSessions};

use super::{
    AgentActor, chat_posts, hook_points, journal::JournalCommit, limits::RunEndReason,
    run_view::RunRoute,
};
use crate::{Error, runtime_options::ApprovalSource};

/// Something to be asked.
pub(super) struct NewInquiry {
    pub(super) id: String,
    pub(super) digest: String,
    pub(super) until: Timestamp,
    /// What the journal says.
    pub(super) body: EventBody,
    pub(super) reason: WaitReason,
    /// In words, for lists and for notifications elsewhere.
    pub(super) words: String,
}

/// Outcome of waiting for an answer.
pub(super) enum InquiryOutcome {
    /// There is an answer.
    Answer(InquiryAnswer),
    /// None came before the timeout.
    Nothing,
    /// The run must end first.
    Ended(RunEndReason),
}

/// Whether there is a client that can be asked.
pub(super) fn is_possible(agent: &AgentActor) -> bool {
    agent.context.options.rights.approvals != ApprovalSource::Nobody
}

/// Asks, unless that was done before.
pub(super) async fn put(agent: &mut AgentActor, ask: &NewInquiry) -> Result<(), Error> {
    let is_asked = agent
        .history
        .run()
        .is_some_and(|run| run.waits.asked.iter().any(|asked| asked.id == ask.id));
    if is_asked {
        return Ok(());
    }
    let inquiry = Inquiry {
        id: ask.id.clone(),
        session: agent.session.id.clone(),
        root: agent.root(),
        run: agent.run_id(),
        agent: agent.session.agent.clone(),
        digest: ask.digest.clone(),
        asked: ask.body.clone(),
        asked_at: agent.context.now(),
        until: ask.until,
        answer: None,
        settled: false,
    };
    let about = format!("{} asks: {}", agent.session.agent, ask.words);
    let told = foreground(agent).await?;
    let posts = presented(agent, told.clone(), &format!("ask:{}", ask.id), about);
    let outbox = chat_posts::ask(agent, &ask.id, &ask.body).await?;
    let (until, detail) = (Some(ask.until), ask.words.clone());
    let waiting = EventBody::RunWaiting {
        reason: ask.reason,
        until,
        detail,
        told,
    };
    agent.append(JournalCommit {
        bodies: vec![waiting, ask.body.clone()],
        run: agent.run_id(),
        asks: vec![inquiry],
        posts,
        outbox: outbox.into_iter().collect(),
        ..JournalCommit::default()
    });
    rooftree_store::failpoint::reach_at("inquiry.asked", agent.depth());
    agent.journal.barrier().await?;
    chat_posts::note_working(agent);
    agent.context.chats.note_posted();
    hook_points::notify(agent, ask.reason, &ask.words);
    Ok(())
}

/// Waits for the first answer, the end of patience, or an interruption.
pub(super) async fn wait(
    agent: &mut AgentActor,
    id: &str,
    until: Timestamp,
) -> Result<InquiryOutcome, Error> {
    let mut expired = sleep_until(agent, until);
    loop {
        if let Some(answered) = agent.context.store().answered(id).await? {
            rooftree_store::failpoint::reach_at("inquiry.answered", agent.depth());
            return Ok(InquiryOutcome::Answer(answered));
        }
        let came = tokio::select! {
            biased;
            came = agent.interruption() => came,
            () = &mut expired => return Ok(InquiryOutcome::Nothing),
        };
        if let Some(end) = agent.apply_interruption(came)? {
            return Ok(InquiryOutcome::Ended(end));
        }
    }
}

/// Resolves when it is too late for an answer.
pub(super) fn sleep_until(agent: &AgentActor, until: Timestamp) -> BoxFuture<'static, ()> {
    agent
        .context
        .options
        .clock
        .sleep(until.since(agent.context.now()))
}

/// Settles it: the outcome, what follows from it and the news of it are one commit.
pub(super) async fn settle(
    agent: &mut AgentActor,
    id: &str,
    outcome: EventBody,
    rules: Vec<RuleRow>,
    reason: WaitReason,
) -> Result<(), Error> {
    let who = sender(agent, id, &outcome).await?;
    let words = match &outcome {
        EventBody::PermissionResolved { answer, by, .. } => {
            format!("{:?} by {by}", answer.decision).to_lowercase()
        }
        EventBody::QuestionAnswered { by, .. } => format!("settled by {by}"),
        _ => "settled".into(),
    };
    let about = format!("{}: what it asked is decided: {words}", agent.session.agent);
    // The sessions that were notified of the question are notified of the decision.
    let told = agent
        .history
        .run()
        .and_then(|run| run.asked(id))
        .and_then(|asked| asked.told.clone());
    let posts = presented(agent, told, &format!("answer:{id}"), about);
    let outbox = chat_posts::outcome(agent, id, &outcome).await?;
    let has_rules = !rules.is_empty();
    agent.append(JournalCommit {
        bodies: vec![outcome, EventBody::RunResumed { reason }],
        run: agent.run_id(),
        who,
        rules,
        posts,
        outbox: outbox.into_iter().collect(),
        ..JournalCommit::default()
    });
    agent.journal.barrier().await?;
    chat_posts::note_working(agent);
    agent.context.chats.note_posted();
    rooftree_store::failpoint::reach_at("inquiry.settled", agent.depth());
    if has_rules {
        agent.context.caches.saved_rules.forget();
        agent.renew_policy().await?;
    }
    Ok(())
}

/// The person whose answer this outcome is; none if it was settled without one.
async fn sender(
    agent: &AgentActor,
    id: &str,
    outcome: &EventBody,
) -> Result<crate::signals::Sender, Error> {
    let (EventBody::PermissionResolved { by, .. } | EventBody::QuestionAnswered { by, .. }) =
        outcome
    else {
        return Ok(None);
    };
    let answered = agent.context.store().answered(id).await?;
    let answered = answered.filter(|answered| answered.by == *by);
    Ok(answered.and_then(|answered| answered.who))
}

/// Deadline (timeout) of an inquiry.
pub(super) fn deadline(agent: &AgentActor) -> Timestamp {
    agent.context.now().after(Duration::from_secs(
        agent.resolved.limits.permission_ttl_secs,
    ))
}

/// What a delegated or scheduled run asks is also told, silently, to the session a person talks to: it may be
/// another one than those above, and the person will ask there what is going on.
async fn foreground(agent: &AgentActor) -> Result<Option<SessionId>, Error> {
    let run = agent.history.run();
    let is_scheduled = run.is_some_and(|run| matches!(run.route, RunRoute::Schedule(_)));
    if agent.mandate.is_none() && !is_scheduled {
        return Ok(None);
    }
    let filter = SessionFilter {
        tenant: Some(agent.session.account.tenant.clone()),
        visible: VisibleSessions::of_account(&agent.session.account),
        foreground: true,
        limit: 1,
        ..SessionFilter::default()
    };
    let front = agent.context.store().sessions(filter).await?.pop();
    Ok(front
        .map(|front| front.id)
        .filter(|front| *front != agent.session.id))
}

/// Tells a session, silently, what is asked or decided elsewhere.
fn presented(
    agent: &AgentActor,
    session: Option<SessionId>,
    key: &str,
    words: String,
) -> Vec<InboxPost> {
    let Some(session) = session else {
        return Vec::new();
    };
    let id = MessageId::from_entropy(agent.context.entropy());
    let origin = Origin::System {
        about: "approval".into(),
    };
    let message = Message {
        silent: true,
        ..Message::new(id, vec![Part::text(words)], origin, agent.context.now())
    };
    vec![InboxPost {
        session,
        lane: Lane::Boundary,
        key: key.into(),
        message,
        capacity: u64::MAX,
    }]
}

/// The permission a response gives; a response of another kind gives none.
pub(super) fn permission(answered: &InquiryAnswer) -> Option<&rooftree_protocol::Answer> {
    if let InquiryResponse::Permission(answer) = &answered.response {
        Some(answer)
    } else {
        None
    }
}
