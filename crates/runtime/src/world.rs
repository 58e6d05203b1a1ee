//! What all agents of one runtime have in common: where they remember, think, act and tell time.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rooftree_process::sandbox::Backend;
use rooftree_protocol::{
    AgentDefinition, Confinement, ErrorCode, Event, EventBody, Limits, Mandate, ModelChoice, Problem,
    Reading, RunId, SandboxMode, Session, SessionId, Timestamp, definition::Exposure, event, event::RunMode,
};
use rooftree_providers::{Catalog, Model};
use rooftree_store::{Owner, Store};
use rooftree_tools::{
    Confining, Followed, Policy, Processes, Rule, Toolset,
    mcp::{Notice, Offered, Servers},
};
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Clock, Definitions, Hooks, Lookout, Mark, Secrets, Surroundings,
    answers::Answers,
    bus::Bus,
    checks::Checker,
    doorway::Doorway,
    effective,
    exposure::Place,
    governor::Governor,
    hooks::Begun,
    kit::{self, Kit, Kits},
    memory::Shelves,
    remote,
    replies::Replies,
    standing::StandingRules,
    workspace,
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
    /// The servers there are, whose tools are looked for when somebody may use them.
    pub servers: Arc<Servers>,
    /// The agents there are.
    pub definitions: Definitions,
    /// What agents find around them: rules, skills, instructions, verifiers. Looked at when a run begins.
    pub surroundings: Lookout,
    /// What may happen without asking.
    pub policy: Policy,
    /// Whether an agent that has read something from outside is trusted less in mode `auto`.
    pub wary: bool,
    /// How what agents run is confined.
    pub sandbox: Confining,
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
    /// How deep delegation goes, instead of what definitions say.
    pub depth: Option<u32>,
    /// Where agents remember what does not belong to a project.
    pub memory: Shelves,
    /// Where working copies of children are kept.
    pub workspaces: workspace::Place,
    /// Functions of the program around that can check work, by name.
    pub checkers: BTreeMap<String, Checker>,
    /// Which model a name means, as a call may write it: `fast`, `sonnet`, `provider/model`.
    pub naming: Naming,
    /// What the program around it wants to be asked and told.
    pub hooks: Hooks,
    /// What must never be kept or told.
    pub secrets: Arc<Secrets>,
    /// What messages of the runtime are marked with, the same in all processes on one store.
    pub mark: Mark,
    /// Where commands of agents whose tools are skills find their way back; none: tools stay functions.
    pub calls: Option<Place>,
}

/// Says which model a name means.
pub type Naming = Arc<dyn Fn(&str) -> Result<ModelChoice, Problem> + Send + Sync>;

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
    /// Who waits for which delegated run.
    pub(crate) replies: Replies,
    /// The rules people made.
    pub(crate) standing: StandingRules,
    /// The sessions whose beginning hooks were told of.
    pub(crate) begun: Begun,
    /// Answers that may be given again.
    pub(crate) answers: Answers,
    /// The way back from commands to the agents that run them.
    pub(crate) doorway: Doorway,
    /// What agents want done with other sessions than their own.
    pub(crate) errands: mpsc::UnboundedSender<Errand>,
}

/// Something an agent wants done with another session.
#[derive(Debug)]
pub(crate) enum Errand {
    /// There is something new in its inbox.
    Wake(SessionId),
    /// Stop this run of it.
    Cancel(SessionId, RunId),
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

    /// The tools that agents of this name have from servers, which are started if they are not running.
    pub(crate) async fn offered(&self, agent: &str, mandate: Option<&Mandate>) -> Result<Offered, Problem> {
        let options = &self.options;
        let definition = options.definitions.find(agent)?;
        let wanted = remote::wanted(&options.servers, &options.definitions, &definition, mandate);
        let mut offered = Offered::default();
        if !wanted.servers.is_empty() {
            tokio::select! {
                () = self.closing.cancelled() => {}
                found = options.servers.offer(&wanted.servers) => offered = found,
            }
        }
        offered.notices.extend(wanted.notices);
        Ok(offered)
    }

    /// What agents of this name work with, under a mandate if another agent asks.
    pub(crate) fn kit(&self, agent: &str, mandate: Option<&Mandate>) -> Result<Arc<Kit>, Problem> {
        self.kit_with(agent, mandate, &Offered::default(), (&self.options.surroundings.current(), None))
    }

    /// Where tools of an agent can be called by its commands, if it wants that; and what people should know if
    /// that cannot be had.
    pub(crate) async fn exposing(
        &self,
        agent: &str,
        mandate: Option<&Mandate>,
    ) -> Result<(Option<&Place>, Option<Notice>), Problem> {
        let definition = self.options.definitions.find(agent)?;
        if definition.exposure == Exposure::Tools {
            return Ok((None, None));
        }
        let because = |why: &str, hint: &str| Notice {
            code: "exposure",
            message: format!("the tools of {agent} stay functions: {why}"),
            hint: Some(hint.to_owned()),
        };
        let Some(place) = self.doorway.place() else {
            let why = "there is no directory for the socket that commands would use";
            return Ok((None, Some(because(why, "keep sessions in a file"))));
        };
        let is_confined = self.confinement(&definition, mandate).mode != SandboxMode::Off;
        if is_confined && rooftree_process::standing::available().await == Ok(Backend::Landlock) {
            let why = "commands are confined by Landlock here, which lets them use no socket";
            return Ok((None, Some(because(why, "install bubblewrap (bwrap)"))));
        }
        Ok((Some(place), None))
    }

    /// The same with tools from servers, with those that are of use with what is around, and with a place from
    /// where commands call tools.
    pub(crate) fn kit_with(
        &self,
        agent: &str,
        mandate: Option<&Mandate>,
        offered: &Offered,
        (surroundings, place): (&Surroundings, Option<&Place>),
    ) -> Result<Arc<Kit>, Problem> {
        let definition = self.options.definitions.find(agent)?;
        // A definition that was changed is another one, at another address.
        let mut key = format!("{:p}", Arc::as_ptr(&definition));
        if let Some(mandate) = mandate {
            let Mandate { mode, tools, max_turns, max_cost_usd, .. } = mandate;
            let (is_fork, is_asked, depth) =
                (*mode == RunMode::Fork, mandate.expects_answer(), mandate.depth());
            key = format!("{key} {is_fork} {is_asked} {depth} {max_turns:?} {max_cost_usd:?} {tools:?}");
        }
        if !offered.tools.is_empty() {
            key = format!("{key} {}", offered.key);
        }
        if place.is_some() {
            key += " exposed";
        }
        if !surroundings.skills.is_empty() {
            key.push_str(" skills");
        }
        self.kits.of(&key, || {
            let limits = self.limits(&definition, mandate);
            // Those of servers come last: what a provider has read of the others stays good.
            let tools = Toolset::new(self.options.tools.iter().chain(&offered.tools).cloned());
            Ok(Kit::new(definition.clone(), limits, &kit::useful(&tools, surroundings), mandate, place))
        })
    }

    /// A definition's limits, with what the runtime and the mandate say instead.
    fn limits(&self, definition: &AgentDefinition, mandate: Option<&Mandate>) -> Limits {
        let mut limits = definition.limits.clone();
        let options = &self.options;
        match mandate {
            None => {
                limits.max_turns = options.max_turns.or(definition.max_turns).unwrap_or(limits.max_turns);
                limits.max_cost_usd = options.max_cost_usd.or(limits.max_cost_usd);
            }
            Some(mandate) => {
                let turns = mandate.max_turns.or(definition.max_turns);
                limits.max_turns = turns.unwrap_or(limits.child_turns);
                let costs = [mandate.max_cost_usd, limits.max_cost_usd];
                limits.max_cost_usd = costs.into_iter().flatten().reduce(f64::min);
            }
        }
        if let Some(limit) = options.run_timeout {
            limits.run_timeout_secs = limit.as_secs().max(1);
        }
        limits.depth = options.depth.unwrap_or(limits.depth);
        limits
    }

    /// What may happen without asking. With a mandate it is what that says, never more.
    pub(crate) fn policy(&self, definition: &AgentDefinition, mandate: Option<&Mandate>) -> Policy {
        let mut policy = self.options.policy.clone();
        if let Some(mandate) = mandate {
            let rules = |rules: &[String]| rules.iter().filter_map(|rule| Rule::parse(rule).ok()).collect();
            policy.mode = policy.mode.min(mandate.permission_mode);
            policy.allow = rules(&mandate.allow);
            policy.ask.extend::<Vec<Rule>>(rules(&mandate.ask));
            policy.deny.extend::<Vec<Rule>>(rules(&mandate.deny));
            policy.followed.extend(mandate.skills.iter().map(Followed::of));
        }
        effective::narrowed(policy, definition)
    }

    /// How what an agent runs is confined: as everywhere, and as strictly as its mandate and definition say.
    pub(crate) fn confinement(&self, definition: &AgentDefinition, mandate: Option<&Mandate>) -> Confinement {
        let general = &self.options.sandbox.confinement;
        let mandated = mandate.and_then(|mandate| mandate.sandbox.as_ref());
        let narrowed = mandated.map_or_else(|| general.clone(), |mandated| general.narrowed(mandated));
        let confinement = narrowed.with(definition.sandbox, definition.network.as_ref());
        // Whoever may use the agent over HTTP sees what it reads.
        let exposed = if definition.api_exposed { Reading::OnlyHere } else { Reading::AsCommands };
        Confinement { reading: confinement.reading.max(exposed), ..confinement }
    }

    /// The model a session thinks with: what the call says, its definition's, its own, that of
    /// whoever asked, the default.
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
            None => own.or_else(|| definition.model.clone()).or_else(|| self.options.default_model.clone()),
        };
        let choice = choice.ok_or_else(|| {
            Problem::new(ErrorCode::Unauthorized, format!("no usable model for agent `{}`", session.agent))
                .cause("none was named, and there is no default")
                .fix("rooftree run -m provider/model …, or set ROOFTREE_MODEL; rooftree demo needs none")
        })?;
        self.options.catalog.open(&choice)
    }

    /// Tells watchers something that is not kept.
    pub(crate) fn mention(&self, session: &Session, run: Option<RunId>, body: EventBody) {
        self.publish(Arc::new(self.event(session, run, body)));
    }

    /// Tells everybody who watches.
    pub(crate) fn publish(&self, event: Arc<Event>) {
        self.publish_after(u64::MAX, event);
    }

    /// The same for something passing that was said when the journal had so many events: whoever has
    /// read on is not told.
    pub(crate) fn publish_after(&self, head: u64, event: Arc<Event>) {
        self.options.hooks.tell(&event);
        self.bus.publish(head, event);
    }

    /// What must never be kept or told.
    pub(crate) fn secrets(&self) -> &Arc<Secrets> {
        &self.options.secrets
    }

    /// Wraps what happened into its envelope; the journal numbers it.
    ///
    /// Invariant: this is the only place where a body becomes an event, and no secret passes it. So
    /// what is stored, what watchers hear and what a model reads later are the same.
    pub(crate) fn event(&self, session: &Session, run: Option<RunId>, mut body: EventBody) -> Event {
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
