//! What all agents of one runtime have in common: where they remember, think, act and tell time.

use std::{sync::Arc, time::Duration};

use rooftree_protocol::{
    ErrorCode, Event, EventBody, ModelChoice, Problem, RunId, Session, Timestamp, event,
};
use rooftree_providers::{Catalog, Model};
use rooftree_store::{Owner, Store};
use rooftree_tools::{Policy, Processes, Toolset};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Clock, Definitions,
    bus::Bus,
    governor::Governor,
    kit::{Kit, Kits},
};

/// How long a claim lives without being renewed.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// Whether somebody can be asked for permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// A client watches and answers with `Command::Permit`.
    Client,
    /// Nobody does: what would have to be asked is denied.
    Nobody,
}

/// Everything a runtime is made of. Plain data: whoever starts it has read all settings.
pub struct Options {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// Time and chance.
    pub clock: Arc<dyn Clock>,
    /// The models there are.
    pub catalog: Catalog,
    /// The tools there are, before any agent's scope.
    pub tools: Toolset,
    /// The background processes those tools start.
    pub processes: Arc<Processes>,
    /// The agents there are.
    pub definitions: Definitions,
    /// What may happen without asking.
    pub policy: Policy,
    /// Whether somebody can be asked.
    pub asking: Asking,
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
}

pub(crate) struct World {
    pub(crate) options: Options,
    pub(crate) bus: Bus,
    pub(crate) kits: Kits,
    pub(crate) governor: Governor,
    pub(crate) owner: Owner,
    /// Fires when the runtime stops; every agent's work hangs below it.
    pub(crate) closing: CancellationToken,
    /// Every task of this runtime, so that it can wait for them to end.
    pub(crate) crew: TaskTracker,
}

impl World {
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.options.store
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.options.clock.now()
    }

    pub(crate) fn entropy(&self) -> u128 {
        self.options.clock.entropy()
    }

    /// What agents of this name work with.
    pub(crate) fn kit(&self, agent: &str) -> Result<Arc<Kit>, Problem> {
        self.kits.of(agent, || {
            let definition = self.options.definitions.find(agent)?;
            let mut limits = definition.limits.clone();
            limits.max_turns = self.options.max_turns.unwrap_or(limits.max_turns);
            limits.max_cost_usd = self.options.max_cost_usd.or(limits.max_cost_usd);
            if let Some(limit) = self.options.run_timeout {
                limits.run_timeout_secs = limit.as_secs().max(1);
            }
            Ok(Kit::new(definition, limits, &self.options.tools))
        })
    }

    /// The model a session thinks with: its own, its definition's, the default.
    pub(crate) fn model(&self, session: &Session, defined: Option<&ModelChoice>) -> Result<Model, Problem> {
        let own = session.model.as_deref().map(str::parse).transpose()?;
        let choice = own.or_else(|| defined.cloned()).or_else(|| self.options.default_model.clone());
        let choice = choice.ok_or_else(|| {
            Problem::new(ErrorCode::Unauthorized, format!("no usable model for agent `{}`", session.agent))
                .cause("none was named, and there is no default")
                .fix("rooftree run -m provider/model …, or set ROOFTREE_MODEL; rooftree demo needs none")
        })?;
        self.options.catalog.open(&choice)
    }

    /// Tells watchers something that is not kept.
    pub(crate) fn mention(&self, session: &Session, run: Option<RunId>, body: EventBody) {
        self.bus.publish(Arc::new(self.event(session, run, body)));
    }

    /// Wraps what happened into its envelope; the journal numbers it.
    pub(crate) fn event(&self, session: &Session, run: Option<RunId>, body: EventBody) -> Event {
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
