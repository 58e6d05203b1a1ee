//! The handle of a runtime: commands in, events out.

use std::sync::Arc;

use rooftree_protocol::{
    AgentDefinition, Command, EventBody, InquiryResponse, Origin, Part, SessionId, ToolCall,
    command::{Address, CommandReply, Delivery},
};
use rooftree_store::{KeyReuse, NewSessionRow, PostReceipt, SessionPatch, Store};

use crate::{
    Error, EventFilter, Subscription, TreeSubscription,
    inbox::{self, OutgoingMessage},
    inquiries,
    router::{ResolvedSession, Router},
    runtime_context::RuntimeContext,
    signals::AgentSignal,
};

/// A client's way to the runtime. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    pub(crate) context: Arc<RuntimeContext>,
    pub(crate) router: Arc<Router>,
}

impl Handle {
    /// Asks for something. What comes of it is told by events.
    pub async fn send(&self, command: Command) -> Result<CommandReply, Error> {
        if self.context.closing.is_cancelled() {
            return Err(Error::Closed);
        }
        match command {
            Command::Post {
                to,
                parts,
                origin,
                key,
                delivery,
            } => {
                let seen = match &to {
                    Address::Id { id } => self.router.seen(id, delivery),
                    _ => None,
                };
                let meant = match seen {
                    Some(session) => ResolvedSession::Seen(session),
                    None => self.router.resolve(to).await?,
                };
                let capacity = self.capacity(&meant)?;
                let session = meant.id().clone();
                let message = OutgoingMessage {
                    session,
                    parts,
                    origin,
                    key,
                    delivery,
                    capacity,
                    call: None,
                };
                self.accept(meant, message).await
            }
            Command::Call { session, call } => self.call(session, call).await,
            Command::Resume { session } => {
                let session = self.router.by_id(&session).await?;
                self.router.wake(&session.id, AgentSignal::Mail);
                Ok(CommandReply::Session(Box::new(session)))
            }
            Command::Fork {
                session,
                at,
                name,
                agent,
            } => {
                let agent = agent
                    .map(|agent| self.context.options.agents.definitions.find(&agent))
                    .transpose()?;
                self.fork(&session, at, name, agent).await
            }
            Command::Rename { session, name } => {
                let at = Some(self.context.now());
                self.patch(
                    &session,
                    SessionPatch {
                        name: Some(name),
                        at,
                        ..SessionPatch::default()
                    },
                )
                .await
            }
            Command::Delete { session } => {
                let deleted_at = Some(Some(self.context.now()));
                self.router.tell(&session, AgentSignal::Cancel(None));
                self.patch(
                    &session,
                    SessionPatch {
                        deleted_at,
                        ..SessionPatch::default()
                    },
                )
                .await
            }
            Command::Restore { session } => {
                self.patch(
                    &session,
                    SessionPatch {
                        deleted_at: Some(None),
                        ..SessionPatch::default()
                    },
                )
                .await
            }
            Command::Clear { session } => {
                let session = self.router.by_id(&session).await?.id;
                match self.context.store().owner(&session).await? {
                    Some(owner)
                        if owner != self.context.owner
                            && !owner.is_dead_for(&self.context.owner) =>
                    {
                        self.forward(&session.clone(), Command::Clear { session })
                            .await
                    }
                    _ => {
                        self.router.wake(&session, AgentSignal::Clear);
                        Ok(CommandReply::Done)
                    }
                }
            }
            Command::Cancel {
                ref session,
                ref run,
            } => {
                self.tell(session, AgentSignal::Cancel(run.clone()), command.clone())
                    .await
            }
            Command::Permit {
                permission, answer, ..
            } => {
                self.answer(permission.as_str(), InquiryResponse::Permission(answer))
                    .await
            }
            Command::Reply { question, reply } => {
                self.answer(question.as_str(), InquiryResponse::Question(reply))
                    .await
            }
            Command::StopProcess {
                ref session,
                ref process,
            } => {
                self.tell(
                    session,
                    AgentSignal::StopProcess(process.clone()),
                    command.clone(),
                )
                .await
            }
        }
    }

    /// A call is a message like any other: it waits for its turn, survives a crash and is a run of its own.
    async fn call(&self, session: SessionId, call: ToolCall) -> Result<CommandReply, Error> {
        let meant = self
            .router
            .resolve(Address::Id {
                id: session.clone(),
            })
            .await?;
        let capacity = self.capacity(&meant)?;
        let message = OutgoingMessage {
            session,
            parts: vec![Part::text(format!(
                "Call {} and say what came of it.",
                call.tool
            ))],
            origin: Origin::User,
            key: Some(format!("call:{}", call.id)),
            delivery: Delivery::Queue,
            capacity,
            call: Some(Box::new(call)),
        };
        self.accept(meant, message).await
    }

    /// Capacity of a lane of a session's inbox, as its agent is defined now.
    fn capacity(&self, meant: &ResolvedSession) -> Result<u64, Error> {
        Ok(self
            .context
            .options
            .agents
            .definitions
            .find(meant.agent())?
            .limits
            .inbox)
    }

    /// Keeps an answer, if it is the first one, and hurries the one who waits for it.
    async fn answer(&self, id: &str, response: InquiryResponse) -> Result<CommandReply, Error> {
        let asked = inquiries::answer(
            &**self.context.store(),
            id,
            response,
            "user",
            self.context.now(),
        )
        .await?;
        self.router.wake(&asked.session, AgentSignal::Mail);
        Ok(CommandReply::Done)
    }

    /// Watches a session: first what the journal holds after a number, then what happens.
    pub fn subscribe(&self, filter: EventFilter) -> Subscription {
        self.context
            .bus
            .subscribe(self.context.store().clone(), filter)
    }

    /// Subscribes to a session, from its number on, and to all sessions it delegates to.
    pub fn subscribe_tree(&self, filter: EventFilter) -> TreeSubscription {
        self.context
            .bus
            .subscribe_tree(self.context.store().clone(), filter)
    }

    /// The store, for reading lists.
    pub fn store(&self) -> &Arc<dyn Store> {
        self.context.store()
    }

    /// A new session and its message are queued one after the other, so that they share one fsync. The sender is
    /// answered before the agent begins, and can watch all of it.
    async fn accept(
        &self,
        meant: ResolvedSession,
        message: OutgoingMessage,
    ) -> Result<CommandReply, Error> {
        let delivery = message.delivery;
        let post = inbox::post(&self.context, message);
        let (lane, id, key) = (post.lane, post.session.clone(), post.key.clone());
        let opened = meant.open(&**self.context.store());
        let posted = self.context.store().post_to_living(post);
        let session = opened.session().await?;
        let PostReceipt {
            message,
            position,
            repeated,
        } = match posted.await {
            // Deleted since it was last looked at: looking again says so, and what to do about it.
            Err(rooftree_store::Error::NoSession(_)) => {
                self.router.by_id(&id).await?;
                return Err(rooftree_store::Error::NoSession(id).into());
            }
            other => other?,
        };
        if repeated == KeyReuse::Other {
            return Err(inbox::used(&key).into());
        }
        self.context.mention(
            &session,
            None,
            EventBody::InboxQueued {
                message: message.clone(),
                lane,
                position,
            },
        );
        if delivery != Delivery::Silent {
            self.router.wake(&id, AgentSignal::Mail);
        }
        Ok(CommandReply::Accepted {
            session: id,
            message,
            position,
            repeated: repeated == KeyReuse::Same,
        })
    }

    /// A branch of a session, for the same agent or handed over to another one.
    async fn fork(
        &self,
        from: &SessionId,
        at: Option<u64>,
        name: Option<String>,
        agent: Option<Arc<AgentDefinition>>,
    ) -> Result<CommandReply, Error> {
        let parent = self.router.by_id(from).await?;
        let new = NewSessionRow {
            id: SessionId::from_entropy(self.context.entropy()),
            model: parent.model.clone().filter(|_| agent.is_none()),
            agent: agent.map_or_else(|| parent.agent.clone(), |agent| agent.name.clone()),
            name,
            cwd: parent.cwd.clone(),
            parent: None,
            connector_key: None,
            at: self.context.now(),
        };
        let forked = self
            .context
            .store()
            .fork(from, at.unwrap_or(parent.head), new)
            .await?;
        Ok(CommandReply::Session(Box::new(forked)))
    }

    async fn patch(&self, session: &SessionId, patch: SessionPatch) -> Result<CommandReply, Error> {
        let session = self.context.store().update(session, patch).await?;
        let body = EventBody::SessionUpdated {
            name: session.name.clone(),
            deleted: session.deleted_at.is_some(),
        };
        self.context.mention(&session, None, body);
        Ok(CommandReply::Session(Box::new(session)))
    }

    /// Tells the agent if it is awake here, else leaves the command for the process where it is.
    async fn tell(
        &self,
        session: &SessionId,
        signal: AgentSignal,
        command: Command,
    ) -> Result<CommandReply, Error> {
        if self.router.tell(session, signal) {
            return Ok(CommandReply::Done);
        }
        self.router.by_id(session).await?;
        match self.context.store().owner(session).await? {
            Some(owner) if !owner.is_dead_for(&self.context.owner) => {
                self.forward(session, command).await
            }
            _ => Ok(CommandReply::Stopping { run: None }),
        }
    }

    async fn forward(&self, session: &SessionId, command: Command) -> Result<CommandReply, Error> {
        self.context
            .store()
            .put_command(session, command, self.context.now())
            .await?;
        Ok(CommandReply::Forwarded)
    }
}
