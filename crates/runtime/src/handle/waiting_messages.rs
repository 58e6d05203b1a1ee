//! Commands that withdraw or replace a message that waits in an inbox.

use rooftree_protocol::{
    ErrorCode, Lane, Limits, MessageId, Origin, Part, Principal, Problem, SessionId,
    command::CommandReply,
};
use rooftree_store::{InboxChange, InboxChangeOutcome, InboxItem};

use super::Handle;
use crate::{Error, signals::AgentSignal};

impl Handle {
    /// Withdraws a message. Its agent takes its place as `inbox.dropped`.
    pub(super) async fn withdraw(
        &self,
        who: &Principal,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<CommandReply, Error> {
        self.changeable(who, session, message).await?;
        let who = Box::new(who.clone());
        let change = InboxChange::Withdraw { who };
        self.change_waiting(session, message, change).await
    }

    /// Replaces what a message says; its place stays.
    pub(super) async fn replace(
        &self,
        who: &Principal,
        session: &SessionId,
        message: &MessageId,
        parts: Vec<Part>,
    ) -> Result<CommandReply, Error> {
        let item = self.changeable(who, session, message).await?;
        if item.is_some_and(|item| item.message.call.is_some()) {
            let problem = format!("{message} is a call, which cannot be replaced");
            return Err(Problem::new(ErrorCode::InvalidArguments, problem)
                .fix("withdraw it and make another call")
                .into());
        }
        let change = InboxChange::Replace {
            parts,
            who: Box::new(who.clone()),
            audit: self.audited(who, "message.replace", message),
        };
        self.change_waiting(session, message, change).await
    }

    /// Invariant: only what people say can be changed. The result of a task or the request of an agent is awaited by
    /// another agent and must arrive.
    async fn changeable(
        &self,
        who: &Principal,
        session: &SessionId,
        message: &MessageId,
    ) -> Result<Option<InboxItem>, Error> {
        self.session(who, session).await?;
        let most = usize::try_from(Limits::default().inbox).unwrap_or(usize::MAX);
        let mut found = None;
        for lane in [Lane::Mail, Lane::Boundary] {
            let items = self.store.waiting(session, lane, most).await?;
            found = found.or_else(|| items.into_iter().find(|item| item.message.id == *message));
        }
        let is_from_person = |item: &InboxItem| {
            matches!(item.message.origin, Origin::User | Origin::Connector { .. })
        };
        if found.as_ref().is_some_and(|item| !is_from_person(item)) {
            let problem = format!("{message} is not a message of a person");
            return Err(Problem::new(ErrorCode::ToolDenied, problem)
                .cause("another agent waits for what it leads to")
                .into());
        }
        Ok(found)
    }

    async fn change_waiting(
        &self,
        session: &SessionId,
        message: &MessageId,
        change: InboxChange,
    ) -> Result<CommandReply, Error> {
        let withdraws = matches!(change, InboxChange::Withdraw { .. });
        let changed = self.store.change_waiting(session, message, change).await?;
        match changed {
            InboxChangeOutcome::Changed(item) => {
                // An agent that has read the message before reads it again.
                self.wake(session, AgentSignal::Mail);
                Ok(CommandReply::Accepted {
                    session: session.clone(),
                    message: message.clone(),
                    position: item.position,
                    repeated: false,
                })
            }
            InboxChangeOutcome::Withdrawn if withdraws => Ok(CommandReply::Done),
            InboxChangeOutcome::Withdrawn => Err(Problem::new(
                ErrorCode::InteractionUnavailable,
                format!("the message {message} was withdrawn"),
            )
            .fix("send it as a new message")
            .into()),
            InboxChangeOutcome::Taken => Err(Problem::new(
                ErrorCode::InteractionUnavailable,
                format!("the agent has taken the message {message} already"),
            )
            .fix("stop the run, or steer it with another message")
            .into()),
            InboxChangeOutcome::Unknown => Err(Problem::new(
                ErrorCode::TaskNotFound,
                format!("the session {session} has no message {message}"),
            )
            .fix(format!(
                "rooftree sessions queue {session} lists what waits"
            ))
            .into()),
        }
    }
}
