//! Context shared by all agents of one runtime: store, models, tools, clock.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, atomic::AtomicBool},
    time::Duration,
};

use rooftree_protocol::{
    AgentDefinition, ErrorCode, Event, EventBody, Mandate, ModelChoice, Problem, RunId, Session,
    SessionId, Timestamp, event,
};
use rooftree_providers::Model;
use rooftree_store::{Owner, Store};
use rooftree_tools::mcp::McpAgentTools;
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Clock, Definitions, SecretRedactor, board::BoardHub, bus::Bus, cached_answers::AnswerCache,
    call_socket::CallSocket, chat_activity::ChatActivity, delegation_registry::DelegationRegistry,
    hooks::SessionTracker, mcp_scope, rate_limiter::RateLimiter,
    resolved_agent::ResolvedAgentCache, resting_sessions::RestingSessions,
    runtime_options::RuntimeOptions, saved_rules::SavedRules, schedules::ScheduleNews,
    signals::AwakeSessions,
};

/// Lease of a claim: how long it lives without being renewed.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

pub(crate) struct RuntimeContext {
    pub(crate) options: RuntimeOptions,
    pub(crate) bus: Arc<Bus>,
    /// The boards that are watched.
    pub(crate) boards: Arc<BoardHub>,
    pub(crate) caches: RuntimeCaches,
    pub(crate) rate_limiter: RateLimiter,
    pub(crate) owner: Owner,
    /// Fires when the runtime stops; every agent's work hangs below it.
    pub(crate) closing: CancellationToken,
    /// Every task of this runtime, so that it can wait for them to end.
    pub(crate) task_tracker: TaskTracker,
    /// Who waits for which delegated run.
    pub(crate) delegations: DelegationRegistry,
    /// The sessions whose beginning hooks were told of.
    pub(crate) session_tracker: SessionTracker,
    /// The way back from commands to the agents that run them.
    pub(crate) call_socket: CallSocket,
    /// The sessions that are awake here.
    pub(crate) awake: AwakeSessions,
    /// The sessions whose permission mode a person has changed while they were awake here.
    pub(crate) mode_changes: Mutex<HashSet<SessionId>>,
    /// Whether this process goes on with every session that was left unfinished, as a server does.
    pub(crate) takes_all: AtomicBool,
    /// Tells of changes of schedules in this process.
    pub(crate) schedule_news: Arc<ScheduleNews>,
    /// What agents want done with other sessions than their own.
    pub(crate) session_actions: mpsc::UnboundedSender<SessionAction>,
    /// Who works for a chat, and whether there is something to deliver.
    pub(crate) chats: Arc<ChatActivity>,
}

/// What all agents of a runtime cache together.
#[derive(Default)]
pub(crate) struct RuntimeCaches {
    /// Definitions with their tools, limits and hooks.
    pub(crate) resolved_agents: ResolvedAgentCache,
    /// The rules people made.
    pub(crate) saved_rules: SavedRules,
    /// Answers that may be given again.
    pub(crate) answers: AnswerCache,
    /// What agents at rest knew of their sessions.
    pub(crate) resting: RestingSessions,
}

impl RuntimeContext {
    /// The context of a new runtime, in which no session is awake, and what agents want done with other sessions.
    pub(crate) fn new(
        options: RuntimeOptions,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<SessionAction>) {
        let (session_actions, requested) = mpsc::unbounded_channel();
        let call_socket = CallSocket::new(options.tools.call_socket.clone());
        let boards = Arc::new(BoardHub::new());
        let context = Self {
            options,
            boards,
            bus: Arc::default(),
            caches: RuntimeCaches::default(),
            rate_limiter: RateLimiter::default(),
            owner: Owner::this_process(),
            closing: CancellationToken::new(),
            task_tracker: TaskTracker::new(),
            delegations: DelegationRegistry::default(),
            session_tracker: SessionTracker::default(),
            call_socket,
            awake: AwakeSessions::default(),
            mode_changes: Mutex::default(),
            takes_all: AtomicBool::new(false),
            schedule_news: Arc::default(),
            session_actions,
            chats: Arc::default(),
        };
        (Arc::new(context), requested)
    }
}

/// Something an agent wants done with another session.
#[derive(Debug)]
pub(crate) enum SessionAction {
    /// There is something new in its inbox. A run of it that another process left open stays as it is.
    Wake(SessionId),
    /// There is work in its inbox that a session which is awake here has opened it for.
    WakeChild(SessionId),
    /// Stop this run of it.
    Cancel(SessionId, RunId),
}

impl RuntimeContext {
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.options.store
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.options.clock
    }

    pub(crate) fn definitions(&self) -> &Definitions {
        &self.options.agents.definitions
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.options.clock.now()
    }

    pub(crate) fn entropy(&self) -> u128 {
        self.options.clock.entropy()
    }

    /// The tools that agents of this name have from servers, which are started if they are not running.
    pub(crate) async fn server_tools(
        &self,
        agent: &str,
        mandate: Option<&Mandate>,
    ) -> Result<McpAgentTools, Problem> {
        let options = &self.options;
        let definition = options.agents.definitions.find(agent)?;
        let mut wanted = mcp_scope::wanted(
            &options.tools.servers,
            &options.agents.definitions,
            &definition,
            mandate,
        );
        if let Some(hidden) = options.agents.definitions.hidden_by(&definition) {
            let most = mcp_scope::wanted(
                &options.tools.servers,
                &options.agents.definitions,
                &hidden,
                mandate,
            )
            .servers;
            wanted
                .servers
                .retain(|name, server| most.get(name) == Some(server));
        }
        let mut offered = McpAgentTools::default();
        if !wanted.servers.is_empty() {
            tokio::select! {
                () = self.closing.cancelled() => {}
                found = options.tools.servers.offer(&wanted.servers) => offered = found,
            }
        }
        offered.notices.extend(wanted.notices);
        Ok(offered)
    }

    /// The model of a session, by precedence: the mandate's, the session's own, the definition's, the default.
    pub(crate) fn model(
        &self,
        session: &Session,
        definition: &AgentDefinition,
        mandate: Option<&Mandate>,
    ) -> Result<Model, Problem> {
        let choice = self.model_choice(session, definition, mandate)?;
        self.options.models.catalog.open(&choice)
    }

    /// Has the server of the session's model asked for what is not known about it, before the model is opened.
    pub(crate) async fn prepare_model(
        &self,
        session: &Session,
        definition: &AgentDefinition,
        mandate: Option<&Mandate>,
    ) {
        if let Ok(choice) = self.model_choice(session, definition, mandate) {
            self.options.models.catalog.prepare(&choice).await;
        }
    }

    fn model_choice(
        &self,
        session: &Session,
        definition: &AgentDefinition,
        mandate: Option<&Mandate>,
    ) -> Result<ModelChoice, Problem> {
        let own = session.model.as_deref().map(str::parse).transpose()?;
        let mandated = mandate.and_then(|mandate| mandate.model.clone());
        let choice = match mandated {
            Some(choice) => Some(choice),
            None => own
                .or_else(|| definition.model.clone())
                .or_else(|| self.options.models.default_now()),
        };
        let choice = choice.ok_or_else(|| {
            Problem::new(
                ErrorCode::Unauthorized,
                format!("no usable model for agent `{}`", session.agent),
            )
            .cause("none was named, and there is no default")
            .fix(
                "rooftree init finds keys and model servers; rooftree auth login PROVIDER stores a key; rooftree run -m \
                 PROVIDER/MODEL names a model",
            )
        })?;
        Ok(ModelChoice {
            effort: choice.effort.or(definition.effort),
            ..choice
        })
    }

    /// Tells watchers something that is not kept.
    pub(crate) fn mention(&self, session: &Session, run: Option<RunId>, body: EventBody) {
        self.publish(Arc::new(self.event(session, run, body)));
    }

    /// Publishes an event to all subscribers.
    pub(crate) fn publish(&self, event: Arc<Event>) {
        self.publish_after(u64::MAX, event);
    }

    /// The same for a transient event that was said when the journal had `head` events: a subscriber that has read
    /// further does not get it.
    pub(crate) fn publish_after(&self, head: u64, event: Arc<Event>) {
        self.options.agents.hooks.tell(&event);
        self.bus.publish(head, event);
    }

    /// The redactor of secrets that must never be stored or published.
    pub(crate) fn secrets(&self) -> &Arc<SecretRedactor> {
        &self.options.secrets
    }

    /// Wraps what happened into its envelope; the journal numbers it.
    ///
    /// Invariant: this is the only place where a body becomes an event, and no secret passes it. So
    /// what is stored, what watchers hear and what a model reads later are the same.
    pub(crate) fn event(
        &self,
        session: &Session,
        run: Option<RunId>,
        mut body: EventBody,
    ) -> Event {
        self.secrets().clean_event(&mut body);
        let parent_run = session.parent.as_ref().map(|parent| parent.run.clone());
        // A message knows its sender while it waits; its event has that in the envelope.
        let who = match &mut body {
            EventBody::MessageUser { message, .. } => message.who.take(),
            _ => None,
        };
        Event {
            v: event::VERSION,
            id: None,
            ts: self.now(),
            session: session.id.clone(),
            run,
            parent_run,
            agent: session.agent.clone(),
            who,
            body,
        }
    }
}
