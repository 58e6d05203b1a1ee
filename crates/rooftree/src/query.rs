//! One-shot query: builds a runtime for one question and drops it when it is answered.

use std::path::PathBuf;

use futures::{future::BoxFuture, stream};
use rooftree_protocol::{
    Origin, Part, Scope, SessionId,
    command::{Address, NewSession},
};

use crate::{
    attachment::{self, FileAttachment},
    builder_methods::settings,
    config_parts::MainAgent,
    error::Result,
    events::{EventStreamItem, Events, SessionTreeWatcher},
    outcome::RunOutcome,
    principal::owner,
    run_tree::WatchUntil,
    running::RunningRuntime,
    runtime_config::RuntimeConfig,
    storage::StorageLocation,
};

/// Asks an agent something.
///
/// Await it for the answer, or [`stream`](Query::stream) it to see how the answer comes about.
/// Nothing happens until then.
///
/// ```no_run
/// # async fn ask() -> rooftree::Result<()> {
/// println!("{}", rooftree::query("What is 2 + 2?").await?);
/// # Ok(()) }
/// ```
pub fn query(prompt: impl Into<String>) -> Query {
    let main = MainAgent {
        name: "lead".into(),
        tools: Scope::default(),
        verifiers: Vec::new(),
        system: None,
    };
    Query {
        prompt: prompt.into(),
        attachments: Vec::new(),
        main,
        setup: RuntimeConfig::default(),
    }
}

/// A question and everything there is to say about how it is answered. Made by [`query`].
#[must_use = "a query does nothing until it is awaited or streamed"]
pub struct Query {
    pub(crate) prompt: String,
    attachments: Vec<FileAttachment>,
    main: MainAgent,
    pub(crate) setup: RuntimeConfig,
}

settings!(Query);

impl Query {
    /// The agent that answers, by its name: one of this query's, or one that is built in.
    pub fn main_agent(mut self, name: impl Into<String>) -> Self {
        self.main.name = name.into();
        self
    }

    /// The system prompt of the main agent, instead of its own. What it may use and where it works is still told.
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        self.main.system = Some(prompt.into());
        self
    }

    /// Sends a file, a picture or bytes with the question: a path, or an [`FileAttachment`].
    pub fn attach(mut self, attachment: impl Into<FileAttachment>) -> Self {
        self.attachments.push(attachment.into());
        self
    }

    /// The only tools the main agent, and so every agent it delegates to, may use. `*` stands for anything.
    pub fn tools<S: Into<String>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        self.main.tools.allow = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Tools no agent may use.
    pub fn deny_tools<S: Into<String>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        self.main
            .tools
            .deny
            .extend(tools.into_iter().map(Into::into));
        self
    }

    /// What checks the main agent's work when it says it is done, by name: see `verifier` and `verify`.
    pub fn verified_by<S: Into<String>>(mut self, verifiers: impl IntoIterator<Item = S>) -> Self {
        self.main
            .verifiers
            .extend(verifiers.into_iter().map(Into::into));
        self
    }

    /// Keeps the session in this SQLite file, where a [`Runtime`](crate::Runtime) and the program
    /// `rooftree` find it. Without it nothing is left behind.
    pub fn store_in(mut self, file: impl Into<PathBuf>) -> Self {
        self.setup.store = StorageLocation::File(file.into());
        self
    }

    /// Starts when it is first polled, and tells all that happens until the answer is complete and
    /// everything that was delegated has ended. Dropping it stops the agents.
    pub fn stream(self) -> Events {
        self.events()
    }

    fn events(self) -> Events {
        let steps = stream::unfold(State::Waiting(Box::new(self)), |state| async move {
            match state {
                State::Over => None,
                State::Waiting(query) => match query.begin().await {
                    Ok(asked) => Some(asked.step().await),
                    Err(error) => Some((Err(error), State::Over)),
                },
                State::Asked(asked) => Some(asked.step().await),
            }
        });
        Events::new(steps)
    }

    pub(crate) async fn begin(self) -> Result<Box<RunningQuery>> {
        let Self {
            prompt,
            attachments,
            main,
            mut setup,
        } = self;
        let agent = main.name.clone();
        setup.agents.main = Some(main);
        let started = setup.start()?;
        let new = NewSession {
            agent,
            cwd: started.cwd,
            name: None,
            model: None,
        };
        let parts = attachment::parts(started.runtime.handle(), &prompt, attachments).await?;
        let posted = started
            .runtime
            .post(Address::Create(new), parts, Origin::User)
            .await?;
        let watch = SessionTreeWatcher::new(
            started.runtime.handle().clone(),
            posted.session.clone(),
            0,
            WatchUntil::Rests,
        );
        Ok(Box::new(RunningQuery {
            runtime: started.runtime,
            session: posted.session,
            watch,
        }))
    }
}

enum State {
    Waiting(Box<Query>),
    Asked(Box<RunningQuery>),
    Over,
}

/// A query that is being answered.
pub(crate) struct RunningQuery {
    pub(crate) runtime: RunningRuntime,
    pub(crate) session: SessionId,
    watch: SessionTreeWatcher,
}

impl RunningQuery {
    async fn step(mut self: Box<Self>) -> (Result<EventStreamItem>, State) {
        match self.watch.next().await {
            Ok(Some(event)) => (Ok(EventStreamItem::Event(event)), State::Asked(self)),
            ended => {
                self.runtime.stop().await;
                let outcome = ended.and_then(|_| self.watch.outcome());
                (
                    outcome.map(|outcome| EventStreamItem::Ended(Box::new(outcome))),
                    State::Over,
                )
            }
        }
    }

    /// Waits for the end without ending more than that; also of what is asked after the first question.
    pub(crate) async fn answer(&mut self, follow_up: Option<&str>) -> Result<RunOutcome> {
        if let Some(text) = follow_up {
            let head = self
                .runtime
                .handle()
                .queries(&owner())
                .session(&self.session)
                .await?
                .map_or(0, |session| session.head);
            let to = Address::Id {
                id: self.session.clone(),
            };
            self.runtime
                .post(to, vec![Part::text(text)], Origin::User)
                .await?;
            self.watch = SessionTreeWatcher::new(
                self.runtime.handle().clone(),
                self.session.clone(),
                head,
                WatchUntil::Rests,
            );
        }
        while self.watch.next().await?.is_some() {}
        self.watch.outcome()?.completed()
    }
}

impl IntoFuture for Query {
    type Output = Result<RunOutcome>;
    type IntoFuture = BoxFuture<'static, Result<RunOutcome>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.events().result())
    }
}
