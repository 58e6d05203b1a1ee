//! The handle of a runtime: commands in, events out, queries. The one control surface of every client.
//!
//! A handle with agents belongs to an [`AgentRuntime`](crate::AgentRuntime). One without agents needs no model, tool or
//! definition: it changes what is stored, and leaves to other processes what only an agent can do.

mod access;
mod api_agents;
mod attachment;
mod board;
mod clear;
mod close_run;
mod compact;
mod connectors;
mod files;
pub mod import;
mod messages;
mod outbox;
mod queries;
mod row_watch;
mod rules;
mod run_items;
mod run_spans;
mod runs;
mod schedules;
mod sessions;
mod undo;
mod waiting_messages;

use std::sync::Arc;

use futures::future::BoxFuture;
use rooftree_protocol::{
    BlobId, Command, ErrorCode, Event, InquiryResponse, Principal, Problem, Session, SessionId,
    Timestamp, command::CommandReply,
};
use rooftree_store::{AuditEntry, Owner, Store};

pub use self::{
    access::{
        InvitedPerson, IssuedLink, IssuedToken, NewAccessLink, NewAccessToken, RequestKey,
        TOKEN_PREFIX,
    },
    api_agents::{AgentChange, AgentChangeOutcome},
    attachment::AttachedFile,
    connectors::{
        ChatAddress, ConnectorChange, IssuedPairing, NewPairing, PAIRING_CODE_CHARS, PromptCopy,
        ReceivedChatMessage, paired_sender,
    },
    files::{AuditedFileChange, FileChangeIntent},
    outbox::{ConnectorAccess, OutboxQuery, OutboxRows},
    queries::{ListPage, Queries},
    row_watch::{RowNotice, RowWatch, WatchedRow},
    run_spans::gather_spans,
    schedules::{ScheduleChange, ScheduleDefaults},
};
use crate::{
    Clock, Error, EventFilter, ReplyDraft, Subscription, TreeSubscription, board::BoardHub,
    bus::Bus, chat_activity::ChatActivity, router::Router, runtime_context::RuntimeContext,
    schedules::ScheduleNews, signals::AgentSignal, visibility,
};

/// A client's way to the runtime. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    owner: Owner,
    bus: Arc<Bus>,
    boards: Arc<BoardHub>,
    schedule_news: Arc<ScheduleNews>,
    chats: Arc<ChatActivity>,
    agents: Option<HostedAgents>,
}

/// The agents of this process.
#[derive(Clone)]
struct HostedAgents {
    context: Arc<RuntimeContext>,
    router: Arc<Router>,
}

impl Handle {
    pub(crate) fn with_agents(context: Arc<RuntimeContext>, router: Arc<Router>) -> Self {
        Self {
            store: context.store().clone(),
            clock: context.clock().clone(),
            owner: context.owner.clone(),
            bus: context.bus.clone(),
            boards: context.boards.clone(),
            schedule_news: context.schedule_news.clone(),
            chats: context.chats.clone(),
            agents: Some(HostedAgents { context, router }),
        }
    }

    /// A handle for a process without agents. It needs only a store.
    pub fn without_agents(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let boards = Arc::new(BoardHub::new());
        Self {
            store,
            clock,
            owner: Owner::this_process(),
            bus: Arc::default(),
            boards,
            schedule_news: Arc::default(),
            chats: Arc::default(),
            agents: None,
        }
    }

    /// The agents of this process, for its services.
    pub(crate) fn hosted(&self) -> Option<(Arc<RuntimeContext>, Arc<Router>)> {
        let agents = self.agents.as_ref()?;
        Some((agents.context.clone(), agents.router.clone()))
    }

    /// Carries out a command. Events tell what comes of it.
    ///
    /// Invariant: every change of stored rows and journals that a client wants goes through here. It names its principal on the event it leads to,
    /// or in an entry of the audit log that is written in the same transaction.
    pub fn send<'a>(
        &'a self,
        who: &'a Principal,
        command: Command,
    ) -> BoxFuture<'a, Result<CommandReply, Error>> {
        // A boxed future is compiled once; that of an `async fn` once for every place that awaits it.
        Box::pin(self.dispatch(who, command))
    }

    async fn dispatch(&self, who: &Principal, command: Command) -> Result<CommandReply, Error> {
        if let Some(agents) = &self.agents
            && agents.context.closing.is_cancelled()
        {
            return Err(Error::Closed);
        }
        match command {
            Command::Post {
                to,
                parts,
                origin,
                key,
                delivery,
                context,
            } => {
                let content = messages::PostContent {
                    parts,
                    origin,
                    key,
                    delivery,
                    restriction: None,
                    context,
                    inbound: Vec::new(),
                };
                self.post(who, to, content).await
            }
            Command::Prompt {
                to,
                parts,
                restriction,
            } => self.prompt(who, (to, parts), restriction).await,
            Command::Withdraw { session, message } => self.withdraw(who, &session, &message).await,
            Command::Replace {
                session,
                message,
                parts,
            } => self.replace(who, &session, &message, parts).await,
            Command::MoveToBackground { session, run } => {
                self.move_to_background(who, &session, run).await
            }
            Command::Call { session, call } => self.call(who, session, call).await,
            Command::Open(new) => self.open(who, new).await,
            Command::Resume { session } => self.resume(who, &session).await,
            Command::Cancel { session, run } => self.cancel(who, &session, run).await,
            Command::Clear {
                session,
                unless_busy,
            } => self.clear(who, &session, unless_busy).await,
            Command::Compact { session, focus } => self.compact(who, &session, focus).await,
            Command::Rename { session, name } => self.rename(who, &session, name).await,
            Command::Pin { session, pinned } => self.pin(who, &session, pinned).await,
            Command::SetAttributes {
                session,
                attributes,
            } => self.set_attributes(who, &session, attributes).await,
            Command::SetModel { session, model } => self.set_model(who, &session, model).await,
            Command::SetMode { session, mode } => self.set_mode(who, &session, mode).await,
            Command::MarkRead { session, upto } => self.mark_read(who, session, upto).await,
            Command::Delete { session } => self.delete(who, &session).await,
            Command::Restore { session } => self.restore(who, &session).await,
            Command::Fork {
                session,
                at,
                name,
                agent,
                message,
            } => {
                let fork = sessions::ForkRequest {
                    at,
                    name,
                    agent,
                    message,
                };
                self.fork(who, &session, fork).await
            }
            Command::Undo { session, run } => self.undo(who, &session, run).await,
            Command::HandBack { session, summary } => self.hand_back(who, &session, summary).await,
            Command::Permit {
                permission, answer, ..
            } => {
                let response = InquiryResponse::Permission(answer);
                self.answer(who, permission.as_str(), response).await
            }
            Command::Reply { question, reply } => {
                let response = InquiryResponse::Question(reply);
                self.answer(who, question.as_str(), response).await
            }
            Command::StopProcess { session, process } => {
                self.stop_process(who, &session, process).await
            }
            Command::AddRule { kind, rule, scope } => self.add_rule(who, kind, rule, scope).await,
            Command::RemoveRule { number } => self.remove_rule(who, number).await,
            Command::Import { archive, cwd, name } => {
                import::import(self, who, *archive, import::ImportTarget { cwd, name }).await
            }
        }
    }

    /// Keeps bytes that a message will name. They are named by their content, so keeping them again changes nothing.
    pub async fn upload(&self, who: &Principal, bytes: Vec<u8>) -> Result<BlobId, Error> {
        let kept = self.store.put_upload(bytes, who.account(), self.now());
        Ok(kept.await?)
    }

    /// Redacts secrets known by now in events that leave the machine. Without agents none are known.
    pub fn redact(&self, events: &mut [Event]) {
        if let Some(agents) = &self.agents {
            let secrets = agents.context.secrets();
            for event in events {
                secrets.clean_event(&mut event.body);
            }
        }
    }

    /// What this principal may read.
    pub fn queries(&self, who: &Principal) -> Queries {
        Queries::new(
            self.store.clone(),
            who,
            self.board_reader(),
            self.boards.clone(),
        )
    }

    /// Watches a session: first what the journal holds after a number, then what happens. One that the principal may
    /// not see is not there.
    pub fn subscribe(&self, who: &Principal, filter: EventFilter) -> Subscription {
        let subscription = self.bus.subscribe(self.store.clone(), filter);
        subscription.visible_to(who)
    }

    /// Subscribes to a session, from its number on, and to all sessions it delegates to. One that the principal may not
    /// see is not there.
    pub fn subscribe_tree(&self, who: &Principal, filter: EventFilter) -> TreeSubscription {
        let subscription = self.bus.subscribe_tree(self.store.clone(), filter);
        subscription.visible_to(who)
    }

    /// The reply that a model is writing in a session of this process now.
    pub fn draft(&self, session: &SessionId) -> Option<ReplyDraft> {
        self.bus.drafts.of(session)
    }

    /// What revisions of a new stream of rows begin with: no other stream has the same.
    pub fn stream_boot(&self) -> String {
        format!("boot_{:016x}", self.clock.entropy() & u128::from(u64::MAX))
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// An entry of the audit log about something that is done with it.
    fn audited(
        &self,
        who: &Principal,
        action: &str,
        subject: impl ToString,
    ) -> Option<Box<AuditEntry>> {
        Some(Box::new(AuditEntry::done(who, self.now(), action, subject)))
    }

    /// A session that this principal may see, deleted ones included.
    async fn owned_session(&self, who: &Principal, id: &SessionId) -> Result<Session, Error> {
        let found = visibility::find(&*self.store, who, id).await?;
        Ok(found.ok_or_else(|| rooftree_store::Error::NoSession(id.clone()))?)
    }

    /// The same, which must not be deleted.
    async fn session(&self, who: &Principal, id: &SessionId) -> Result<Session, Error> {
        let found = self.owned_session(who, id).await?;
        if found.deleted_at.is_some() {
            return Err(Problem::new(
                ErrorCode::SessionNotFound,
                format!("session {id} is deleted"),
            )
            .fix(format!("rooftree sessions restore {id}"))
            .into());
        }
        Ok(found)
    }

    /// Wakes the session's agent, where there are agents. Elsewhere its owner finds what is stored.
    fn wake(&self, session: &SessionId, signal: AgentSignal) {
        if let Some(agents) = &self.agents {
            agents.router.wake(session, signal);
        }
    }

    /// Gives a signal to the session's agent, if one is awake here; says whether one was.
    fn tell(&self, session: &SessionId, signal: AgentSignal) -> bool {
        self.agents
            .as_ref()
            .is_some_and(|agents| agents.router.tell(session, signal))
    }

    /// The owner of a session, if it is another process that lives.
    async fn other_owner(&self, session: &SessionId) -> Result<Option<Owner>, Error> {
        let owner = self.store.owner(session).await?;
        Ok(owner.filter(|owner| *owner != self.owner && !owner.is_dead_for(&self.owner)))
    }

    /// The error for what only a process with agents can do.
    fn needs_agents(what: &str) -> Error {
        Problem::new(
            ErrorCode::InvalidArguments,
            format!("{what} needs a process with agents"),
        )
        .fix("rooftree run, or rooftree serve")
        .into()
    }
}
