//! One request to an agent: posted to its session, followed until it is answered, times out or is abandoned.

mod agent_request;
mod client_guard;

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use rooftree_protocol::{
    ErrorCode, Event, EventBody, Problem, RunId, RunStatus, SessionId, Usage, event::RunEnd,
};
use rooftree_runtime::{EventFilter, TreeSubscription};
use rooftree_view::OpenInquiry;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

pub(crate) use self::agent_request::{AgentRequest, RequestedSession};
use self::client_guard::{ClientGuard, SessionRetention};
use crate::{
    agents::ExposedAgents,
    answer_stream::{AnswerDetail, AnswerFold, AnswerPiece},
    openai::errors::ApiError,
};

/// How long a cancelled run may take to end when the server shuts down.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Which events to subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventSelection {
    /// Also pieces of replies, as they come.
    Everything,
    /// Only durable events.
    Journal,
}

/// What comes next.
pub(crate) enum ExchangeStep {
    Told(AnswerPiece),
    Ended(ExchangeEnd),
}

/// How the exchange ended.
pub(crate) enum ExchangeEnd {
    /// The run got somewhere: to its end, or to a limit of its own. And whether its work was verified.
    Answered(RunStatus, Option<bool>),
    /// A permission request or question must be answered first; the run waits for that, not for the client.
    Held(Box<OpenInquiry>),
    Failed(ApiError),
}

/// A request that is being answered. Dropping it means that the client has disconnected.
pub(crate) struct AgentExchange {
    agents: Arc<ExposedAgents>,
    events: TreeSubscription,
    hearing: EventSelection,
    telling: AnswerFold,
    presence: ClientGuard,
    stopping: CancellationToken,
    /// The request that blocks the run, and the timeout for its answer.
    patience: Option<(String, BoxFuture<'static, ()>)>,
    is_leaving: bool,
    /// The permit that limits concurrent requests.
    _seat: OwnedSemaphorePermit,
}

/// Options of one exchange: events to subscribe to, detail, shutdown token, and the permit it holds.
pub(crate) struct ResponseSlot {
    pub(crate) hearing: EventSelection,
    pub(crate) detail: AnswerDetail,
    pub(crate) stopping: CancellationToken,
    pub(crate) permit: OwnedSemaphorePermit,
}

enum ExchangeSignal {
    Event(Result<Arc<Event>, rooftree_runtime::Error>),
    Impatience,
    Stop,
}

impl AgentExchange {
    /// Posts the request and subscribes to its events. From here on it cannot be lost.
    pub(crate) async fn begin(
        agents: Arc<ExposedAgents>,
        question: AgentRequest,
        seat: ResponseSlot,
    ) -> Result<Self, ApiError> {
        // In a task of its own: a client that disconnects in the middle of this must not leave a run behind
        // that no guard cancels.
        let begun = tokio::spawn(Self::post(agents, question, seat)).await;
        begun.unwrap_or_else(|_| Err(ApiError::unexpected()))
    }

    async fn post(
        agents: Arc<ExposedAgents>,
        question: AgentRequest,
        seat: ResponseSlot,
    ) -> Result<Self, ApiError> {
        let who = question.who.clone();
        let posted = question.post(&agents).await?;
        let presence = ClientGuard::new(
            (agents.handle.clone(), who.clone()),
            posted.session.clone(),
            posted.run.clone(),
            posted.stay,
        );
        let filter = EventFilter {
            session: posted.session.clone(),
            after: posted.after,
        };
        let events = agents.handle.subscribe_tree(&who, filter);
        let mut telling = AnswerFold::new(posted.session.clone(), posted.run, seat.detail);
        // An earlier run of the session may be held up, and this one behind it. A new session has none.
        let open = match posted.stay {
            SessionRetention::ForThis => Ok(Vec::new()),
            SessionRetention::Kept => {
                let queries = agents.handle.queries(&who);
                queries.inquiries(Some(&posted.session)).await
            }
        };
        for inquiry in open.map_err(|error| ApiError::refused(&error.problem()))? {
            telling.add_inquiry(OpenInquiry {
                session: inquiry.session,
                run: inquiry.run,
                agent: inquiry.agent,
                asked_at: inquiry.asked_at,
                asked: inquiry.asked,
            });
        }
        let ResponseSlot {
            hearing,
            stopping,
            permit,
            ..
        } = seat;
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
    pub(crate) async fn next(&mut self) -> ExchangeStep {
        loop {
            self.update_inquiry_timeout();
            match self.next_signal().await {
                ExchangeSignal::Event(Ok(event)) => {
                    if let Some(step) = self.handle_event(&event).await {
                        return step;
                    }
                }
                ExchangeSignal::Event(Err(error)) => {
                    return failed(ApiError::failed(&error.problem()));
                }
                ExchangeSignal::Stop => {
                    self.is_leaving = true;
                    if !self.presence.cancel().await {
                        return failed(ApiError::stopping_midway());
                    }
                    self.patience = Some((String::new(), Box::pin(tokio::time::sleep(LAST_WORDS))));
                }
                ExchangeSignal::Impatience => {
                    if let Some(step) = self.on_timeout() {
                        return step;
                    }
                }
            }
        }
    }

    async fn next_signal(&mut self) -> ExchangeSignal {
        let over = async {
            match &mut self.patience {
                Some((_, over)) => over.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.stopping.cancelled(), if !self.is_leaving => ExchangeSignal::Stop,
            event = self.events.next() => ExchangeSignal::Event(event),
            () = over => ExchangeSignal::Impatience,
        }
    }

    async fn handle_event(&mut self, event: &Event) -> Option<ExchangeStep> {
        if event.id.is_none()
            && self.hearing == EventSelection::Journal
            && event.body.name() != "notice"
        {
            return None;
        }
        if let EventBody::Notice { code, message, .. } = &event.body
            && code == "agent_stopped"
            && event.session == *self.session()
        {
            let problem = Problem::new(ErrorCode::StoreFailed, message.clone());
            return Some(failed(ApiError::failed(&problem)));
        }
        let told = self.telling.apply_event(event);
        if let Some(end) = self.telling.end() {
            let ended = ended(end, self.is_leaving);
            self.presence
                .finish_run(self.telling.has_active_children())
                .await;
            return Some(ExchangeStep::Ended(ended));
        }
        told.map(ExchangeStep::Told)
    }

    /// Starts the timeout when a new request blocks the run, and stops it when none does any more.
    fn update_inquiry_timeout(&mut self) {
        if self.is_leaving {
            return;
        }
        let held = self.telling.blocking_inquiry().map(OpenInquiry::id);
        if held == self.patience.as_ref().map(|(id, _)| id.as_str()) {
            return;
        }
        let timeout = self.agents.permission_timeout;
        self.patience = held.map(|id| (id.to_owned(), self.agents.clock.sleep(timeout)));
    }

    /// The timeout has passed. The request stays open, and the run waits for it.
    fn on_timeout(&mut self) -> Option<ExchangeStep> {
        if self.is_leaving {
            return Some(failed(ApiError::stopping_midway()));
        }
        self.patience = None;
        let held = self.telling.blocking_inquiry()?.clone();
        self.presence.retain_session();
        Some(ExchangeStep::Ended(ExchangeEnd::Held(Box::new(held))))
    }
}

fn failed(failure: ApiError) -> ExchangeStep {
    ExchangeStep::Ended(ExchangeEnd::Failed(failure))
}

/// A run that ends at a limit of its own has an answer, which is shorter than it should be.
fn ended(end: &RunEnd, is_leaving: bool) -> ExchangeEnd {
    match (end.status, &end.error) {
        (RunStatus::Cancelled, _) if is_leaving => ExchangeEnd::Failed(ApiError::stopped_with_us()),
        (RunStatus::Cancelled, _) => ExchangeEnd::Failed(ApiError::failed(&Problem::new(
            ErrorCode::Cancelled,
            "the run was stopped",
        ))),
        (RunStatus::Failed | RunStatus::Interrupted, Some(problem)) => {
            ExchangeEnd::Failed(ApiError::failed(problem))
        }
        (RunStatus::Failed | RunStatus::Interrupted, None) => ExchangeEnd::Failed(
            ApiError::failed(&Problem::new(ErrorCode::Internal, "the run was cut off")),
        ),
        (status, _) => ExchangeEnd::Answered(status, end.verified),
    }
}
