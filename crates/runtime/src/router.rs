//! Finds the session that is meant, and wakes its agent.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use rooftree_protocol::{
    Command, ErrorCode, Principal, Problem, RunId, Session, SessionId,
    command::{Address, Delivery, NewSession},
};
use rooftree_store::{CommandRow, NewSessionRow, Pending, SessionFilter, Store, VisibleSessions};
use tokio::sync::mpsc;

use crate::{
    Error, agent,
    interrupted_runs::{self, SessionOwnership},
    runtime_context::{RuntimeContext, SessionAction},
    signals::{AgentSignal, SignalQueue},
};

/// The session an address means.
pub(crate) enum ResolvedSession {
    /// It is there.
    Known(Arc<Session>),
    /// It was there when it was last looked at: only what never changes of it is certain.
    Seen(Arc<Session>),
    /// It is still to be opened.
    New(Box<NewSessionRow>),
}

impl ResolvedSession {
    pub(crate) fn id(&self) -> &SessionId {
        match self {
            Self::Known(session) | Self::Seen(session) => &session.id,
            Self::New(row) => &row.id,
        }
    }

    pub(crate) fn agent(&self) -> &str {
        match self {
            Self::Known(session) | Self::Seen(session) => &session.agent,
            Self::New(row) => &row.agent,
        }
    }

    /// Queues the opening, if it is to be opened: what is queued after this finds it.
    pub(crate) fn open(self, store: &dyn Store) -> SessionOpening {
        match self {
            Self::Known(session) | Self::Seen(session) => SessionOpening::There(session),
            Self::New(row) => SessionOpening::Coming(store.open(*row)),
        }
    }
}

/// A session that is there or will be.
pub(crate) enum SessionOpening {
    There(Arc<Session>),
    Coming(Pending<Session>),
}

impl SessionOpening {
    /// The session, once it is there.
    pub(crate) async fn session(self) -> Result<Arc<Session>, Error> {
        match self {
            Self::There(session) => Ok(session),
            Self::Coming(session) => Ok(Arc::new(session.await?)),
        }
    }
}

/// Whether a session that is woken belongs to this process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WakeOwnership {
    Ours,
    Unknown,
}

/// Sessions that are remembered at most; then all are forgotten, and looked at again.
const REMEMBERED: usize = 1_024;

pub(crate) struct Router {
    context: Arc<RuntimeContext>,
    /// As they were when they were looked at, so that many posts to one session look once.
    seen: Mutex<HashMap<SessionId, Arc<Session>>>,
}

impl Router {
    pub(crate) fn new(context: Arc<RuntimeContext>) -> Arc<Self> {
        Arc::new(Self {
            context,
            seen: Mutex::default(),
        })
    }

    /// The session an address means.
    pub(crate) async fn resolve(
        &self,
        address: Address,
        who: &Principal,
    ) -> Result<ResolvedSession, Error> {
        let known = match address {
            Address::Id { id } => self.by_id(&id).await?,
            Address::Latest { agent } => self.latest(&agent, who).await?.ok_or_else(|| {
                Problem::new(
                    ErrorCode::SessionNotFound,
                    format!("agent `{agent}` has no session yet"),
                )
                .fix("leave out --continue to open one")
            })?,
            Address::Create(new) => return self.new_session(new, None, who),
            Address::LatestOrCreate(new) => match self.latest(&new.agent, who).await? {
                Some(session) => session,
                None => return self.new_session(new, None, who),
            },
            Address::Connector { key, new, chat } => {
                match self.context.store().session_by_key(&key).await? {
                    Some(session) => session,
                    // Another process may be opening it: then that session is meant, under another id.
                    None => {
                        let mut row = self.row(new, Some(key), who)?;
                        row.chat = chat;
                        let opening = ResolvedSession::New(Box::new(row));
                        let opening = opening.open(&**self.context.store());
                        return Ok(ResolvedSession::Known(opening.session().await?));
                    }
                }
            }
        };
        Ok(ResolvedSession::Known(Arc::new(known)))
    }

    pub(crate) async fn by_id(&self, id: &SessionId) -> Result<Session, Error> {
        let found = self
            .context
            .store()
            .session(id)
            .await?
            .ok_or(rooftree_store::Error::NoSession(id.clone()))?;
        if found.deleted_at.is_some() {
            return Err(Problem::new(
                ErrorCode::SessionNotFound,
                format!("session {id} is deleted"),
            )
            .fix(format!("rooftree sessions restore {id}"))
            .into());
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        seen.entry(id.clone())
            .or_insert_with(|| Arc::new(found.clone()));
        drop(seen);
        Ok(found)
    }

    /// The cached session, if this message wakes no agent: then the store can still refuse it.
    pub(crate) fn seen(&self, id: &SessionId, delivery: Delivery) -> Option<Arc<Session>> {
        if delivery != Delivery::Silent {
            let awake = self.context.awake.lock();
            awake.get(id).filter(|signals| !signals.is_closed())?;
        }
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(id)
            .cloned()
    }

    async fn latest(&self, agent: &str, who: &Principal) -> Result<Option<Session>, Error> {
        let filter = SessionFilter {
            tenant: Some(who.tenant.clone()),
            visible: VisibleSessions {
                // His own: the owner does not go on with what another person said last.
                person: Some(who.person.clone()),
                ..VisibleSessions::of(who)
            },
            agent: Some(agent.into()),
            top_level: Some(true),
            limit: 1,
            ..SessionFilter::default()
        };
        Ok(self.context.store().sessions(filter).await?.pop())
    }

    fn new_session(
        &self,
        new: NewSession,
        connector_key: Option<String>,
        who: &Principal,
    ) -> Result<ResolvedSession, Error> {
        let row = self.row(new, connector_key, who)?;
        Ok(ResolvedSession::New(Box::new(row)))
    }

    /// The row of a session that this principal opens.
    pub(crate) fn row(
        &self,
        new: NewSession,
        connector_key: Option<String>,
        who: &Principal,
    ) -> Result<NewSessionRow, Error> {
        let definition = self.context.definitions().find(&new.agent)?;
        refuse_other_agent(who, &definition.name)?;
        Ok(NewSessionRow {
            id: SessionId::from_entropy(self.context.entropy()),
            agent: definition.name.clone(),
            name: new.name,
            model: new.model.map(|choice| choice.to_string()),
            cwd: new.cwd,
            parent: None,
            connector_key,
            chat: None,
            account: who.account(),
            audit: None,
            at: self.context.now(),
        })
    }

    /// Wakes the session's agent unless one is awake here; says whether it did. What was queued
    /// before this is in the store when the new agent looks: it claims first, in the same queue.
    fn wake_if_idle(self: &Arc<Self>, session: &SessionId, whose: WakeOwnership) -> bool {
        let mut awake = self.context.awake.lock();
        if awake
            .get(session)
            .is_some_and(|signals| !signals.is_closed())
        {
            return false;
        }
        let signals = SignalQueue::default();
        if whose == WakeOwnership::Ours {
            signals.own();
        }
        awake.insert(session.clone(), signals.clone());
        drop(awake);
        self.start(session.clone(), signals);
        true
    }

    /// Gives a signal to the session's agent for a client of this process, waking one if none is awake here.
    pub(crate) fn wake(self: &Arc<Self>, session: &SessionId, signal: AgentSignal) {
        let mut awake = self.context.awake.lock();
        let signal = match awake.get(session) {
            Some(signals) => {
                signals.own();
                match signals.send(signal) {
                    Ok(()) => return,
                    Err(returned) => returned,
                }
            }
            None => signal,
        };
        let signals = SignalQueue::default();
        signals.own();
        let _ = signals.send(signal);
        awake.insert(session.clone(), signals.clone());
        drop(awake);
        self.start(session.clone(), signals);
    }

    /// Lets an agent know that its inbox holds something. A run that another process left open is not taken up
    /// for that: the message stays queued.
    async fn notify_of_mail(self: &Arc<Self>, session: &SessionId) {
        // One that is woken for it finds it when it claims; only one that is awake must look.
        if self.tell(session, AgentSignal::Mail) {
            return;
        }
        match interrupted_runs::session_ownership(&self.context, session).await {
            Ok(SessionOwnership::Ours) => drop(self.wake_if_idle(session, WakeOwnership::Ours)),
            Ok(SessionOwnership::Free) => drop(self.wake_if_idle(session, WakeOwnership::Unknown)),
            // The store cannot be read: the process that resumes the session finds the message.
            Ok(SessionOwnership::Foreign) | Err(_) => {}
        }
    }

    /// Gives a signal only if an agent is awake here; says whether one was.
    pub(crate) fn tell(&self, session: &SessionId, signal: AgentSignal) -> bool {
        let awake = self.context.awake.lock();
        awake
            .get(session)
            .is_some_and(|signals| signals.send(signal).is_ok())
    }

    /// Does what agents want done with other sessions, until the runtime closes.
    pub(crate) async fn run_session_actions(
        self: Arc<Self>,
        mut session_actions: mpsc::UnboundedReceiver<SessionAction>,
    ) {
        let closing = self.context.closing.clone();
        while let Some(Some(action)) = closing.run_until_cancelled(session_actions.recv()).await {
            match action {
                SessionAction::Wake(session) => self.notify_of_mail(&session).await,
                SessionAction::WakeChild(session) => {
                    if !self.wake_if_idle(&session, WakeOwnership::Ours) {
                        self.wake(&session, AgentSignal::Mail);
                    }
                }
                SessionAction::Cancel(session, run) => self.cancel(session, run).await,
            }
        }
    }

    /// Stops a run, here or in the process that works on it.
    async fn cancel(&self, session: SessionId, run: RunId) {
        if self.tell(&session, AgentSignal::Cancel(Some(run.clone()), None)) {
            return;
        }
        let command = Command::Cancel {
            session: session.clone(),
            run: Some(run),
        };
        self.context
            .store()
            .put_command(&session, CommandRow::new(command, self.context.now()))
            .detach();
    }

    fn start(self: &Arc<Self>, session: SessionId, signals: SignalQueue) {
        let router = self.clone();
        self.context.task_tracker.spawn(async move {
            agent::run_until_idle(router.context.clone(), session.clone(), signals.clone()).await;
            signals.close();
            let mut awake = router.context.awake.lock();
            if awake
                .get(&session)
                .is_some_and(|current| current.is_same(&signals))
            {
                awake.remove(&session);
            }
        });
    }
}

/// A token that is bound to agents opens sessions of these alone.
pub(crate) fn refuse_other_agent(who: &Principal, agent: &str) -> Result<(), Problem> {
    if who.may_use(agent) {
        return Ok(());
    }
    let message = format!("this token may not use the agent `{agent}`");
    Err(Problem::new(ErrorCode::ToolDenied, message)
        .fix("GET /api/v1/me names the agents it is bound to"))
}
