//! Commands that open, change, fork, hand back, delete and restore sessions.

use rooftree_protocol::{
    Command, ErrorCode, Event, EventBody, ModelChoice, Origin, Part, PermissionMode, Principal,
    Problem, Session, SessionId,
    command::{Address, CommandReply, Delivery, NewSession},
};
use rooftree_store::{CommandRow, JournalPages, NewSessionRow, SessionPatch};

use super::{Handle, messages::PostContent};
use crate::{Error, signals::AgentSignal};

/// Characters of one answer in the summary of a conversation that is handed back.
const ANSWER: usize = 1_500;
/// Characters of the summary.
const SUMMARY: usize = 6_000;

/// How to branch a session off another one.
pub(super) struct ForkRequest {
    pub(super) at: Option<u64>,
    pub(super) name: Option<String>,
    pub(super) agent: Option<String>,
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
        let is_told = self.tell(session, AgentSignal::Cancel(None, sender));
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
            account: who.account(),
            at: self.now(),
        };
        let at = fork.at.unwrap_or(parent.head);
        let forked = self.store.fork(from, at, new).await?;
        Ok(CommandReply::Session(Box::new(forked)))
    }

    /// Posts a summary of a conversation that was handed over to the session it came from. What was told up to the
    /// same event is not told again.
    pub(super) async fn hand_back(
        &self,
        who: &Principal,
        id: &SessionId,
    ) -> Result<CommandReply, Error> {
        let session = self.session(who, id).await?;
        let Some(origin) = session.forked_from.clone() else {
            let message = format!("session {id} was not handed over from another one");
            return Err(Problem::new(ErrorCode::InvalidArguments, message)
                .fix("rooftree sessions switch ID AGENT hands a conversation over")
                .into());
        };
        let own = JournalPages::after(&*self.store, id, origin.at)
            .all()
            .await?;
        let Some(summary) = summary(&session, &own) else {
            return Ok(CommandReply::Done);
        };
        let content = PostContent {
            parts: vec![Part::text(summary)],
            origin: Origin::Agent {
                session: id.clone(),
                agent: session.agent.clone(),
                call: None,
            },
            key: Some(format!("back:{id}:{}", session.head)),
            delivery: Delivery::Silent,
        };
        let to = Address::Id { id: origin.session };
        self.post(who, to, content).await
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

/// What was asked and answered there, and which files changed; none if nothing was.
fn summary(session: &Session, own: &[Event]) -> Option<String> {
    let mut lines = Vec::new();
    for event in own {
        match &event.body {
            EventBody::RunStarted { title, .. } => lines.push(format!("Asked: {title}")),
            EventBody::RunCompleted(end) => {
                lines.push(format!(
                    "{}, {}: {}",
                    session.agent,
                    end.status,
                    cut(end.text.trim(), ANSWER)
                ));
                let files: Vec<String> = end
                    .files
                    .iter()
                    .map(|file| file.path.display().to_string())
                    .collect();
                if !files.is_empty() {
                    lines.push(format!("Files changed: {}", files.join(", ")));
                }
            }
            _ => {}
        }
    }
    let told = format!(
        "The conversation went on with agent {} and is back.\n{}",
        session.agent,
        lines.join("\n")
    );
    (!lines.is_empty()).then(|| cut(&told, SUMMARY))
}

fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
