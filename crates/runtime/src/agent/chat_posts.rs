//! Posts to the outbox that an agent makes: the answer of a run, permission requests and questions, and their outcomes.
//!
//! Invariant: where an answer goes is decided by the message that its run took, and by no later message
//! (`run_view.rs` keeps it). Each post is part of the commit of the event that causes it.

use rooftree_protocol::{CallId, ChatTarget, EventBody, Session, SessionId, event::RunEnd};
use rooftree_store::{
    OutboxBody, OutboxKind, OutboxPost, OutboxState, SessionFilter, VisibleSessions, blob_id,
};
use rooftree_tools::FileToSend;

use super::{AgentActor, chat_words, run_view::RunRoute};
use crate::{Error, chat_activity::ChatWork};

/// Sessions that are looked at to find the chat where a person is.
const RECENT: usize = 20;

/// Where the answer of the open run is delivered; none if a client or another agent reads it.
pub(super) fn answer_target(agent: &AgentActor) -> Option<ChatTarget> {
    let run = agent.history.run()?;
    // Another agent reads it. A schedule that an agent made has a mandate too, but no agent waits for its answer.
    let is_delegated = run.mandate.is_some() && agent.session.parent.is_some();
    let mut mandate = run.mandate.iter();
    if is_delegated || mandate.any(|mandate| mandate.expects_answer()) {
        return None;
    }
    let own = || agent.session.chat.as_ref().map(ChatTarget::without_reply);
    match &run.route {
        RunRoute::Client => None,
        RunRoute::Chat(target) | RunRoute::Schedule(Some(target)) => Some(target.clone()),
        RunRoute::Schedule(None) | RunRoute::Inside => own(),
    }
}

/// The answer of the open run, for its chat.
pub(super) fn answer(agent: &AgentActor, end: &RunEnd) -> Option<OutboxPost> {
    let run = agent.history.run()?;
    let target = answer_target(agent)?;
    if matches!(run.route, RunRoute::Schedule(_)) && chat_words::is_silent(end) {
        return None;
    }
    let text = chat_words::answer(end);
    let key = OutboxPost::final_key(&run.id);
    let body = OutboxBody::Text { text };
    Some(post(agent, (OutboxKind::Final, key), (target, body)))
}

/// What the open run asks, for the chat where its person is.
pub(super) async fn ask(
    agent: &AgentActor,
    inquiry: &str,
    body: &EventBody,
) -> Result<Option<OutboxPost>, Error> {
    let Some(text) = chat_words::asked(&agent.session.agent, body) else {
        return Ok(None);
    };
    let Some(target) = person_target(agent).await? else {
        return Ok(None);
    };
    let body = OutboxBody::Inquiry {
        inquiry: inquiry.to_owned(),
        text,
    };
    let key = OutboxPost::ask_key(inquiry);
    let post = post(agent, (OutboxKind::Permission, key), (target, body));
    Ok(Some(of_root(agent, post)))
}

/// How something that was asked ended, for the chat that was asked.
pub(super) async fn outcome(
    agent: &AgentActor,
    inquiry: &str,
    outcome: &EventBody,
) -> Result<Option<OutboxPost>, Error> {
    let key = OutboxPost::ask_key(inquiry);
    let Some(asked) = agent.context.store().outbox_by_key(&key).await? else {
        return Ok(None);
    };
    let OutboxBody::Inquiry { text, .. } = &asked.post.body else {
        return Ok(None);
    };
    if matches!(asked.state, OutboxState::Dead | OutboxState::Superseded) {
        return Ok(None);
    }
    let Some(text) = chat_words::outcome(text, outcome) else {
        return Ok(None);
    };
    let body = OutboxBody::Outcome {
        inquiry: inquiry.to_owned(),
        text,
    };
    let key = OutboxPost::outcome_key(inquiry);
    let post = post(
        agent,
        (OutboxKind::Permission, key),
        (asked.post.target, body),
    );
    Ok(Some(of_root(agent, post)))
}

/// A file for the chat that the open run answers, with its bytes, and what the model is told.
pub(super) fn file(
    agent: &AgentActor,
    call: &CallId,
    file: FileToSend,
) -> (Option<OutboxPost>, Option<Vec<u8>>, String) {
    let Some(target) = answer_target(agent) else {
        let words = format!(
            "This run answers no chat, so nothing was sent. The file is at {}; say so in your answer.",
            file.path.display()
        );
        return (None, None, words);
    };
    // A blob is named by what is in it, so secrets go first.
    let secrets = agent.context.secrets();
    let bytes = secrets.clean_bytes(&file.bytes).unwrap_or(file.bytes);
    let words = format!(
        "{} ({} bytes) is on its way to {target}. It arrives before your answer.",
        file.name,
        bytes.len()
    );
    let body = OutboxBody::File {
        blob: blob_id(&bytes),
        name: file.name,
        media_type: file.media_type,
        caption: file.caption,
    };
    let key = format!("file:{call}");
    let post = post(agent, (OutboxKind::File, key), (target, body));
    (Some(post), Some(bytes), words)
}

/// Notes that the open run works for a chat, so that the chat sees it.
pub(super) fn note_working(agent: &AgentActor) {
    let (Some(run), Some(target)) = (agent.history.run(), answer_target(agent)) else {
        return;
    };
    agent.context.chats.begin(ChatWork {
        run: run.id.clone(),
        session: agent.session.id.clone(),
        account: agent.session.account.clone(),
        target,
        since: run.started_at,
        calls: run.progress.calls,
        waits_for_person: run.waits.asked.iter().any(|asked| !asked.settled),
    });
}

/// The chat where the person is who can answer this agent: the one that the run answers, that of the session which he
/// talks to about it, else the one he used last. None if he is at a client of the session itself.
async fn person_target(agent: &AgentActor) -> Result<Option<ChatTarget>, Error> {
    if let Some(target) = answer_target(agent) {
        return Ok(Some(target.without_reply()));
    }
    let root = agent.root();
    let own = agent.history.run().map(|run| &run.route);
    if root == agent.session.id && own == Some(&RunRoute::Client) {
        return Ok(None);
    }
    let store = agent.context.store();
    if let Some(Session {
        chat: Some(chat), ..
    }) = store.session(&root).await?
    {
        return Ok(Some(chat.without_reply()));
    }
    let filter = SessionFilter {
        tenant: Some(agent.session.account.tenant.clone()),
        visible: VisibleSessions::of_account(&agent.session.account),
        foreground: true,
        limit: RECENT,
        ..SessionFilter::default()
    };
    let recent = store.sessions(filter).await?;
    Ok(most_recent_chat(&recent, &root))
}

/// The chat that was used last, unless the person is at the session itself.
fn most_recent_chat(recent: &[Session], root: &SessionId) -> Option<ChatTarget> {
    let is_there = recent.first().is_some_and(|front| front.id == *root);
    let chats = recent.iter().filter_map(|session| session.chat.as_ref());
    chats
        .filter(|_| !is_there)
        .map(ChatTarget::without_reply)
        .next()
}

/// The same as a message of the root session, on whose row the board shows it.
fn of_root(agent: &AgentActor, post: OutboxPost) -> OutboxPost {
    OutboxPost {
        session: Some(agent.root()),
        ..post
    }
}

/// A post of the open run.
pub(super) fn post(
    agent: &AgentActor,
    (kind, key): (OutboxKind, String),
    (target, body): (ChatTarget, OutboxBody),
) -> OutboxPost {
    OutboxPost {
        id: rooftree_protocol::OutboxId::from_entropy(agent.context.entropy()).to_string(),
        key,
        account: agent.session.account.clone(),
        session: Some(agent.session.id.clone()),
        run: agent.run_id(),
        kind,
        target,
        body,
        at: agent.context.now(),
    }
}
