//! Commands that put a message into an inbox: posts and directed calls.

use rooftree_protocol::{
    ErrorCode, EventBody, Limits, Origin, Part, Principal, Problem, SessionId, SkillNote, Surface,
    ToolCall,
    command::{Address, CommandReply, Delivery},
    context_line::check_context,
};
use rooftree_store::{InboundKey, KeyReuse, PostReceipt};

use super::Handle;
use crate::{
    Error,
    definitions::resolved_rules,
    inbox::{self, OutgoingMessage},
    router::ResolvedSession,
    signals::AgentSignal,
    visibility,
};

/// What a post says, and how it is delivered.
pub(super) struct PostContent {
    pub(super) parts: Vec<Part>,
    pub(super) origin: Origin,
    pub(super) key: Option<String>,
    pub(super) delivery: Delivery,
    pub(super) restriction: Option<SkillNote>,
    pub(super) context: Option<String>,
    /// What arrived from a chat for it.
    pub(super) inbound: Vec<InboundKey>,
}

/// Invariant: only connectors and schedules say where an answer is delivered. A client could otherwise have it sent to
/// another person.
fn refuse_foreign_chat(who: &Principal, to: &Address, origin: &Origin) -> Result<(), Problem> {
    let names_chat = matches!(to, Address::Connector { chat: Some(_), .. });
    let is_allowed = matches!(who.surface, Surface::Connector | Surface::Schedule);
    if is_allowed || !(names_chat || origin.reply_target().is_some()) {
        return Ok(());
    }
    let message = "only a connector says in which chat an answer is delivered";
    Err(Problem::new(ErrorCode::InvalidArguments, message)
        .fix("leave out `chat`, `reply` and `target`: the answer comes to the client that asks"))
}

impl Handle {
    pub(super) async fn post(
        &self,
        who: &Principal,
        to: Address,
        content: PostContent,
    ) -> Result<CommandReply, Error> {
        if let Some(context) = &content.context {
            check_context(context)?;
        }
        refuse_foreign_chat(who, &to, &content.origin)?;
        let resolved = self.resolve(who, to, content.delivery).await?;
        let capacity = self.capacity(&resolved)?;
        let message = OutgoingMessage {
            session: resolved.id().clone(),
            parts: content.parts,
            origin: content.origin,
            key: content.key,
            delivery: content.delivery,
            capacity,
            call: None,
            restriction: content.restriction.map(Box::new),
            context: content.context,
            who: Some(Box::new(who.clone())),
        };
        self.accept(who, resolved, (message, content.inbound)).await
    }

    /// The text of a command file. Tools get their canonical names; a rule about an unknown tool matches nothing.
    pub(super) async fn prompt(
        &self,
        who: &Principal,
        (to, parts): (Address, Vec<Part>),
        restriction: SkillNote,
    ) -> Result<CommandReply, Error> {
        let Some(agents) = &self.agents else {
            self.resolve(who, to, Delivery::Queue).await?;
            return Err(Self::needs_agents("a command file"));
        };
        let tools = &agents.context.options.tools.all;
        let content = PostContent {
            parts,
            origin: Origin::User,
            key: None,
            delivery: Delivery::Queue,
            restriction: Some(SkillNote {
                name: restriction.name,
                allow: restriction.allow.map(|rules| resolved_rules(&rules, tools)),
                deny: resolved_rules(&restriction.deny, tools),
            }),
            context: None,
            inbound: Vec::new(),
        };
        self.post(who, to, content).await
    }

    /// A call is a message like any other: it waits for its turn, survives a crash and is a run of its own.
    pub(super) async fn call(
        &self,
        who: &Principal,
        session: SessionId,
        call: ToolCall,
    ) -> Result<CommandReply, Error> {
        let to = Address::Id {
            id: session.clone(),
        };
        let resolved = self.resolve(who, to, Delivery::Queue).await?;
        let capacity = self.capacity(&resolved)?;
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
            restriction: None,
            context: None,
            who: Some(Box::new(who.clone())),
        };
        self.accept(who, resolved, (message, Vec::new())).await
    }

    /// The session an address means. A process without agents can only name one that is there.
    async fn resolve(
        &self,
        who: &Principal,
        to: Address,
        delivery: Delivery,
    ) -> Result<ResolvedSession, Error> {
        let Some(agents) = &self.agents else {
            return match to {
                Address::Id { id } => {
                    Ok(ResolvedSession::Known(self.session(who, &id).await?.into()))
                }
                _ => Err(Self::needs_agents("opening a session by a message")),
            };
        };
        let seen = match &to {
            Address::Id { id } => agents.router.seen(id, delivery),
            _ => None,
        };
        let resolved = match seen {
            Some(session) => ResolvedSession::Seen(session),
            None => agents.router.resolve(to, who).await?,
        };
        let is_visible = match &resolved {
            ResolvedSession::Known(session) | ResolvedSession::Seen(session) => {
                visibility::may_see(&*self.store, who, session).await?
            }
            // Its row says that it is this principal's, for an agent that he may use.
            ResolvedSession::New(_) => true,
        };
        if is_visible {
            return Ok(resolved);
        }
        Err(rooftree_store::Error::NoSession(resolved.id().clone()).into())
    }

    /// Capacity of a lane of a session's inbox, as its agent is defined now.
    fn capacity(&self, resolved: &ResolvedSession) -> Result<u64, Error> {
        match &self.agents {
            Some(agents) => {
                let definitions = agents.context.definitions();
                Ok(definitions.find(resolved.agent())?.limits.inbox)
            }
            None => Ok(Limits::default().inbox),
        }
    }

    /// A new session and its message are queued one after the other, so that they share one fsync. The sender is
    /// answered before the agent begins, and can watch all of it.
    async fn accept(
        &self,
        who: &Principal,
        resolved: ResolvedSession,
        (message, inbound): (OutgoingMessage, Vec<InboundKey>),
    ) -> Result<CommandReply, Error> {
        let delivery = message.delivery;
        let post = inbox::post(self.clock.as_ref(), message);
        let (lane, id, key) = (post.lane, post.session.clone(), post.key.clone());
        let opened = resolved.open(&*self.store);
        let posted = if inbound.is_empty() {
            self.store.post_to_living(post)
        } else {
            self.store.post_inbound(post, inbound)
        };
        let session = opened.session().await?;
        let PostReceipt {
            message,
            position,
            repeated,
        } = match posted.await {
            // Deleted since it was last looked at: looking again says so, and what to do about it.
            Err(rooftree_store::Error::NoSession(_)) => {
                self.session(who, &id).await?;
                return Err(rooftree_store::Error::NoSession(id).into());
            }
            other => other?,
        };
        if repeated == KeyReuse::Other {
            return Err(inbox::used(&key).into());
        }
        if let Some(agents) = &self.agents {
            let queued = EventBody::InboxQueued {
                message: message.clone(),
                lane,
                position,
            };
            agents.context.mention(&session, None, queued);
        }
        if delivery != Delivery::Silent {
            self.wake(&id, AgentSignal::Mail);
        }
        Ok(CommandReply::Accepted {
            session: id,
            message,
            position,
            repeated: repeated == KeyReuse::Same,
        })
    }
}
