//! Delegation from one session to another. Every tool surface becomes one request, which is posted as a message.
//!
//! Everything about a delegation follows from the call that asks: the child's session, its
//! message and its run have the call's own id under other prefixes. So a call that is made again
//! after a crash finds what it made before, and changes nothing.

mod answer;
mod answer_cache;
mod bounds;
mod dialect;
mod inherit;
mod isolation;
mod plan;
mod request;
mod response;
mod rights;
mod surface;
mod target;
pub mod tools;
mod wait;

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use rooftree_protocol::{
    Mandate, Message, MessageId, Origin, Part, RunId, SessionId,
    event::{RunEnd, RunMode, TaskNote},
};
use rooftree_store::{InboxPost, KeyReuse, NewSessionRow, TaskRow, TaskStatus};
use rooftree_tools::{ToolContext, ToolOutput};
use serde_json::{Map, Value};

use self::{
    answer::DelegationError,
    inherit::DelegationInputs,
    request::{DelegationRequest, DelegationSurface, SessionStrategy},
    target::DelegationTarget,
    wait::{TimeoutAction, WaitOutcome},
};
use crate::{
    caller::Caller,
    interrupted_runs,
    runtime_context::{RuntimeContext, SessionAction},
};

/// A delegation under way.
struct ActiveDelegation {
    task: RunId,
    session: SessionId,
    agent: String,
    /// Whether the session was opened for it.
    is_new: bool,
    /// Whether it stays in the inbox: another process has left a run of that session open.
    is_held: bool,
    /// Whether the same call has asked before, in the life of a process that is gone.
    is_repeated: bool,
    /// US dollars set aside for it.
    share: Option<f64>,
    /// What people call the session.
    session_name: Option<String>,
    /// Whether the session had something else to do when it was asked.
    is_queued: bool,
}

/// Asks, and waits for the answer unless it is to come later.
async fn delegate(
    caller: Arc<Caller>,
    request: DelegationRequest,
    context: ToolContext,
) -> ToolOutput {
    let (agent, request) = (request.agent.clone(), with_defaults(&caller, request).await);
    match ask(&caller, &request, &context).await {
        Err(failure) => failure.output(&agent),
        Ok(DelegationOutcome::Known(note, end)) => answer::again(note, &end),
        Ok(DelegationOutcome::Asked(asked, _, _)) if asked.is_held => {
            answer::queued(&request, &asked)
        }
        Ok(DelegationOutcome::Asked(asked, _, _)) if request.is_background() => {
            answer::started(&request, &asked)
        }
        Ok(DelegationOutcome::Asked(asked, told, question)) => {
            let late = if request.surface == DelegationSurface::Verifier {
                TimeoutAction::Stop
            } else {
                TimeoutAction::Detach
            };
            let waiting = wait::DelegationWait {
                asked: &asked,
                told,
                late,
            };
            let timeout = timeout(&caller, &request).as_secs();
            match waiting.wait(&caller.context, &context.cancel).await {
                WaitOutcome::Ended(end) => {
                    if let Some(question) = question {
                        question.keep(&caller, &asked, &end);
                    }
                    answer::ended(&caller, &request, &asked, &end).await
                }
                WaitOutcome::Detached => answer::detached(&request, &asked, timeout),
                WaitOutcome::Moved => answer::moved(&request, &asked),
                WaitOutcome::Stopped(end) => answer::stopped(&asked, end.as_deref(), timeout),
                WaitOutcome::Cancelled => answer::cancelled(&asked),
            }
        }
    }
}

/// The request, with what the definition says where the call says nothing.
async fn with_defaults(caller: &Caller, request: DelegationRequest) -> DelegationRequest {
    let is_open = request.background.is_none()
        && matches!(
            request.surface,
            DelegationSurface::Task | DelegationSurface::InvokeAgent
        );
    if !is_open || request.is_fork() {
        return request;
    }
    let found = target::definition(caller, &request).await;
    DelegationRequest {
        background: found.ok().map(|definition| definition.background),
        ..request
    }
}

/// Timeout for the answer.
fn timeout(caller: &Caller, request: &DelegationRequest) -> Duration {
    Duration::from_secs(
        request
            .timeout_secs
            .unwrap_or(caller.resolved.limits.delegation_timeout_secs),
    )
}

/// Ends a wait for a delegated run: its end, or the timeout.
struct DelegationEnd {
    end: tokio::sync::oneshot::Receiver<Arc<RunEnd>>,
    too_late: BoxFuture<'static, ()>,
}

/// Outcome of a delegation request.
enum DelegationOutcome {
    /// An agent works on it.
    Asked(
        ActiveDelegation,
        DelegationEnd,
        Option<answer_cache::CacheableQuestion>,
    ),
    /// The answer is known.
    Known(TaskNote, Arc<RunEnd>),
}

/// Opens the session if need be, puts the message into its inbox and wakes it.
async fn ask(
    caller: &Caller,
    request: &DelegationRequest,
    context: &ToolContext,
) -> Result<DelegationOutcome, DelegationError> {
    let runtime = &caller.context;
    let definition = target::definition(caller, request).await?;
    bounds::check(caller, &definition, request)?;
    // Invariant: messages of one reply enter an inbox in the order of the calls, and find the session that one before
    // them has opened. A session of its own can be reached by no other call, so its copy is made without waiting.
    caller.turn.wait().await;
    let target = target::find(caller, request, &definition, &context.call).await?;
    bounds::refuse_cycle(caller, &definition, target.id())?;
    let task = RunId::derived_from(context.call.as_str());
    let mode = mode(caller, request);
    let call = &context.call;
    let asking = DelegationInputs {
        definition: &definition,
        request,
        target: &target,
        call,
        mode,
    };
    let mandate = inherit::mandate(caller, &asking)?;
    let workspace = isolation::provision(caller, &asking, &mandate).await?;
    let mandate = Mandate {
        workspace: workspace.as_ref().and_then(isolation::written),
        ..mandate
    };
    let question = answer_cache::CacheableQuestion::of(caller, &asking, &mandate);
    if let Some(question) = &question
        && let Some((note, end)) = question.known(caller).await
    {
        return Ok(DelegationOutcome::Known(note, end));
    }
    let limits = &caller.resolved.limits;
    runtime
        .delegations
        .reserve(
            &task,
            (&caller.session.id, &mandate.root),
            (limits.children, limits.descendants),
        )
        .map_err(bounds::full)?;
    let too_late = runtime.options.clock.sleep(timeout(caller, request));
    let told = DelegationEnd {
        end: runtime.delegations.subscribe(&task),
        too_late,
    };
    let mut asked = ActiveDelegation {
        is_repeated: false,
        session_name: target.name(),
        is_queued: target.is_busy(runtime).await,
        share: rights::share(caller),
        task: task.clone(),
        session: target.id().clone(),
        agent: definition.name.clone(),
        is_new: matches!(
            target,
            DelegationTarget::New(_) | DelegationTarget::Fork { .. }
        ),
        is_held: is_held(runtime, &target).await?,
    };
    let row = started(caller, request, &asked, mandate.workspace.clone());
    let message = message(
        caller,
        context,
        mandate,
        isolation::told(request, workspace.as_ref()),
    );
    let key = format!("call:{}", context.call);
    let post = InboxPost {
        session: asked.session.clone(),
        lane: rooftree_protocol::Lane::Mail,
        key,
        message,
        capacity: limits.inbox,
    };
    // Queued one after the other: what follows finds what went before, and a crash takes the tail.
    let is_found_by_next = matches!(target, DelegationTarget::Known(_));
    let given = inherit::given(caller, &definition, request)?;
    let cwd = workspace.map(|workspace| workspace.cwd);
    let opened = target.working_in(cwd).thinking_with(given).open(runtime);
    runtime.store().put_task(row).detach();
    let posted = runtime.store().post(post);
    if is_found_by_next {
        caller.turn.pass();
    }
    // A session that was opened for this call works for this one, also if the call is made again after a crash.
    let session = asked.session.clone();
    let action = if asked.is_new {
        SessionAction::WakeChild(session)
    } else {
        SessionAction::Wake(session)
    };
    let _ = runtime.session_actions.send(action);
    rooftree_store::failpoint::reach("task.asking");
    let kept = async {
        opened.await?;
        // From here on the next call finds it.
        caller.turn.pass();
        posted.await
    };
    match kept.await {
        Ok(posted) => asked.is_repeated = posted.repeated != KeyReuse::No,
        Err(error) => {
            runtime.delegations.release(&task);
            return Err(DelegationError::NotStarted(error.problem().message));
        }
    }
    Ok(DelegationOutcome::Asked(asked, told, question))
}

/// Whether a message to this session waits until a process that it belongs to goes on with it.
async fn is_held(
    runtime: &RuntimeContext,
    target: &DelegationTarget,
) -> Result<bool, DelegationError> {
    let DelegationTarget::Known(session) = target else {
        return Ok(false);
    };
    let queued = interrupted_runs::stays_queued(runtime, &session.id).await;
    queued.map_err(|error| DelegationError::NotStarted(error.problem().message))
}

/// The message that asks. It has the call's own id, so that the same call finds it again.
fn message(caller: &Caller, context: &ToolContext, mandate: Mandate, words: String) -> Message {
    let origin = Origin::Agent {
        session: caller.session.id.clone(),
        agent: caller.session.agent.clone(),
        call: Some(context.call.clone()),
    };
    let id = MessageId::derived_from(context.call.as_str());
    let message = Message::new(id, vec![Part::text(words)], origin, caller.context.now());
    Message {
        outside: caller.rights.outside,
        mandate: Some(Box::new(mandate)),
        ..message
    }
}

fn mode(caller: &Caller, request: &DelegationRequest) -> RunMode {
    match request.strategy {
        _ if request.surface == DelegationSurface::Verifier => RunMode::Verifying,
        // In background too: what the provider has read of the conversation stays good.
        SessionStrategy::Fork => RunMode::Fork,
        _ if request.is_background() => RunMode::Background,
        _ if caller.delegations > 1 => RunMode::Parallel,
        _ => RunMode::Foreground,
    }
}

fn started(
    caller: &Caller,
    request: &DelegationRequest,
    asked: &ActiveDelegation,
    workspace: Option<Value>,
) -> TaskRow {
    let mut data = Map::from_iter([("agent".to_owned(), asked.agent.clone().into())]);
    data.extend(workspace.map(|workspace| ("workspace".to_owned(), workspace)));
    TaskRow {
        id: asked.task.to_string(),
        session: caller.session.id.clone(),
        kind: "agent".into(),
        title: request.title(),
        status: TaskStatus::Running,
        process_group: None,
        detail: String::new(),
        started_at: caller.context.now(),
        ended_at: None,
        child: Some(asked.session.clone()),
        data,
    }
}

impl ActiveDelegation {
    /// A task that is known.
    fn of(task: RunId, session: SessionId, agent: String) -> Self {
        let (is_new, is_repeated, is_queued, is_held) = (false, false, false, false);
        Self {
            task,
            session,
            agent,
            is_new,
            is_repeated,
            share: None,
            session_name: None,
            is_queued,
            is_held,
        }
    }

    fn note(&self) -> TaskNote {
        TaskNote {
            outside: false,
            task: self.task.clone(),
            session: self.session.clone(),
            agent: self.agent.clone(),
            status: None,
            verified: None,
            usage: None,
            share: self.share,
            cached: false,
        }
    }
}

/// A session to be opened for a delegation.
fn child_row(caller: &Caller, agent: &str, call: &rooftree_protocol::CallId) -> NewSessionRow {
    let runtime: &RuntimeContext = &caller.context;
    NewSessionRow {
        id: SessionId::derived_from(call.as_str()),
        agent: agent.to_owned(),
        name: None,
        model: None,
        cwd: caller.session.cwd.clone(),
        parent: Some(rooftree_protocol::ParentCall {
            session: caller.session.id.clone(),
            run: caller.run.clone(),
            call: call.clone(),
        }),
        connector_key: Some(format!("call:{call}")),
        chat: None,
        account: caller.session.account.clone(),
        audit: None,
        at: runtime.now(),
    }
}

/// The most that a run may do which an agent schedules for another time: no more than it may itself.
pub(crate) fn scheduled_rights(
    caller: &Caller,
    definition: &rooftree_protocol::AgentDefinition,
    call: &rooftree_protocol::CallId,
) -> Mandate {
    let most = rights::at_most(caller, definition, call, false);
    let below = caller.depth();
    Mandate {
        mode: RunMode::Scheduled,
        above: Vec::new(),
        depth_limit: most.depth_limit.map(|depth| depth.saturating_sub(below)),
        model: caller.model.clone(),
        ..most
    }
}
