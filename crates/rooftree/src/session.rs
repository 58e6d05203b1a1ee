//! A conversation with one agent: found or opened, spoken to, and asked to have others asked.

use std::{path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use rooftree_protocol::{
    ErrorCode, Origin, Part, Problem, Session as Row, SessionId,
    command::{Address, Command, Delivery},
};
use rooftree_runtime::{Clock, Definitions};
use rooftree_store::{NewSessionRow, SessionFilter};

use crate::{
    error::{Error, Result},
    models::Models,
    outcome::Outcome,
    roof::Shared,
    run::Run,
};

/// What is needed to open sessions. Cheap to clone.
#[derive(Clone)]
pub(crate) struct House {
    pub(crate) roof: Shared,
    pub(crate) definitions: Definitions,
    pub(crate) models: Arc<Models>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cwd: PathBuf,
}

impl House {
    async fn open(&self, agent: &str, name: Option<String>, model: Option<String>) -> Result<Session> {
        let definition = self.definitions.find(agent)?;
        let model = model.map(|name| self.models.resolve(&name)).transpose()?;
        let row = NewSessionRow {
            id: SessionId::from_entropy(self.clock.entropy()),
            agent: definition.name.clone(),
            name,
            model: model.map(|choice| choice.to_string()),
            cwd: self.cwd.clone(),
            parent: None,
            connector_key: None,
            at: self.clock.now(),
        };
        let row = self.roof.handle().store().open(row).await?;
        Ok(Session { house: self.clone(), row })
    }

    async fn latest(&self, agent: &str) -> Result<Option<Session>> {
        let agent = self.definitions.find(agent)?.name.clone();
        let filter =
            SessionFilter { agent: Some(agent), top_level: Some(true), limit: 1, ..SessionFilter::default() };
        let row = self.roof.handle().store().sessions(filter).await?.pop();
        Ok(row.map(|row| Session { house: self.clone(), row }))
    }
}

/// Which session of an agent is meant. Made by [`Runtime::session`](crate::Runtime::session).
#[must_use = "say which one: create(), latest(), latest_or_create() or id()"]
pub struct Sessions {
    pub(crate) house: House,
    pub(crate) agent: String,
    pub(crate) name: Option<String>,
    pub(crate) model: Option<String>,
}

impl Sessions {
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
        self.house.cwd = directory.into();
        self
    }

    /// A new session.
    pub async fn create(self) -> Result<Session> {
        self.house.open(&self.agent, self.name, self.model).await
    }

    /// The one something happened in last.
    pub async fn latest(self) -> Result<Session> {
        self.house.latest(&self.agent).await?.ok_or_else(|| {
            let message = format!("agent `{}` has no session yet", self.agent);
            Problem::new(ErrorCode::SessionNotFound, message).fix("latest_or_create() opens one").into()
        })
    }

    /// The latest, else a new one.
    pub async fn latest_or_create(self) -> Result<Session> {
        match self.house.latest(&self.agent).await? {
            Some(session) => Ok(session),
            None => self.create().await,
        }
    }

    /// Exactly this one, if it is one of this agent's.
    pub async fn id(self, id: &SessionId) -> Result<Session> {
        let row = self.house.roof.handle().store().session(id).await?;
        let is_meant = |row: &Row| row.deleted_at.is_none() && row.agent.eq_ignore_ascii_case(&self.agent);
        let row = row.filter(is_meant).ok_or_else(|| {
            Error::new(ErrorCode::SessionNotFound, format!("agent `{}` has no session {id}", self.agent))
        })?;
        Ok(Session { house: self.house, row })
    }
}

/// A conversation with one agent. It is kept: whoever opens the same store finds it again.
#[derive(Clone)]
pub struct Session {
    house: House,
    row: Row,
}

impl Session {
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
        self.post(text.as_ref(), Origin::User).await
    }

    /// Says something to a run that is at work: it enters before the next request to the model.
    pub async fn steer(&self, text: impl Into<String>) -> Result<()> {
        let (to, parts) = (Address::Id { id: self.row.id.clone() }, vec![Part::text(text)]);
        let post = Command::Post { to, parts, origin: Origin::User, key: None, delivery: Delivery::Steer };
        self.house.roof.handle().send(post).await?;
        Ok(())
    }

    /// Has another agent asked, in a new session that works in the same directory.
    ///
    /// Await it for the answer. The answer comes to the program; the session is not told.
    pub fn delegate(&self, agent: impl Into<String>, prompt: impl Into<String>) -> Delegation {
        Delegation { from: self.clone(), agent: agent.into(), prompt: prompt.into() }
    }

    async fn post(&self, text: &str, origin: Origin) -> Result<Run> {
        let roof = &self.house.roof;
        let head = roof.handle().store().session(&self.row.id).await?.map_or(0, |row| row.head);
        let posted = roof.post(Address::Id { id: self.row.id.clone() }, text, origin).await?;
        Ok(Run::new(roof.clone(), posted, head))
    }
}

/// A question to another agent. Made by [`Session::delegate`].
#[must_use = "a delegation does nothing until it is awaited or put into background"]
pub struct Delegation {
    from: Session,
    agent: String,
    prompt: String,
}

impl Delegation {
    /// Starts it and goes on: the run can be watched, stopped, or waited for later.
    pub async fn background(self) -> Result<Run> {
        let Self { from: Session { mut house, row }, agent, prompt } = self;
        house.cwd = row.cwd;
        let child = house.open(&agent, None, None).await?;
        child.post(&prompt, Origin::Agent { session: row.id, agent: row.agent, call: None }).await
    }
}

impl IntoFuture for Delegation {
    type Output = Result<Outcome>;
    type IntoFuture = BoxFuture<'static, Result<Outcome>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { self.background().await?.result().await })
    }
}
