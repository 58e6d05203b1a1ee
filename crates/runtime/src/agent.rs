//! An agent's life: claim → take → run → settle → rest.
//!
//! An agent is a session that is awake. It is one task that owns all of the session's state;
//! everybody else sends it signals or reads its events.

mod act;
mod around;
mod ask;
mod batch;
mod budget;
mod call;
mod check;
mod compaction;
mod decide;
pub(crate) mod history;
mod hook_points;
mod inner;
mod inquire;
mod inspected;
mod journal;
mod limits;
mod listen;
mod patience;
mod permission;
pub(crate) mod prompt;
mod questions;
mod recovery;
mod result;
mod rights;
mod run;
mod run_view;
mod settle;
mod strict;
mod take;
pub(crate) mod task;
#[cfg(test)]
mod testing;
mod verify;
mod window;
pub(crate) mod wording;

use std::{path::PathBuf, sync::Arc, time::Duration};

use rooftree_protocol::{
    Event, EventBody, Mandate, Problem, RunId, Session, SessionId, Timestamp,
    event::{ClearReason, NoticeLevel},
};
use rooftree_providers::{Media, Model};
use rooftree_store::{ClaimOutcome, Claimed, Pending};
use rooftree_tools::{
    Policy,
    mcp::{Lease, Notice},
    tool::FileViews,
};

use self::{
    decide::{Checking, Room},
    history::History,
    journal::{Commit, Journal},
    window::Window,
};
use crate::{
    Error, Surroundings,
    checks::Check,
    exposure::Exposed,
    inbox::AtHand,
    kit::Kit,
    signals::Signals,
    tasks,
    world::{Errand, LEASE, World},
};

/// How long to wait before asking again for a claim that another process holds.
const HELD_ELSEWHERE: Duration = Duration::from_millis(250);

/// How long to wait before trying again what the store could not do.
const STORE_FAILED: Duration = Duration::from_secs(5);

struct Agent {
    world: Arc<World>,
    session: Session,
    kit: Arc<Kit>,
    /// What it found around it when the run began.
    surroundings: Arc<Surroundings>,
    /// What checks its work, by name.
    verifiers: Arc<[(String, Check)]>,
    system: Arc<str>,
    fixed_estimate: u64,
    /// What may happen without asking, with the rules people made.
    policy: Policy,
    /// What the policy was put together from.
    policy_of: rights::Basis,
    /// Where the project is whose rules hold: that of the first session above.
    home: PathBuf,
    /// For whom it works, if another agent asks.
    mandate: Option<Box<Mandate>>,
    /// Keep the servers it has tools from.
    leases: Vec<Lease>,
    /// What people should know about those servers, and have not been told; and what they have.
    remarks: Vec<Notice>,
    remarked: Vec<Notice>,
    model: Result<Model, Problem>,
    window: Window,
    journal: Journal,
    history: History,
    views: FileViews,
    /// The bytes of the images in the conversation.
    media: Media,
    signals: Signals,
    /// What people were told last that the model does not get.
    dropped: Vec<String>,
    /// How often the provider has called the question too long since the last reply.
    refusals: u32,
    /// What a new journal begins with. It is kept with whatever comes first.
    opening: Option<EventBody>,
    /// When this agent woke.
    awake_since: Timestamp,
    /// What waited when the session was claimed.
    at_hand: AtHand,
    /// Whether the boundary lane may hold something that was not taken in.
    has_news: bool,
    clear_asked: bool,
    /// How the run must end, heard while something else was being done.
    ending: Option<limits::End>,
    /// What running tools want to know from people.
    wishes: questions::Wishes,
    /// What commands of running calls want called.
    inner: inner::Inner,
    /// Runs that are to be stopped as soon as they begin.
    unwanted: Vec<RunId>,
    /// What is to be remembered about hooks.
    hooked: hook_points::Memory,
}

/// Lives until there is nothing left to do, or the runtime stops.
pub(crate) async fn live(world: Arc<World>, session: SessionId, signals: Signals) {
    loop {
        let now = world.now();
        let claim = world.store().claim(&session, &world.owner, now, now.after(LEASE)).await;
        let ended = match claim {
            Ok(ClaimOutcome::Granted(claimed)) => wake(&world, claimed, &signals).await,
            Ok(ClaimOutcome::Held(_)) => wait_for_claim(&world, &session, &signals).await,
            Err(error) => Err(error.into()),
        };
        match ended {
            Ok(Rested::Yes) => return,
            Ok(Rested::Not) => {}
            // Somebody else works on it now. Should they fail, what is left is ours again.
            Err(Error::Store(rooftree_store::Error::Fenced)) => tokio::time::sleep(HELD_ELSEWHERE).await,
            Err(error) => {
                mourn(&world, &session, &error).await;
                let is_over = matches!(error, Error::Refused(_) | Error::Closed);
                // A full disk may have room again: what was accepted is tried again after a while.
                if is_over || closes_within(&world, STORE_FAILED).await {
                    return;
                }
            }
        }
    }
}

/// Waits; says whether the runtime closed meanwhile.
async fn closes_within(world: &World, pause: Duration) -> bool {
    tokio::time::timeout(pause, world.closing.cancelled()).await.is_ok()
}

enum Rested {
    Yes,
    Not,
}

/// Another process works on this session. It finds what was posted in the store, and what we are
/// told is passed on to it; if it dies, we take over.
async fn wait_for_claim(world: &Arc<World>, session: &SessionId, signals: &Signals) -> Result<Rested, Error> {
    while let Some(signal) = signals.try_next() {
        if let Some(command) = signal.command(session) {
            world.store().put_command(session, command, world.now()).await?;
        }
    }
    let idle = !world.store().unfinished().await?.contains(session);
    if idle && signals.close_if_empty(|| ()) {
        return Ok(Rested::Yes);
    }
    let mut changes = world.store().changes();
    tokio::select! {
        () = world.closing.cancelled() => return Ok(Rested::Yes),
        _ = changes.changed() => {}
        () = tokio::time::sleep(HELD_ELSEWHERE) => {}
    }
    Ok(Rested::Not)
}

/// Tells watchers that the agent could not go on. Nothing accepted is lost: it is in the store.
async fn mourn(world: &Arc<World>, session: &SessionId, error: &Error) {
    let problem = error.problem();
    let Ok(Some(session)) = world.store().session(session).await else { return };
    let notice = EventBody::Notice {
        level: NoticeLevel::Error,
        code: "agent_stopped".into(),
        message: problem.message,
        hint: problem.fix,
    };
    world.mention(&session, None, notice);
}

async fn wake(world: &Arc<World>, mut claimed: Claimed, signals: &Signals) -> Result<Rested, Error> {
    let attempts = claimed.attempts;
    if attempts > 0 {
        // Whoever had the claim before did not give it back.
        tasks::clean_up(world, &claimed.session.id).await?;
    }
    world.standing.expect(claimed.rules);
    let left = std::mem::take(&mut claimed.commands);
    let mut agent = Agent::new(world.clone(), claimed, signals.clone())?;
    let worked = match recovery::load(&mut agent).await {
        Ok(()) => {
            recovery::heed_left(&mut agent, left);
            agent.work(attempts).await
        }
        Err(error) => Err(error),
    };
    agent.rest(worked).await
}

/// Another process may have posted after the last look and before the claim was given back. It was told that
/// somebody is at work here, so somebody is.
async fn wake_again(world: &World, session: &SessionId, history: &History, waits: Pending<bool>) {
    let waits = waits.await.unwrap_or_default();
    if waits && !world.closing.is_cancelled() && take::is_left(world, session, history).await {
        let _ = world.errands.send(Errand::Wake(session.clone()));
    }
}

/// The first event of a journal that has none of its own yet.
fn opening(session: &Session) -> Option<EventBody> {
    let forked_from = session.forked_from.clone();
    let inherited = forked_from.as_ref().map_or(0, |fork| fork.at);
    let (agent, name) = (session.agent.clone(), session.name.clone());
    (session.head == inherited).then_some(EventBody::SessionOpened { agent, name, forked_from })
}

impl Agent {
    fn new(world: Arc<World>, claimed: Claimed, signals: Signals) -> Result<Self, Error> {
        let session = claimed.session;
        let kit = world.kit(&session.agent, None)?;
        let surroundings = world.options.surroundings.current();
        let system = prompt::system(&world, &kit, &surroundings, &session.cwd);
        let model = world.model(&session, &kit.definition, None);
        let window = model.as_ref().ok().and_then(|model| model.window).unwrap_or(kit.limits.context_window);
        let journal = Journal::open(world.clone(), session.clone(), claimed.claim, signals.clone());
        Ok(Self {
            opening: opening(&session),
            fixed_estimate: prompt::fixed_estimate(&system, &kit.specs),
            policy: world.policy(&kit.definition, None),
            policy_of: rights::Basis::default(),
            home: session.cwd.clone(),
            mandate: None,
            leases: Vec::new(),
            remarks: Vec::new(),
            remarked: Vec::new(),
            window: Window::new(window),
            history: History::default(),
            views: FileViews::default(),
            media: Media::default(),
            dropped: Vec::new(),
            refusals: 0,
            awake_since: world.now(),
            at_hand: AtHand::new(claimed.waiting),
            has_news: true,
            clear_asked: false,
            ending: None,
            wishes: questions::Wishes::default(),
            inner: inner::Inner::default(),
            unwanted: Vec::new(),
            hooked: hook_points::Memory::default(),
            verifiers: Arc::new([]),
            world,
            session,
            kit,
            surroundings,
            system,
            model,
            journal,
            signals,
        })
    }

    /// Takes up what this mandate allows; without one, what the definition does.
    async fn equip(&mut self, mandate: Option<Box<Mandate>>, run: &RunId) -> Result<(), Error> {
        let offered = self.offered(mandate.as_deref(), run).await?;
        let around = self.world.options.surroundings.now();
        let (place, notice) = self.world.exposing(&self.session.agent, mandate.as_deref()).await?;
        let kit = self.world.kit_with(&self.session.agent, mandate.as_deref(), &offered, (&around, place))?;
        (self.leases, self.remarks) = (offered.leases, offered.notices);
        self.remarks.extend(notice.or_else(|| kit.unexposed()));
        self.remarks.extend(kit.exposed.as_ref().and_then(Exposed::described));
        self.look_around(&around, &kit, mandate.as_deref());
        let is_same = Arc::ptr_eq(&self.kit, &kit) && Arc::ptr_eq(&self.surroundings, &around);
        if is_same && self.mandate == mandate {
            return Ok(());
        }
        let directory = task::told_directory(&self.session.cwd, mandate.as_deref());
        self.system = prompt::system(&self.world, &kit, &around, &directory);
        self.fixed_estimate = prompt::fixed_estimate(&self.system, &kit.specs);
        self.policy = self.world.policy(&kit.definition, mandate.as_deref());
        // Whatever people have said is added before the first call.
        self.policy_of = rights::Basis::default();
        self.model = self.world.model(&self.session, &kit.definition, mandate.as_deref());
        let window = self.model.as_ref().ok().and_then(|model| model.window);
        self.window = Window::new(window.unwrap_or(kit.limits.context_window));
        self.journal.works_for(mandate.as_ref().map(|mandate| mandate.parent.run.clone()));
        (self.kit, self.mandate, self.surroundings) = (kit, mandate, around);
        Ok(())
    }

    /// Works off what was left open, then the mail, until nothing is left.
    async fn work(&mut self, attempts: u32) -> Result<(), Error> {
        if self.session.forked_from.is_some() {
            // At once: it closes the run its parent was in.
            self.open_journal();
        }
        if let Some(run) = self.history.run() {
            let (mandate, run) = (run.mandate.clone(), run.id.clone());
            self.equip(mandate, &run).await?;
            self.remark();
        }
        recovery::recover(self, attempts).await?;
        loop {
            if let Some(run) = self.history.run() {
                if let Some(at) = self.unwanted.iter().position(|unwanted| *unwanted == run.id) {
                    self.unwanted.swap_remove(at);
                    self.ending = Some(limits::End::Cancelled);
                }
                let end = run::run(self).await?;
                if end == limits::End::Paused {
                    return Ok(());
                }
                settle::settle(self, end).await?;
            }
            self.heed_waiting_signals()?;
            // A cancel that came after the run had ended has nothing to end.
            self.ending = None;
            if std::mem::take(&mut self.clear_asked) {
                self.note(EventBody::SessionCleared { reason: ClearReason::Asked });
                hook_points::cleared(self);
                self.journal.barrier().await?;
            }
            if self.world.closing.is_cancelled() || !take::take_next(self).await? {
                self.open_journal();
                return Ok(());
            }
            // Nobody has seen this run yet: whatever wants one to stop means another one.
            self.heed_waiting_signals()?;
            if !self.clear_asked {
                self.ending = None;
            }
            rooftree_store::failpoint::reach("mail.taken");
        }
    }

    /// Gives the claim back, in one step with making sure that nothing came meanwhile.
    async fn rest(self, worked: Result<(), Error>) -> Result<Rested, Error> {
        let (world, signals, history) = (self.world, self.signals, self.history);
        let worked = match worked {
            Ok(()) => self.journal.barrier().await,
            Err(error) => {
                world.options.processes.stop_all(&self.session.id).await;
                Err(error)
            }
        };
        let mut claim = self.journal.close().await;
        let mut released = None;
        let mut release = || {
            released = claim.take().map(|claim| world.store().release(claim)).or(released.take());
        };
        let slept = worked.is_ok() && signals.close_if_empty(&mut release);
        // Something came while we were falling asleep, or went wrong: whoever is next claims anew.
        release();
        worked?;
        if slept && let Some(waits) = released {
            wake_again(&world, &self.session.id, &history, waits).await;
        }
        Ok(if slept || world.closing.is_cancelled() { Rested::Yes } else { Rested::Not })
    }

    /// Appends to the journal and to the history, which are never apart.
    fn append(&mut self, commit: Commit) {
        let opening = self.opening.take();
        let blobs = if self.inner.is_idle() { Vec::new() } else { commit.blobs.clone() };
        for event in self.journal.append(Commit { opening, ..commit }) {
            self.observe(&event);
            if let EventBody::ToolCompleted(record) = &event.body {
                self.inner.tell(record, &blobs);
            }
        }
    }

    /// Begins the journal, if nothing else has.
    fn open_journal(&mut self) {
        if self.opening.is_some() {
            self.append(Commit::default());
        }
    }

    /// Appends one event of the open run.
    fn note(&mut self, body: EventBody) {
        self.append(Commit { bodies: vec![body], run: self.run_id(), ..Commit::default() });
    }

    /// Tells what people should know about servers, each thing once.
    fn remark(&mut self) {
        for notice in std::mem::take(&mut self.remarks) {
            if self.remarked.contains(&notice) {
                continue;
            }
            self.remarked.push(notice.clone());
            let Notice { code, message, hint } = notice;
            self.note(EventBody::Notice { level: NoticeLevel::Warning, code: code.into(), message, hint });
        }
    }

    /// Tells watchers something about the open run that is not kept.
    fn say(&self, body: EventBody) {
        self.journal.teller().say(self.run_id(), body);
    }

    /// Takes an event in, live or replayed.
    fn observe(&mut self, event: &Event) {
        self.history.apply(event);
        if matches!(event.body, EventBody::SessionCleared { .. } | EventBody::ContextCompacted(_)) {
            self.views.clear();
        }
    }

    /// How much room there is for the next question.
    fn room(&self) -> Room {
        let estimate = prompt::estimate(self);
        let (limits, tokens) = (&self.kit.limits, self.window.tokens(estimate));
        match self.refusals {
            0 if tokens > limits.emergency_context.max(self.window.limit) && self.history.shrunk() > 0 => {
                Room::None(3)
            }
            0 if self.window.is_tight(estimate, limits.compact_at_percent)
                && !self.hooked.is_put_off(self.history.reply_at()) =>
            {
                Room::Tight
            }
            0 => Room::Plenty,
            refusals => Room::None(refusals),
        }
    }

    /// Whether somebody checks the work when it is done.
    fn checking(&self) -> Checking {
        if self.verifiers.is_empty() { Checking::No } else { Checking::Wanted }
    }

    /// The provider called the question too long; it may have said how much it takes.
    fn refused_as_too_long(&mut self, limit: Option<u64>) {
        // What was made smaller before the question was asked has not helped either.
        self.refusals = self.history.shrunk() + 1;
        self.window.limit = limit.unwrap_or(self.window.limit).min(self.window.limit);
    }

    fn run_id(&self) -> Option<RunId> {
        self.history.run().map(|run| run.id.clone())
    }

    /// The session people watch: the first one above.
    fn root(&self) -> SessionId {
        let above = self.mandate.as_ref().and_then(|mandate| mandate.above.first());
        above.map_or_else(|| self.session.id.clone(), |above| above.session.clone())
    }

    /// Whether another agent waits to hear how the run ends.
    fn is_asked(&self) -> bool {
        self.mandate.as_ref().is_some_and(|mandate| mandate.expects_answer())
    }

    /// How many delegations are above.
    fn depth(&self) -> u32 {
        self.mandate.as_ref().map_or(0, |mandate| mandate.depth())
    }

    fn model_name(&self) -> String {
        self.model.as_ref().map_or_else(|_| String::new(), |model| model.choice.to_string())
    }

    /// Takes in every signal that is there, without waiting. What must end the run is kept in `ending`.
    fn heed_waiting_signals(&mut self) -> Result<(), Error> {
        while let Some(signal) = self.signals.try_next() {
            if let Some(end) = self.heed_signal(signal)? {
                self.ending = Some(end);
            }
        }
        Ok(())
    }
}
