//! Commands that open, change, pin, fork, hand back, delete and restore sessions.

use rooftree_protocol::{
    Command, ErrorCode, EventBody, ModelChoice, Origin, Part, PermissionMode, Principal, Problem,
    SessionId, Surface,
    command::{Address, CommandReply, Delivery, HandBackSummary, NewSession},
};
use rooftree_store::{CommandRow, NewSessionRow, SessionPatch};
use serde_json::{Map, Value};

use super::{Handle, messages::PostContent};
use crate::{
    Error,
    hand_back::{self, HandedOver},
    router::refuse_other_agent,
    signals::AgentSignal,
};

/// Characters of the name of an attribute, and bytes of what one holds.
const ATTRIBUTE: (usize, usize) = (100, 16 * 1024);

/// How to branch a session off another one.
pub(super) struct ForkRequest {
    pub(super) at: Option<u64>,
    pub(super) name: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) message: Option<Vec<Part>>,
}

impl Handle {
    pub(super) async fn open(
        &self,
        who: &Principal,
        new: NewSession,
    ) -> Result<CommandReply, Error> {
        let Some(agents) = &self.agents else {
            return Err(Self::needs_agents("opening a session"));
        };
        let mut row = agents.router.row(new, None, who)?;
        row.audit = self.audited(who, "session.open", &row.id);
        Ok(CommandReply::Session(Box::new(self.store.open(row).await?)))
    }

    pub(super) async fn rename(
        &self,
        who: &Principal,
        session: &SessionId,
        name: Option<String>,
    ) -> Result<CommandReply, Error> {
        let patch = SessionPatch {
            name: Some(name),
            at: Some(self.now()),
            audit: self.audited(who, "session.rename", session),
            ..SessionPatch::default()
        };
        self.patch(who, session, patch).await
    }

    /// Pins it, or takes the pin away. Pinned again, it keeps its place.
    pub(super) async fn pin(
        &self,
        who: &Principal,
        session: &SessionId,
        pinned: bool,
    ) -> Result<CommandReply, Error> {
        let since = self.owned_session(who, session).await?.pinned_at;
        let action = if pinned {
            "session.pin"
        } else {
            "session.unpin"
        };
        let patch = SessionPatch {
            pinned_at: Some(pinned.then(|| since.unwrap_or(self.now()))),
            at: Some(self.now()),
            audit: self.audited(who, action, session),
            ..SessionPatch::default()
        };
        self.patch(who, session, patch).await
    }

    /// Sets attributes; null removes one.
    pub(super) async fn set_attributes(
        &self,
        who: &Principal,
        session: &SessionId,
        attributes: Map<String, Value>,
    ) -> Result<CommandReply, Error> {
        for (name, value) in &attributes {
            let is_name = !name.trim().is_empty()
                && name.chars().count() <= ATTRIBUTE.0
                && !name.contains(char::is_control);
            if !is_name {
                let message = "the name of an attribute is empty, too long or not one line";
                return Err(Problem::new(ErrorCode::InvalidArguments, message)
                    .fix(format!("use at most {} characters", ATTRIBUTE.0))
                    .into());
            }
            if value.to_string().len() > ATTRIBUTE.1 {
                let message = format!("the attribute `{name}` is too large");
                return Err(Problem::new(ErrorCode::InvalidArguments, message)
                    .cause(format!("an attribute holds at most {} bytes", ATTRIBUTE.1))
                    .fix("keep it in a file, and its path here")
                    .into());
            }
        }
        let patch = SessionPatch {
            attributes,
            at: Some(self.now()),
            audit: self.audited(who, "session.attributes", session),
            ..SessionPatch::default()
        };
        self.patch(who, session, patch).await
    }

    pub(super) async fn set_model(
        &self,
        who: &Principal,
        session: &SessionId,
        model: Option<ModelChoice>,
    ) -> Result<CommandReply, Error> {
        let patch = SessionPatch {
            model: Some(model.map(|model| model.to_string())),
            audit: self.audited(who, "session.model", session),
            ..SessionPatch::default()
        };
        self.patch(who, session, patch).await
    }

    /// Has the session's agent record the mode, or the process that owns it. The journal says who wanted it.
    pub(super) async fn set_mode(
        &self,
        who: &Principal,
        session: &SessionId,
        mode: Option<PermissionMode>,
    ) -> Result<CommandReply, Error> {
        let session = self.session(who, session).await?;
        if session.parent.is_some() {
            let message = format!("session {} was delegated to", session.id);
            return Err(Problem::new(ErrorCode::InvalidArguments, message)
                .cause("its rights come from the agent that delegated to it")
                .fix("change the mode of the session that delegated")
                .into());
        }
        if self.agents.is_some() && self.other_owner(&session.id).await?.is_none() {
            let sender = Some(Box::new(who.clone()));
            self.wake(&session.id, AgentSignal::SetMode(mode, sender));
            return Ok(CommandReply::Done);
        }
        let id = session.id.clone();
        let command = Command::SetMode { session: id, mode };
        self.leave(who, &session.id, command).await?;
        Ok(CommandReply::Forwarded)
    }

    /// Marks it as deleted, and tells the process that works on it to stop.
    pub(super) async fn delete(
        &self,
        who: &Principal,
        session: &SessionId,
    ) -> Result<CommandReply, Error> {
        let patch = SessionPatch {
            deleted_at: Some(Some(self.now())),
            audit: self.audited(who, "session.delete", session),
            ..SessionPatch::default()
        };
        let reply = self.patch(who, session, patch).await?;
        let sender = Some(Box::new(who.clone()));
        let run = self.current_run(session).await?;
        let is_told = self.tell(session, AgentSignal::Cancel(run, sender));
        if !is_told && self.other_owner(session).await?.is_some() {
            let command = Command::Delete {
                session: session.clone(),
            };
            self.leave(who, session, command).await?;
        }
        Ok(reply)
    }

    pub(super) async fn restore(
        &self,
        who: &Principal,
        session: &SessionId,
    ) -> Result<CommandReply, Error> {
        let patch = SessionPatch {
            deleted_at: Some(None),
            audit: self.audited(who, "session.restore", session),
            ..SessionPatch::default()
        };
        self.patch(who, session, patch).await
    }

    /// A branch of a session, for the same agent or handed over to another one.
    pub(super) async fn fork(
        &self,
        who: &Principal,
        from: &SessionId,
        fork: ForkRequest,
    ) -> Result<CommandReply, Error> {
        let parent = self.session(who, from).await?;
        let agent = match (fork.agent, &self.agents) {
            // Without definitions, the client has looked it up.
            (Some(agent), None) => Some(agent),
            (Some(agent), Some(agents)) => {
                Some(agents.context.definitions().find(&agent)?.name.clone())
            }
            (None, _) => None,
        };
        refuse_other_agent(who, agent.as_deref().unwrap_or(&parent.agent))?;
        let id = SessionId::from_entropy(self.clock.entropy());
        let new = NewSessionRow {
            audit: self.audited(who, "session.fork", &id),
            id,
            model: parent.model.clone().filter(|_| agent.is_none()),
            agent: agent.unwrap_or_else(|| parent.agent.clone()),
            name: fork.name,
            cwd: parent.cwd.clone(),
            parent: None,
            connector_key: None,
            // What is handed over in a chat goes on there.
            chat: parent
                .chat
                .clone()
                .filter(|_| who.surface == Surface::Connector),
            account: who.account(),
            at: self.now(),
        };
        let at = fork.at.unwrap_or(parent.head);
        let forked = self.store.fork(from, at, new).await?;
        if let Some(parts) = fork.message {
            let content = PostContent {
                parts,
                origin: Origin::User,
                key: Some(format!("first:{}", forked.id)),
                delivery: Delivery::Queue,
                restriction: None,
                context: None,
                inbound: Vec::new(),
            };
            let to = Address::Id {
                id: forked.id.clone(),
            };
            self.post(who, to, content).await?;
        }
        Ok(CommandReply::Session(Box::new(forked)))
    }

    /// Posts a summary of a conversation that was handed over to the session it came from: an extract at once, or what
    /// a run in the session writes, when that run ends. What was told up to the same event is not told again.
    pub(super) async fn hand_back(
        &self,
        who: &Principal,
        id: &SessionId,
        summary: HandBackSummary,
    ) -> Result<CommandReply, Error> {
        let session = self.session(who, id).await?;
        let Some(over) = HandedOver::read(&*self.store, &session).await? else {
            let message = format!("session {id} was not handed over from another one");
            return Err(Problem::new(ErrorCode::InvalidArguments, message)
                .fix("rooftree sessions switch ID AGENT hands a conversation over")
                .into());
        };
        let Some(extract) = over.extract() else {
            return Ok(CommandReply::Done);
        };
        let key = Some(over.key(summary));
        let (to, content) = match summary {
            HandBackSummary::Extract => {
                let origin = Origin::Agent {
                    session: id.clone(),
                    agent: session.agent.clone(),
                    call: None,
                };
                let content = PostContent {
                    parts: vec![Part::text(extract)],
                    origin,
                    key,
                    delivery: Delivery::Silent,
                    restriction: None,
                    context: None,
                    inbound: Vec::new(),
                };
                (over.from.session, content)
            }
            HandBackSummary::Model => {
                let content = PostContent {
                    parts: vec![Part::text(over.request())],
                    origin: hand_back::origin(),
                    key,
                    delivery: Delivery::Queue,
                    restriction: None,
                    context: None,
                    inbound: Vec::new(),
                };
                (id.clone(), content)
            }
        };
        self.post(who, Address::Id { id: to }, content).await
    }

    async fn patch(
        &self,
        who: &Principal,
        id: &SessionId,
        patch: SessionPatch,
    ) -> Result<CommandReply, Error> {
        self.owned_session(who, id).await?;
        let session = self.store.update(id, patch).await?;
        if let Some(agents) = &self.agents {
            let body = EventBody::SessionUpdated {
                name: session.name.clone(),
                deleted: session.deleted_at.is_some(),
            };
            agents.context.mention(&session, None, body);
        }
        self.bus.touch();
        Ok(CommandReply::Session(Box::new(session)))
    }

    /// Leaves a command for the process that owns the session, or takes it over.
    pub(super) async fn leave(
        &self,
        who: &Principal,
        session: &SessionId,
        command: Command,
    ) -> Result<(), Error> {
        let row = CommandRow {
            command,
            who: Some(Box::new(who.clone())),
            audit: None,
            at: self.now(),
        };
        Ok(self.store.put_command(session, row).await?)
    }
}
