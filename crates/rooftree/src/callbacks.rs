//! Callbacks of the program: hooks before tool calls, notifications, permission requests, agents' questions.
//!
//! What blocks a call goes to the runtime as it is. Everything else is delivered by one task, in the order it
//! happened, so that a slow callback slows no agent.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use rooftree_protocol::{
    CallId, Command, Event, EventBody, Outcome, ParentCall, Question as AgentQuestion, QuestionId,
    QuestionReply, RunId, RunStatus, SessionId,
    event::{RunEnd, ToolRecord},
    message::text_of,
};
use rooftree_runtime::{
    Handle, Hooks,
    hooks::{BeforeToolHook, ConfiguredHook, EventWatcher},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::permission::{Decision, PermissionRequest};
use crate::principal::owner;

/// A tool call that has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolUsed {
    /// The session that made it.
    pub session: SessionId,
    /// In which run.
    pub run: Option<RunId>,
    /// The definition at work.
    pub agent: String,
    /// Which call.
    pub call: CallId,
    /// Canonical tool name.
    pub tool: String,
    /// What it did, in a few words: a path, a command.
    pub title: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What the model reads of it.
    pub text: String,
    /// How long it took.
    pub duration: Duration,
    /// All that the journal keeps of it.
    pub record: ToolRecord,
}

impl ToolUsed {
    fn new(event: &Event, record: &ToolRecord) -> Self {
        Self {
            session: event.session.clone(),
            run: event.run.clone(),
            agent: event.agent.clone(),
            call: record.call.clone(),
            tool: record.tool.clone(),
            title: record.title.clone(),
            outcome: record.outcome,
            text: text_of(&record.content),
            duration: Duration::from_millis(record.duration_ms),
            record: record.clone(),
        }
    }

    /// Whether it did what was asked.
    pub fn is_done(&self) -> bool {
        self.outcome.is_done()
    }
}

/// A sub-agent that begins to work.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubagentStart {
    /// Its session.
    pub session: SessionId,
    /// Its run, which is also its task's id.
    pub run: RunId,
    /// Its definition.
    pub agent: String,
    /// The model it begins with.
    pub model: String,
    /// What it was asked, in short.
    pub title: String,
    /// Who asked.
    pub parent: ParentCall,
}

/// A sub-agent that has ended its work.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubagentStop {
    /// Its session.
    pub session: SessionId,
    /// Its run, which is also its task's id.
    pub run: RunId,
    /// Its definition.
    pub agent: String,
    /// How it ended.
    pub status: RunStatus,
    /// Its answer.
    pub text: String,
    /// What it cost itself, and all else that is known about its end.
    pub end: RunEnd,
}

type CallbackList<T> = Vec<Arc<dyn Fn(T) -> BoxFuture<'static, ()> + Send + Sync>>;
type Approver = Arc<dyn Fn(PermissionRequest) -> BoxFuture<'static, Decision> + Send + Sync>;

type Answerer = Arc<dyn Fn(Vec<AgentQuestion>) -> BoxFuture<'static, QuestionReply> + Send + Sync>;

/// All callbacks that a program has registered.
#[derive(Clone, Default)]
pub(crate) struct CallbackSet {
    pub(crate) before_tool: Vec<BeforeToolHook>,
    pub(crate) after_tool: CallbackList<ToolUsed>,
    pub(crate) subagent_start: CallbackList<SubagentStart>,
    pub(crate) subagent_stop: CallbackList<SubagentStop>,
    pub(crate) approver: Option<Approver>,
    pub(crate) answerer: Option<Answerer>,
    /// Whether no other client can answer: a request without a closure for it is refused at once.
    pub(crate) is_alone: bool,
    pub(crate) hooks: Vec<ConfiguredHook>,
}

/// Subscribers to all events.
#[derive(Clone, Default)]
pub(crate) struct EventSubscribers(Arc<Mutex<Vec<mpsc::UnboundedSender<Arc<Event>>>>>);

impl EventSubscribers {
    /// Adds a subscriber, which gets events from now on.
    pub(crate) fn subscribe(&self) -> mpsc::UnboundedReceiver<Arc<Event>> {
        let (tell, told) = mpsc::unbounded_channel();
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(tell);
        told
    }

    fn tell(&self, event: &Arc<Event>) {
        let mut readers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        readers.retain(|reader| reader.send(event.clone()).is_ok());
    }
}

/// The channel of events from the runtime to the callbacks.
pub(crate) struct CallbackChannel {
    pub(crate) readers: EventSubscribers,
    events: mpsc::UnboundedReceiver<Arc<Event>>,
}

impl CallbackSet {
    /// The hooks to start a runtime with, and the channel that they feed.
    pub(crate) fn connect(&self) -> (Hooks, CallbackChannel) {
        let (tell, events) = mpsc::unbounded_channel();
        let readers = EventSubscribers::default();
        let reading = readers.clone();
        let watcher: EventWatcher = Arc::new(move |event| {
            reading.tell(event);
            if has_callback(&event.body) {
                let _ = tell.send(event.clone());
            }
        });
        let mut asked = Hooks::default();
        (asked.before_tool, asked.watchers, asked.hooks) =
            (self.before_tool.clone(), vec![watcher], self.hooks.clone());
        (asked, CallbackChannel { readers, events })
    }

    /// Delivers all events of the channel to the callbacks. Once the runtime stops, only what is left in it.
    pub(crate) async fn listen(
        self,
        mut line: CallbackChannel,
        handle: Handle,
        ending: CancellationToken,
    ) {
        while let Some(Some(event)) = ending.run_until_cancelled(line.events.recv()).await {
            self.dispatch(&event, &handle).await;
        }
        while let Ok(event) = line.events.try_recv() {
            self.dispatch(&event, &handle).await;
        }
    }

    async fn dispatch(&self, event: &Event, handle: &Handle) {
        let (session, agent, run) = (
            event.session.clone(),
            event.agent.clone(),
            event.run.clone(),
        );
        match (&event.body, run) {
            (EventBody::ToolCompleted(record), _) => {
                tell(&self.after_tool, ToolUsed::new(event, record)).await;
            }
            (
                EventBody::RunStarted {
                    model,
                    title,
                    parent: Some(parent),
                    ..
                },
                Some(run),
            ) => {
                let (model, title, parent) = (model.clone(), title.clone(), parent.clone());
                tell(
                    &self.subagent_start,
                    SubagentStart {
                        session,
                        run,
                        agent,
                        model,
                        title,
                        parent,
                    },
                )
                .await;
            }
            (EventBody::RunCompleted(end), Some(run)) if event.parent_run.is_some() => {
                tell(
                    &self.subagent_stop,
                    SubagentStop {
                        session,
                        run,
                        agent,
                        status: end.status,
                        text: end.text.clone(),
                        end: end.clone(),
                    },
                )
                .await;
            }
            (EventBody::PermissionRequested { .. }, _) => self.answer(event, handle),
            (EventBody::QuestionRequested { id, questions, .. }, _) => {
                self.reply(id.clone(), questions.clone(), handle);
            }
            _ => {}
        }
    }

    /// Passes a permission request to the program's closure, concurrently with others; a panic means no.
    fn answer(&self, event: &Event, handle: &Handle) {
        let Some(question) = PermissionRequest::from_event(event) else {
            return;
        };
        let alone: Approver =
            Arc::new(|_| Box::pin(async { Decision::deny("no user can be asked") }));
        let Some(approver) = self.approver.clone().or(self.is_alone.then_some(alone)) else {
            return;
        };
        let (handle, session, permission) = (
            handle.clone(),
            question.session.clone(),
            question.id.clone(),
        );
        tokio::spawn(async move {
            let asked = AssertUnwindSafe(async { approver(question).await })
                .catch_unwind()
                .await;
            let decision = asked.unwrap_or_else(|_| Decision::deny("the callback crashed"));
            let _ = handle
                .send(
                    &owner(),
                    Command::Permit {
                        session,
                        permission,
                        answer: decision.answer(),
                    },
                )
                .await;
        });
    }
}

impl CallbackSet {
    /// Passes an agent's questions to the program's closure; without a closure or another client they are declined.
    fn reply(&self, question: QuestionId, questions: Vec<AgentQuestion>, handle: &Handle) {
        let (handle, answerer) = (handle.clone(), self.answerer.clone());
        if answerer.is_none() && !self.is_alone {
            return;
        }
        tokio::spawn(async move {
            let declined = |why: &str| QuestionReply::Declined {
                because: Some(why.to_owned()),
            };
            let reply = match answerer {
                None => declined("no callback answers questions here"),
                Some(answerer) => {
                    let asked = AssertUnwindSafe(async { answerer(questions).await })
                        .catch_unwind()
                        .await;
                    asked.unwrap_or_else(|_| declined("the callback crashed"))
                }
            };
            let _ = handle
                .send(&owner(), Command::Reply { question, reply })
                .await;
        });
    }
}

/// A callback that panics misses its event; the others and the agents go on.
async fn tell<T: Clone>(listeners: &CallbackList<T>, news: T) {
    for listener in listeners {
        let _ = AssertUnwindSafe(async { listener(news.clone()).await })
            .catch_unwind()
            .await;
    }
}

fn has_callback(body: &EventBody) -> bool {
    use EventBody::{
        PermissionRequested, QuestionRequested, RunCompleted, RunStarted, ToolCompleted,
    };
    matches!(
        body,
        ToolCompleted(_)
            | RunStarted { .. }
            | RunCompleted(_)
            | PermissionRequested { .. }
            | QuestionRequested { .. }
    )
}
