//! Follows a run and all agents it delegates to, until all have ended or the user stops or leaves.

use std::sync::Arc;

use rooftree_client::{ConnectionState, RuntimeClient};
use rooftree_protocol::{Command, Event, EventBody, Problem, QuestionId, Session, SessionId};
use rooftree_runtime::Handle;
use rooftree_store::{TaskRow, TaskStatus};

use super::{
    InputFormat, PromptAnswerer,
    background_wait::{BackgroundPolicy, BackgroundWait, BackgroundWaitStep},
    begin::{self, CliRequest, StartedRun},
    finish::{self, FollowEnd, FollowPlace, FollowedRun, RunExit},
    follower_events::{FollowerEvent, FollowerEvents},
    input_lines::{self, ALLOWED},
    prompt_queue::{PermissionRef, PromptQueue, UserPrompt},
    report::StdoutReport,
    run_tracker::{ForeignRunOrder, RunTracker, TrackerStep},
    session_target::SessionTarget,
};
use crate::{
    exit::Exit,
    human_format::place,
    terminal::{run_text, view::TerminalView},
    told_notices::ToldNotices,
};

/// What is to be done, where, and who can be asked.
pub struct RunJob {
    pub request: CliRequest,
    pub target: SessionTarget,
    pub answerer: PromptAnswerer,
    pub input: InputFormat,
    /// How long agents in background are waited for.
    pub linger: BackgroundWait,
    /// What people should know before anything else.
    pub remarks: Vec<String>,
    /// What people were told in this project at earlier runs.
    pub told: ToldNotices,
    /// Prompts that were open before and are shown at once.
    pub open_prompts: Vec<Event>,
    /// Events up to this number were shown before; none to begin with the newest.
    pub after: Option<u64>,
    pub place: FollowPlace,
    /// The server that was named with `--server`, so that the last line can name it too.
    pub server: Option<String>,
}

impl RunJob {
    /// A job of a command that waits for nothing else.
    pub fn new(request: CliRequest, target: SessionTarget, answerer: PromptAnswerer) -> Self {
        Self {
            request,
            target,
            answerer,
            input: InputFormat::Text,
            linger: BackgroundWait::new(BackgroundPolicy::Leave),
            remarks: Vec::new(),
            told: ToldNotices::default(),
            open_prompts: Vec::new(),
            after: None,
            place: FollowPlace::Command,
            server: None,
        }
    }

    /// Before a session goes on in this process: ends the rows of its programs whose process was killed.
    pub async fn settle_programs(&self, handle: &Handle) -> Result<(), Problem> {
        if let (CliRequest::Resume, SessionTarget::Known(session)) = (&self.request, &self.target) {
            let settled = handle.settle_programs(Some(&session.id)).await;
            settled.map_err(|error| error.problem())?;
        }
        Ok(())
    }
}

/// Follows; says with which number to leave, and how. What was shown counts as read.
pub async fn follow(
    client: &Arc<dyn RuntimeClient>,
    job: RunJob,
    view: Box<dyn TerminalView>,
    report: &mut StdoutReport,
) -> Result<RunExit, Problem> {
    let left = follow_to_end(client, job, view, report).await?;
    let read = Command::MarkRead {
        session: left.session.clone(),
        upto: Some(left.seen),
    };
    // The answer is shown already; a mark that could not be kept changes nothing about it.
    let _ = client.send(read).await;
    Ok(left)
}

async fn follow_to_end(
    client: &Arc<dyn RuntimeClient>,
    job: RunJob,
    view: Box<dyn TerminalView>,
    report: &mut StdoutReport,
) -> Result<RunExit, Problem> {
    let mut lines = (job.input == InputFormat::StreamJson).then(input_lines::listen);
    let StartedRun {
        session,
        subscription,
        signals,
        watch,
        is_known,
        remarks,
        nonsense,
    } = begin::begin(
        &**client,
        (job.target, job.after),
        job.request,
        lines.as_mut(),
    )
    .await?;
    if is_known && !report.has_begun() {
        report.event(&begin::opened(&session));
    }
    let mut following = RunFollower {
        input_open: lines.is_some(),
        sources: FollowerEvents::open(subscription, signals, lines),
        client: client.clone(),
        answerer: job.answerer,
        session,
        watch,
        view,
        report,
        asker: PromptQueue::default(),
        linger: job.linger,
        stopping: None,
        refused: None,
        told: job.told,
        is_cut_off: false,
    };
    for remark in job.remarks.iter().chain(&remarks) {
        following.remark(remark);
    }
    for what in &nonsense {
        following.report_bad_input(what, Some(ALLOWED.into()));
    }
    following.told.save();
    if job.place == FollowPlace::Conversation {
        following.sources.keys.hide_typing();
    }
    for event in &job.open_prompts {
        if let Some(open) = OpenPrompt::of(&event.session, &event.body) {
            following.ask(event, open).await?;
        }
    }
    let ended = following.run_to_end().await?;
    following.told.save();
    following.let_children_settle().await?;
    let programs = match job.place {
        FollowPlace::Command => following.programs().await?,
        // They go on until the conversation or the server ends.
        FollowPlace::Conversation | FollowPlace::Server => Vec::new(),
    };
    let RunFollower {
        answerer,
        session,
        watch,
        view,
        report,
        stopping,
        refused,
        ..
    } = following;
    finish::finish(
        FollowedRun {
            answerer,
            session,
            watch,
            view,
            report,
            stopping,
            refused,
            programs,
            place: job.place,
            server: job.server,
        },
        ended,
    )
}

/// How often, and after what pause, a stopped run looks whether the agents below it are settled.
const SETTLING: u32 = 120;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(25);

/// Something a program was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OpenPrompt {
    Permission(PermissionRef),
    Question(QuestionId),
}

impl OpenPrompt {
    pub(super) fn of(session: &SessionId, asked: &EventBody) -> Option<Self> {
        match asked {
            EventBody::PermissionRequested { id, .. } => Some(Self::Permission(PermissionRef {
                session: session.clone(),
                id: id.clone(),
            })),
            EventBody::QuestionRequested { id, .. } => Some(Self::Question(id.clone())),
            _ => None,
        }
    }
}

/// A run being followed.
pub(super) struct RunFollower<'a> {
    pub(super) client: Arc<dyn RuntimeClient>,
    pub(super) sources: FollowerEvents,
    pub(super) answerer: PromptAnswerer,
    pub(super) session: Session,
    pub(super) watch: RunTracker,
    pub(super) view: Box<dyn TerminalView>,
    pub(super) report: &'a mut StdoutReport,
    pub(super) asker: PromptQueue,
    pub(super) linger: BackgroundWait,
    pub(super) input_open: bool,
    /// Why the run was told to stop: the number to leave with.
    pub(super) stopping: Option<Exit>,
    /// Why a line could not be taken, if one could not: the number to leave with if nothing else was done.
    pub(super) refused: Option<Exit>,
    /// Notices that were shown in this project before.
    told: ToldNotices,
    /// Whether a person was told that the server does not answer.
    is_cut_off: bool,
}

impl RunFollower<'_> {
    async fn run_to_end(&mut self) -> Result<FollowEnd, Problem> {
        while !self.is_over().await? {
            match self.sources.next().await {
                FollowerEvent::Event(event) => self.take(&event).await?,
                FollowerEvent::Connection(state) => self.tell_connection(&state),
                FollowerEvent::Broken(problem) => return Err(problem),
                FollowerEvent::Key(key) => {
                    let said = self.asker.key(key, &mut *self.view, &mut self.sources.keys);
                    if let Some(said) = said {
                        self.answer(said).await?;
                    }
                }
                FollowerEvent::Typed(typed) => self.apply_input(typed).await?,
                FollowerEvent::Tick => {
                    self.report.check_reader();
                    self.view.tick();
                }
                FollowerEvent::Terminate => return Ok(FollowEnd::Paused(Exit::TERMINATED)),
                FollowerEvent::HangUp => return Ok(FollowEnd::Paused(Exit::HUNG_UP)),
                FollowerEvent::Interrupt => {
                    // A run that is not ours must not be stopped for leaving.
                    if self.stopping.is_some() || !self.is_working() {
                        return Ok(FollowEnd::AtOnce(Exit::INTERRUPTED));
                    }
                    self.stop(Exit::INTERRUPTED).await?;
                    self.remark("stopping… (Ctrl-C again leaves at once)");
                }
            }
            if self.report.is_closed() && self.stopping.is_none() {
                if !self.is_working() {
                    return Ok(FollowEnd::AtOnce(Exit::CLOSED_PIPE));
                }
                self.stop(Exit::CLOSED_PIPE).await?;
            }
        }
        Ok(FollowEnd::Done)
    }

    /// Says that the server does not answer, once, and that it answers again.
    fn tell_connection(&mut self, state: &ConnectionState) {
        match state {
            ConnectionState::Reconnecting { attempt: 1, .. } => {
                self.is_cut_off = true;
                self.remark("the connection to the server broke; trying again");
            }
            ConnectionState::Connected if self.is_cut_off => {
                self.is_cut_off = false;
                self.remark("the server answers again; nothing was missed");
            }
            _ => {}
        }
    }

    /// Whether a run of ours, or an agent it delegated to, is at work.
    fn is_working(&self) -> bool {
        self.watch.is_working() || self.watch.tree.delegated_at_work().next().is_some()
    }

    async fn is_over(&mut self) -> Result<bool, Problem> {
        // Once agents were told to stop, what their ends would wake waits for another day.
        let is_ours_over = self.watch.is_over() && (!self.input_open || self.stopping.is_some());
        if !is_ours_over && !self.linger.is_ending() {
            self.linger.session_woke();
            return Ok(false);
        }
        let programs = if self.linger.waits_for_programs() {
            self.programs().await?
        } else {
            Vec::new()
        };
        let has_agents = self.watch.tree.delegated().next().is_some();
        let has_delegated = has_agents || self.watch.has_programs;
        let is_settled = match (self.watch.takes_any(), self.watch.last_end()) {
            (true, None) if !has_delegated => return Ok(false),
            (false, _) if !has_delegated => return Ok(true),
            // No agent's answer is on its way: only what is left in the inbox is waited for, without a timeout.
            (true, Some(_)) if !has_delegated => {
                return begin::is_settled(&*self.client, &self.session.id, self.watch.seen).await;
            }
            // What is left may be more than one run, and what an agent answered may still wake one.
            _ => begin::is_settled(&*self.client, &self.session.id, self.watch.seen).await?,
        };
        match self.linger.next(
            &self.watch.tree,
            &programs,
            is_settled,
            self.stopping.is_some(),
        ) {
            BackgroundWaitStep::Wait => Ok(false),
            BackgroundWaitStep::Over => Ok(true),
            BackgroundWaitStep::Say(words) => {
                self.remark(&words);
                Ok(false)
            }
            BackgroundWaitStep::Stop(words) => {
                self.remark(&words);
                self.stop(Exit::LIMIT).await?;
                Ok(false)
            }
            BackgroundWaitStep::Detach(words) => {
                self.remark(&words);
                Ok(true)
            }
            BackgroundWaitStep::Leave(words) => {
                self.remark(&format!(
                    "{words}: rooftree run -s {}",
                    run_text::short(&self.session.id)
                ));
                Ok(true)
            }
        }
    }

    /// After a stop, waits a moment until the agents below are settled too, so that none is left unfinished.
    async fn let_children_settle(&self) -> Result<(), Problem> {
        if self.stopping.is_none() {
            return Ok(());
        }
        for _ in 0..SETTLING {
            let tasks = self.client.tasks(Some(&self.session.id)).await?;
            let is_open =
                |task: &TaskRow| task.status == TaskStatus::Running && task.child.is_some();
            let open: Vec<_> = tasks
                .iter()
                .filter(|task| is_open(task))
                .filter_map(|task| task.child.clone())
                .collect();
            if open.is_empty() {
                break;
            }
            // A child that was started while its parent run ended has not been cancelled yet.
            for session in open {
                self.send(Command::Cancel { session, run: None }).await?;
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// The commands that still run in background, of the session and of the agents below it.
    async fn programs(&self) -> Result<Vec<String>, Problem> {
        let mut sessions = vec![&self.session.id];
        sessions.extend(self.watch.tree.delegated().map(|agent| &agent.session));
        sessions.dedup();
        let mut programs = Vec::new();
        for session in sessions {
            let tasks = self.client.tasks(Some(session)).await?;
            let running =
                |task: &TaskRow| task.status == TaskStatus::Running && task.child.is_none();
            programs.extend(tasks.into_iter().filter(running).map(|task| task.title));
        }
        Ok(programs)
    }

    async fn take(&mut self, event: &Event) -> Result<(), Problem> {
        let is_own = event.session == self.session.id;
        if let Some(problem) = finish::agent_stopped(event).filter(|_| is_own) {
            return Err(problem);
        }
        self.report.event(event);
        let is_new = self.told.is_new_event(event);
        if is_own {
            self.take_own(event);
        } else {
            self.watch.take_delegated(event);
        }
        match is_own {
            _ if !is_new => {}
            true => self.view.show(event),
            false => self.view.show_delegated(event),
        }
        if let Some(open) = OpenPrompt::of(&event.session, &event.body) {
            self.ask(event, open).await?;
        }
        match &event.body {
            EventBody::PermissionResolved { id, by, .. } => self.settle(id.as_str(), by),
            EventBody::QuestionAnswered { id, by, .. } => self.settle(id.as_str(), by),
            _ => {}
        }
        Ok(())
    }

    /// A prompt is settled, by this client or another one.
    fn settle(&mut self, id: &str, by: &str) {
        self.asker
            .remove(id, by, &mut *self.view, &mut self.sources.keys);
    }

    fn take_own(&mut self, event: &Event) {
        let answered = self.watch.last_end().map(|(_, end)| end.text.clone());
        match (self.watch.take(event), answered) {
            (TrackerStep::OtherBegun(ForeignRunOrder::Before, title), _) => {
                self.remark(&format!("an earlier message is worked on first: {title}"));
            }
            (TrackerStep::OtherBegun(ForeignRunOrder::After, title), _) => {
                self.remark(&format!("another message is worked on: {title}"));
            }
            // A run that a result wakes adds an answer; the one before it is an answer too.
            (TrackerStep::Woken, Some(text)) => {
                self.report.answered(&text, self.view.has_shown_answer())
            }
            _ => {}
        }
    }

    async fn ask(&mut self, event: &Event, open: OpenPrompt) -> Result<(), Problem> {
        match self.answerer {
            PromptAnswerer::Person => {
                let who = self.watch.agent_label(event, &self.session.agent);
                let item = match UserPrompt::from_event(&who.path, event) {
                    Some(UserPrompt::Permission(card)) => {
                        let place = self.elsewhere(event).await?;
                        Some(UserPrompt::Permission(card.about(who.model, place)))
                    }
                    item => item,
                };
                if let Some(item) = item {
                    self.asker
                        .add(item, &mut *self.view, &mut self.sources.keys);
                }
            }
            // A program may answer as long as it can say something.
            PromptAnswerer::Program if !self.input_open => self.refuse(open).await?,
            PromptAnswerer::Program | PromptAnswerer::Nobody => {}
        }
        Ok(())
    }

    /// The working directory of the agent that asks, if it differs from that of the main run.
    async fn elsewhere(&self, event: &Event) -> Result<Option<String>, Problem> {
        if event.session == self.session.id {
            return Ok(None);
        }
        let waiting = self.client.session(&event.session).await?;
        let cwd = waiting
            .map(|session| session.cwd)
            .filter(|cwd| *cwd != self.session.cwd);
        Ok(cwd.map(|cwd| place(&cwd)))
    }
}
