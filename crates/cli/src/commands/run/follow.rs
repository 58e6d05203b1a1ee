//! Follows a run until it is done, stopped or left, and lets whoever watches answer and steer.

use rooftree_protocol::{
    Answer, Command, Event, EventBody, Part, PermissionDecision, PermissionId, PermissionScope, Problem,
    Session,
    command::{Address, Delivery},
    event::{self, NoticeLevel},
};
use rooftree_runtime::{Clock, Handle, SystemClock};

use super::{
    Asked, InputFormat,
    asker::Asker,
    begin::{self, Begun, Errand},
    finish::{self, Ended, Followed, Left},
    input::{self, Typed, Wish},
    report::Report,
    sources::{Happening, Sources},
    target::Target,
    watch::{Step, Watch},
};
use crate::{
    exit::Exit,
    terminal::{
        line::{Line, Look},
        view::View,
    },
};

/// What is to be done, where, and who can be asked.
pub struct Job {
    pub errand: Errand,
    pub target: Target,
    pub asking: Asked,
    pub input: InputFormat,
    /// What people should know before anything else.
    pub remarks: Vec<String>,
}

/// Follows; says with which number to leave, and how.
pub async fn follow(
    handle: &Handle,
    job: Job,
    view: Box<dyn View>,
    report: &mut Report,
) -> Result<Left, Problem> {
    let mut lines = (job.input == InputFormat::StreamJson).then(input::listen);
    let Begun { session, subscription, watch, is_known, remarks } =
        begin::begin(handle, job.target, job.errand, lines.as_mut()).await?;
    if is_known {
        report.event(&begin::opened(&session));
    }
    let mut following = Following {
        input_open: lines.is_some(),
        sources: Sources::open(subscription, lines)?,
        handle: handle.clone(),
        asking: job.asking,
        session,
        watch,
        view,
        report,
        asker: Asker::default(),
        questions: Vec::new(),
        stopping: None,
    };
    for remark in job.remarks.iter().chain(&remarks) {
        following.remark(remark);
    }
    let ended = following.until_over().await?;
    let Following { asking, session, watch, view, report, stopping, .. } = following;
    finish::finish(Followed { asking, session, watch, view, report, stopping }, ended)
}

/// A run being followed.
struct Following<'a> {
    handle: Handle,
    sources: Sources,
    asking: Asked,
    session: Session,
    watch: Watch,
    view: Box<dyn View>,
    report: &'a mut Report,
    asker: Asker,
    /// Questions a program has not answered.
    questions: Vec<PermissionId>,
    input_open: bool,
    /// Why the run was told to stop: the number to leave with.
    stopping: Option<Exit>,
}

impl Following<'_> {
    async fn until_over(&mut self) -> Result<Ended, Problem> {
        while !self.is_over().await? {
            match self.sources.next().await {
                Happening::Event(event) => self.take(&event).await?,
                Happening::Broken(problem) => return Err(problem),
                Happening::Key(key) => {
                    let settled = self.asker.key(key, &mut *self.view, &mut self.sources.keys);
                    if let Some((permission, answer)) = settled {
                        self.permit(permission, answer).await?;
                    }
                }
                Happening::Typed(typed) => self.heed(typed).await?,
                Happening::Tick => {
                    self.report.look();
                    self.view.tick();
                }
                Happening::Terminate => return Ok(Ended::Paused(Exit::TERMINATED)),
                Happening::HangUp => return Ok(Ended::Paused(Exit::HUNG_UP)),
                Happening::Interrupt => {
                    // A run that is not ours must not be stopped for leaving.
                    if self.stopping.is_some() || !self.watch.is_working() {
                        return Ok(Ended::AtOnce(Exit::INTERRUPTED));
                    }
                    self.stop(Exit::INTERRUPTED).await?;
                    self.remark("stopping… (Ctrl-C again leaves at once)");
                }
            }
            if self.report.is_closed() && self.stopping.is_none() {
                if !self.watch.is_working() {
                    return Ok(Ended::AtOnce(Exit::CLOSED_PIPE));
                }
                self.stop(Exit::CLOSED_PIPE).await?;
            }
        }
        Ok(Ended::Done)
    }

    async fn is_over(&self) -> Result<bool, Problem> {
        if !self.watch.is_over() || (self.input_open && self.stopping.is_none()) {
            return Ok(false);
        }
        match (self.watch.takes_any(), &self.watch.ended) {
            (false, _) => Ok(true),
            (true, None) => Ok(false),
            // What is left may be more than one run.
            (true, Some(_)) => Ok(!begin::is_unfinished(&self.handle, &self.session.id).await?),
        }
    }

    async fn take(&mut self, event: &Event) -> Result<(), Problem> {
        if let Some(problem) = finish::agent_stopped(event) {
            return Err(problem);
        }
        self.report.event(event);
        match self.watch.take(event) {
            Step::OtherBegun(title) => {
                self.remark(&format!("an earlier message is worked on first: {title}"))
            }
            Step::Nothing | Step::Begun | Step::Ended => {}
        }
        self.view.show(event);
        match &event.body {
            EventBody::PermissionRequested { id, .. } => match self.asking {
                Asked::Person => self.asker.add(event, &mut *self.view, &mut self.sources.keys),
                Asked::Program if self.input_open => self.questions.push(id.clone()),
                Asked::Program => self.refuse(id.clone()).await?,
                Asked::Nobody => {}
            },
            EventBody::PermissionResolved { id, by, .. } => {
                self.questions.retain(|question| question != id);
                self.asker.remove(id, by, &mut *self.view, &mut self.sources.keys);
            }
            _ => {}
        }
        Ok(())
    }

    /// Does what a line of standard input says.
    async fn heed(&mut self, typed: Typed) -> Result<(), Problem> {
        match typed {
            Typed::Wish(Wish::User { text, key }) => self.post(text, key, Delivery::Queue).await,
            Typed::Wish(Wish::Steer { text }) => self.post(text, None, Delivery::Steer).await,
            Typed::Wish(Wish::Permission { id, decision, scope, because }) => {
                self.questions.retain(|question| *question != id);
                self.permit(id, Answer { decision, scope, because }).await
            }
            Typed::Wish(Wish::Cancel) => self.cancel().await,
            Typed::Nonsense(what) => {
                self.report.event(&self.notice(&what));
                self.remark(&what);
                Ok(())
            }
            Typed::End => {
                self.input_open = false;
                for question in std::mem::take(&mut self.questions) {
                    self.refuse(question).await?;
                }
                Ok(())
            }
        }
    }

    async fn post(&mut self, text: String, key: Option<String>, delivery: Delivery) -> Result<(), Problem> {
        let to = Address::Id { id: self.session.id.clone() };
        let (_, message) = begin::post(&self.handle, to, vec![Part::text(text)], key, delivery).await?;
        self.watch.await_message(message);
        Ok(())
    }

    async fn permit(&self, permission: PermissionId, answer: Answer) -> Result<(), Problem> {
        self.send(Command::Permit { session: self.session.id.clone(), permission, answer }).await
    }

    /// Whoever could have answered has gone.
    async fn refuse(&mut self, question: PermissionId) -> Result<(), Problem> {
        self.asking = Asked::Nobody;
        let because = Some("standard input is closed, so nobody can be asked".to_owned());
        let no = Answer { decision: PermissionDecision::Deny, scope: PermissionScope::Once, because };
        self.permit(question, no).await
    }

    async fn stop(&mut self, exit: Exit) -> Result<(), Problem> {
        self.stopping = Some(exit);
        self.cancel().await
    }

    async fn cancel(&self) -> Result<(), Problem> {
        self.send(Command::Cancel { session: self.session.id.clone(), run: None }).await
    }

    async fn send(&self, command: Command) -> Result<(), Problem> {
        self.handle.send(command).await.map(|_| ()).map_err(|error| error.problem())
    }

    fn remark(&mut self, words: &str) {
        self.view.say(&[Line::of(Look::Warning, "! ").with(Look::Plain, words)]);
    }

    fn notice(&self, message: &str) -> Event {
        Event {
            v: event::VERSION,
            id: None,
            ts: SystemClock.now(),
            session: self.session.id.clone(),
            run: None,
            parent_run: None,
            agent: self.session.agent.clone(),
            body: EventBody::Notice {
                level: NoticeLevel::Error,
                code: "bad_input".into(),
                message: message.to_owned(),
                hint: Some("write one JSON object per line: user, steer, permission, cancel".into()),
            },
        }
    }
}
