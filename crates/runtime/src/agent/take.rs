//! Takes messages out of the inbox and into the conversation.
//!
//! A message and the mark that it was taken are one commit, so none is taken twice or skipped.

use rooftree_protocol::{
    EventBody, Lane, Mandate, Message, Origin, PromptContext, RunId, SessionId, ToolCall, Usage,
    event::{ReplyPart, ReplyRecord, RunMode, StopReason},
};
use rooftree_stdx::shorten::shorten_first_line;
use rooftree_store::{InboxItem, batch_limit, failpoint};

use super::{AgentActor, History, hook_points, journal::JournalCommit};
use crate::{Error, inbox, runtime_context::RuntimeContext};

/// Model name in the reply that stands for a call no model has made.
const DIRECTED: &str = "program/call";

/// Starts a run for the next message in the mail, or for what waits at the boundary.
/// Says whether there was anything.
pub(super) async fn take_next(agent: &mut AgentActor) -> Result<bool, Error> {
    let mail = waiting(agent, Lane::Mail).await?;
    if let Some(item) = mail.first() {
        match &item.withdrawn {
            Some(_) => put_aside(agent, std::slice::from_ref(item)),
            None => {
                start(agent, item, mode_of(&item.message)).await?;
                true
            }
        };
        return Ok(true);
    }
    let boundary = waiting(agent, Lane::Boundary).await?;
    let Some(waking) = boundary.iter().find(|item| is_news(&agent.history, item)) else {
        return Ok(put_aside(agent, &boundary));
    };
    start(agent, waking, RunMode::Woken).await?;
    Ok(true)
}

/// Opens a run. Its own message enters with it if it came by mail; what came by the boundary
/// is taken in, in order, when the run reaches its first one.
async fn start(agent: &mut AgentActor, item: &InboxItem, mode: RunMode) -> Result<(), Error> {
    // A delegated run is known by its message before it begins: the id of the one is that of the other.
    let run = RunId::derived_from(item.message.id.as_str());
    let own = item.message.mandate.clone();
    let mandate = own.or_else(|| agent.history.woken_mandate(&item.message));
    let context = match &item.message.origin {
        Origin::Schedule { context, .. } => *context,
        _ => PromptContext::Full,
    };
    agent.set_up_run(mandate, &run, context).await?;
    agent.renew_policy().await?;
    let started = EventBody::RunStarted {
        mode,
        message: item.message.id.clone(),
        model: agent.model_name(),
        title: titled(&item.message),
        depth: agent.depth(),
        parent: item
            .message
            .mandate
            .as_ref()
            .filter(|mandate| mandate.mode != RunMode::Scheduled)
            .map(|mandate| mandate.parent.clone()),
        policy: Some(Box::new(agent.policy_note())),
        bounds: Some(Box::new(agent.run_bounds())),
        surroundings: surroundings(agent),
    };
    let mut commit = JournalCommit {
        run: Some(run.clone()),
        opens: Some(Some(run)),
        ..JournalCommit::default()
    };
    commit.bodies.push(started);
    if item.lane == Lane::Mail {
        commit.bodies.push(entering(agent, item));
        commit.bodies.extend(fired(&item.message));
        commit
            .bodies
            .extend(item.message.call.as_deref().map(asked_for));
        commit.taken.push((item.lane, item.position));
        commit.snippet = Some(shorten_first_line(&item.message.text(), 120));
    }
    // Whatever else waits at the boundary belongs into this run.
    agent.inbox.has_boundary_mail = true;
    failpoint::reach_at("mail.taking", agent.depth());
    agent.append(commit);
    agent.send_notices();
    Ok(())
}

/// The due time that the message is an occurrence of, if a schedule sent it.
fn fired(message: &Message) -> Option<EventBody> {
    let Origin::Schedule { schedule, due, .. } = &message.origin else {
        return None;
    };
    Some(EventBody::ScheduleFired {
        schedule: schedule.clone(),
        due: (*due)?,
    })
}

/// Models with a smaller window than this, in tokens, are told only what they need.
const SMALL_WINDOW: u64 = 16_000;

/// What the model is told about the day and the project, if the conversation does not say it already. A program or
/// remote agent that answers as a model looks for itself.
fn surroundings(agent: &AgentActor) -> Option<String> {
    let context = &agent.context;
    let read = context.options.agents.surroundings.as_ref()?;
    let model = agent.model_name();
    let provider = model.split('/').next().unwrap_or_default();
    let is_program = provider == "external" || provider.ends_with("-cli");
    if is_program || agent.model.window.limit < SMALL_WINDOW {
        return None;
    }
    let text = read(&agent.session.cwd, context.now());
    (agent.history.surroundings() != Some(text.as_str())).then_some(text)
}

/// The mandate of the open run. One that was woken has it from the message that woke it, which may still be waiting
/// after a crash.
pub(super) async fn open_mandate(agent: &mut AgentActor) -> Result<Option<Box<Mandate>>, Error> {
    let Some(run) = agent.history.run() else {
        return Ok(None);
    };
    if run.mandate.is_some() || run.mode != RunMode::Woken {
        return Ok(run.mandate.clone());
    }
    let message = run.message.clone();
    let items = waiting(agent, Lane::Boundary).await?;
    let woke = items.iter().find(|item| item.message.id == message);
    Ok(woke.and_then(|item| agent.history.woken_mandate(&item.message)))
}

/// A call requested by a client, as the reply of a model that it stands for.
fn asked_for(call: &ToolCall) -> EventBody {
    EventBody::MessageCompleted(ReplyRecord {
        message: None,
        text: String::new(),
        parts: vec![ReplyPart::Call(call.clone())],
        model: DIRECTED.into(),
        stop: StopReason::Calls,
        usage: Usage::none(),
        request: None,
    })
}

/// Whether a message waits that would start a run. Called after the agent has released the session.
pub(super) async fn is_left(
    context: &RuntimeContext,
    session: &SessionId,
    history: &History,
) -> bool {
    for lane in [Lane::Mail, Lane::Boundary] {
        let items = inbox::waiting(context, session, lane)
            .await
            .unwrap_or_default();
        let mut fresh = items
            .iter()
            .filter(|item| item.position > history.taken(lane));
        if fresh
            .any(|item| lane == Lane::Mail || item.withdrawn.is_some() || is_news(history, item))
        {
            return true;
        }
    }
    false
}

/// Whether a message at the boundary starts a run where there is none.
fn is_news(history: &History, item: &InboxItem) -> bool {
    !item.message.silent && item.withdrawn.is_none() && !is_told(history, item)
}

/// True if this task result must not be delivered again: the waiting call already returned it, or it belongs to a
/// verifier, even one that was given up.
fn is_told(history: &History, item: &InboxItem) -> bool {
    let is_known =
        |task, checks| (checks || history.is_told(task)) && !failpoint::is_without("told");
    matches!(&item.message.origin, Origin::Task { task, checks, .. } if is_known(task, *checks))
}

/// Takes what has been told already or was withdrawn, as far as nothing else is before it. Never starts a run.
/// Says whether there was anything: there may be more than was looked at.
fn put_aside(agent: &mut AgentActor, items: &[InboxItem]) -> bool {
    let told: Vec<&InboxItem> = items
        .iter()
        .take_while(|item| item.withdrawn.is_some() || is_told(&agent.history, item))
        .collect();
    if told.is_empty() {
        return false;
    }
    failpoint::reach_at("reply.taking", agent.depth());
    for same in told.chunk_by(|one, next| one.withdrawn == next.withdrawn) {
        append_taken(agent, same, None);
    }
    true
}

/// Appends messages that start no run, all withdrawn by the same principal or none.
fn append_taken(agent: &mut AgentActor, items: &[&InboxItem], run: Option<RunId>) {
    let place = |item: &&InboxItem| (item.lane, item.position);
    let places: Vec<(Lane, u64)> = items.iter().map(place).collect();
    let bodies = items.iter().map(|item| entering(agent, item)).collect();
    agent.append(JournalCommit {
        bodies,
        who: items.first().and_then(|item| item.withdrawn.clone()),
        taken: places.clone(),
        done: places,
        run,
        ..JournalCommit::default()
    });
}

/// At a turn boundary: takes in what has come for it since the last one, as far as hooks let it.
pub(super) async fn take_in(agent: &mut AgentActor) -> Result<(), Error> {
    take_waiting(agent).await?;
    hook_points::begin(agent).await
}

async fn take_waiting(agent: &mut AgentActor) -> Result<(), Error> {
    agent.apply_pending_signals()?;
    if !agent.inbox.has_boundary_mail {
        return Ok(());
    }
    agent.inbox.has_boundary_mail = false;
    // A reply whose calls are still open is not a boundary.
    if agent.history.open_calls().next().is_some() {
        agent.inbox.has_boundary_mail = true;
        return Ok(());
    }
    let items = waiting(agent, Lane::Boundary).await?;
    if items.is_empty() {
        return Ok(());
    }
    // Where there was something there may be more than was looked at.
    agent.inbox.has_boundary_mail = true;
    failpoint::reach_at("reply.taking", agent.depth());
    let run = agent.history.run().map(|run| run.id.clone());
    let items: Vec<&InboxItem> = items.iter().collect();
    for same in items.chunk_by(|one, next| one.withdrawn == next.withdrawn) {
        append_taken(agent, same, run.clone());
    }
    Ok(())
}

/// Whether a person has said something that should change what is being done.
pub(super) async fn is_steered(agent: &mut AgentActor) -> Result<bool, Error> {
    agent.apply_pending_signals()?;
    if !agent.inbox.has_boundary_mail {
        return Ok(false);
    }
    let items = waiting(agent, Lane::Boundary).await?;
    let steers = |item: &InboxItem| {
        !item.message.silent
            && item.withdrawn.is_none()
            && matches!(item.message.origin, Origin::User | Origin::Connector { .. })
    };
    Ok(items.iter().any(steers))
}

/// Messages that wait in a lane, without those taken a moment ago, which the store may not know yet.
async fn waiting(agent: &mut AgentActor, lane: Lane) -> Result<Vec<InboxItem>, Error> {
    let taken = agent.history.taken(lane);
    let mut at_hand = agent.inbox.prefetched.take(lane);
    loop {
        let mut items = match at_hand.take() {
            Some(items) => items,
            None => inbox::waiting(&agent.context, &agent.session.id, lane).await?,
        };
        let may_hide_more = items.len() >= batch_limit(lane);
        items.retain(|item| item.position > taken);
        if !items.is_empty() || !may_hide_more {
            return Ok(items);
        }
        // All of these are ours already. What is behind them shows once the disk has that.
        agent.journal.barrier().await?;
    }
}

fn entering(agent: &AgentActor, item: &InboxItem) -> EventBody {
    if item.withdrawn.is_some() {
        return EventBody::InboxDropped {
            message: item.message.id.clone(),
            lane: item.lane,
            position: item.position,
        };
    }
    if let (Origin::Task { task, .. }, true) = (&item.message.origin, is_told(&agent.history, item))
    {
        let (message, task) = (item.message.id.clone(), task.clone());
        return EventBody::InboxDelivered {
            message,
            task,
            lane: item.lane,
            position: item.position,
        };
    }
    EventBody::MessageUser {
        message: item.message.clone(),
        lane: item.lane,
        position: item.position,
    }
}

fn mode_of(message: &Message) -> RunMode {
    if let Some(mandate) = &message.mandate {
        return mandate.mode;
    }
    match message.origin {
        Origin::User | Origin::System { .. } | Origin::Task { .. } => RunMode::Main,
        Origin::Agent { .. } => RunMode::Foreground,
        Origin::Schedule { .. } => RunMode::Scheduled,
        Origin::Connector { .. } => RunMode::Connector,
    }
}

/// Title of a run: the one its mandate gives, else the beginning of its message.
fn titled(message: &Message) -> String {
    match &message.mandate {
        Some(mandate) if !mandate.title.is_empty() => mandate.title.clone(),
        _ => shorten_first_line(&message.text(), 80),
    }
}
