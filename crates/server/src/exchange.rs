//! One question to an agent: posted to its session, followed until it is answered or must be left.

mod presence;
mod question;

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use rooftree_protocol::{
    ErrorCode, Event, EventBody, Problem, RunId, RunStatus, SessionId, Usage, event::RunEnd,
};
use rooftree_runtime::{Filter, TreeSubscription};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use self::presence::Presence;
pub(crate) use self::question::{Place, Question};
use crate::{
    agents::Agents,
    openai::failure::Failure,
    telling::{Detail, Held, Telling, Told},
};

/// How long a run that was told to stop may take when the server ends.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What is listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hearing {
    /// Also pieces of replies, as they come.
    Everything,
    /// Only what is kept.
    Journal,
}

/// What comes next.
pub(crate) enum Step {
    Told(Told),
    Ended(Ended),
}

/// How it ended.
pub(crate) enum Ended {
    /// The run got somewhere: to its end, or to a limit of its own. And whether its work was verified.
    Answered(RunStatus, Option<bool>),
    /// Somebody must answer first; the run waits for that, and not for the client.
    Held(Held),
    Failed(Failure),
}

/// A question that is being answered. Dropping it is going away.
pub(crate) struct Exchange {
    agents: Arc<Agents>,
    events: TreeSubscription,
    hearing: Hearing,
    telling: Telling,
    presence: Presence,
    stopping: CancellationToken,
    /// What the run is held for, and when that has taken too long.
    patience: Option<(String, BoxFuture<'static, ()>)>,
    is_leaving: bool,
    /// One of as many as there may be.
    _seat: OwnedSemaphorePermit,
}

/// How to listen, and where to sit.
pub(crate) struct Seat {
    pub(crate) hearing: Hearing,
    pub(crate) detail: Detail,
    pub(crate) stopping: CancellationToken,
    pub(crate) permit: OwnedSemaphorePermit,
}

enum Came {
    Event(Result<Arc<Event>, rooftree_runtime::Error>),
    Impatience,
    Stop,
}

impl Exchange {
    /// Posts the question and begins to listen. From here on it cannot be lost.
    pub(crate) async fn begin(agents: Arc<Agents>, question: Question, seat: Seat) -> Result<Self, Failure> {
        // On its own: a client that goes away in the middle of this must not leave a run behind that nobody
        // knows of.
        let begun = tokio::spawn(Self::post(agents, question, seat)).await;
        begun.unwrap_or_else(|_| Err(Failure::unexpected()))
    }

    async fn post(agents: Arc<Agents>, question: Question, seat: Seat) -> Result<Self, Failure> {
        let posted = question.post(&agents).await?;
        let presence =
            Presence::new(agents.handle.clone(), posted.session.clone(), posted.run.clone(), posted.stay);
        let filter = Filter { session: posted.session.clone(), after: posted.after };
        let events = agents.handle.subscribe_tree(filter);
        let mut telling = Telling::new(posted.session.clone(), posted.run, seat.detail);
        let open = agents.handle.store().inquiries(Some(&posted.session)).await;
        // An earlier run of the session may be held up, and this one behind it.
        for inquiry in open.map_err(|error| Failure::refused(&error.problem()))? {
            telling.note_question(&inquiry.session, &inquiry.asked);
        }
        let Seat { hearing, stopping, permit, .. } = seat;
        Ok(Self {
            agents,
            events,
            hearing,
            telling,
            presence,
            stopping,
            patience: None,
            is_leaving: false,
            _seat: permit,
        })
    }

    pub(crate) fn session(&self) -> &SessionId {
        self.presence.session()
    }

    pub(crate) fn run(&self) -> &RunId {
        self.presence.run()
    }

    /// What it cost so far.
    pub(crate) fn usage(&self) -> Usage {
        self.telling.usage()
    }

    /// Waits for what comes next. After the end nothing does.
    pub(crate) async fn next(&mut self) -> Step {
        loop {
            self.mind_what_is_asked();
            match self.come().await {
                Came::Event(Ok(event)) => {
                    if let Some(step) = self.hear(&event).await {
                        return step;
                    }
                }
                Came::Event(Err(error)) => return failed(Failure::failed(&error.problem())),
                Came::Stop => {
                    self.is_leaving = true;
                    if !self.presence.cancel().await {
                        return failed(Failure::stopping_midway());
                    }
                    self.patience = Some((String::new(), Box::pin(tokio::time::sleep(LAST_WORDS))));
                }
                Came::Impatience => {
                    if let Some(step) = self.give_up() {
                        return step;
                    }
                }
            }
        }
    }

    async fn come(&mut self) -> Came {
        let over = async {
            match &mut self.patience {
                Some((_, over)) => over.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.stopping.cancelled(), if !self.is_leaving => Came::Stop,
            event = self.events.next() => Came::Event(event),
            () = over => Came::Impatience,
        }
    }

    async fn hear(&mut self, event: &Event) -> Option<Step> {
        if event.id.is_none() && self.hearing == Hearing::Journal && event.body.name() != "notice" {
            return None;
        }
        if let EventBody::Notice { code, message, .. } = &event.body
            && code == "agent_stopped"
            && event.session == *self.session()
        {
            let problem = Problem::new(ErrorCode::StoreFailed, message.clone());
            return Some(failed(Failure::failed(&problem)));
        }
        let told = self.telling.hear(event);
        if let Some(end) = self.telling.end() {
            let ended = ended(end, self.is_leaving);
            self.presence.leave(self.telling.is_worked_for()).await;
            return Some(Step::Ended(ended));
        }
        told.map(Step::Told)
    }

    /// Begins to count when the run is held for something new, and stops when it is not any more.
    fn mind_what_is_asked(&mut self) {
        if self.is_leaving {
            return;
        }
        let held = self.telling.held().map(|held| held.id.as_str());
        if held == self.patience.as_ref().map(|(id, _)| id.as_str()) {
            return;
        }
        let timeout = self.agents.permission_timeout;
        self.patience = held.map(|id| (id.to_owned(), self.agents.clock.sleep(timeout)));
    }

    /// It has taken too long. What is asked stays asked, and the run waits for it.
    fn give_up(&mut self) -> Option<Step> {
        if self.is_leaving {
            return Some(failed(Failure::stopping_midway()));
        }
        self.patience = None;
        let held = self.telling.held()?.clone();
        self.presence.stay();
        Some(Step::Ended(Ended::Held(held)))
    }
}

fn failed(failure: Failure) -> Step {
    Step::Ended(Ended::Failed(failure))
}

/// A run that ends at a limit of its own has an answer, which is shorter than it should be.
fn ended(end: &RunEnd, is_leaving: bool) -> Ended {
    match (end.status, &end.error) {
        (RunStatus::Cancelled, _) if is_leaving => Ended::Failed(Failure::stopped_with_us()),
        (RunStatus::Cancelled, _) => {
            Ended::Failed(Failure::failed(&Problem::new(ErrorCode::Cancelled, "the run was stopped")))
        }
        (RunStatus::Failed | RunStatus::Interrupted, Some(problem)) => {
            Ended::Failed(Failure::failed(problem))
        }
        (RunStatus::Failed | RunStatus::Interrupted, None) => {
            Ended::Failed(Failure::failed(&Problem::new(ErrorCode::Internal, "the run was cut off")))
        }
        (status, _) => Ended::Answered(status, end.verified),
    }
}
