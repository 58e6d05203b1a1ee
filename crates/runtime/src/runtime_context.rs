//! Context shared by all agents of one runtime: store, models, tools, clock.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, atomic::AtomicBool},
    time::Duration,
};

use rooftree_protocol::{
    AgentDefinition, ErrorCode, Event, EventBody, Mandate, ModelChoice, Problem, RunId, Session,
    SessionId, Timestamp, event,
};
use rooftree_providers::{Model, ModelCatalog};
use rooftree_store::{Owner, Store};
use rooftree_tools::{
    BackgroundProcesses, Policy, SandboxConfig, Toolset,
    mcp::{McpAgentTools, McpServerPool},
};
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Clock, ContextWatcher, Definitions, Hooks, MessageMark, SecretRedactor, bus::Bus,
    cached_answers::AnswerCache, call_socket::CallSocket, checks::VerifierFunction,
    delegation_registry::DelegationRegistry, exposure::CallSocketConfig, hooks::SessionTracker,
    mcp_scope, memory::MemoryDirs, rate_limiter::RateLimiter, resolved_agent::ResolvedAgentCache,
    saved_rules::SavedRules, signals::AwakeSessions, workspace,
};

/// Lease of a claim: how long it lives without being renewed.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// Whether there is a client to ask for permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalSource {
    /// A client watches and answers with `Command::Permit`.
    Client,
    /// There is none: a call that needs approval is denied.
    Nobody,
}

/// All parts of a runtime. Plain data: the caller has read all settings.
pub struct RuntimeOptions {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// Time and chance.
    pub clock: Arc<dyn Clock>,
    /// The models there are.
    pub catalog: ModelCatalog,
    /// The tools there are, before any agent's scope.
    pub tools: Toolset,
    /// The background processes those tools start.
    pub processes: Arc<BackgroundProcesses>,
    /// The MCP servers; their tools are listed when an agent may use them.
    pub servers: Arc<McpServerPool>,
    /// The agents there are.
    pub definitions: Definitions,
    /// What agents find around them: rules, skills, instructions, verifiers. Looked at when a run begins.
    pub project_context: ContextWatcher,
    /// What may happen without asking.
    pub policy: Policy,
    /// Whether an agent that has read something from outside is trusted less in mode `auto`.
    pub wary: bool,
    /// How what agents run is confined.
    pub sandbox: SandboxConfig,
    /// Whether there is a client to ask.
    pub approvals: ApprovalSource,
    /// The model for agents and sessions that name none.
    pub default_model: Option<ModelChoice>,
    /// Models to turn to, for one turn, when the chosen one cannot be had.
    pub fallbacks: Vec<ModelChoice>,
    /// Turns per run, instead of what definitions say.
    pub max_turns: Option<u32>,
    /// Time per run, instead of what definitions say.
    pub run_timeout: Option<Duration>,
    /// US dollars per run, instead of what definitions say.
    pub max_cost_usd: Option<f64>,
    /// How deep delegation goes, instead of what definitions say.
    pub depth: Option<u32>,
    /// Where agents remember what does not belong to a project.
    pub memory: MemoryDirs,
    /// Where working copies of children are kept.
    pub workspaces: workspace::WorkspaceConfig,
    /// Functions of the program around that can check work, by name.
    pub checkers: BTreeMap<String, VerifierFunction>,
    /// Which model a name means, as a call may write it: `fast`, `sonnet`, `provider/model`.
    pub model_resolver: ModelResolver,
    /// What the program around it wants to be asked and told.
    pub hooks: Hooks,
    /// What must never be kept or told.
    pub secrets: Arc<SecretRedactor>,
    /// What messages of the runtime are marked with, the same in all processes on one store.
    pub mark: MessageMark,
    /// Where commands of agents whose tools are skills find their way back; none: tools stay functions.
    pub call_socket: Option<CallSocketConfig>,
}

/// Says which model a name means.
pub type ModelResolver = Arc<dyn Fn(&str) -> Result<ModelChoice, Problem> + Send + Sync>;

pub(crate) struct RuntimeContext {
    pub(crate) options: RuntimeOptions,
    pub(crate) bus: Bus,
    pub(crate) resolved_agents: ResolvedAgentCache,
    pub(crate) rate_limiter: RateLimiter,
    pub(crate) owner: Owner,
    /// Fires when the runtime stops; every agent's work hangs below it.
    pub(crate) closing: CancellationToken,
    /// Every task of this runtime, so that it can wait for them to end.
    pub(crate) task_tracker: TaskTracker,
    /// Who waits for which delegated run.
    pub(crate) delegations: DelegationRegistry,
    /// The rules people made.
    pub(crate) saved_rules: SavedRules,
    /// The sessions whose beginning hooks were told of.
    pub(crate) session_tracker: SessionTracker,
    /// Answers that may be given again.
    pub(crate) answer_cache: AnswerCache,
    /// The way back from commands to the agents that run them.
    pub(crate) call_socket: CallSocket,
    /// The sessions that are awake here.
    pub(crate) awake: AwakeSessions,
    /// The sessions whose permission mode a person has changed while they were awake here.
    pub(crate) mode_changes: Mutex<HashSet<SessionId>>,
    /// Whether this process goes on with every session that was left unfinished, as a server does.
    pub(crate) takes_all: AtomicBool,
    /// What agents want done with other sessions than their own.
    pub(crate) session_actions: mpsc::UnboundedSender<SessionAction>,
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
        let definition = options.definitions.find(agent)?;
        let mut wanted =
            mcp_scope::wanted(&options.servers, &options.definitions, &definition, mandate);
        if let Some(hidden) = options.definitions.hidden_by(&definition) {
            let most =
                mcp_scope::wanted(&options.servers, &options.definitions, &hidden, mandate).servers;
            wanted
                .servers
                .retain(|name, server| most.get(name) == Some(server));
        }
        let mut offered = McpAgentTools::default();
        if !wanted.servers.is_empty() {
            tokio::select! {
                () = self.closing.cancelled() => {}
                found = options.servers.offer(&wanted.servers) => offered = found,
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
        let own = session.model.as_deref().map(str::parse).transpose()?;
        let mandated = mandate.and_then(|mandate| mandate.model.clone());
        let choice = match mandated {
            Some(choice) => Some(choice),
            None => own
                .or_else(|| definition.model.clone())
                .or_else(|| self.options.default_model.clone()),
        };
        let choice = choice.ok_or_else(|| {
            Problem::new(
                ErrorCode::Unauthorized,
                format!("no usable model for agent `{}`", session.agent),
            )
            .cause("none was named, and there is no default")
            .fix(
                "rooftree run -m provider/model …, or set ROOFTREE_MODEL; rooftree demo needs none",
            )
        })?;
        self.options.catalog.open(&choice)
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
        self.options.hooks.tell(&event);
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
        Event {
            v: event::VERSION,
            id: None,
            ts: self.now(),
            session: session.id.clone(),
            run,
            parent_run,
            agent: session.agent.clone(),
            body,
        }
    }
}
