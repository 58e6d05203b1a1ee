//! Selects the session to delegate to: a new one, a fork, one that was used before, or a peer's latest.

use std::{path::PathBuf, sync::Arc};

use rooftree_protocol::{AgentDefinition, CallId, Lane, ModelChoice, RunId, Session, SessionId};
use rooftree_store::{
    Error as StoreError, NewSessionRow, RunFilter, SessionFilter, VisibleSessions,
};

use super::{
    answer::DelegationError,
    bounds, child_row,
    request::{DelegationRequest, DelegationSurface, SessionStrategy},
};
use crate::{caller::Caller, runtime_context::RuntimeContext};

/// The session that is asked.
pub(super) enum DelegationTarget {
    New(Box<NewSessionRow>),
    Fork {
        from: SessionId,
        at: u64,
        row: Box<NewSessionRow>,
    },
    Known(Box<Session>),
}

impl DelegationTarget {
    pub(super) fn id(&self) -> &SessionId {
        match self {
            Self::New(row) | Self::Fork { row, .. } => &row.id,
            Self::Known(session) => &session.id,
        }
    }

    /// What people call it.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::New(row) | Self::Fork { row, .. } => row.name.clone(),
            Self::Known(session) => session.name.clone(),
        }
    }

    /// Whether something else is worked on in it, or waits there.
    pub(super) async fn is_busy(&self, context: &RuntimeContext) -> bool {
        let Self::Known(session) = self else {
            return false;
        };
        let filter = RunFilter {
            session: Some(session.id.clone()),
            limit: 1,
            ..RunFilter::default()
        };
        let runs = context.store().runs(filter).await.unwrap_or_default();
        let waiting = context
            .store()
            .waiting(&session.id, Lane::Mail, 1)
            .await
            .unwrap_or_default();
        !waiting.is_empty() || runs.first().is_some_and(|run| run.ended.is_none())
    }

    /// The same in another working directory; one that is there stays where it is.
    pub(super) fn working_in(mut self, directory: Option<PathBuf>) -> Self {
        if let (Self::New(row) | Self::Fork { row, .. }, Some(directory)) = (&mut self, directory) {
            row.cwd = directory;
        }
        self
    }

    /// The same with the model it is given, which it keeps when it is asked again; one that is there keeps its own.
    pub(super) fn thinking_with(mut self, model: Option<ModelChoice>) -> Self {
        if let Self::New(row) | Self::Fork { row, .. } = &mut self {
            row.model = model.map(|model| model.to_string());
        }
        self
    }

    /// Queues the opening, if it is to be opened.
    pub(super) fn open(
        self,
        context: &RuntimeContext,
    ) -> impl Future<Output = Result<(), StoreError>> + use<> {
        let pending = match self {
            Self::New(row) => Some(context.store().open(*row)),
            Self::Fork { from, at, row } => Some(context.store().fork(&from, at, *row)),
            Self::Known(_) => None,
        };
        async move {
            match pending {
                Some(pending) => pending.await.map(|_| ()),
                None => Ok(()),
            }
        }
    }
}

/// The definition of the agent that is asked.
pub(super) async fn definition(
    caller: &Caller,
    request: &DelegationRequest,
) -> Result<Arc<AgentDefinition>, DelegationError> {
    if request.is_fork() {
        return Ok(caller.resolved.definition.clone());
    }
    let found = caller
        .context
        .options
        .agents
        .definitions
        .find(&request.agent);
    found.map_err(|_| {
        let known: Vec<String> = bounds::accessible(caller)
            .map(|known| known.name.clone())
            .collect();
        DelegationError::Unknown {
            agent: request.agent.clone(),
            known,
        }
    })
}

/// The session that is meant.
pub(super) async fn find(
    caller: &Caller,
    request: &DelegationRequest,
    definition: &AgentDefinition,
    call: &CallId,
) -> Result<DelegationTarget, DelegationError> {
    let new = || DelegationTarget::New(Box::new(new_row(caller, request, definition, call)));
    match &request.strategy {
        SessionStrategy::New => Ok(new()),
        SessionStrategy::Fork => {
            let (from, at) = (caller.session.id.clone(), caller.reply_at);
            Ok(DelegationTarget::Fork {
                from,
                at,
                row: Box::new(child_row(caller, &definition.name, call)),
            })
        }
        SessionStrategy::Latest | SessionStrategy::LatestOrNew => {
            match latest(caller, definition).await? {
                Some(session) => Ok(DelegationTarget::Known(Box::new(session))),
                None if request.strategy == SessionStrategy::LatestOrNew => Ok(new()),
                None => Err(DelegationError::NoSession(format!(
                    "agent '{}' has no session yet",
                    definition.name
                ))),
            }
        }
        SessionStrategy::Named(named) => known(caller, request, definition, named).await,
    }
}

/// A peer keeps its sessions; they have no parent.
fn new_row(
    caller: &Caller,
    request: &DelegationRequest,
    definition: &AgentDefinition,
    call: &CallId,
) -> NewSessionRow {
    let row = child_row(caller, &definition.name, call);
    if request.surface == DelegationSurface::AgentsMessage {
        NewSessionRow {
            parent: None,
            ..row
        }
    } else {
        row
    }
}

async fn latest(
    caller: &Caller,
    definition: &AgentDefinition,
) -> Result<Option<Session>, DelegationError> {
    let filter = SessionFilter {
        agent: Some(definition.name.clone()),
        tenant: Some(caller.session.account.tenant.clone()),
        visible: VisibleSessions::of_account(&caller.session.account),
        top_level: Some(true),
        limit: 1,
        ..SessionFilter::default()
    };
    Ok(caller
        .context
        .store()
        .sessions(filter)
        .await
        .map_err(DelegationError::from)?
        .pop())
}

/// The live session that a text names on any surface: its id, a run or task in it, or what people call it.
pub(super) async fn called(caller: &Caller, name: &str) -> Result<Option<Session>, StoreError> {
    let store = caller.context.store();
    let found = if name.starts_with(RunId::PREFIX) {
        match session_of_run(caller, name).await? {
            Some(id) => store.session(&id).await?,
            None => None,
        }
    } else if name.starts_with(SessionId::PREFIX) {
        match SessionId::parse(name) {
            Ok(id) => store.session(&id).await?,
            Err(_) => None,
        }
    } else {
        let filter = SessionFilter {
            called: Some(name.to_owned()),
            tenant: Some(caller.session.account.tenant.clone()),
            ..SessionFilter::default()
        };
        // A whole name: the end of an id, which the filter accepts too, could mean a session by accident.
        let is_named = |session: &Session| {
            let own = session.name.as_deref();
            own.is_some_and(|own| own.eq_ignore_ascii_case(name))
        };
        store.sessions(filter).await?.into_iter().find(is_named)
    };
    // Agents reach sessions of the person they work for, and of no other.
    let is_his = |session: &Session| session.account == caller.session.account;
    Ok(found.filter(|session| session.deleted_at.is_none() && is_his(session)))
}

/// The session a run works in: that of a task, or any run's.
async fn session_of_run(caller: &Caller, run: &str) -> Result<Option<SessionId>, StoreError> {
    let store = caller.context.store();
    if let Some(child) = store.task(run).await?.and_then(|task| task.child) {
        return Ok(Some(child));
    }
    let Ok(run) = RunId::parse(run) else {
        return Ok(None);
    };
    let filter = RunFilter {
        run: Some(run),
        limit: 1,
        ..RunFilter::default()
    };
    let runs = store.runs(filter).await?;
    Ok(runs.into_iter().next().map(|run| run.started.session))
}

/// A session that was asked before.
async fn known(
    caller: &Caller,
    request: &DelegationRequest,
    definition: &AgentDefinition,
    named: &str,
) -> Result<DelegationTarget, DelegationError> {
    let missing = || DelegationError::NoSession(format!("there is no session `{named}`"));
    let session = called(caller, named).await.map_err(DelegationError::from)?;
    let session = session.ok_or_else(missing)?;
    let id = session.id.clone();
    if !session.agent.eq_ignore_ascii_case(&definition.name) {
        let owner = &session.agent;
        return Err(DelegationError::NoSession(format!(
            "session {id} belongs to agent '{owner}', not to this one"
        )));
    }
    if request.is_fork() && session.forked_from.is_none() {
        return Err(DelegationError::NoSession(format!(
            "session {id} is not a fork"
        )));
    }
    let above = caller.chain();
    let is_ours = match &session.parent {
        Some(parent) => above.iter().any(|above| above.session == parent.session),
        None => request.surface == DelegationSurface::AgentsMessage,
    };
    if is_ours {
        Ok(DelegationTarget::Known(Box::new(session)))
    } else {
        Err(DelegationError::NotAccessible(format!(
            "session {id} was not started by this agent"
        )))
    }
}
