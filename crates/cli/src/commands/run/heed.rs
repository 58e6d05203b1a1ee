//! Does what whoever watches a run wants: say more, answer, stop.

use rooftree_protocol::{
    Answer, Command, Event, EventBody, Part, PermissionId, Problem,
    command::{Address, Delivery},
    event::{self, NoticeLevel},
};
use rooftree_runtime::{Clock, SystemClock};

use super::{
    Asked,
    asker::Question,
    begin,
    follow::Following,
    input::{Typed, Wish},
};
use crate::{
    exit::Exit,
    terminal::line::{Line, Look},
};

impl Following<'_> {
    /// Does what a line of standard input says.
    pub(super) async fn heed(&mut self, typed: Typed) -> Result<(), Problem> {
        match typed {
            Typed::Wish(Wish::User { text, key }) => self.post(text, key, Delivery::Queue).await,
            Typed::Wish(Wish::Steer { text }) => self.post(text, None, Delivery::Steer).await,
            Typed::Wish(Wish::Permission { id, decision, scope, because }) => {
                let question = self.question(id);
                self.permit(question, Answer { decision, scope, because, digest: None }).await
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

    /// The question of this name; one that nobody asked is taken for one of the main session.
    fn question(&mut self, id: PermissionId) -> Question {
        let place = self.questions.iter().position(|question| question.id == id);
        let open = place.map(|place| self.questions.remove(place));
        open.unwrap_or_else(|| Question { session: self.session.id.clone(), id })
    }

    async fn post(&mut self, text: String, key: Option<String>, delivery: Delivery) -> Result<(), Problem> {
        let to = Address::Id { id: self.session.id.clone() };
        let (_, message) = begin::post(&self.handle, to, vec![Part::text(text)], key, delivery).await?;
        self.watch.await_message(message);
        Ok(())
    }

    /// Answers the session that asks, whoever's it is.
    pub(super) async fn permit(&self, question: Question, answer: Answer) -> Result<(), Problem> {
        let Question { session, id: permission } = question;
        self.send(Command::Permit { session, permission, answer }).await
    }

    /// Whoever could have answered has gone.
    pub(super) async fn refuse(&mut self, question: Question) -> Result<(), Problem> {
        self.asking = Asked::Nobody;
        let because = Some("standard input is closed, so nobody can be asked".to_owned());
        let no = Answer::deny(because);
        self.permit(question, no).await
    }

    /// Stops everything, and leaves with this number.
    pub(super) async fn stop(&mut self, exit: Exit) -> Result<(), Problem> {
        self.stopping = Some(exit);
        self.watch.is_stopping = true;
        self.cancel().await
    }

    /// A run that is cancelled stops what it started; when it has ended, they are told one by one.
    async fn cancel(&self) -> Result<(), Problem> {
        if self.watch.is_working() {
            return self.send(Command::Cancel { session: self.session.id.clone(), run: None }).await;
        }
        for agent in self.watch.agents.at_work() {
            let (session, run) = (agent.session.clone(), Some(agent.run.clone()));
            self.send(Command::Cancel { session, run }).await?;
        }
        Ok(())
    }

    async fn send(&self, command: Command) -> Result<(), Problem> {
        self.handle.send(command).await.map(|_| ()).map_err(|error| error.problem())
    }

    /// Says something beside the work.
    pub(super) fn remark(&mut self, words: &str) {
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
