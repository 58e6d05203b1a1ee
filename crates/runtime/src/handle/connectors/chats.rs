//! Chats of connectors: which session a chat talks to, and messages that arrive from it.

use rooftree_protocol::{
    ChatTarget, Command, Origin, OutboxId, Part, PermissionMode, Principal, Session, SessionId,
    command::{Address, CommandReply, Delivery, NewSession},
};
use rooftree_store::{
    AuditEntry, ChatBinding, ChatBindingWrite, CommandRow, InboundKey, OutboxBody, OutboxKind,
    OutboxPost, PartReceipt,
};

use super::{Handle, require_connector};
use crate::{Error, handle::messages::PostContent, visibility};

/// A chat, and the session that is made for it.
#[derive(Clone, Debug)]
pub struct ChatAddress {
    /// The connector.
    pub connector: String,
    /// `connector/channel[/thread]/user` of a direct chat, `connector/channel[/thread]` of a group.
    pub key: String,
    /// How its session is made.
    pub new: NewSession,
    /// Where results go that answer no message.
    pub chat: ChatTarget,
    /// The most that may happen in its sessions without asking; none for what their agents may.
    pub mode: Option<PermissionMode>,
}

/// A message that arrived from a chat.
#[derive(Clone, Debug)]
pub struct ReceivedChatMessage {
    /// What it says.
    pub parts: Vec<Part>,
    /// Who says it, and where the answer goes.
    pub origin: Origin,
    /// Its idempotency key.
    pub key: String,
    /// A line about the sender's surroundings.
    pub context: Option<String>,
    /// What arrived for it. It is known from the commit of the message on.
    pub inbound: Vec<InboundKey>,
}

/// A message that asks an inquiry and was not known to have arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptCopy {
    /// What it says.
    pub text: String,
    /// Whether it is the one that is changed when the inquiry is answered from now on.
    pub is_changed_later: bool,
}

impl Handle {
    /// The session that a chat talks to: the one it was bound to, else the one that its key opened. One that is deleted
    /// or that the principal may not see is none.
    pub async fn chat_session(&self, who: &Principal, key: &str) -> Result<Option<Session>, Error> {
        require_connector(who)?;
        if let Some(binding) = self.store.chat_binding(&who.tenant, key).await?
            && let Some(bound) = visibility::find(&*self.store, who, &binding.session).await?
            && bound.deleted_at.is_none()
        {
            return Ok(Some(bound));
        }
        let own = self.store.session_by_key(key).await?;
        let own = own.filter(|own| own.deleted_at.is_none());
        match own {
            Some(own) if visibility::may_see(&*self.store, who, &own).await? => Ok(Some(own)),
            _ => Ok(None),
        }
    }

    /// The session that a chat talked to before.
    pub async fn previous_chat_session(
        &self,
        who: &Principal,
        key: &str,
    ) -> Result<Option<Session>, Error> {
        require_connector(who)?;
        let binding = self.store.chat_binding(&who.tenant, key).await?;
        let Some(previous) = binding.and_then(|binding| binding.previous) else {
            return Ok(None);
        };
        let found = visibility::find(&*self.store, who, &previous).await?;
        Ok(found.filter(|session| session.deleted_at.is_none()))
    }

    /// Puts what a chat says into the inbox of its session. It and the keys of what arrived are one commit.
    pub async fn post_from_chat(
        &self,
        who: &Principal,
        chat: &ChatAddress,
        message: ReceivedChatMessage,
    ) -> Result<CommandReply, Error> {
        require_connector(who)?;
        let session = match self.chat_session(who, &chat.key).await? {
            Some(session) => session,
            None => self.open_chat(who, chat, &message).await?,
        };
        self.bound_mode(who, chat, &session).await?;
        let to = Address::Id { id: session.id };
        let content = PostContent {
            parts: message.parts,
            origin: message.origin,
            key: Some(message.key),
            delivery: Delivery::Queue,
            restriction: None,
            context: message.context,
            inbound: message.inbound,
        };
        self.post(who, to, content).await
    }

    /// Opens the session of a chat. A key whose session is deleted, or belongs to another person by now, opens none: the
    /// chat is bound to a new session then.
    async fn open_chat(
        &self,
        who: &Principal,
        chat: &ChatAddress,
        message: &ReceivedChatMessage,
    ) -> Result<Session, Error> {
        let is_used = self.store.session_by_key(&chat.key).await?.is_some();
        match message.inbound.first().filter(|_| is_used) {
            Some(arrived) => self.begin_chat(who, chat, arrived).await,
            None => self.open_keyed(who, chat, chat.key.clone()).await,
        }
    }

    /// Opens the session with this key, or finds the one that has it.
    async fn open_keyed(
        &self,
        who: &Principal,
        chat: &ChatAddress,
        key: String,
    ) -> Result<Session, Error> {
        let Some(agents) = &self.agents else {
            return Err(Self::needs_agents("beginning a session"));
        };
        let mut row = agents.router.row(chat.new.clone(), Some(key), who)?;
        row.chat = Some(chat.chat.clone());
        row.audit = self.audited(who, "session.open", &row.id);
        Ok(self.store.open(row).await?)
    }

    /// Narrows the mode of a session in which nothing happened yet. Invariant: the command is stored before the first
    /// message, and the agent reads it before that; it is left only if it narrows what its agent may.
    async fn bound_mode(
        &self,
        who: &Principal,
        chat: &ChatAddress,
        session: &Session,
    ) -> Result<(), Error> {
        let (Some(mode), Some(agents)) = (chat.mode, &self.agents) else {
            return Ok(());
        };
        let definition = agents.context.definitions().find(&session.agent)?;
        let own = definition.permission_mode.unwrap_or(PermissionMode::Bypass);
        let own = own.min(agents.context.options.rights.policy.mode);
        if session.head > 0 || mode >= own {
            return Ok(());
        }
        let command = Command::SetMode {
            session: session.id.clone(),
            mode: Some(mode),
        };
        let mut row = CommandRow::new(command, self.now());
        row.who = Some(Box::new(who.clone()));
        Ok(self.store.put_command(&session.id, row).await?)
    }

    /// Begins a new session in a chat. What arrived again begins no other one.
    pub async fn begin_chat(
        &self,
        who: &Principal,
        chat: &ChatAddress,
        arrived: &InboundKey,
    ) -> Result<Session, Error> {
        require_connector(who)?;
        let previous = self.chat_session(who, &chat.key).await?;
        let key = format!("{}#{}", chat.key, arrived.key);
        let session = self.open_keyed(who, chat, key).await?;
        let previous = previous.map(|session| session.id);
        self.bind_chat(who, chat, (&session.id, previous), arrived)
            .await?;
        Ok(session)
    }

    /// Lets a chat talk to another session from now on. What arrived again changes nothing.
    pub async fn bind_chat(
        &self,
        who: &Principal,
        chat: &ChatAddress,
        (session, previous): (&SessionId, Option<SessionId>),
        arrived: &InboundKey,
    ) -> Result<ChatBinding, Error> {
        require_connector(who)?;
        self.session(who, session).await?;
        let at = self.now();
        let audit =
            AuditEntry::done(who, at, "chat.bind", &chat.key).with("session", session.as_str());
        let bound = self.store.bind_chat(ChatBindingWrite {
            tenant: who.tenant.clone(),
            connector: chat.connector.clone(),
            key: chat.key.clone(),
            session: session.clone(),
            previous: previous.filter(|previous| previous != session),
            // A key of its own: what arrived is taken only when all that it asks for is done.
            inbound: InboundKey {
                key: format!("{}/bind", arrived.key),
                ..arrived.clone()
            },
            at,
            audit: Some(audit),
        });
        Ok(bound.await?)
    }

    /// Tells something in a chat, through the outbox; the same key again tells nothing. For connectors.
    pub async fn tell_chat(
        &self,
        who: &Principal,
        target: ChatTarget,
        (key, text): (&str, &str),
    ) -> Result<(), Error> {
        require_connector(who)?;
        let post = OutboxPost {
            id: OutboxId::from_entropy(self.clock.entropy()).to_string(),
            key: key.to_owned(),
            account: who.account(),
            session: None,
            run: None,
            kind: OutboxKind::Notice,
            target,
            body: OutboxBody::Text {
                text: text.to_owned(),
            },
            at: self.now(),
        };
        self.connector_access().post(post, None).await.map(drop)
    }

    /// Keeps that a message arrived that asks an inquiry and whose button was pressed, if its receipt was lost. Gives
    /// what it says, unless it is the message that is changed when the inquiry is answered. For connectors.
    pub async fn note_pressed(
        &self,
        who: &Principal,
        inquiry: &str,
        pressed: &ChatTarget,
    ) -> Result<Option<PromptCopy>, Error> {
        require_connector(who)?;
        let asked = self
            .store
            .outbox_by_key(&OutboxPost::ask_key(inquiry))
            .await?;
        let message = pressed.reply_to.clone().filter(|id| !id.is_empty());
        let (Some(asked), Some(message)) = (asked, message) else {
            return Ok(None);
        };
        let place = |target: &ChatTarget| (target.connector.clone(), target.chat.clone());
        let (OutboxBody::Inquiry { text, .. }, Some(last)) = (&asked.post.body, asked.parts.last())
        else {
            return Ok(None);
        };
        if place(&asked.post.target) != place(pressed)
            || last.platform_id.as_ref() == Some(&message)
        {
            return Ok(None);
        }
        let is_changed_later = self.store.part_seen(PartReceipt {
            id: asked.post.id.clone(),
            part: last.n,
            platform_id: message,
            at: self.now(),
        });
        let is_changed_later = is_changed_later.await?;
        self.chats.note_change();
        Ok(Some(PromptCopy {
            text: text.clone(),
            is_changed_later,
        }))
    }

    /// The names of the agents there are.
    pub fn agent_names(&self) -> Vec<String> {
        let agents = self.agents.as_ref();
        agents.map_or_else(Vec::new, |agents| {
            let all = agents.context.definitions().all();
            all.iter().map(|agent| agent.name.clone()).collect()
        })
    }

    /// Keeps the keys of what arrived and needs nothing more. For connectors.
    pub async fn note_inbound(&self, who: &Principal, keys: Vec<InboundKey>) -> Result<(), Error> {
        require_connector(who)?;
        Ok(self.store.note_inbound(keys, self.now()).await?)
    }

    /// Whether something with this key arrived before and was taken. For connectors.
    pub async fn is_inbound_known(
        &self,
        who: &Principal,
        connector: &str,
        key: &str,
    ) -> Result<bool, Error> {
        require_connector(who)?;
        let known = self.store.is_inbound_known(&who.tenant, connector, key);
        Ok(known.await?)
    }
}
