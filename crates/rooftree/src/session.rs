//! A session: a conversation with one agent, found or created, that takes messages and delegates to other agents.

use std::{path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use rooftree_protocol::{
    CallId, ErrorCode, EventBody, Origin, Outcome, Part, Problem, Session as Row, SessionId,
    ToolCall,
    command::{Address, Command, CommandReply, Delivery, NewSession},
    event::{TaskNote, ToolRecord},
    message::text_of,
};
use rooftree_runtime::{Clock, Definitions};
use rooftree_store::SessionFilter;
use serde_json::{Map, Value};

use crate::{
    attachment::{self, FileAttachment},
    error::{Error, Result},
    models::ModelRegistry,
    principal::owner,
    run::Run,
    running::{AcceptedMessage, SharedRuntime},
};

/// What is needed to create sessions. Cheap to clone.
#[derive(Clone)]
pub(crate) struct SessionFactory {
    pub(crate) runtime: SharedRuntime,
    pub(crate) definitions: Definitions,
    pub(crate) models: Arc<ModelRegistry>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cwd: PathBuf,
}

impl SessionFactory {
    async fn open(
        &self,
        agent: &str,
        name: Option<String>,
        model: Option<String>,
    ) -> Result<AgentSession> {
        let definition = self.definitions.find(agent)?;
        let model = model.map(|name| self.models.resolve(&name)).transpose()?;
        let new = NewSession {
            agent: definition.name.clone(),
            cwd: self.cwd.clone(),
            name,
            model,
        };
        let (who, open) = (owner(), Command::Open(new));
        let CommandReply::Session(row) = self.runtime.handle().send(&who, open).await? else {
            return Err(Error::new(
                ErrorCode::Internal,
                "opening a session was answered with something else",
            ));
        };
        let row = *row;
        Ok(AgentSession {
            factory: self.clone(),
            row,
        })
    }

    async fn latest(&self, agent: &str) -> Result<Option<AgentSession>> {
        let agent = self.definitions.find(agent)?.name.clone();
        let filter = SessionFilter {
            agent: Some(agent),
            top_level: Some(true),
            limit: 1,
            ..SessionFilter::default()
        };
        let row = self
            .runtime
            .handle()
            .queries(&owner())
            .sessions(filter)
            .await?
            .pop();
        Ok(row.map(|row| AgentSession {
            factory: self.clone(),
            row,
        }))
    }
}

/// Selects a session of an agent. Made by [`Runtime::session`](crate::Runtime::session).
#[must_use = "say which one: create(), latest(), latest_or_create() or id()"]
pub struct SessionSelector {
    pub(crate) factory: SessionFactory,
    pub(crate) agent: String,
    pub(crate) name: Option<String>,
    pub(crate) model: Option<String>,
}

impl SessionSelector {
    /// What people call a new one; unique without regard to case.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The model of a new one, instead of its agent's.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The directory a new one works in.
    pub fn cwd(mut self, directory: impl Into<PathBuf>) -> Self {
        self.factory.cwd = directory.into();
        self
    }

    /// A new session.
    pub async fn create(self) -> Result<AgentSession> {
        self.factory.open(&self.agent, self.name, self.model).await
    }

    /// The one something happened in last.
    pub async fn latest(self) -> Result<AgentSession> {
        self.factory.latest(&self.agent).await?.ok_or_else(|| {
            let message = format!("agent `{}` has no session yet", self.agent);
            Problem::new(ErrorCode::SessionNotFound, message)
                .fix("latest_or_create() opens one")
                .into()
        })
    }

    /// The latest, else a new one.
    pub async fn latest_or_create(self) -> Result<AgentSession> {
        match self.factory.latest(&self.agent).await? {
            Some(session) => Ok(session),
            None => self.create().await,
        }
    }

    /// Exactly this one, if it is one of this agent's.
    pub async fn id(self, id: &SessionId) -> Result<AgentSession> {
        let row = self
            .factory
            .runtime
            .handle()
            .queries(&owner())
            .session(id)
            .await?;
        let is_meant =
            |row: &Row| row.deleted_at.is_none() && row.agent.eq_ignore_ascii_case(&self.agent);
        let row = row.filter(is_meant).ok_or_else(|| {
            Error::new(
                ErrorCode::SessionNotFound,
                format!("agent `{}` has no session {id}", self.agent),
            )
        })?;
        Ok(AgentSession {
            factory: self.factory,
            row,
        })
    }
}

/// A conversation with one agent. It is stored: a program that opens the same store finds it again.
#[derive(Clone)]
pub struct AgentSession {
    factory: SessionFactory,
    row: Row,
}

impl AgentSession {
    /// Its name, unique everywhere.
    pub fn id(&self) -> &SessionId {
        &self.row.id
    }

    /// The definition it is a conversation of.
    pub fn agent(&self) -> &str {
        &self.row.agent
    }

    /// Says something. It waits for its turn and starts a run of its own.
    pub async fn send(&self, text: impl AsRef<str>) -> Result<Run> {
        self.post(text.as_ref(), Vec::new()).await
    }

    /// The same with files, pictures or bytes.
    pub async fn send_with<A: Into<FileAttachment>>(
        &self,
        text: impl AsRef<str>,
        attachments: impl IntoIterator<Item = A>,
    ) -> Result<Run> {
        let attachments = attachments.into_iter().map(Into::into).collect();
        self.post(text.as_ref(), attachments).await
    }

    /// Says something to a run that is at work: it enters before the next request to the model.
    pub async fn steer(&self, text: impl Into<String>) -> Result<()> {
        let (to, parts) = (
            Address::Id {
                id: self.row.id.clone(),
            },
            vec![Part::text(text)],
        );
        let post = Command::Post {
            to,
            parts,
            origin: Origin::User,
            key: None,
            delivery: Delivery::Steer,
            context: None,
        };
        self.factory.runtime.handle().send(&owner(), post).await?;
        Ok(())
    }

    /// Has another agent asked, as if this session's agent had decided to: it works in the same directory, with
    /// no right that this one lacks, at this one's expense, and is in its trace.
    ///
    /// Await it for the answer. It waits for its turn like a message; this session's model is not asked. What
    /// comes of it is part of the conversation from then on.
    pub fn delegate(&self, agent: impl Into<String>, prompt: impl Into<String>) -> Delegation {
        Delegation::new(self.clone(), agent.into(), prompt.into())
    }

    async fn post(&self, text: &str, attachments: Vec<FileAttachment>) -> Result<Run> {
        let runtime = &self.factory.runtime;
        let parts = attachment::parts(runtime.handle(), text, attachments).await?;
        let head = self.head().await?;
        let posted = runtime
            .post(
                Address::Id {
                    id: self.row.id.clone(),
                },
                parts,
                Origin::User,
            )
            .await?;
        Ok(Run::new(runtime.clone(), posted, head))
    }

    /// How far its journal goes.
    async fn head(&self) -> Result<u64> {
        let row = self
            .factory
            .runtime
            .handle()
            .queries(&owner())
            .session(&self.row.id)
            .await?;
        Ok(row.map_or(0, |row| row.head))
    }

    /// Has its agent make a call; gives the call's name and the run that makes it.
    async fn call(&self, tool: &str, input: Value) -> Result<(CallId, Run)> {
        let runtime = &self.factory.runtime;
        let id = CallId::from_entropy(self.factory.clock.entropy());
        let call = ToolCall {
            id: id.clone(),
            tool: tool.to_owned(),
            input,
        };
        let head = self.head().await?;
        let posted = runtime.call(&self.row.id, call).await?;
        Ok((id, Run::new(runtime.clone(), posted, head)))
    }

    /// The run that works on a task of this session's.
    fn run_of(&self, task: &TaskNote) -> Run {
        let posted = AcceptedMessage {
            session: task.session.clone(),
            run: task.task.clone(),
        };
        Run::new(self.factory.runtime.clone(), posted, 0)
    }
}

/// A question to another agent. Made by [`AgentSession::delegate`].
#[must_use = "a delegation does nothing until it is awaited or put into background"]
pub struct Delegation {
    from: AgentSession,
    agent: String,
    input: Map<String, Value>,
}

impl Delegation {
    fn new(from: AgentSession, agent: String, prompt: String) -> Self {
        let input = [
            ("subagent_type", agent.as_str().into()),
            ("prompt", prompt.into()),
        ];
        let input = input
            .into_iter()
            .map(|(name, value): (&str, Value)| (name.to_owned(), value))
            .collect();
        Self { from, agent, input }
    }

    /// The model to ask instead of the agent's own.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.input.insert("model".into(), model.into().into());
        self
    }

    /// Model replies, at most.
    pub fn max_turns(mut self, turns: u32) -> Self {
        self.input.insert("max_turns".into(), turns.into());
        self
    }

    /// Starts it and returns at once: the run can be watched, stopped, or waited for later. Its end wakes no
    /// agent; the session reads it at its next run.
    pub async fn background(mut self) -> Result<Run> {
        self.input.insert("run_in_background".into(), true.into());
        self.start_call().await
    }

    /// Has the call made and gives the run that it led to.
    async fn start_call(self) -> Result<Run> {
        let Self { from, agent, input } = self;
        from.factory.definitions.find(&agent)?;
        let (call, mut making) = from.call("Task", input.into()).await?;
        while let Some(event) = making.next().await {
            match event?.body {
                EventBody::ToolCompleted(record) if record.call == call => {
                    return record
                        .task
                        .as_ref()
                        .map(|task| from.run_of(task))
                        .ok_or_else(|| refused_error(&record));
                }
                _ => {}
            }
        }
        making.result().await?;
        Err(Error::new(ErrorCode::Internal, "the call was not made"))
    }
}

/// The error of a delegation that was refused.
fn refused_error(record: &ToolRecord) -> Error {
    let code = match record.outcome {
        Outcome::Failed(code) => code,
        Outcome::Denied => ErrorCode::ToolDenied,
        Outcome::Done | Outcome::Cancelled | Outcome::Unknown => ErrorCode::ToolFailed,
    };
    Error::new(code, text_of(&record.content))
}

impl IntoFuture for Delegation {
    type Output = Result<crate::outcome::RunOutcome>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { self.start_call().await?.result().await })
    }
}
